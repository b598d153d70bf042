//! The embedded host: many runs over one store.
//!
//! It has no threads and no clock. A driver queues events, calls [`Host::turn`] with the time, and performs the returned
//! [`TurnOutput`]s: [`crate::Driver`] under the real clock, [`crate::VirtualDriver`] under a virtual one.
//!
//! A turn computes the events of many runs and the resulting rows, and then writes all of them in one transaction ([`turn`]). So the
//! outputs of a turn are stored before they are acknowledged or performed. A host whose turn has failed must be discarded; the store
//! is as before that turn, and another host continues from there.

mod apply;
mod broken_runs;
mod children;
mod claim;
mod env_secrets;
mod fork;
mod last_decision;
mod load;
mod migrate;
mod open;
mod parts;
mod poll;
mod revise;
mod run_place;
mod scripted;
mod slots;
mod start;
mod subagents;
#[cfg(test)]
pub(crate) mod testing;
mod timers;
mod turn;
mod turn_output;
mod unload_idle;
mod wind_down;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use branchpoint_core::ir::Program;
use branchpoint_core::{Event, TimerUse, Usage};
use branchpoint_expr::Value;

use crate::store::{Owner, Part, RunNo, Store, StoreError, WorkflowNo};
pub use branchpoint_backend::{Accepted, CallSource, Rejection, Replayed, RunEvent, RunEventKind, RunView, Start};
use branchpoint_runners::SecretStore;
use branchpoint_runners::agent::AgentLimits;
use branchpoint_runners::judge;
use branchpoint_runners::{Answer, Call};
use broken_runs::BrokenRuns;
use claim::{Claims, Readiness};
pub(crate) use last_decision::decision_text;
use open::Open;
use parts::{Counters, CurrentTurn, Schedule, Settings};
pub(crate) use run_place::RunPlace;
use scripted::Scripted;
use slots::Slots;
pub(crate) use slots::slot_limits;
pub use start::{MAX_OPS, new_id};
pub use turn_output::{Ticket, TurnOutput};

/// The number of turns between two checkpoints of the log. They write less than what makes a commit move the log itself.
const TURNS_PER_CHECKPOINT: u64 = 32;

/// The number of ended runs that are indexed at a time, and how many may wait for that. A search indexes the others.
const RUNS_PER_INDEXING: usize = 20;
const MAX_UNINDEXED: usize = 10_000;

/// Looks up the facts that programs request by name.
pub type Facts = Arc<dyn Fn(&str) -> Value + Send + Sync>;

/// Which runs a host drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrivenRuns {
    /// Every run of the store that can continue and that no other process drives.
    All,
    /// The runs that were started or resumed here, and their child runs.
    Requested,
}

/// Many runs over one store.
pub struct Host {
    store: Store,
    owner: Owner,
    settings: Settings,
    counters: Counters,
    /// Runs that cannot be opened here.
    broken: BrokenRuns,
    /// Queued inbox items.
    sent: BTreeSet<i64>,
    /// The scripts of open runs, by root run.
    scripts: HashMap<RunNo, Scripted>,
    schedule: Schedule,
    programs: HashMap<(WorkflowNo, Part), Arc<Program>>,
    open: HashMap<RunNo, Box<Open>>,
    current: CurrentTurn,
    claims: Claims,
    slots: Slots,
    /// Whether no more work is started: see [`Host::wind_down`].
    winding_down: bool,
    /// The seed of the random numbers of stamps; without it, the number of the event is used.
    seed: Option<u64>,
    /// The last known version of the store.
    version: i64,
}

