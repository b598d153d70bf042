//! Runs on Restate under a virtual clock. The server stores and advances them; this host passes the time and the answers of calls. It applies
//! each accepted event to a copy of the run, which must reach the same check word.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use branchpoint_backend::{
    Accepted, Rejection, RequestChange, RunEvent, RunEventKind, RunNo, Start, Workflow, WorkflowNo,
};
use branchpoint_core::codec::{decode_command, encode_event, encode_state, encode_value};
use branchpoint_core::ir::Program;
use branchpoint_core::{Command, Event, Fold, JournalRow, Offer, Stamp, State, TimerUse, advance, offers};
use branchpoint_expr::{Object, Value};
use branchpoint_host::VirtualHost;
use branchpoint_host::host::{MAX_OPS, Ticket, TurnOutput};
use branchpoint_host::store::Store;
use branchpoint_restate::messages::{Blob, DeliverMessage, Fact, Order, Reply, StartMessage};
use branchpoint_restate::settled;
use branchpoint_runners::{Answer, Call, runtime};

use super::live_run::row;
use super::{Server, server};

/// Runs on the server of this process.
pub struct SteppedHost {
    server: &'static Server,
    programs: HashMap<(i64, String), Arc<Program>>,
    runs: Vec<SteppedRun>,
    queue: VecDeque<Action>,
    /// Time limits of attempts that are child runs: when, of which run, effect and attempt.
    limits: BTreeSet<(i64, RunNo, u64, u32)>,
    outputs: Vec<TurnOutput>,
    max_ops: u64,
}

struct SteppedRun {
    id: Arc<str>,
    workflow: WorkflowNo,
    program: Arc<Program>,
    state: State,
}

enum Action {
    Start(String, Box<StartMessage>),
    StartChild { caller: RunNo, id: String, start: Box<StartMessage>, limit_ms: Option<u64> },
    Send(RunNo, Event),
    Deliver(String, Fact),
}

impl Default for SteppedHost {
    fn default() -> Self {
        let (programs, runs, queue, limits) = (HashMap::new(), Vec::new(), VecDeque::new(), BTreeSet::new());
        Self { server: server(), programs, runs, queue, limits, outputs: Vec::new(), max_ops: MAX_OPS }
    }
}

impl SteppedHost {
    fn run(&self, run: RunNo) -> &SteppedRun {
        &self.runs[index(run)]
    }

    fn find(&self, id: &str) -> Option<RunNo> {
        let index = self.runs.iter().position(|run| &*run.id == id)?;
        i64::try_from(index).ok().map(RunNo)
    }

    fn execute(&mut self, action: Action, now_ms: i64) {
        match action {
            Action::Start(id, start) => {
                let outcome = self.start_run(&id, &StartMessage { at_ms: now_ms, ..*start });
                self.outputs.push(TurnOutput::OrderDone { ticket: Ticket::default(), outcome });
            }
            Action::StartChild { caller, id, start, limit_ms } => {
                let called = start.parent.clone().expect("a child run has a parent");
                if let Some(limit_ms) = limit_ms {
                    let due_ms = now_ms.saturating_add(i64::try_from(limit_ms).unwrap_or(i64::MAX));
                    self.limits.insert((due_ms, caller, called.effect, called.attempt));
                }
                if let Err(rejection) = self.start_run(&id, &StartMessage { at_ms: now_ms, ..*start }) {
                    let (effect, attempt, reason) = (called.effect, called.attempt, rejection.to_string());
                    self.queue.push_back(Action::Deliver(called.id, Fact::ChildRejected { effect, attempt, reason }));
                }
            }
            Action::Send(run, event) => {
                let outcome = self.deliver(run, stored(&event), now_ms).map(|new| Accepted { run, new });
                self.outputs.push(TurnOutput::OrderDone { ticket: Ticket::default(), outcome });
            }
            Action::Deliver(id, fact) => {
                // A child run that has not started needs no cancellation.
                if let Some(run) = self.find(&id) {
                    let _ = self.deliver(run, fact, now_ms);
                }
            }
        }
    }

    fn start_run(&mut self, id: &str, start: &StartMessage) -> Result<Accepted, Rejection> {
        let program = self.programs.get(&(start.workflow, start.part.clone())).cloned();
        let program = program.ok_or_else(|| Rejection::NoPart(start.part.clone()))?;
        let reply = runtime().block_on(self.server.client().start(id, start)).expect("the server responds");
        reply.outcome.clone()?;
        let workflow = WorkflowNo(start.workflow);
        self.runs.push(SteppedRun { id: id.into(), workflow, program, state: State::new() });
        let run = self.find(id).expect("it was added");
        self.accept(run, reply, start.at_ms).map(|new| Accepted { run, new })
    }

