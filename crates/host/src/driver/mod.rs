//! Drives a host under the real clock: one thread accepts events and writes, others perform calls.
//!
//! One thread both advances runs and commits. A commit is short, and events that arrive meanwhile share the next one, so a busy
//! host writes more events per commit.

mod calls;

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use branchpoint_backend::{EventListener, RunEvent, RunEventKind};
use branchpoint_core::Event;
use branchpoint_core::effect::ProcessResult;

use crate::host::{Accepted, CallSource, Host, Rejection, RunView, Start, Ticket, TurnOutput};
use crate::store::{RunNo, StoreError, WorkflowNo};
use branchpoint_runners::Answer;
use branchpoint_runners::Runner;
pub use calls::CallLimits;
use calls::{Calls, EndedCall};

/// How often the driver checks whether another process has written to the store.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How often the driver looks for runs whose process has died.
const DEAD_OWNER_INTERVAL: Duration = Duration::from_secs(1);

/// How long cancelled calls may take to end their processes and connections.
const CANCEL_GRACE: Duration = Duration::from_secs(2);

/// The most turns that a driver uses to empty its queue before it closes.
const LAST_TURNS: usize = 64;

/// The most of these turns that may fail to get the write lock of the store, each after waiting for it.
const LAST_BUSY_TURNS: usize = 2;

/// Capacity of the queue of messages to the driver. Senders block while it is full.
const MAILBOX: usize = 10_000;

/// The most messages received before the next turn: about as many as a turn applies, so that further senders block.
const MESSAGES_PER_TURN: usize = 4_096;

/// Outcome of an order to the host.
pub type OrderResult = Result<Accepted, Rejection>;

/// A host that runs on its own thread.
#[derive(Debug)]
pub struct Driver {
    mailbox: SyncSender<Message>,
    thread: Mutex<Option<DriverThread>>,
}

type DriverThread = JoinHandle<Result<(), StoreError>>;

/// Receives the outcome of an order, on the driver's thread.
pub(crate) type OnOutcome = Box<dyn FnOnce(OrderResult) + Send>;

/// Queues an order under a ticket.
type HostOrder = Box<dyn FnOnce(&mut Host, Ticket) + Send>;

enum Message {
    /// An order whose outcome is known after a later turn.
    Order(HostOrder, OnOutcome),
    /// Work between two turns.
    Work(Box<dyn FnOnce(&mut Host) + Send>),
    Listen(EventListener),
    CallEnded(Box<EndedCall>),
    Stop(Duration),
}

impl Driver {
    /// Starts the thread of a driver, which performs calls through `runner`.
    ///
    /// ```
    #[doc = include_str!("../../docs/driver.txt")]
    /// assert!(driver.is_alive());
    /// ```
    pub fn new(host: Host, runner: Arc<dyn Runner>, limits: CallLimits) -> Self {
        let (mailbox, messages) = sync_channel(MAILBOX);
        let back = mailbox.clone();
        let body = move || {
            let on_end = Box::new(move |ended| drop(back.send(Message::CallEnded(Box::new(ended)))));
            let calls = Calls::new(runner, limits, on_end);
            let listeners = Vec::new();
            Loop { host, calls, listeners, callers: HashMap::new(), last_ticket: 0, deadline: None }.run(&messages)
        };
        Self { mailbox, thread: Mutex::new(Some(thread::spawn(body))) }
    }

    /// Starts a run. It is stored when this returns.
    ///
    /// ```
    #[doc = include_str!("../../docs/driver.txt")]
    /// let start = Start::new(workflow, "r-1".into(), Value::from("hello"));
    /// let accepted = driver.start(start).unwrap().unwrap();
    /// assert!(accepted.new);
    /// ```
    pub fn start(&self, start: Start) -> Result<OrderResult, StoreError> {
        self.order(move |host, ticket| host.start(start, ticket))
    }

    /// Queues the start of a run. It is stored when the result arrives.
    ///
    /// ```
    #[doc = include_str!("../../docs/driver.txt")]
    /// let start = Start::new(workflow, "r-1".into(), Value::from("hello"));
    /// let outcome = driver.begin(start).unwrap();
    /// assert!(outcome.recv().unwrap().is_ok());
    /// ```
    pub fn begin(&self, start: Start) -> Result<Receiver<OrderResult>, StoreError> {
        self.queue(move |host, ticket| host.start(start, ticket))
    }

    /// Queues the start of a run. `done` receives the outcome on the driver's thread when the run is stored, and must return quickly. It is
    /// dropped if the driver stops before.
    pub(crate) fn start_then(&self, start: Start, done: OnOutcome) -> Result<(), StoreError> {
        self.post(Message::Order(Box::new(move |host, ticket| host.start(start, ticket)), done))
    }

