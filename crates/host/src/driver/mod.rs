//! Drives a host under the real clock: one thread takes events and writes, others perform calls.
//!
//! One thread both advances runs and commits, because a commit is short and whatever comes in meanwhile shares the next one: the
//! busier the host, the more events a commit holds.

mod calls;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use branchpoint_backend::{EventListener, RunEvent, RunEventKind};
use branchpoint_core::Event;
use branchpoint_core::effect::ProcessResult;

use crate::host::{Act, ContinueWith, Host, Look, Refused, Start, Taken, Ticket};
use crate::store::{RunNo, Trouble};
use branchpoint_runners::Answer;
use branchpoint_runners::Runner;
pub use calls::Limits;
use calls::{Calls, Done};

/// How often the driver looks whether another process has written.
const NAP: Duration = Duration::from_millis(50);

/// How often it looks for processes that are gone.
const ROUND: Duration = Duration::from_secs(1);

/// How long calls that were told to stop have to end what they have begun.
const STOPPING: Duration = Duration::from_secs(2);

/// How many turns a driver takes at most to empty its queue before it closes.
const LAST_TURNS: usize = 64;

/// How many of them may fail to get the write lock of the store, each after waiting for it.
const LAST_BUSY_TURNS: usize = 2;

/// How many messages wait for the driver before whoever sends another has to wait too.
const MAILBOX: usize = 10_000;

/// How many messages are taken before the next turn: about as many as a turn takes, so that what does not fit waits outside.
const AT_ONCE: usize = 4_096;

/// What came of something that was handed in.
pub type Handed = Result<Taken, Refused>;

/// A host that runs on a thread of its own.
#[derive(Debug)]
pub struct Driver {
    mailbox: SyncSender<Message>,
    thread: Option<JoinHandle<Result<(), Trouble>>>,
}

/// Queues an order under a ticket.
type HostOrder = Box<dyn FnOnce(&mut Host, Ticket) + Send>;

enum Message {
    /// An order whose outcome comes with a later turn.
    Order(HostOrder, Sender<Handed>),
    /// Work between two turns.
    Work(Box<dyn FnOnce(&mut Host) + Send>),
    Listen(EventListener),
    Done(Box<Done>),
    Leave(Duration),
}

impl Driver {
    /// Starts driving.
    pub fn new(host: Host, outside: Arc<dyn Runner>, limits: Limits) -> Self {
        let (mailbox, messages) = sync_channel(MAILBOX);
        let back = mailbox.clone();
        let body = move || {
            let done = Box::new(move |done| drop(back.send(Message::Done(Box::new(done)))));
            let calls = Calls::new(outside, limits, done);
            let listeners = Vec::new();
            Loop { host, calls, listeners, callers: HashMap::new(), last_ticket: 0, leaving: None }.run(&messages)
        };
        Self { mailbox, thread: Some(thread::spawn(body)) }
    }

    /// Starts a run. It is stored when this returns.
    pub fn start(&self, start: Start) -> Result<Handed, Trouble> {
        self.order(move |host, ticket| host.start(start, ticket))
    }

    /// Queues the start of a run. It is stored when the answer comes.
    pub fn begin(&self, start: Start) -> Result<Receiver<Handed>, Trouble> {
        self.queue(move |host, ticket| host.start(start, ticket))
    }

    /// Hands in an event. It is stored when this returns.
    pub fn hand(&self, run: RunNo, event: Event) -> Result<Handed, Trouble> {
        self.order(move |host, ticket| host.hand(run, event, ticket))
    }

    /// Continues a run that no process drives, and watches it.
    pub fn wake(&self, run: RunNo) -> Result<Handed, Trouble> {
        self.wake_with(run, ContinueWith::Script)
    }

    /// The same, for a run that may be scripted.
    pub fn wake_with(&self, run: RunNo, with: ContinueWith) -> Result<Handed, Trouble> {
        self.order(move |host, ticket| host.wake_with(run, true, with, ticket))
    }

    /// Starts a run with the first events of another.
    pub fn fork(&self, from: RunNo, events: u64, id: String, with: ContinueWith) -> Result<Handed, Trouble> {
        self.order(move |host, ticket| host.fork((from, events), id, true, with, ticket))
    }

    /// A run after the last turn.
    pub fn look(&self, run: RunNo) -> Result<Look, Trouble> {
        self.work(move |host| host.look_at(run))?
    }

