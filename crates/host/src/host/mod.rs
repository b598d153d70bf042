//! The embedded host: many runs over one store.
//!
//! It knows no threads and no clock. Whoever drives it queues events, calls [`Host::turn`] with the time, and carries out the
//! [`TurnOutput`]s that come back: that is [`crate::Driver`] under the real clock, and the vectors under a virtual one.
//!
//! A turn computes the events of many runs and the rows that follow from them, and then writes all of them in one transaction with one
//! commit ([`turn`]). What comes back from a turn is therefore kept, and only then acknowledged or performed. A host whose turn
//! failed is of no use any more; the store is as it was before that turn, and another host goes on from there.

mod apply;
mod broken;
mod children;
mod claim;
mod env_secrets;
mod fork;
mod idle;
mod load;
mod open;
mod parts;
mod place;
mod poll;
mod scripted;
mod start;
mod subagents;
#[cfg(test)]
pub(crate) mod testing;
mod timers;
mod turn;
mod turn_output;
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
use broken::BrokenRuns;
pub(crate) use children::child_id;
use claim::{Claims, Readiness};
use open::Open;
use parts::{Counters, CurrentTurn, Schedule, Settings};
pub(crate) use place::RunPlace;
use scripted::Scripted;
pub use start::{MAX_OPS, new_id};
pub use turn_output::{Ticket, TurnOutput};

/// How many turns it takes until a rest is worth its while. They write less than what makes a commit move the log itself.
const TURNS_A_REST: u64 = 32;

/// How many ended runs are added to the full-text index at a time, and how many may wait for that. Others are added by a search.
const RUNS_INDEXED_A_REST: usize = 20;
const MAX_UNINDEXED: usize = 10_000;

/// What the host knows under a name, for the facts that programs ask for.
pub type Facts = Arc<dyn Fn(&str) -> Value + Send + Sync>;

/// Which runs a host drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrivenRuns {
    /// Every run of the store that can go on and that nobody else drives.
    All,
    /// Those that it was given, and their children.
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
    /// Inbox items that are queued.
    sent: BTreeSet<i64>,
    /// The scripts of open runs, by root run.
    scripts: HashMap<RunNo, Scripted>,
    schedule: Schedule,
    programs: HashMap<(WorkflowNo, Part), Arc<Program>>,
    open: HashMap<RunNo, Box<Open>>,
    current: CurrentTurn,
    claims: Claims,
    /// Whether no more work is started: see [`Host::wind_down`].
    winding_down: bool,
    /// Where the random numbers of stamps come from; without it, they are counted.
    seed: Option<u64>,
    /// The last known version of the store.
    version: i64,
}

/// Something to do in the next turn.
#[derive(Debug)]
enum Order {
    Start(Box<Start>, Requester),
    Take(RunNo, Event, Requester),
    Fork {
        from: RunNo,
        events: u64,
        id: String,
        watched: bool,
        with: CallSource,
        requester: Requester,
    },
    /// A run is opened, so that what it waits for is performed.
    Wake {
        run: RunNo,
        watched: bool,
        with: CallSource,
        requester: Requester,
    },
    /// A run that has nothing to do is put out of memory.
    Leave(RunNo),
    /// A run calls another workflow.
    Child(RunNo, Box<Call>),
    /// A child run has ended; its parent hears of it.
    ChildEnded(RunNo),
}

/// Who hears what became of an order.
#[derive(Clone, Copy, Debug)]
enum Requester {
    None,
    Caller(Ticket),
    /// Another process, through the inbox.
    Inbox(i64),
    /// Nobody: the item of the inbox is a response that a process recorded when it closed.
    Recorded(i64),
}

impl Requester {
    /// The item of the inbox that is answered.
    fn item(self) -> Option<i64> {
        match self {
            Self::Inbox(item) | Self::Recorded(item) => Some(item),
            Self::None | Self::Caller(_) => None,
        }
    }
}

impl Host {
    /// A host over a store. What a process drove that is gone belongs to nobody from now on.
    pub fn new(store: Store, what: &str, drives: DrivenRuns, facts: Facts, now_ms: i64) -> Result<Self, StoreError> {
        store.release_dead_owners(None)?;
        let owner = store.enter(what, now_ms)?;
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
            winding_down: false,
            seed,
            version: 0,
        };
        host.read_changes()?;
        Ok(host)
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// How many runs may stay in memory with nothing to do.
    pub fn set_idle_limit(&mut self, limit: usize) {
        self.settings.idle_limit = limit;
    }

    /// Where secrets are that calls of other workflows name: what a child run is started with is sealed in the store.
    #[must_use]
    pub fn with_secrets(mut self, secrets: SecretStore) -> Self {
        self.settings.secrets = secrets;
        self
    }

    /// The most that agents may use.
    #[must_use]
    pub fn with_agent_limits(mut self, bounds: AgentLimits) -> Self {
        self.settings.agents = bounds;
        self
    }

    /// How many ops a run may execute that is started here, its child runs each for itself; 0 is no bound.
    #[must_use]
    pub fn with_max_ops(mut self, max_ops: u64) -> Self {
        self.settings.max_ops = max_ops;
        self
    }

    /// What questions become is kept as notices, until somebody has told them: see [`Store::notices`].
    #[must_use]
    pub fn with_notices(mut self) -> Self {
        self.settings.notifies = true;
        self
    }

    /// The number under which this process drives runs.
    pub fn owner_number(&self) -> i64 {
        self.owner.number
    }