    /// Sends an event to a run. It is stored when this returns.
    ///
    /// ```
    #[doc = include_str!("../../docs/driver.txt")]
    /// let start = Start::new(workflow, "r-1".into(), Value::from("hello"));
    /// let run = driver.start(start).unwrap().unwrap().run;
    /// let sent = driver.send(run, Event::Cancel { reason: None }).unwrap();
    /// assert!(sent.is_err(), "the run has ended");
    /// ```
    pub fn send(&self, run: RunNo, event: Event) -> Result<OrderResult, StoreError> {
        self.order(move |host, ticket| host.send(run, event, ticket))
    }

    /// Continues a run that no process drives, and watches it.
    ///
    /// ```
    #[doc = include_str!("../../docs/driver.txt")]
    /// let start = Start::new(workflow, "r-1".into(), Value::from("hello"));
    /// let run = driver.start(start).unwrap().unwrap().run;
    /// assert!(driver.resume(run).unwrap().is_ok());
    /// ```
    pub fn resume(&self, run: RunNo) -> Result<OrderResult, StoreError> {
        self.resume_with(run, CallSource::Script)
    }

    /// Continues a run that no process drives, with or without its script.
    ///
    /// ```
    #[doc = include_str!("../../docs/driver.txt")]
    /// let start = Start::new(workflow, "r-1".into(), Value::from("hello"));
    /// let run = driver.start(start).unwrap().unwrap().run;
    /// assert!(driver.resume_with(run, CallSource::Script).unwrap().is_ok());
    /// ```
    pub fn resume_with(&self, run: RunNo, with: CallSource) -> Result<OrderResult, StoreError> {
        self.order(move |host, ticket| host.resume_with(run, true, with, ticket))
    }

    /// Starts a run with the first events of another.
    ///
    /// ```
    #[doc = include_str!("../../docs/driver.txt")]
    /// let start = Start::new(workflow, "r-1".into(), Value::from("hello"));
    /// let run = driver.start(start).unwrap().unwrap().run;
    /// assert!(driver.fork(run, 1, "r-2".into(), CallSource::Script).unwrap().is_ok());
    /// ```
    pub fn fork(&self, from: RunNo, events: u64, id: String, with: CallSource) -> Result<OrderResult, StoreError> {
        self.order(move |host, ticket| host.fork((from, events), id, true, with, ticket))
    }

    /// Starts a run with the first events of another, replayed on a changed workflow.
    ///
    /// ```
    #[doc = include_str!("../../docs/driver.txt")]
    /// let run = driver.start(Start::new(workflow, "r-1".into(), Value::from("hello"))).unwrap().unwrap().run;
    /// let forked = driver.fork_on(run, 1, workflow, "r-2".into(), CallSource::Script).unwrap().unwrap();
    /// assert!(forked.new);
    /// ```
    pub fn fork_on(
        &self,
        from: RunNo,
        events: u64,
        workflow: WorkflowNo,
        id: String,
        with: CallSource,
    ) -> Result<OrderResult, StoreError> {
        self.order(move |host, ticket| host.fork_on((from, events), workflow, id, true, with, ticket))
    }

    /// Moves a waiting run to a changed workflow.
    ///
    /// ```
    #[doc = include_str!("../../docs/driver.txt")]
    /// let run = driver.start(Start::new(workflow, "r-1".into(), Value::from("hello"))).unwrap().unwrap().run;
    /// assert!(driver.migrate(run, workflow).unwrap().is_err(), "the run has ended");
    /// ```
    pub fn migrate(&self, run: RunNo, workflow: WorkflowNo) -> Result<OrderResult, StoreError> {
        self.order(move |host, ticket| host.migrate(run, workflow, ticket))
    }

    /// Returns a run as it is after the last turn.
    ///
    /// ```
    #[doc = include_str!("../../docs/driver.txt")]
    /// let start = Start::new(workflow, "r-1".into(), Value::from("hello"));
    /// let run = driver.start(start).unwrap().unwrap().run;
    /// assert_eq!(driver.load(run).unwrap().status(), Status::Completed);
    /// ```
    pub fn load(&self, run: RunNo) -> Result<RunView, StoreError> {
        self.work(move |host| host.load(run))?
    }

    /// Reports events of runs to a listener, on the driver's own thread.
    ///
    /// ```
    #[doc = include_str!("../../docs/driver.txt")]
    /// driver.subscribe(Box::new(|event| println!("{}", event.id))).unwrap();
    /// ```
    pub fn subscribe(&self, listener: EventListener) -> Result<(), StoreError> {
        self.post(Message::Listen(listener))
    }

    /// Waits until listeners have received the events of everything that is stored now.
    ///
    /// ```
    #[doc = include_str!("../../docs/driver.txt")]
    /// driver.sync().unwrap();
    /// ```
    pub fn sync(&self) -> Result<(), StoreError> {
        self.work(|_| ())
    }

