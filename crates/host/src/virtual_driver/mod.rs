//! Drives one run and its child runs under a virtual clock, with simulated answers.
//!
//! It is for tests, vectors and dry runs. It uses the same host as the real driver; the store is in memory, or a file that can be opened
//! again after every event, as if the process had been killed.

mod calls;
mod inspect;
mod simulated_answer;
mod virtual_host;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use branchpoint_backend::{RequestChange, RunEventKind};
use branchpoint_core::ir::Program;
use branchpoint_core::{ApprovalKey, Event, Note, Rejected, RequestNo, State, TimerUse};
use branchpoint_expr::{Object, Value};

use crate::host::{Accepted, Rejection, Start, TurnOutput};
use crate::store::{Document, RunNo, Store, Workflow};
use branchpoint_runners::{Answer, Call};
pub use simulated_answer::{CallSimulator, SimulatedAnswer};
pub use virtual_host::VirtualHost;

use calls::{Calls, RunningCall};
use virtual_host::{host, open};

/// The id of the run in a store in memory.
const RUN: &str = "run";

/// Receives the notes of a run.
pub type NoteListener = Box<dyn FnMut(&Note)>;

/// Drives one run under a virtual clock.
pub struct VirtualDriver<'p> {
    program: &'p Program,
    children: BTreeMap<Arc<str>, Program>,
    host: Box<dyn VirtualHost>,
    id: String,
    run: Option<RunNo>,
    /// The state of a run that the host has unloaded, or that has not begun.
    unloaded_state: State,
    now_ms: i64,
    notes: Vec<Note>,
    /// Receives the notes instead of `notes`.
    listener: Option<NoteListener>,
    calls: Calls,
    /// The runs of calls, by their ids.
    runs: HashMap<Arc<str>, RunNo>,
    requested: Vec<RequestedApproval>,
    /// The outcome of the last order.
    outcome: Option<Result<Accepted, Rejection>>,
    /// Whether the host crashes after every event.
    restarts: bool,
}

/// A request of the run to people.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestedApproval {
    /// Its number.
    pub request: RequestNo,
    /// Its specification.
    pub spec: Value,
    /// When it was opened.
    pub requested_ms: i64,
    /// When people were reminded.
    pub reminded_ms: Vec<i64>,
    /// Whether it is open.
    pub is_open: bool,
}

impl<'p> VirtualDriver<'p> {
    /// Creates a driver for a run in memory, at a time.
    ///
    /// ```
    #[doc = include_str!("../../docs/call.txt")]
    /// let driver = VirtualDriver::new(&program, 1_000);
    /// assert_eq!(driver.now_ms(), 1_000);
    /// ```
    pub fn new(program: &'p Program, now_ms: i64) -> Self {
        let store = Store::in_memory().expect("there is memory for a small database");
        Self::on(Box::new(host(store, now_ms)), RUN.into(), program, now_ms)
    }

    /// Creates a driver for a run in a file, with an id that no other run of the file has.
    ///
    /// ```
    #[doc = include_str!("../../docs/call.txt")]
    /// let folder = tempfile::tempdir().unwrap();
    /// let path = folder.path().join("store.db");
    /// let driver = VirtualDriver::in_file(&path, "r-1".into(), &program, 0);
    /// assert_eq!(driver.store().path(), Some(&*path));
    /// ```
    pub fn in_file(file: &std::path::Path, id: String, program: &'p Program, now_ms: i64) -> Self {
        Self::on(Box::new(host(open(file), now_ms)), id, program, now_ms)
    }

    /// Restarts the host from the file after every event, as after a crash.
    ///
    /// ```
    #[doc = include_str!("../../docs/call.txt")]
    /// let folder = tempfile::tempdir().unwrap();
    /// let path = folder.path().join("store.db");
    /// let mut driver = VirtualDriver::in_file(&path, "r-1".into(), &program, 0).restarting();
    /// driver.start(Value::Null, Object::default()).unwrap();
    /// driver.run_until_idle(&mut |_call| Answer::data("hello").into());
    /// assert_eq!(driver.status(), Status::Completed);
    /// ```
    #[must_use]
    pub fn restarting(mut self) -> Self {
        self.restarts = true;
        self
    }

    /// Creates a driver for a run on a host, with an id that no other run of the host has.
    ///
    /// ```
    /// use branchpoint_core::ir::Program;
    /// use branchpoint_host::{VirtualDriver, VirtualHost};
    ///
    /// fn driver<'p>(host: Box<dyn VirtualHost>, program: &'p Program) -> VirtualDriver<'p> {
    ///     VirtualDriver::on(host, "r-1".into(), program, 0)
    /// }
    /// ```
    pub fn on(host: Box<dyn VirtualHost>, id: String, program: &'p Program, now_ms: i64) -> Self {
        Self {
            program,
            children: BTreeMap::new(),
            host,
            id,
            run: None,
            unloaded_state: State::new(),
            now_ms,
            notes: Vec::new(),
            listener: None,
            calls: Calls::default(),
            runs: HashMap::new(),
            requested: Vec::new(),
            outcome: None,
            restarts: false,
        }
    }

