//! One run under the real clock, from its start to its end, over a store in memory or a file. Commands run for real, each on a thread of
//! its own. The process may be killed after every event, in the sense that everything of it is lost but the file; the world outside is
//! not, so what was begun goes on and is not begun a second time.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, Scope};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::vectors::round_trip;
use branchpoint_core::ir::{Program, Status};
use branchpoint_core::{ApprovalKey, EffectNo, Note};
use branchpoint_expr::Value;
use branchpoint_host::host::{Act, Drives, Facts, Host, RunEvent, RunEventKind, Start, Ticket};
use branchpoint_host::store::{Document, Durability, RunNo, Store, Workflow};
use branchpoint_runners::{Answer, Call, CancellationToken, Runner, runtime};

/// How long the loop sleeps at most.
const NAP: Duration = Duration::from_millis(10);

/// What runs, and over what.
#[derive(Clone, Debug)]
pub struct Live<'p> {
    /// The program.
    pub root: &'p Program,
    /// What it calls, and what they call.
    pub children: &'p BTreeMap<Arc<str>, Program>,
    /// The file of the store; without it, the store is in memory.
    pub file: Option<PathBuf>,
    /// Whether everything but the file is lost after every event.
    pub crashing: bool,
}

/// A run that has ended, or that nothing moves any more.
#[derive(Clone, Debug)]
pub struct Ran {
    /// How it stands.
    pub status: Status,
    /// Its result object.
    pub result: Value,
    /// Everything that was told, in order.
    pub notes: Vec<Note>,
    /// What is wrong with exporting and importing it, if something is.
    pub exchange_problem: Option<String>,
}

impl Live<'_> {
    /// Runs to the end.
    pub fn run(&self, input: Value, outside: &Arc<impl Runner + 'static>) -> Ran {
        thread::scope(|scope| {
            let (told, heard) = channel();
            let (flights, notes) = (HashMap::new(), Vec::new());
            let outside: Arc<dyn Runner> = outside.clone();
            let host = self.host(&outside);
            let mut stage = Stage { live: self, scope, outside, host, run: None, flights, notes, told, ended: false };
            stage.start(input);
            stage.go_on(&heard);
            stage.flights.values().for_each(|(_, cancel)| cancel.cancel());
            let look = stage.host.look_at(stage.run.expect("it was started")).expect("it was kept");
            let exchange_problem = round_trip(stage.host.store());
            let result = look.result().unwrap_or_default();
            Ran { status: look.status(), result, notes: stage.notes, exchange_problem }
        })
    }

    fn host(&self, outside: &Arc<dyn Runner>) -> Host {
        let store = match &self.file {
            Some(file) => Store::open(file, Durability::Normal),
            None => Store::in_memory(),
        };
        let outside = outside.clone();
        let facts: Facts = Arc::new(move |name| outside.fact(name));
        Host::new(store.expect("the store opens"), "live", Drives::All, facts, now_ms()).expect("the store can be used")
    }
}

struct Stage<'s, 'e> {
    live: &'e Live<'e>,
    scope: &'s Scope<'s, 'e>,
    outside: Arc<dyn Runner>,
    host: Host,
    run: Option<RunNo>,
    flights: HashMap<(RunNo, EffectNo), (u32, CancellationToken)>,
    notes: Vec<Note>,
    told: Sender<(RunNo, Call, Answer)>,
    ended: bool,
}

impl Stage<'_, '_> {
    fn start(&mut self, input: Value) {
        let text = |text: &str| text.to_owned();
        let document = Document { name: text("live"), dialect: text(""), origin: text(""), text: text("") };
        let workflow = Workflow { document: &document, program: self.live.root, children: self.live.children };
        let workflow = self.host.store().save(workflow, now_ms()).expect("the program can be kept");
        self.host.start(Start { watched: true, ..Start::new(workflow, "run".into(), input) }, Ticket::default());
        self.turn();
        self.run = self.host.store().run("run").expect("the store can be read").map(|row| row.run);
        self.turned();
    }

    fn go_on(&mut self, heard: &Receiver<(RunNo, Call, Answer)>) {
        while !self.ended {
            let due = self.host.next_ms().is_some_and(|at_ms| at_ms <= now_ms());
            if due || self.flights.is_empty() && self.user_speaks() {
                self.turn();
                self.turned();
            } else if self.flights.is_empty() && self.host.next_ms().is_none() {
                break;
            } else if let Ok((run, call, answer)) = heard.recv_timeout(NAP) {
                let key = (run, call.effect);
                // Nobody waits for what was withdrawn, nor for an attempt that was given up.
                if self.flights.get(&key).is_some_and(|(attempt, _)| *attempt == call.attempt) {
                    self.flights.remove(&key);
                    self.host.settle(run, &call, answer);
                }
            }
        }
    }

    /// A run that waits for the user gets the user's next line, or hears that there is none.
    fn user_speaks(&mut self) -> bool {
        let run = self.run.expect("it was started");
        let look = self.host.look_at(run).expect("it was kept");
        let open = self.host.store().approvals_in(&look).expect("it was kept");
        if !open.iter().any(|open| open.approval.key == ApprovalKey::Line) {
            return false;
        }
        let line = self.outside.line().map_or(Value::Null, Value::from);
        self.host.hand(run, ApprovalKey::Line.answer(None, &line, None), Ticket::default());
        true
    }

    fn turn(&mut self) {
        for act in self.host.turn(now_ms()).expect("the store takes what is written") {
            match act {
                Act::Perform { run, call, .. } => self.perform(run, call),
                Act::Withdraw { run, effect, .. } => {
                    self.flights.remove(&(run, effect)).into_iter().for_each(|(_, cancel)| cancel.cancel());
                }
                Act::Event(RunEvent { run, kind: RunEventKind::Notes(notes), .. })
                    if self.run.is_none_or(|own| own == run) =>
                {
                    self.notes.extend(notes);
                }
                Act::Event(RunEvent { id, kind: RunEventKind::Status(status, _), .. }) => {
                    self.ended |= &*id == "run" && status.is_final();
                }
                _ => {}
            }
        }
    }

    fn turned(&mut self) {
        if self.live.crashing && self.host.events() > 0 {
            // The old host goes first: with it, the lock of its process.
            self.host = Live { file: None, ..self.live.clone() }.host(&self.outside);
            self.host = self.live.host(&self.outside);
            self.host.wake(self.run.expect("it was started"), true, Ticket::default());
            self.turn();
        }
    }

    fn perform(&mut self, run: RunNo, call: Call) {
        let key = (run, call.effect);
        if self.flights.get(&key).is_some_and(|(attempt, _)| *attempt == call.attempt) {
            return;
        }
        let cancel = CancellationToken::new();
        self.flights.insert(key, (call.attempt, cancel.clone()));
        let (outside, told) = (self.outside.clone(), self.told.clone());
        self.scope.spawn(move || {
            let answer = runtime().block_on(outside.perform(&call, &cancel));
            // The run may have ended meanwhile; then nobody listens.
            let _ = told.send((run, call, answer));
        });
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