/// An order, which is executed in a later turn.
#[derive(Debug)]
enum Order {
    Start(Box<Start>, Requester),
    Deliver(RunNo, Event, Requester),
    Fork {
        from: RunNo,
        events: u64,
        /// The changed workflow on which the fork continues.
        workflow: Option<WorkflowNo>,
        id: String,
        watched: bool,
        with: CallSource,
        requester: Requester,
    },
    /// Move a waiting run to a changed workflow.
    Migrate {
        run: RunNo,
        workflow: WorkflowNo,
        requester: Requester,
    },
    /// Open a run, so that its pending calls are performed.
    Wake {
        run: RunNo,
        watched: bool,
        with: CallSource,
        requester: Requester,
    },
    /// Unload a run if it is idle.
    Unload(RunNo),
    /// Start the child run for a call.
    Child(RunNo, Box<Call>),
    /// A child run has ended: settle its parent's call.
    ChildEnded(RunNo),
}

/// The receiver of the outcome of an order.
#[derive(Clone, Copy, Debug)]
enum Requester {
    None,
    Caller(Ticket),
    /// Another process, through the inbox.
    Inbox(i64),
    /// None: the item of the inbox is a response that a process recorded when it closed.
    Recorded(i64),
}

impl Requester {
    /// The item of the inbox, if the order comes from there.
    fn item(self) -> Option<i64> {
        match self {
            Self::Inbox(item) | Self::Recorded(item) => Some(item),
            Self::None | Self::Caller(_) => None,
        }
    }
}

impl Host {
    /// Creates a host over a store, and releases the runs of dead processes.
    ///
    /// ```
    #[doc = include_str!("../../docs/host.txt")]
    /// assert_eq!(host.next_ms(), None, "there is nothing to do");
    /// ```
    pub fn new(store: Store, command: &str, drives: DrivenRuns, facts: Facts, now_ms: i64) -> Result<Self, StoreError> {
        store.release_dead_owners(None)?;
        let owner = store.register_owner(command, now_ms)?;
        let seed = Some(u64::from_le_bytes(crate::store::random()?));
        let mut host = Self {
            store,
            owner,
            settings: Settings::new(drives, facts),
            counters: Counters::default(),
            broken: BrokenRuns::default(),
            sent: BTreeSet::new(),
            scripts: HashMap::new(),
            schedule: Schedule::default(),
            programs: HashMap::new(),
            open: HashMap::new(),
            current: CurrentTurn { now_ms, ..CurrentTurn::default() },
            claims: Claims::default(),
            slots: Slots::default(),
            winding_down: false,
            seed,
            version: 0,
        };
        if drives == DrivenRuns::All {
            host.store.set_drives_all(host.owner.number)?;
        }
        host.read_changes()?;
        Ok(host)
    }

    /// The store.
    ///
    /// ```
    #[doc = include_str!("../../docs/host.txt")]
    /// assert!(host.store().runs(&Filter::default()).unwrap().is_empty());
    /// ```
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Sets how many idle runs may stay in memory.
    ///
    /// ```
    #[doc = include_str!("../../docs/host.txt")]
    /// host.set_idle_limit(100);
    /// ```
    pub fn set_idle_limit(&mut self, limit: usize) {
        self.settings.idle_limit = limit;
    }

    /// Sets the store of the secrets that calls of other workflows name. Secrets in the input of a child run are sealed.
    ///
    /// ```
    #[doc = include_str!("../../docs/host.txt")]
    /// let host = host.with_secrets(branchpoint_runners::no_secrets());
    /// ```
    #[must_use]
    pub fn with_secrets(mut self, secrets: SecretStore) -> Self {
        self.settings.secrets = secrets;
        self
    }

    /// Sets the limits of agents.
    ///
    /// ```
    #[doc = include_str!("../../docs/host.txt")]
    /// let host = host.with_agent_limits(Default::default());
    /// ```
    #[must_use]
    pub fn with_agent_limits(mut self, bounds: AgentLimits) -> Self {
        self.settings.agents = bounds;
        self
    }