    /// Sets the workflows that the run may call. Calls of other workflows are simulated like any other call.
    ///
    /// ```
    #[doc = include_str!("../../docs/call.txt")]
    /// use std::collections::BTreeMap;
    ///
    /// let child = Builder::sample();
    /// let children = BTreeMap::from([("child".into(), child)]);
    /// let driver = VirtualDriver::new(&program, 0).with_children(&children);
    /// ```
    #[must_use]
    pub fn with_children(mut self, programs: &BTreeMap<Arc<str>, Program>) -> Self {
        self.children.clone_from(programs);
        self
    }

    /// Passes the notes to a listener instead of collecting them, because a loop may produce more than fits in memory.
    ///
    /// ```
    #[doc = include_str!("../../docs/call.txt")]
    /// let driver = VirtualDriver::new(&program, 0).with_note_listener(Box::new(|note| println!("{:?}", note.kind)));
    /// assert!(driver.notes().is_empty());
    /// ```
    #[must_use]
    pub fn with_note_listener(mut self, listener: NoteListener) -> Self {
        self.listener = Some(listener);
        self
    }

    /// Sets the most ops that the run may execute; 0 means no limit.
    ///
    /// ```
    #[doc = include_str!("../../docs/call.txt")]
    /// let driver = VirtualDriver::new(&program, 0).with_max_ops(1_000_000);
    /// ```
    #[must_use]
    pub fn with_max_ops(mut self, max_ops: u64) -> Self {
        self.host.set_max_ops(max_ops);
        self
    }

    /// Starts the run. Nothing is performed before [`Self::run_until_idle`].
    ///
    /// ```
    #[doc = include_str!("../../docs/call.txt")]
    /// let mut driver = VirtualDriver::new(&program, 0);
    /// driver.start(Value::Null, Object::default()).unwrap();
    /// assert_eq!(driver.status(), Status::Running);
    /// ```
    pub fn start(&mut self, input: Value, facts: Object) -> Result<(), Rejected> {
        let text = |text: &str| text.to_owned();
        let document = Document { name: text(&self.id), dialect: text(""), origin: text(""), text: text("") };
        let workflow = Workflow { document: &document, program: self.program, children: &self.children };
        let workflow = self.host.save(workflow, self.now_ms);
        let facts = facts.into_iter().map(|(name, fact)| (name.to_string(), fact)).collect();
        let start = Start { facts, watched: true, ..Start::new(workflow, self.id.clone(), input) };
        self.host.start(start);
        self.turn();
        let accepted = self.take_outcome()?;
        self.run = Some(accepted.run);
        self.after_turn();
        Ok(())
    }

    /// Runs until no call is pending: calls are performed one after the other, in order, and pauses before retries pass. Waits and
    /// requests to people stay until the clock is advanced.
    ///
    /// ```
    #[doc = include_str!("../../docs/virtual.txt")]
    /// driver.run_until_idle(&mut |_call| Answer::data("hello").into());
    /// assert_eq!(driver.result(), Some(&"hello".into()));
    /// ```
    pub fn run_until_idle(&mut self, answers: &mut CallSimulator<'_>) {
        loop {
            self.finish();
            if let Some(call) = self.calls.next() {
                self.perform(call, answers);
            } else if let Some(at_ms) = self.next_automatic_ms().filter(|_| !self.calls.has_missing_answers()) {
                self.move_to(at_ms);
            } else {
                break;
            }
        }
    }

    /// Advances the clock. Timers fire at their own times, and the run continues between them.
    ///
    /// ```
    #[doc = include_str!("../../docs/virtual.txt")]
    /// driver.advance_clock(60_000, &mut |_call| Answer::data("hello").into());
    /// assert_eq!(driver.now_ms(), 60_000);
    /// ```
    pub fn advance_clock(&mut self, ms: i64, answers: &mut CallSimulator<'_>) {
        self.advance_clock_to(self.now_ms.saturating_add(ms), answers);
    }

    /// Advances the clock to a time, as [`Self::advance_clock`] does. Time never goes back.
    ///
    /// ```
    #[doc = include_str!("../../docs/virtual.txt")]
    /// driver.advance_clock_to(60_000, &mut |_call| Answer::data("hello").into());
    /// assert_eq!(driver.now_ms(), 60_000);
    /// ```
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