    /// Leaves nothing to chance: for runs that are compared with others.
    #[must_use]
    pub fn deterministic(mut self) -> Self {
        self.seed = None;
        self
    }

    /// The timers of the runs that are open: when they are due, and what for.
    pub fn timers(&self) -> impl Iterator<Item = (i64, Option<TimerUse>)> {
        self.schedule
            .timers
            .iter()
            .map(|(due_ms, run, timer)| (*due_ms, self.open.get(run).and_then(|open| open.state.timer_use(*timer))))
    }

    /// Queues an event of a run. What became of it comes as [`TurnOutput::OrderDone`] after it is kept.
    pub fn send(&mut self, run: RunNo, event: Event, ticket: Ticket) {
        self.schedule.queue.push_back(Order::Take(run, event, Requester::Caller(ticket)));
    }

    /// Queues the start of a run.
    pub fn start(&mut self, start: Start, ticket: Ticket) {
        self.schedule.queue.push_back(Order::Start(Box::new(start), Requester::Caller(ticket)));
    }

    /// Takes a run up: what it waits for is performed again.
    pub fn resume(&mut self, run: RunNo, watched: bool, ticket: Ticket) {
        self.schedule.queue.push_back(Order::Wake {
            run,
            watched,
            with: CallSource::Script,
            requester: Requester::Caller(ticket),
        });
    }

    /// The same, for a run that may be scripted.
    pub fn resume_with(&mut self, run: RunNo, watched: bool, with: CallSource, ticket: Ticket) {
        self.schedule.queue.push_back(Order::Wake { run, watched, with, requester: Requester::Caller(ticket) });
    }

    /// Puts a run out of memory, if it has nothing to do. It is opened again when something comes.
    pub fn unload(&mut self, run: RunNo) {
        self.schedule.queue.push_back(Order::Leave(run));
    }

    /// Queues what came back from a call.
    pub fn settle(&mut self, run: RunNo, call: &Call, answer: Answer) {
        let usage = answer.usage();
        self.settle_with(run, call, answer, usage);
    }

    fn settle_with(&mut self, run: RunNo, call: &Call, answer: Answer, usage: Usage) {
        let result = judge(call, answer);
        let settled = Event::Settled { effect: call.effect, attempt: call.attempt, result, usage };
        self.schedule.queue.push_back(Order::Take(run, settled, Requester::None));
    }

    /// Whether something is queued.
    pub fn has_orders(&self) -> bool {
        !self.schedule.queue.is_empty()
    }

    /// How many events runs have taken here.
    pub fn event_count(&self) -> u64 {
        self.counters.events.load(Ordering::Relaxed)
    }

    /// Counts the events that runs take here in this counter, which other threads may read.
    #[must_use]
    pub fn with_event_counter(mut self, counter: Arc<AtomicU64>) -> Self {
        self.counters.events = counter;
        self
    }

    /// Drives every run of the store that no other process drives, from now on.
    pub fn drive_all(&mut self) -> Result<(), StoreError> {
        self.settings.drives = DrivenRuns::All;
        self.read_changes()
    }

    /// When the next turn is worth its while: at once, at that time, or when something is queued.
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
        [timer, limit, self.schedule.closed_due_ms, self.retry_ms()].into_iter().flatten().min()
    }

    /// Does work that can wait, while nothing else is due: adds runs that have ended to the full-text index, and moves the log into the
    /// file, so that no commit has to wait for it later.
    pub fn do_idle_work(&mut self) -> Result<(), StoreError> {
        if !self.current.unwritten && !self.schedule.unindexed.is_empty() {
            let count = self.schedule.unindexed.len().min(RUNS_INDEXED_A_REST);
            let ended: Vec<RunNo> = self.schedule.unindexed.drain(..count).collect();
            match self.store.index_ended(&ended) {
                Err(error) if error.is_busy() => self.schedule.unindexed.extend(ended),
                indexed => indexed?,
            }
        }
        if self.counters.turns - self.counters.rested >= TURNS_A_REST {
            self.counters.rested = self.counters.turns;
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
            Order::Take(run, event, requester) => self.take_event(run, event, requester, now_ms),
            Order::Fork { from, events, id, watched, with, requester } => {
                let forked = self.fork_or_refuse((from, events), &id, watched, &with, now_ms)?;
                self.answer(requester, forked);
                Ok(())
            }
            Order::Wake { run, watched, with, requester } => {
                self.wake_run(run, watched, with, requester);
                Ok(())
            }
            Order::Leave(run) => {
                let idle = self.open.get(&run).is_some_and(|open| open.is_idle());
                if idle { self.leave(run) } else { Ok(()) }
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
                self.store.record_outcome(item, &outcome.map(|taken| taken.new));
                self.sent.remove(&item);
            }
            Requester::Recorded(item) => {
                self.store.remove_item(item);
                self.sent.remove(&item);
            }
        }
    }

    /// Lets go of everything, so that another process can go on at once. What is in flight is performed there again.
    pub fn close(self) -> Result<(), StoreError> {
        self.into_store().map(drop)
    }

    /// The same, and gives the store back.
    pub fn into_store(mut self) -> Result<Store, StoreError> {
        self.record_responses()?;
        self.unload_all()?;
        self.store.begin()?;
        let closed = self
            .write_in_order()
            .and_then(|_| self.store.write_out())
            .and_then(|()| self.store.free(self.owner.number))
            .and_then(|()| self.store.commit());
        if closed.is_err() {
            self.store.roll_back();
        }
        closed.map(|()| self.store)
    }
}