    /// Reports events of runs to a listener, on the driver's own thread.
    pub fn listen(&self, listener: EventListener) -> Result<(), Trouble> {
        self.send(Message::Listen(listener))
    }

    /// Waits until listeners have got the events of everything that is stored by now.
    pub fn sync(&self) -> Result<(), Trouble> {
        self.work(|_| ())
    }

    /// Drives all runs of the store that no other process drives, from now on.
    pub fn drive_all(&self) -> Result<(), Trouble> {
        self.work(Host::drive_all)?
    }

    /// Whether the driver still drives: it stops when its store fails.
    pub fn is_alive(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Begins nothing more, gives what is in flight so much time to end, and lets go of every run.
    pub fn leave(mut self, grace: Duration) -> Result<(), Trouble> {
        // A driver that has stopped by itself does not hear this, and tells why.
        let _ = self.mailbox.send(Message::Leave(grace));
        self.joined()
    }

    fn order(&self, order: impl FnOnce(&mut Host, Ticket) + Send + 'static) -> Result<Handed, Trouble> {
        self.queue(order)?.recv().map_err(|_| gone())
    }

    fn queue(&self, order: impl FnOnce(&mut Host, Ticket) + Send + 'static) -> Result<Receiver<Handed>, Trouble> {
        let (reply, answer) = channel();
        self.send(Message::Order(Box::new(order), reply))?;
        Ok(answer)
    }

    fn work<T: Send + 'static>(&self, work: impl FnOnce(&mut Host) -> T + Send + 'static) -> Result<T, Trouble> {
        let (reply, answer) = channel();
        self.send(Message::Work(Box::new(move |host| drop(reply.send(work(host))))))?;
        answer.recv().map_err(|_| gone())
    }

    fn send(&self, message: Message) -> Result<(), Trouble> {
        self.mailbox.send(message).map_err(|_| gone())
    }

    fn joined(&mut self) -> Result<(), Trouble> {
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(ended)) => ended,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(()),
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if self.thread.is_some() {
            let _ = self.mailbox.send(Message::Leave(Duration::ZERO));
            // Whoever drops a driver does not ask how it ended.
            let _ = self.thread.take().map(JoinHandle::join);
        }
    }
}

struct Loop {
    host: Host,
    calls: Calls,
    listeners: Vec<EventListener>,
    /// The callers that wait for the outcomes of their orders, by ticket.
    callers: HashMap<u64, Sender<Handed>>,
    last_ticket: u64,
    /// When it is over, once it was told to leave.
    leaving: Option<Instant>,
}

impl Loop {
    /// However it ends, nothing that it has begun goes on after it.
    fn run(mut self, messages: &Receiver<Message>) -> Result<(), Trouble> {
        let drove = self.drive(messages);
        self.calls.stop_all();
        self.await_stopped(messages);
        drove?;
        self.drain()?;
        self.host.close()
    }

    /// Applies the responses that have come meanwhile. Runs may be too busy to take all of them soon; closing the host records the
    /// others.
    fn drain(&mut self) -> Result<(), Trouble> {
        let mut busy_turns = 0;
        for _ in 0..LAST_TURNS {
            if self.host.is_drained() || busy_turns == LAST_BUSY_TURNS {
                break;
            }
            for act in self.host.turn(now_ms())? {
                self.carry_out(act);
            }
            busy_turns += usize::from(self.host.is_unwritten());
        }
        Ok(())
    }

    fn drive(&mut self, messages: &Receiver<Message>) -> Result<(), Trouble> {
        let (mut noticed, mut round) = (Instant::now(), Instant::now());
        loop {
            if !self.receive(messages) {
                self.host.rest()?;
            }
            if noticed.elapsed() >= NAP {
                noticed = Instant::now();
                self.host.notice()?;
            }
            if round.elapsed() >= ROUND {
                round = Instant::now();
                self.host.notice_the_dead()?;
            }
            for act in self.host.turn(now_ms())? {
                self.carry_out(act);
            }
            if self.leaving.is_none() {
                self.launch();
            } else if self.is_over() {
                return Ok(());
            }
        }
    }