    /// When the first timer is due.
    ///
    /// ```
    #[doc = include_str!("../../docs/virtual.txt")]
    /// assert_eq!(driver.next_timer_ms(), None);
    /// ```
    pub fn next_timer_ms(&self) -> Option<i64> {
        self.host.timers().first().map(|(due_ms, _)| *due_ms)
    }

    /// Sends a signal. Nothing is performed before [`Self::run_until_idle`].
    ///
    /// ```
    #[doc = include_str!("../../docs/virtual.txt")]
    /// let rejected = driver.signal("line", "hello".into(), Some("ada"));
    /// assert!(rejected.is_err(), "the run has no such signal");
    /// ```
    pub fn signal(&mut self, name: &str, payload: Value, sender: Option<&str>) -> Result<(), Rejected> {
        self.deliver(Event::Signal { name: name.into(), payload, sender: sender.map(Into::into), key: None })
    }

    /// Answers an open approval as a user.
    ///
    /// ```
    #[doc = include_str!("../../docs/approval.txt")]
    /// let approval = driver.approvals()[0].key.clone();
    /// driver.answer(&approval, Some("ada"), &"approve".into(), Some("fine")).unwrap();
    /// assert_eq!(driver.status(), Status::Completed);
    /// ```
    pub fn answer(
        &mut self,
        approval: &ApprovalKey,
        user: Option<&str>,
        choice: &Value,
        comment: Option<&str>,
    ) -> Result<(), Rejected> {
        self.deliver(approval.answer(user, choice, comment))
    }

    /// Votes on a request.
    ///
    /// ```
    #[doc = include_str!("../../docs/approval.txt")]
    /// let request = driver.requested_approvals()[0].request;
    /// assert!(driver.vote(request, "bob", "approve", None).is_err(), "bob is not a recipient");
    /// driver.vote(request, "ada", "approve", None).unwrap();
    /// assert_eq!(driver.result().unwrap().get("outcome"), Some(&"approve".into()));
    /// ```
    pub fn vote(
        &mut self,
        request: RequestNo,
        user: &str,
        choice: &str,
        comment: Option<&str>,
    ) -> Result<(), Rejected> {
        self.answer(&ApprovalKey::Request(request), Some(user), &Value::from(choice), comment)
    }

    /// Cancels a request as an operator.
    ///
    /// ```
    #[doc = include_str!("../../docs/approval.txt")]
    /// let request = driver.requested_approvals()[0].request;
    /// driver.cancel_request(request, Some("no longer needed")).unwrap();
    /// assert!(!driver.requested_approvals()[0].is_open);
    /// ```
    pub fn cancel_request(&mut self, request: RequestNo, reason: Option<&str>) -> Result<(), Rejected> {
        let cancel = ApprovalKey::Request(request).cancel(None, reason);
        self.deliver(cancel.expect("a request can be cancelled"))
    }

    /// Cancels the run.
    ///
    /// ```
    #[doc = include_str!("../../docs/virtual.txt")]
    /// driver.cancel(Some("enough")).unwrap();
    /// assert_eq!(driver.status(), Status::Cancelled);
    /// ```
    pub fn cancel(&mut self, reason: Option<&str>) -> Result<(), Rejected> {
        self.deliver(Event::Cancel { reason: reason.map(Into::into) })
    }

    /// Unloads the run and opens it again from the store.
    ///
    /// ```
    #[doc = include_str!("../../docs/approval.txt")]
    /// driver.reload();
    /// assert_eq!(driver.status(), Status::WaitingPeople);
    /// ```
    pub fn reload(&mut self) {
        if let Some(run) = self.run {
            self.finish();
            self.host.unload(run);
            self.turn();
            self.after_turn();
        }
    }

    fn perform(&mut self, call: Call, answers: &mut CallSimulator<'_>) {
        let SimulatedAnswer { answer, duration_ms, reports, is_missing } = answers(&call);
        self.calls.record_missing(is_missing);
        let over_limit = call.attempt_limit_ms().is_some_and(|limit_ms| limit_ms < duration_ms);
        if answer == Answer::Missing || over_limit {
            return self.calls.hang(call, self.now_ms);
        }
        let ends_ms = self.now_ms.saturating_add(i64::try_from(duration_ms).unwrap_or(i64::MAX));
        let running = RunningCall { call, ends_ms, reports, answer };
        if duration_ms == 0 { self.end_call(running) } else { self.calls.start(running) }
    }