    fn deliver(&mut self, run: RunNo, fact: Fact, now_ms: i64) -> Result<bool, Rejection> {
        let message = DeliverMessage { fact, at_ms: Some(now_ms) };
        let id = self.run(run).id.clone();
        let reply = runtime().block_on(self.server.client().deliver(&id, &message)).expect("the server responds");
        self.accept(run, reply, now_ms)
    }

    /// Applies the accepted events to the copy of the run, and queues the orders.
    fn accept(&mut self, run: RunNo, reply: Reply, now_ms: i64) -> Result<bool, Rejection> {
        for accepted in reply.rows {
            let (stamp, event, check) = row(&accepted);
            let SteppedRun { program, state, .. } = &mut self.runs[index(run)];
            let stamp = Stamp { record: true, ..stamp };
            let outcome = advance(program, state, &stamp, event).expect("the event was accepted");
            assert_eq!(outcome.check, check, "the server and the copy differ");
            if !outcome.trace.is_empty() {
                self.report(run, RunEventKind::Notes(outcome.trace));
            }
            for command in outcome.commands {
                self.report_request(run, command, now_ms);
            }
        }
        for order in reply.orders {
            self.carry_out(run, order);
        }
        reply.outcome
    }

    fn report_request(&mut self, run: RunNo, command: Command, now_ms: i64) {
        let (request, change) = match command {
            Command::Ask { request, spec } => (request, RequestChange::Opened(spec)),
            Command::Escalate { request, users } => (request, RequestChange::Escalated(users)),
            Command::Retract { request } => (request, RequestChange::Closed(None)),
            Command::Remind { request, users } => {
                let SteppedRun { program, state, .. } = self.run(run);
                let open = offers(program, state).into_iter().find_map(|offer| match offer {
                    Offer::Vote { request: of, details } if of == request => Some(details),
                    _ => None,
                });
                // Of several reminders that are due at once, only the last one is sent.
                if open.and_then(|open| open.next_due_ms()).is_some_and(|due_ms| due_ms <= now_ms) {
                    return;
                }
                (request, RequestChange::Reminded(users))
            }
            _ => return,
        };
        self.report(run, RunEventKind::Request(request, change));
    }

    fn report(&mut self, run: RunNo, kind: RunEventKind) {
        let id = self.run(run).id.clone();
        self.outputs.push(TurnOutput::Event(RunEvent { run, id, kind }));
    }

    fn carry_out(&mut self, run: RunNo, order: Order) {
        let SteppedRun { id, workflow, program, .. } = self.run(run);
        match order {
            Order::Perform { command, place } => {
                let command = decode_command(&command.0).expect("the stored command can be read");
                let call = Call::from_command(program, id, &"".into(), command).expect("the command performs a call");
                let call = Call { callers: place.callers.into(), path: place.path, ..call };
                self.outputs.push(TurnOutput::Perform { run, workflow: *workflow, call, reply: None });
            }
            Order::Withdraw { effect } => {
                let (id, effect) = (id.clone(), branchpoint_core::EffectNo(effect));
                self.outputs.push(TurnOutput::Withdraw { run, id, effect });
            }
            Order::StartChild { id, start, limit_ms } => {
                self.queue.push_back(Action::StartChild { caller: run, id, start, limit_ms });
            }
            Order::Deliver { id, fact } => self.queue.push_back(Action::Deliver(id, fact)),
        }
    }

    /// The open runs with their numbers.
    fn open(&self) -> impl Iterator<Item = (RunNo, &SteppedRun)> {
        let numbered = (0..).map(RunNo).zip(&self.runs);
        numbered.filter(|(_, run)| run.state.result().is_none())
    }

    /// Asserts that the journal and the snapshot on the server give the state of the copy.
    fn verify(&self, run: RunNo, journal: &[JournalRow]) {
        let SteppedRun { id, program, state, .. } = self.run(run);
        let folded = Fold::new(program, State::new(), journal.to_vec()).finish().expect("the stored journal folds");
        let copy = encode_state(state);
        assert_eq!(encode_state(&folded), copy, "the stored journal of {id} gives another state");
        assert_eq!(encode_state(&self.stored_state(run)), copy, "the stored state of {id} differs");
    }
}

impl VirtualHost for SteppedHost {
    fn save(&mut self, workflow: Workflow<'_>, now_ms: i64) -> WorkflowNo {
        let saved = runtime().block_on(self.server.client().save(workflow, now_ms)).expect("the program can be stored");
        self.programs.insert((saved.0, String::new()), Arc::new(workflow.program.clone()));
        for (name, program) in workflow.children {
            self.programs.insert((saved.0, name.to_string()), Arc::new(program.clone()));
        }
        saved
    }