    /// Whoever performs a call has processes and connections to end, and the process may be gone as soon as this returns.
    fn await_stopped(&mut self, messages: &Receiver<Message>) {
        let until = Instant::now() + STOPPING;
        // Those that nobody waits for any more were told to stop as well.
        while self.calls.is_any_at_work() {
            match messages.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Message::Done(done)) => self.done(done),
                Ok(_) => {}
                Err(_) => break,
            }
        }
    }

    /// A call has ended. One that was stopped because everything stops has no answer; its effect is performed again by whoever goes on.
    fn done(&mut self, done: Box<Done>) {
        if self.calls.ended(&done) && !(self.leaving.is_some() && was_stopped(&done.answer)) {
            self.host.settle(done.run, &done.call, done.answer);
        }
    }

    /// Waits until there is something to do, and takes everything that has come. False: nothing has come for a while.
    fn receive(&mut self, messages: &Receiver<Message>) -> bool {
        let now_ms = now_ms();
        let pause = match self.host.next_ms() {
            Some(at_ms) if at_ms <= now_ms => Duration::ZERO,
            Some(at_ms) => NAP.min(Duration::from_millis(at_ms.abs_diff(now_ms))),
            None => NAP,
        };
        let mut next = if pause.is_zero() {
            messages.try_recv().ok()
        } else {
            // Calls hold a sender, so the mailbox is never closed.
            messages.recv_timeout(pause).ok()
        };
        let mut taken = 0;
        while let Some(message) = next {
            self.hear(message);
            taken += 1;
            next = if taken < AT_ONCE { messages.try_recv().ok() } else { None };
        }
        taken > 0 || pause < NAP
    }

    fn hear(&mut self, message: Message) {
        match message {
            Message::Order(order, reply) => {
                self.last_ticket += 1;
                self.callers.insert(self.last_ticket, reply);
                order(&mut self.host, Ticket(self.last_ticket));
            }
            Message::Work(work) => work(&mut self.host),
            Message::Listen(listener) => self.listeners.push(listener),
            Message::Done(done) => self.done(done),
            Message::Leave(grace) => {
                let until = Instant::now() + grace;
                self.leaving = Some(self.leaving.map_or(until, |known| known.min(until)));
                self.host.wind_down();
            }
        }
    }

    fn carry_out(&mut self, act: Act) {
        match act {
            Act::Perform { run, workflow, call, reply } => {
                self.report(&RunEvent { run, id: call.run.clone(), kind: RunEventKind::Call });
                self.calls.push(run, workflow, call, reply);
            }
            Act::Withdraw { run, id, effect } => {
                self.report(&RunEvent { run, id, kind: RunEventKind::CallWithdrawn });
                self.calls.withdraw(run, effect);
            }
            Act::Answered { ticket, outcome } => {
                // The caller may not wait any more.
                let _ = self.callers.remove(&ticket.0).map(|caller| caller.send(outcome));
            }
            Act::Event(event) => self.report(&event),
        }
    }

    fn report(&mut self, event: &RunEvent) {
        self.listeners.iter_mut().for_each(|listener| listener(event));
    }

    /// Begins calls as far as the limits allow. What is answered at once comes with the next turn.
    fn launch(&mut self) {
        while let Some((of, call, reply)) = self.calls.next() {
            if let Some((call, answer)) = self.calls.begin(of, call, reply) {
                self.host.settle(of.0, &call, answer);
            }
        }
    }

    /// Whether the calls in flight have ended and the queue is empty, or the time for that is over.
    fn is_over(&self) -> bool {
        let is_idle = self.calls.is_empty() && !self.host.has_orders();
        is_idle || self.leaving.is_some_and(|until| Instant::now() >= until)
    }
}

/// Whether an answer that comes while everything stops is none: the call was stopped by us, or what performed it by whoever stops
/// all processes at once, such as a service manager. Then a command has the code of a signal that asks to end, and anybody else did
/// not answer.
fn was_stopped(answer: &Answer) -> bool {
    const SIGNALLED: [i32; 4] = [128 + 1, 128 + 2, 128 + 9, 128 + 15];
    match answer {
        Answer::Never => true,
        Answer::Process(ProcessResult { exit_code: Some(exit), .. }) => SIGNALLED.contains(exit),
        Answer::Failed(failed) => !failed.answered,
        _ => false,
    }
}

fn gone() -> Trouble {
    Trouble::Missing("driver any more: it has stopped".into())
}

pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