    /// Ends a call: its reports are signals that come before its answer. The run may reject them.
    fn end_call(&mut self, running: RunningCall) {
        self.calls.ending = Some(running.call.clone());
        for (name, payload) in running.reports {
            let signal = Event::Signal { name, payload, sender: None, key: None };
            let run = self.runs[&running.call.run];
            drop(self.deliver_to(run, signal));
            self.finish();
        }
        self.settle(&running.call, running.answer);
        self.calls.ending = None;
    }

    fn settle(&mut self, call: &Call, answer: Answer) {
        self.finish();
        self.host.settle(self.runs[&call.run], call, answer);
        self.turn();
        self.after_turn();
    }

    /// When the run continues without input: after the pause before a retry, at the end of a running call, or at a time limit of a call
    /// that hangs or of a scope around it.
    fn next_automatic_ms(&self) -> Option<i64> {
        let hangs = self.calls.hangs();
        let timers = self.host.timers().into_iter().filter(|(_, purpose)| match purpose {
            Some(TimerUse::Retry) => true,
            Some(TimerUse::Deadline | TimerUse::Wall) => hangs,
            _ => false,
        });
        let calls = self.calls.first_limit_ms().into_iter().chain(self.calls.first_end_ms());
        timers.map(|(at_ms, _)| at_ms).chain(calls).min()
    }

    /// Moves the clock to the first timer, end or limit that is due by then, and processes it.
    fn move_to(&mut self, at_ms: i64) {
        if let Some(due_ms) = self.next_timer_ms().filter(|due_ms| *due_ms <= at_ms) {
            self.now_ms = self.now_ms.max(due_ms);
            return self.finish();
        }
        self.now_ms = self.now_ms.max(at_ms);
        if let Some(running) = self.calls.take_ended(self.now_ms) {
            return self.end_call(running);
        }
        if let Some(call) = self.calls.take_over_limit(self.now_ms) {
            self.settle(&call, Answer::Missing);
        }
    }

    /// Delivers an event to the run, and leaves it to [`Self::run_until_idle`] what follows.
    pub fn deliver(&mut self, event: Event) -> Result<(), Rejected> {
        let run = self.run.ok_or(Rejected::NotStarted)?;
        self.deliver_to(run, event)
    }

    fn deliver_to(&mut self, run: RunNo, event: Event) -> Result<(), Rejected> {
        self.finish();
        self.host.send(run, event);
        self.turn();
        let delivered = self.take_outcome().map(drop);
        self.after_turn();
        delivered
    }

    fn take_outcome(&mut self) -> Result<Accepted, Rejected> {
        match self.outcome.take().expect("an order to an idle host has an outcome after one turn") {
            Ok(accepted) => Ok(accepted),
            Err(Rejection::Rejected(rejected)) => Err(rejected),
            Err(rejection) => panic!("no other process uses the store, but the host rejected an order: {rejection}"),
        }
    }

    /// Takes turns until nothing is due any more.
    fn finish(&mut self) {
        while self.host.next_ms().is_some_and(|at_ms| at_ms <= self.now_ms) {
            self.turn();
            self.after_turn();
        }
    }

    fn turn(&mut self) {
        for output in self.host.turn(self.now_ms) {
            self.carry_out(output);
        }
    }

    /// Restarts the host if it crashes after every event, and loads the state of an unloaded run.
    fn after_turn(&mut self) {
        let Some(run) = self.run else { return };
        if self.restarts && self.host.crash(run, self.now_ms) {
            self.turn();
            self.outcome = None;
        }
        if self.host.state(run).is_none() {
            self.unloaded_state = self.host.stored_state(run);
        }
    }

    fn carry_out(&mut self, output: TurnOutput) {
        match output {
            TurnOutput::Perform { run, call, .. } => {
                self.runs.insert(call.run.clone(), run);
                self.calls.push(call);
            }
            TurnOutput::Withdraw { id, effect, .. } => self.calls.withdraw(&id, effect),
            TurnOutput::OrderDone { outcome, .. } => self.outcome = Some(outcome),
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
            RunEventKind::Broken(why) => panic!("stored data can be read, but the host reported: {why}"),
            _ => {}
        }
    }

    fn note_request(&mut self, request: RequestNo, change: RequestChange) {
        let now_ms = self.now_ms;
        let requested = self.requested.iter_mut().find(|requested| requested.request == request);
        match (change, requested) {
            (RequestChange::Opened(spec), None) => {
                let requested =
                    RequestedApproval { request, spec, requested_ms: now_ms, reminded_ms: Vec::new(), is_open: true };
                self.requested.push(requested);
            }
            (RequestChange::Reminded(_), Some(requested)) => requested.reminded_ms.push(now_ms),
            (RequestChange::Closed(_), Some(requested)) => requested.is_open = false,
            _ => {}
        }
    }
}