    /// Sets the most ops that a run or a child run that is started here may execute; 0 means no limit.
    ///
    /// ```
    #[doc = include_str!("../../docs/host.txt")]
    /// let mut host = host.with_max_ops(1_000_000);
    /// ```
    #[must_use]
    pub fn with_max_ops(mut self, max_ops: u64) -> Self {
        self.set_max_ops(max_ops);
        self
    }

    pub(crate) fn set_max_ops(&mut self, max_ops: u64) {
        self.settings.max_ops = max_ops;
    }

    /// Stores a notice when a request to people is opened, reminded of or closed: see [`Store::notices`].
    ///
    /// ```
    #[doc = include_str!("../../docs/host.txt")]
    /// let host = host.with_notices();
    /// assert!(host.store().notices(host.owner_number()).unwrap().is_empty());
    /// ```
    #[must_use]
    pub fn with_notices(mut self) -> Self {
        self.settings.notifies = true;
        self
    }

    /// Stores a notice when a run that no other run has called ends or begins to wait for people.
    ///
    /// ```
    #[doc = include_str!("../../docs/host.txt")]
    /// let host = host.with_run_notices();
    /// assert!(host.store().notices(host.owner_number()).unwrap().is_empty());
    /// ```
    #[must_use]
    pub fn with_run_notices(mut self) -> Self {
        self.settings.notifies_of_runs = true;
        self
    }

    /// The number of this process as an owner of runs.
    ///
    /// ```
    #[doc = include_str!("../../docs/host.txt")]
    /// assert_eq!(host.store().drivers().unwrap()[0].owner, host.owner_number());
    /// ```
    pub fn owner_number(&self) -> i64 {
        self.owner.number
    }

    /// Makes random numbers deterministic, for runs that are compared with others.
    ///
    /// ```
    #[doc = include_str!("../../docs/host.txt")]
    /// let host = host.deterministic();
    /// ```
    #[must_use]
    pub fn deterministic(mut self) -> Self {
        self.seed = None;
        self
    }

    /// The timers of open runs: when they are due, and their use.
    ///
    /// ```
    #[doc = include_str!("../../docs/host.txt")]
    /// assert_eq!(host.timers().count(), 0);
    /// ```
    pub fn timers(&self) -> impl Iterator<Item = (i64, Option<TimerUse>)> {
        self.schedule
            .timers
            .iter()
            .map(|(due_ms, run, timer)| (*due_ms, self.open.get(run).and_then(|open| open.state.timer_use(*timer))))
    }

    /// Queues an event for a run. After it is stored, its outcome is returned as [`TurnOutput::OrderDone`].
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// host.send(run, Event::Cancel { reason: None }, Ticket(8));
    /// let outputs = host.turn(2).unwrap();
    /// let rejected = |output: &TurnOutput| matches!(output, TurnOutput::OrderDone { outcome: Err(_), .. });
    /// assert!(outputs.iter().any(rejected), "the run has ended");
    /// ```
    pub fn send(&mut self, run: RunNo, event: Event, ticket: Ticket) {
        self.schedule.queue.push_back(Order::Deliver(run, event, Requester::Caller(ticket)));
    }

    /// Queues the start of a run.
    ///
    /// ```
    #[doc = include_str!("../../docs/host.txt")]
    /// host.start(Start::new(workflow, "r-1".into(), Value::from("hello")), Ticket(7));
    /// let outputs = host.turn(1).unwrap();
    /// let done = |output: &TurnOutput| matches!(output, TurnOutput::OrderDone { ticket: Ticket(7), outcome: Ok(_), .. });
    /// assert!(outputs.iter().any(done));
    /// ```
    pub fn start(&mut self, start: Start, ticket: Ticket) {
        self.schedule.queue.push_back(Order::Start(Box::new(start), Requester::Caller(ticket)));
    }

    /// Queues the resumption of a run: its pending calls are performed again.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// host.resume(run, false, Ticket::default());
    /// assert!(host.has_orders());
    /// ```
    pub fn resume(&mut self, run: RunNo, watched: bool, ticket: Ticket) {
        self.schedule.queue.push_back(Order::Wake {
            run,
            watched,
            with: CallSource::Script,
            requester: Requester::Caller(ticket),
        });
    }