    /// Drives all runs of the store that no other process drives, from now on.
    ///
    /// ```
    #[doc = include_str!("../../docs/driver.txt")]
    /// driver.drive_all().unwrap();
    /// ```
    pub fn drive_all(&self) -> Result<(), StoreError> {
        self.work(Host::drive_all)?
    }

    /// Whether the driver still drives: it stops when its store fails.
    ///
    /// ```
    #[doc = include_str!("../../docs/driver.txt")]
    /// assert!(driver.is_alive());
    /// driver.stop(Duration::ZERO).unwrap();
    /// assert!(!driver.is_alive());
    /// ```
    pub fn is_alive(&self) -> bool {
        self.thread().as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Begins no further calls, gives those in flight the time `grace` to end, and releases every run.
    ///
    /// Requests that other threads send meanwhile fail.
    ///
    /// ```
    #[doc = include_str!("../../docs/driver.txt")]
    /// driver.stop(Duration::from_secs(5)).unwrap();
    /// ```
    pub fn stop(&self, grace: Duration) -> Result<(), StoreError> {
        // A driver that has stopped by itself does not receive this; joining it returns its error.
        let _ = self.mailbox.send(Message::Stop(grace));
        self.join()
    }

    fn order(&self, order: impl FnOnce(&mut Host, Ticket) + Send + 'static) -> Result<OrderResult, StoreError> {
        self.queue(order)?.recv().map_err(|_| stopped())
    }

    fn queue(
        &self,
        order: impl FnOnce(&mut Host, Ticket) + Send + 'static,
    ) -> Result<Receiver<OrderResult>, StoreError> {
        let (reply, answer) = channel();
        // The caller may have stopped waiting.
        let done = Box::new(move |outcome| drop(reply.send(outcome)));
        self.post(Message::Order(Box::new(order), done))?;
        Ok(answer)
    }

    fn work<T: Send + 'static>(&self, work: impl FnOnce(&mut Host) -> T + Send + 'static) -> Result<T, StoreError> {
        let (reply, answer) = channel();
        self.post(Message::Work(Box::new(move |host| drop(reply.send(work(host))))))?;
        answer.recv().map_err(|_| stopped())
    }

    fn post(&self, message: Message) -> Result<(), StoreError> {
        self.mailbox.send(message).map_err(|_| stopped())
    }

    fn thread(&self) -> MutexGuard<'_, Option<DriverThread>> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(&self) -> Result<(), StoreError> {
        let thread = self.thread().take();
        match thread.map(JoinHandle::join) {
            Some(Ok(ended)) => ended,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(()),
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let thread = self.thread().take();
        if let Some(thread) = thread {
            let _ = self.mailbox.send(Message::Stop(Duration::ZERO));
            // The caller does not read the result of a driver that it drops.
            let _ = thread.join();
        }
    }
}

struct Loop {
    host: Host,
    calls: Calls,
    listeners: Vec<EventListener>,
    /// The callers that wait for the outcomes of their orders, by ticket.
    callers: HashMap<u64, OnOutcome>,
    last_ticket: u64,
    /// When the driver stops at the latest, after it was requested to stop.
    deadline: Option<Instant>,
}

impl Loop {
    /// Runs until the driver stops or fails. No call continues after that.
    fn run(mut self, messages: &Receiver<Message>) -> Result<(), StoreError> {
        let result = self.drive(messages);
        self.calls.cancel_all();
        self.await_cancelled(messages);
        result?;
        self.drain()?;
        self.host.close()
    }

    /// Applies the responses that have arrived meanwhile. Runs may be too busy to accept all of them soon; closing the host
    /// records the others.
    fn drain(&mut self) -> Result<(), StoreError> {
        let mut busy_turns = 0;
        for _ in 0..LAST_TURNS {
            if self.host.is_drained() || busy_turns == LAST_BUSY_TURNS {
                break;
            }
            for output in self.host.turn(now_ms())? {
                self.carry_out(output);
            }
            busy_turns += usize::from(self.host.is_unwritten());
        }
        Ok(())
    }

    fn drive(&mut self, messages: &Receiver<Message>) -> Result<(), StoreError> {
        let (mut last_poll, mut last_search) = (Instant::now(), Instant::now());
        loop {
            if !self.receive(messages) {
                self.host.do_idle_work()?;
            }
            if last_poll.elapsed() >= POLL_INTERVAL {
                last_poll = Instant::now();
                self.host.poll_store()?;
            }
            if last_search.elapsed() >= DEAD_OWNER_INTERVAL {
                last_search = Instant::now();
                self.host.release_dead_owners()?;
            }
            for output in self.host.turn(now_ms())? {
                self.carry_out(output);
            }
            if self.deadline.is_none() {
                self.launch();
            } else if self.is_over() {
                return Ok(());
            }
        }
    }

