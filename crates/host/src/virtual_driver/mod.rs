//! The smallest way to drive a host: one run and its children under a virtual clock, with a runner that answers at once.
//!
//! It is for tests, vectors and runs that are only tried. The host below it is the same that runs under the real clock; its store
//! is in memory, or a file that is opened anew after every event, as if the process had been killed there.

mod calls;
mod simulated_answer;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use branchpoint_backend::{RequestChange, RunEventKind};
use branchpoint_core::ir::{Program, Status, ViewId};
use branchpoint_core::{
    Approval, ApprovalKey, Event, Note, Rejected, RequestNo, Stamp, State, TimerUse, approvals, status, view,
};
use branchpoint_expr::{Object, Value};

use crate::host::{Accepted, DrivenRuns, Host, Rejection, Start, Ticket, TurnOutput};
use crate::recordings::History;
use crate::store::{Document, Durability, RunNo, Store, Workflow};
use branchpoint_runners::{Answer, Call};
pub use simulated_answer::{CallSimulator, SimulatedAnswer};

use calls::{Calls, Working};

/// The id of the run, unless there are others in its store.
const RUN: &str = "run";

/// Takes the notes of a run.
pub type NoteListener = Box<dyn FnMut(&Note)>;

/// One run and everything it has asked for.
pub struct VirtualDriver<'p> {
    program: &'p Program,
    children: BTreeMap<Arc<str>, Program>,
    host: Host,
    id: String,
    run: Option<RunNo>,
    /// The state of a run that the host has put out of its memory, or that has not begun.
    at_rest: State,
    now_ms: i64,
    notes: Vec<Note>,
    /// Takes notes instead of the list.
    listener: Option<NoteListener>,
    calls: Calls,
    /// The runs of calls, by their ids.
    runs: HashMap<Arc<str>, RunNo>,
    questions: Vec<RequestedApproval>,
    answered: Option<Result<Accepted, Rejection>>,
    /// The file that is opened anew after every event.
    crashing: Option<PathBuf>,
}

/// A question that the run has put to people.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestedApproval {
    /// Its number.
    pub request: RequestNo,
    /// What was asked.
    pub spec: Value,
    /// When.
    pub requested_ms: i64,
    /// When people were reminded.
    pub reminded_ms: Vec<i64>,
    /// Whether it is still to be answered.
    pub is_open: bool,
}

impl<'p> VirtualDriver<'p> {
    /// A run that has not begun, at that time, in memory.
    pub fn new(program: &'p Program, now_ms: i64) -> Self {
        let store = Store::in_memory().expect("there is memory for a small database");
        Self::on(store, RUN.into(), program, now_ms)
    }

    /// A run in a file, under an id that no other run of the file has.
    pub fn in_file(file: &std::path::Path, id: String, program: &'p Program, now_ms: i64) -> Self {
        Self::on(open(file), id, program, now_ms)
    }

    /// Loses everything but the file after every event, and goes on from there.
    #[must_use]
    pub fn restarting(mut self) -> Self {
        self.crashing = self.host.store().path().map(Into::into);
        self
    }

    fn on(store: Store, id: String, program: &'p Program, now_ms: i64) -> Self {
        Self {
            program,
            children: BTreeMap::new(),
            host: host(store, now_ms),
            id,
            run: None,
            at_rest: State::new(),
            now_ms,
            notes: Vec::new(),
            listener: None,
            calls: Calls::default(),
            runs: HashMap::new(),
            questions: Vec::new(),
            answered: None,
            crashing: None,
        }
    }

    /// The same run, with workflows that it may call. Without them, calls go to the runner like any other.
    #[must_use]
    pub fn with_children(mut self, programs: &BTreeMap<Arc<str>, Program>) -> Self {
        self.children.clone_from(programs);
        self
    }

    /// The same run, whose notes are handed over as they come instead of being kept: a loop may make more than there is memory for.
    #[must_use]
    pub fn with_note_listener(mut self, listener: NoteListener) -> Self {
        self.listener = Some(listener);
        self
    }

    /// The same run, which may execute so many ops; 0 is no bound.
    #[must_use]
    pub fn with_max_ops(mut self, max_ops: u64) -> Self {
        self.host = self.host.with_max_ops(max_ops);
        self
    }