    fn set_max_ops(&mut self, max_ops: u64) {
        self.max_ops = max_ops;
    }

    fn start(&mut self, start: Start) {
        let program = self.programs.get(&(start.workflow.0, start.part.to_string()));
        let mut facts: Object = start.facts.into_iter().map(|(name, fact)| (name.into(), fact)).collect();
        // This host has no facts of its own, except the id.
        for name in program.iter().flat_map(|program| &program.facts).filter(|name| &***name != "run_id") {
            facts.entry(name.clone()).or_insert(Value::Null);
        }
        let message = StartMessage {
            workflow: start.workflow.0,
            part: start.part.to_string(),
            input: Blob(encode_value(&start.input).expect("the input can be stored")),
            facts: Some(Blob(encode_value(&Value::from(facts)).expect("facts can be stored"))),
            folder: start.folder.to_string(),
            depth: start.depth,
            budget: start.budget,
            max_ops: self.max_ops,
            parent: None,
            tags: Vec::new(),
            at_ms: 0,
            stepped: true,
        };
        self.queue.push_back(Action::Start(start.id, Box::new(message)));
    }

    fn send(&mut self, run: RunNo, event: Event) {
        self.queue.push_back(Action::Send(run, event));
    }

    fn settle(&mut self, run: RunNo, call: &Call, answer: Answer) {
        self.queue.push_back(Action::Deliver(self.run(run).id.to_string(), settled(call, answer)));
    }

    fn turn(&mut self, now_ms: i64) -> Vec<TurnOutput> {
        for _ in 0..self.queue.len() {
            if let Some(action) = self.queue.pop_front() {
                self.execute(action, now_ms);
            }
        }
        let due = |run: &SteppedRun| run.state.timers().any(|(_, due_ms)| due_ms <= now_ms);
        let due: Vec<RunNo> = self.open().filter(|(_, run)| due(run)).map(|(run, _)| run).collect();
        for run in due {
            self.deliver(run, Fact::Wake, now_ms).expect("a run accepts its timers");
        }
        while let Some(over) = self.limits.first().copied().filter(|(due_ms, ..)| *due_ms <= now_ms) {
            self.limits.remove(&over);
            let (_, run, effect, attempt) = over;
            self.deliver(run, Fact::ChildOverdue { effect, attempt }, now_ms).expect("a run accepts the time limit");
        }
        std::mem::take(&mut self.outputs)
    }

    fn next_ms(&self) -> Option<i64> {
        if !self.queue.is_empty() {
            return Some(i64::MIN);
        }
        let timers = self.timers().first().map(|(due_ms, _)| *due_ms);
        let limits = self.limits.first().map(|(due_ms, ..)| *due_ms);
        timers.into_iter().chain(limits).min()
    }

    fn timers(&self) -> Vec<(i64, Option<TimerUse>)> {
        let timers = self.open().flat_map(|(no, run)| {
            run.state.timers().map(move |(timer, due_ms)| ((due_ms, no, timer), run.state.timer_use(timer)))
        });
        let timers: BTreeMap<_, _> = timers.collect();
        timers.into_iter().map(|((due_ms, ..), purpose)| (due_ms, purpose)).collect()
    }

    fn state(&self, run: RunNo) -> Option<&State> {
        Some(&self.run(run).state)
    }

    fn stored_state(&self, run: RunNo) -> State {
        let state = runtime().block_on(self.server.client().state(&self.run(run).id)).expect("the server responds");
        state.expect("the run exists")
    }

    fn journal(&self, run: RunNo) -> Vec<JournalRow> {
        let journal = runtime().block_on(self.server.client().journal(&self.run(run).id)).expect("the server responds");
        let journal: Vec<JournalRow> = journal.iter().map(row).collect();
        self.verify(run, &journal);
        journal
    }

    fn unload(&mut self, run: RunNo) {
        let stored = self.stored_state(run);
        self.runs[index(run)].state = stored;
    }

    fn store(&self) -> Option<&Store> {
        None
    }

    fn crash(&mut self, _: RunNo, _: i64) -> bool {
        false
    }
}

fn index(run: RunNo) -> usize {
    usize::try_from(run.0).expect("numbers of runs are indexes")
}

/// The fact of an event. An event that cannot be stored is one that the run rejects.
fn stored(event: &Event) -> Fact {
    Fact::Event(Blob(encode_event(&Stamp::default(), event).expect("events of vectors can be stored")))
}