    /// Waits for cancelled calls to end their processes and connections, because this process may exit next.
    fn await_cancelled(&mut self, messages: &Receiver<Message>) {
        let until = Instant::now() + CANCEL_GRACE;
        // Withdrawn calls were cancelled, too.
        while self.calls.has_tasks() {
            match messages.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Message::CallEnded(ended)) => self.settle_ended(ended),
                Ok(_) => {}
                Err(_) => break,
            }
        }
    }

    /// Settles a call that has ended. A call that was cancelled because the driver stops has no answer; the process that resumes the
    /// run performs its effect again.
    fn settle_ended(&mut self, ended: Box<EndedCall>) {
        if self.calls.finish(&ended) && !(self.deadline.is_some() && is_cancelled(&ended.answer)) {
            self.host.settle(ended.run, &ended.call, ended.answer);
        }
    }

    /// Waits for messages or the next timer, and handles the messages that have arrived. Returns false after an idle pause.
    fn receive(&mut self, messages: &Receiver<Message>) -> bool {
        let now_ms = now_ms();
        let pause = match self.host.next_ms() {
            Some(at_ms) if at_ms <= now_ms => Duration::ZERO,
            Some(at_ms) => POLL_INTERVAL.min(Duration::from_millis(at_ms.abs_diff(now_ms))),
            None => POLL_INTERVAL,
        };
        let mut next = if pause.is_zero() {
            messages.try_recv().ok()
        } else {
            // Calls hold a sender, so the mailbox is never closed.
            messages.recv_timeout(pause).ok()
        };
        let mut received = 0;
        while let Some(message) = next {
            self.handle(message);
            received += 1;
            next = if received < MESSAGES_PER_TURN { messages.try_recv().ok() } else { None };
        }
        received > 0 || pause < POLL_INTERVAL
    }

    fn handle(&mut self, message: Message) {
        match message {
            Message::Order(order, reply) => {
                self.last_ticket += 1;
                self.callers.insert(self.last_ticket, reply);
                order(&mut self.host, Ticket(self.last_ticket));
            }
            Message::Work(work) => work(&mut self.host),
            Message::Listen(listener) => self.listeners.push(listener),
            Message::CallEnded(ended) => self.settle_ended(ended),
            Message::Stop(grace) => {
                let until = Instant::now() + grace;
                self.deadline = Some(self.deadline.map_or(until, |earlier| earlier.min(until)));
                self.host.wind_down();
            }
        }
    }

    fn carry_out(&mut self, output: TurnOutput) {
        match output {
            TurnOutput::Perform { run, workflow, call, reply } => {
                self.report(&RunEvent { run, id: call.run.clone(), kind: RunEventKind::Call });
                self.calls.push(run, workflow, call, reply);
            }
            TurnOutput::Withdraw { run, id, effect } => {
                self.report(&RunEvent { run, id, kind: RunEventKind::CallWithdrawn });
                self.calls.withdraw(run, effect);
            }
            TurnOutput::OrderDone { ticket, outcome } => {
                if let Some(done) = self.callers.remove(&ticket.0) {
                    done(outcome);
                }
            }
            TurnOutput::Event(event) => self.report(&event),
        }
    }

    fn report(&mut self, event: &RunEvent) {
        self.listeners.iter_mut().for_each(|listener| listener(event));
    }

    /// Begins calls as far as the limits allow. Calls that are answered at once settle in the next turn.
    fn launch(&mut self) {
        while let Some((owner, call, reply)) = self.calls.next() {
            if let Some((call, answer)) = self.calls.begin(owner, call, reply) {
                self.host.settle(owner.0, &call, answer);
            }
        }
    }

    /// Whether the calls in flight have ended and the queue is empty, or the deadline has passed.
    fn is_over(&self) -> bool {
        let is_idle = self.calls.is_empty() && !self.host.has_orders();
        is_idle || self.deadline.is_some_and(|until| Instant::now() >= until)
    }
}

/// Whether an answer during shutdown means that the call was cancelled and has no result.
///
/// The driver cancelled it, or a service manager stopped all processes at once: then a command has the exit code of a termination
/// signal, and other runners got no response.
fn is_cancelled(answer: &Answer) -> bool {
    const TERMINATED: [i32; 4] = [128 + 1, 128 + 2, 128 + 9, 128 + 15];
    match answer {
        Answer::Missing => true,
        Answer::Process(ProcessResult { exit_code: Some(exit), .. }) => TERMINATED.contains(exit),
        Answer::Failed(failed) => !failed.answered,
        _ => false,
    }
}

fn stopped() -> StoreError {
    StoreError::Missing("driver: it has stopped".into())
}

pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