    /// Begins the run. Nothing is performed before [`Self::run_until_idle`].
    pub fn start(&mut self, input: Value, facts: Object) -> Result<(), Rejected> {
        let text = |text: &str| text.to_owned();
        let document = Document { name: text(&self.id), dialect: text(""), origin: text(""), text: text("") };
        let workflow = Workflow { document: &document, program: self.program, children: &self.children };
        let workflow = self.host.store().save(workflow, self.now_ms).expect("the program can be kept");
        let facts = facts.into_iter().map(|(name, fact)| (name.to_string(), fact)).collect();
        let start = Start { facts, watched: true, ..Start::new(workflow, self.id.clone(), input) };
        self.host.start(start, Ticket::default());
        self.turn();
        let taken = self.outcome()?;
        self.run = Some(taken.run);
        self.turned();
        Ok(())
    }

    /// Goes on until nothing can run by itself: calls are performed one after the other, in order, and pauses before
    /// another attempt pass. Waits and questions stay until somebody moves the clock.
    pub fn run_until_idle(&mut self, answers: &mut CallSimulator<'_>) {
        loop {
            self.finish();
            if let Some(call) = self.calls.next() {
                self.perform(call, answers);
            } else if let Some(at_ms) = self.next_by_itself().filter(|_| !self.calls.lacks_answers()) {
                self.move_to(at_ms);
            } else {
                break;
            }
        }
    }

    /// Moves the clock on. Timers fire at their own times on the way, and the run goes on between them.
    pub fn advance_clock(&mut self, ms: i64, answers: &mut CallSimulator<'_>) {
        self.advance_clock_to(self.now_ms.saturating_add(ms), answers);
    }

    /// Moves the clock to a time, as [`Self::advance_clock`] does. Time never goes back.
    pub fn advance_clock_to(&mut self, at_ms: i64, answers: &mut CallSimulator<'_>) {
        loop {
            self.run_until_idle(answers);
            match self.next_timer_ms() {
                Some(due_ms) if due_ms <= at_ms => self.move_to(due_ms),
                _ => break,
            }
        }
        self.now_ms = self.now_ms.max(at_ms);
    }

    /// When the first timer is due: how far to move the clock for something to happen.
    pub fn next_timer_ms(&self) -> Option<i64> {
        self.host.timers().map(|(due_ms, _)| due_ms).next()
    }

    /// Hands in a signal, and leaves it to [`Self::run_until_idle`] what follows.
    pub fn signal(&mut self, name: &str, payload: Value, sender: Option<&str>) -> Result<(), Rejected> {
        self.hand(Event::Signal { name: name.into(), payload, sender: sender.map(Into::into), key: None })
    }

    /// Answers an open approval as a user.
    pub fn answer(
        &mut self,
        approval: &ApprovalKey,
        user: Option<&str>,
        choice: &Value,
        comment: Option<&str>,
    ) -> Result<(), Rejected> {
        self.hand(approval.answer(user, choice, comment))
    }

    /// A vote on a question.
    pub fn vote(
        &mut self,
        request: RequestNo,
        user: &str,
        choice: &str,
        comment: Option<&str>,
    ) -> Result<(), Rejected> {
        self.answer(&ApprovalKey::Request(request), Some(user), &Value::from(choice), comment)
    }

    /// An operator calls a question off.
    pub fn cancel_request(&mut self, request: RequestNo, reason: Option<&str>) -> Result<(), Rejected> {
        let cancel = ApprovalKey::Request(request).cancel(None, reason);
        self.hand(cancel.expect("a request can be cancelled"))
    }

    /// Cancels the run.
    pub fn cancel(&mut self, reason: Option<&str>) -> Result<(), Rejected> {
        self.hand(Event::Cancel { reason: reason.map(Into::into) })
    }

    /// How the run stands.
    pub fn status(&self) -> Status {
        status(self.program, self.state())
    }

    /// The result object of a run that has ended.
    pub fn result(&self) -> Option<&Value> {
        self.state().result().map(|(_, result)| result)
    }