    /// Queues the resumption of a run that may be scripted.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// host.resume_with(run, false, CallSource::Script, Ticket::default());
    /// assert!(host.has_orders());
    /// ```
    pub fn resume_with(&mut self, run: RunNo, watched: bool, with: CallSource, ticket: Ticket) {
        self.schedule.queue.push_back(Order::Wake { run, watched, with, requester: Requester::Caller(ticket) });
    }

    /// Queues the unloading of a run, if it is idle. It is opened again for its next event.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// host.unload(run);
    /// host.turn(2).unwrap();
    /// ```
    pub fn unload(&mut self, run: RunNo) {
        self.schedule.queue.push_back(Order::Unload(run));
    }

    /// Queues the answer of a call.
    pub fn settle(&mut self, run: RunNo, call: &Call, answer: Answer) {
        let usage = answer.usage();
        self.settle_with(run, call, answer, usage);
    }

    fn settle_with(&mut self, run: RunNo, call: &Call, answer: Answer, usage: Usage) {
        let result = judge(call, answer);
        let settled = Event::Settled { effect: call.effect, attempt: call.attempt, result, usage };
        self.schedule.queue.push_back(Order::Deliver(run, settled, Requester::None));
    }

    /// Whether there are queued orders.
    ///
    /// ```
    #[doc = include_str!("../../docs/host.txt")]
    /// assert!(!host.has_orders());
    /// host.start(Start::new(workflow, "r-1".into(), Value::from("hello")), Ticket(7));
    /// assert!(host.has_orders());
    /// ```
    pub fn has_orders(&self) -> bool {
        !self.schedule.queue.is_empty()
    }

    /// The number of events that runs have accepted here.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert_eq!(host.event_count(), 1);
    /// ```
    pub fn event_count(&self) -> u64 {
        self.counters.events.load(Ordering::Relaxed)
    }

    /// Sets the counter of the events that runs accept here, which other threads may read.
    ///
    /// ```
    #[doc = include_str!("../../docs/host.txt")]
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// let counter = Arc::new(AtomicU64::new(0));
    /// let mut host = host.with_event_counter(Arc::clone(&counter));
    /// host.start(Start::new(workflow, "r-1".into(), Value::from("hello")), Ticket(7));
    /// host.turn(1).unwrap();
    /// assert_eq!(counter.load(Ordering::Relaxed), 1);
    /// ```
    #[must_use]
    pub fn with_event_counter(mut self, counter: Arc<AtomicU64>) -> Self {
        self.counters.events = counter;
        self
    }

    /// Drives every run of the store that no other process drives, from now on.
    ///
    /// ```
    #[doc = include_str!("../../docs/host.txt")]
    /// host.drive_all().unwrap();
    /// ```
    pub fn drive_all(&mut self) -> Result<(), StoreError> {
        self.settings.drives = DrivenRuns::All;
        self.store.set_drives_all(self.owner.number)?;
        self.read_changes()
    }

    /// When the next turn has work: now, at a time, or `None` until something is queued.
    ///
    /// ```
    #[doc = include_str!("../../docs/host.txt")]
    /// assert_eq!(host.next_ms(), None);
    /// host.start(Start::new(workflow, "r-1".into(), Value::from("hello")), Ticket(7));
    /// assert!(host.next_ms().is_some());
    /// ```
    pub fn next_ms(&self) -> Option<i64> {
        if self.current.unwritten
            || !self.schedule.queue.is_empty()
            || !self.schedule.unfinished.is_empty()
            || !self.schedule.answerable.is_empty()
        {
            return Some(i64::MIN);
        }
        let timer = self.schedule.timers.first().map(|(due_ms, ..)| *due_ms);
        let limit = self.schedule.limits.first().map(|(due_ms, ..)| *due_ms);
        [timer, limit, self.schedule.unowned_due_ms, self.retry_ms(), self.slots.due_ms()].into_iter().flatten().min()
    }

