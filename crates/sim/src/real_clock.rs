//! Executes a run with the real clock and real commands, over a store in memory or in a file. Each command runs on its own thread. A
//! crash after every event can be simulated: everything but the file is lost, but commands in flight continue and are not started
//! again.

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
use branchpoint_host::host::{DrivenRuns, Facts, Host, RunEvent, RunEventKind, Start, Ticket, TurnOutput};
use branchpoint_host::store::{Document, Durability, RunNo, Store, Workflow};
use branchpoint_runners::{Answer, Call, CancellationToken, Runner, runtime};

/// The maximum time that the loop waits for an answer before it checks timers.
const MAX_WAIT: Duration = Duration::from_millis(10);

/// A program and the store that it runs on.
#[derive(Clone, Debug)]
pub struct RealClock<'p> {
    /// The program.
    pub root: &'p Program,
    /// The programs that it calls, directly and indirectly.
    pub children: &'p BTreeMap<Arc<str>, Program>,
    /// The file of the store; `None` means a store in memory.
    pub file: Option<PathBuf>,
    /// Whether to simulate a crash after every event.
    pub crashing: bool,
}

/// A run that has ended or cannot continue.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// Its status.
    pub status: Status,
    /// Its result object.
    pub result: Value,
    /// Its notes, in order.
    pub notes: Vec<Note>,
    /// The error of exporting and importing it, if there is one.
    pub exchange_problem: Option<String>,
}

impl RealClock<'_> {
    /// Runs to the end.
    pub fn run(&self, input: Value, runner: &Arc<impl Runner + 'static>) -> RunResult {
        thread::scope(|scope| {
            let (answer_sender, answer_receiver) = channel();
            let (flights, notes) = (HashMap::new(), Vec::new());
            let runner: Arc<dyn Runner> = runner.clone();
            let host = self.host(&runner);
            let mut run_loop =
                RunLoop { live: self, scope, runner, host, run: None, flights, notes, answer_sender, ended: false };
            run_loop.start(input);
            run_loop.run_until_end(&answer_receiver);
            run_loop.flights.values().for_each(|(_, cancel)| cancel.cancel());
            let inspected = run_loop.host.load(run_loop.run.expect("the run was started")).expect("the run is stored");
            let exchange_problem = round_trip(run_loop.host.store());
            let result = inspected.result().unwrap_or_default();
            RunResult { status: inspected.status(), result, notes: run_loop.notes, exchange_problem }
        })
    }

    fn host(&self, runner: &Arc<dyn Runner>) -> Host {
        let store = match &self.file {
            Some(file) => Store::open(file, Durability::Normal),
            None => Store::in_memory(),
        };
        let runner = runner.clone();
        let facts: Facts = Arc::new(move |name| runner.fact(name));
        Host::new(store.expect("the store opens"), "live", DrivenRuns::All, facts, now_ms()).expect("the host starts")
    }
}

struct RunLoop<'s, 'e> {
    live: &'e RealClock<'e>,
    scope: &'s Scope<'s, 'e>,
    runner: Arc<dyn Runner>,
    host: Host,
    run: Option<RunNo>,
    flights: HashMap<(RunNo, EffectNo), (u32, CancellationToken)>,
    notes: Vec<Note>,
    answer_sender: Sender<(RunNo, Call, Answer)>,
    ended: bool,
}

impl RunLoop<'_, '_> {
    fn start(&mut self, input: Value) {
        let text = |text: &str| text.to_owned();
        let document = Document { name: text("live"), dialect: text(""), origin: text(""), text: text("") };
        let workflow = Workflow { document: &document, program: self.live.root, children: self.live.children };
        let workflow = self.host.store().save(workflow, now_ms()).expect("the program can be stored");
        self.host.start(Start { watched: true, ..Start::new(workflow, "run".into(), input) }, Ticket::default());
        self.turn();
        self.run = self.host.store().run("run").expect("the store can be read").map(|row| row.run);
        self.crash_if_enabled();
    }

    fn run_until_end(&mut self, answer_receiver: &Receiver<(RunNo, Call, Answer)>) {
        while !self.ended {
            let due = self.host.next_ms().is_some_and(|at_ms| at_ms <= now_ms());
            if due || self.flights.is_empty() && self.answer_user_line() {
                self.turn();
                self.crash_if_enabled();
            } else if self.flights.is_empty() && self.host.next_ms().is_none() {
                break;
            } else if let Ok((run, call, answer)) = answer_receiver.recv_timeout(MAX_WAIT) {
                let key = (run, call.effect);
                // Answers of withdrawn effects and of abandoned attempts are ignored.
                if self.flights.get(&key).is_some_and(|(attempt, _)| *attempt == call.attempt) {
                    self.flights.remove(&key);
                    self.host.settle(run, &call, answer);
                }
            }
        }
    }

    /// Answers a run that waits for the user with the user's next line, or null if there is none.
    fn answer_user_line(&mut self) -> bool {
        let run = self.run.expect("the run was started");
        let inspected = self.host.load(run).expect("the run is stored");
        let open = self.host.store().approvals_in(&inspected).expect("the run is stored");
        if !open.iter().any(|open| open.approval.key == ApprovalKey::Line) {
            return false;
        }
        let line = self.runner.next_line().map_or(Value::Null, Value::from);
        self.host.send(run, ApprovalKey::Line.answer(None, &line, None), Ticket::default());
        true
    }

    fn turn(&mut self) {
        for output in self.host.turn(now_ms()).expect("the host can take its turn") {
            match output {
                TurnOutput::Perform { run, call, .. } => self.perform(run, call),
                TurnOutput::Withdraw { run, effect, .. } => {
                    self.flights.remove(&(run, effect)).into_iter().for_each(|(_, cancel)| cancel.cancel());
                }
                TurnOutput::Event(RunEvent { run, kind: RunEventKind::Notes(notes), .. })
                    if self.run.is_none_or(|own| own == run) =>
                {
                    self.notes.extend(notes);
                }
                TurnOutput::Event(RunEvent { id, kind: RunEventKind::Status(status, _), .. }) => {
                    self.ended |= &*id == "run" && status.is_final();
                }
                _ => {}
            }
        }
    }

    fn crash_if_enabled(&mut self) {
        if self.live.crashing && self.host.event_count() > 0 {
            // The old host is dropped first, which releases the lock of its process.
            self.host = RealClock { file: None, ..self.live.clone() }.host(&self.runner);
            self.host = self.live.host(&self.runner);
            self.host.resume(self.run.expect("the run was started"), true, Ticket::default());
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
        let (runner, answer_sender) = (self.runner.clone(), self.answer_sender.clone());
        self.scope.spawn(move || {
            let answer = runtime().block_on(runner.perform(&call, &cancel));
            // The receiver is gone if the run has ended.
            let _ = answer_sender.send((run, call, answer));
        });
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