    /// A pure read of the run, by name; none if there is no such view or it cannot be read.
    pub fn view(&self, name: &str) -> Option<Value> {
        let id = self.program.views.iter().position(|view| &*view.name == name)?;
        view(self.program, self.state(), ViewId(u32::try_from(id).ok()?)).ok()
    }

    /// Puts the run out of memory and opens it again from what is stored of it.
    pub fn reload(&mut self) {
        if let Some(run) = self.run {
            self.finish();
            self.host.unload(run);
            self.turn();
            self.turned();
        }
    }

    /// Everything that was told, in order, unless a listener takes it.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// All questions that were asked, in order; those that were settled are not open.
    pub fn requested_approvals(&self) -> &[RequestedApproval] {
        &self.questions
    }

    /// The open approvals of the run.
    pub fn approvals(&self) -> Vec<Approval> {
        let specs = self.questions.iter().map(|question| (question.request, question.spec.clone()));
        approvals(self.program, self.state(), &specs.collect())
    }

    /// The state of the run.
    pub fn state(&self) -> &State {
        self.run.and_then(|run| self.host.state_in_memory(run)).unwrap_or(&self.at_rest)
    }

    /// The events that were taken.
    pub fn journal(&self) -> Vec<(Stamp, Event, u32)> {
        let journal = self.run.map(|run| self.host.store().journal(run));
        journal.map_or(Vec::new(), |journal| journal.expect("what was written can be read"))
    }

    /// The store of the run, to look at it.
    pub fn store(&self) -> &Store {
        self.host.store()
    }

    /// What the run and its child runs have asked for, and what came of it.
    pub fn history(&self) -> History {
        let history = self.run.map(|run| self.host.store().history(run));
        history.map_or_else(History::default, |history| history.expect("what was written can be read"))
    }

    /// The time.
    pub fn now_ms(&self) -> i64 {
        self.now_ms
    }

    fn perform(&mut self, call: Call, answers: &mut CallSimulator<'_>) {
        let SimulatedAnswer { answer, duration_ms, reports, is_lacking } = answers(&call);
        self.calls.note_lacking(is_lacking);
        let over_limit = call.attempt_limit_ms().is_some_and(|limit_ms| limit_ms < duration_ms);
        if answer == Answer::Missing || over_limit {
            return self.calls.hang(call, self.now_ms);
        }
        let ends_ms = self.now_ms.saturating_add(i64::try_from(duration_ms).unwrap_or(i64::MAX));
        let working = Working { call, ends_ms, reports, answer };
        if duration_ms == 0 { self.ended(working) } else { self.calls.work(working) }
    }

    /// What a call told while it went on comes before its answer. The run may not want to hear it.
    fn ended(&mut self, working: Working) {
        self.calls.ending = Some(working.call.clone());
        for (name, payload) in working.reports {
            let signal = Event::Signal { name, payload, sender: None, key: None };
            let run = self.runs[&working.call.run];
            drop(self.hand_to(run, signal));
            self.finish();
        }
        self.settle(&working.call, working.answer);
        self.calls.ending = None;
    }

    fn settle(&mut self, call: &Call, answer: Answer) {
        self.finish();
        self.host.settle(self.runs[&call.run], call, answer);
        self.turn();
        self.turned();
    }

    /// When the run goes on without anybody's doing: after the pause before an attempt, or when a call that hangs has
    /// taken too long, be it by its own limit or by that of a part of the run around it.
    fn next_by_itself(&self) -> Option<i64> {
        let hangs = self.calls.hangs();
        let timers = self.host.timers().filter(|(_, purpose)| match purpose {
            Some(TimerUse::Retry) => true,
            Some(TimerUse::Deadline | TimerUse::Wall) => hangs,
            _ => false,
        });
        let calls = self.calls.first_limit_ms().into_iter().chain(self.calls.first_end_ms());
        timers.map(|(at_ms, _)| at_ms).chain(calls).min()
    }

    /// Moves the clock to the first thing that is due by then, and lets it happen.
    fn move_to(&mut self, at_ms: i64) {
        if let Some(due_ms) = self.next_timer_ms().filter(|due_ms| *due_ms <= at_ms) {
            self.now_ms = self.now_ms.max(due_ms);
            return self.finish();
        }
        self.now_ms = self.now_ms.max(at_ms);
        if let Some(working) = self.calls.take_ended(self.now_ms) {
            return self.ended(working);
        }
        if let Some(call) = self.calls.take_over_limit(self.now_ms) {
            self.settle(&call, Answer::Missing);
        }
    }