    /// Performs work that can wait, while nothing else is due: indexes ended runs for the search, and moves the log into the file, so that
    /// no commit has to wait for it later.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// host.do_idle_work().unwrap();
    /// ```
    pub fn do_idle_work(&mut self) -> Result<(), StoreError> {
        if !self.current.unwritten && !self.schedule.unindexed.is_empty() {
            let count = self.schedule.unindexed.len().min(RUNS_PER_INDEXING);
            let ended: Vec<RunNo> = self.schedule.unindexed.drain(..count).collect();
            match self.store.index_ended(&ended) {
                Err(error) if error.is_busy() => self.schedule.unindexed.extend(ended),
                indexed => indexed?,
            }
        }
        if self.counters.turns - self.counters.last_checkpoint >= TURNS_PER_CHECKPOINT {
            self.counters.last_checkpoint = self.counters.turns;
            self.store.move_log()?;
        }
        Ok(())
    }

    fn index_later(&mut self, run: RunNo) {
        if self.schedule.unindexed.len() < MAX_UNINDEXED {
            self.schedule.unindexed.push_back(run);
        }
    }

    fn execute_order(&mut self, order: Order, now_ms: i64) -> Result<(), StoreError> {
        match order {
            Order::Start(start, requester) => self.begin_run(*start, requester, now_ms),
            Order::Deliver(run, event, requester) => self.deliver_event(run, event, requester, now_ms),
            Order::Migrate { run, workflow, requester } => self.migrate_run(run, workflow, requester, now_ms),
            Order::Fork { from, events, workflow, id, watched, with, requester } => {
                let forked = self.fork_or_reject((from, events), workflow, &id, (watched, &with), now_ms)?;
                self.answer(requester, forked);
                Ok(())
            }
            Order::Wake { run, watched, with, requester } => {
                self.wake_run(run, watched, with, requester);
                Ok(())
            }
            Order::Unload(run) => {
                let idle = self.open.get(&run).is_some_and(|open| open.is_idle());
                if idle { self.unload_now(run) } else { Ok(()) }
            }
            Order::Child(..) if self.winding_down => Ok(()),
            Order::Child(parent, call) => self.call_child(parent, *call, now_ms),
            Order::ChildEnded(child) => self.child_ended(child),
        }
    }

    fn answer(&mut self, requester: Requester, outcome: Result<Accepted, Rejection>) {
        match requester {
            Requester::None => {}
            Requester::Caller(ticket) => self.current.outputs.push(TurnOutput::OrderDone { ticket, outcome }),
            Requester::Inbox(item) => {
                self.store.record_outcome(item, &outcome.map(|accepted| accepted.new));
                self.sent.remove(&item);
            }
            Requester::Recorded(item) => {
                self.store.remove_item(item);
                self.sent.remove(&item);
            }
        }
    }

    /// Releases all runs, so that another process can continue them at once. It performs the calls in flight again.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// host.close().unwrap();
    /// ```
    pub fn close(self) -> Result<(), StoreError> {
        self.into_store().map(drop)
    }

    /// Closes the host and returns the store.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// let store = host.into_store().unwrap();
    /// assert!(store.drivers().unwrap().is_empty());
    /// ```
    pub fn into_store(mut self) -> Result<Store, StoreError> {
        self.record_responses()?;
        self.unload_all()?;
        self.store.begin()?;
        let closed = self
            .write_in_order()
            .and_then(|_| self.store.write_out())
            .and_then(|()| self.store.unregister_owner(self.owner.number))
            .and_then(|()| self.store.commit());
        if closed.is_err() {
            self.store.roll_back();
        }
        closed.map(|()| self.store)
    }
}