    fn hand(&mut self, event: Event) -> Result<(), Rejected> {
        let run = self.run.ok_or(Rejected::NotStarted)?;
        self.hand_to(run, event)
    }

    fn hand_to(&mut self, run: RunNo, event: Event) -> Result<(), Rejected> {
        self.finish();
        self.host.send(run, event, Ticket::default());
        self.turn();
        let taken = self.outcome().map(drop);
        self.turned();
        taken
    }

    fn outcome(&mut self) -> Result<Accepted, Rejected> {
        match self.answered.take().expect("a host that has nothing to finish answers at once") {
            Ok(taken) => Ok(taken),
            Err(Rejection::Rejected(rejected)) => Err(rejected),
            Err(refused) => panic!("nobody else is here, and the host said: {refused}"),
        }
    }

    /// Lets the host do everything that is due now.
    fn finish(&mut self) {
        while self.host.next_ms().is_some_and(|at_ms| at_ms <= self.now_ms) {
            self.turn();
            self.turned();
        }
    }

    fn turn(&mut self) {
        for output in self.host.turn(self.now_ms).expect("the store takes what is written") {
            self.carry_out(output);
        }
    }

    /// After a turn, a run that is not in memory any more is looked at; a process that is killed after every event comes back first.
    fn turned(&mut self) {
        let Some(run) = self.run else { return };
        if let Some(file) = self.crashing.clone().filter(|_| self.host.event_count() > 0) {
            // The old host goes first: with it, the lock of its process.
            self.host = host(Store::in_memory().expect("there is memory for a small database"), self.now_ms);
            self.host = host(open(&file), self.now_ms);
            self.host.resume(run, true, Ticket::default());
            self.turn();
            self.answered = None;
        }
        if self.host.state_in_memory(run).is_none() {
            self.at_rest = self.host.load(run).expect("what was written can be read").state;
        }
    }

    fn carry_out(&mut self, output: TurnOutput) {
        match output {
            TurnOutput::Perform { run, call, .. } => {
                self.runs.insert(call.run.clone(), run);
                self.calls.push(call);
            }
            TurnOutput::Withdraw { id, effect, .. } => self.calls.withdraw(&id, effect),
            TurnOutput::OrderDone { outcome, .. } => self.answered = Some(outcome),
            // The first events come before the number of the run is known.
            TurnOutput::Event(event) if self.run.is_none_or(|own| own == event.run) => self.note(event.kind),
            TurnOutput::Event(_) => {}
        }
    }

    fn note(&mut self, event: RunEventKind) {
        match event {
            RunEventKind::Notes(notes) => match &mut self.listener {
                Some(listener) => notes.iter().for_each(listener),
                None => self.notes.extend(notes),
            },
            RunEventKind::Request(request, change) => self.note_request(request, change),
            RunEventKind::Broken(why) => panic!("what was written can be read, and the host said: {why}"),
            _ => {}
        }
    }

    fn note_request(&mut self, request: RequestNo, change: RequestChange) {
        let now_ms = self.now_ms;
        let question = self.questions.iter_mut().find(|question| question.request == request);
        match (change, question) {
            (RequestChange::Opened(spec), None) => {
                let question =
                    RequestedApproval { request, spec, requested_ms: now_ms, reminded_ms: Vec::new(), is_open: true };
                self.questions.push(question);
            }
            (RequestChange::Reminded(_), Some(question)) => question.reminded_ms.push(now_ms),
            (RequestChange::Closed(_), Some(question)) => question.is_open = false,
            _ => {}
        }
    }
}

fn host(store: Store, now_ms: i64) -> Host {
    let host = Host::new(store, "rehearsal", DrivenRuns::Requested, Arc::new(|_| Value::Null), now_ms);
    host.expect("the store can be used").deterministic()
}

/// What a power cut would lose is not what is tried here.
fn open(file: &std::path::Path) -> Store {
    Store::open(file, Durability::Normal).expect("the store can be opened")
}
