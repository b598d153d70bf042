//! The parts of a host besides its store and its runs: settings, scheduled work, the current turn, and counters.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use branchpoint_core::{EffectNo, Event, RunLimits, TimerNo};
use branchpoint_expr::Value;

use super::env_secrets::EnvSecrets;
use super::turn::Numbers;
use super::{DrivenRuns, Facts, MAX_OPS, Order, TurnOutput};
use crate::store::RunNo;
use branchpoint_runners::agent::AgentLimits;
use branchpoint_runners::{SecretStore, SharedSecrets};

/// The settings of a host.
pub(super) struct Settings {
    pub(super) drives: DrivenRuns,
    pub(super) facts: Facts,
    /// The most idle runs in memory.
    pub(super) idle_limit: usize,
    /// The secrets that calls of other workflows name.
    pub(super) secrets: SecretStore,
    pub(super) env_secrets: EnvSecrets,
    pub(super) shared_secrets: Option<SharedSecrets>,
    pub(super) agents: AgentLimits,
    /// The most ops that a run that is started here may execute; 0 means no limit.
    pub(super) max_ops: u64,
    /// Limits on the runs of workflows, by name.
    pub(super) run_limits: BTreeMap<String, RunLimits>,
    /// Whether notices to people are stored.
    pub(super) notifies: bool,
    /// Whether notices about the status of runs are stored.
    pub(super) notifies_of_runs: bool,
}

/// Work for later turns, and the times at which more is due.
#[derive(Default)]
pub(super) struct Schedule {
    /// Runs whose requests a script answers in the next turn.
    pub(super) answerable: BTreeSet<RunNo>,
    /// The timers of open runs.
    pub(super) timers: BTreeSet<(i64, RunNo, TimerNo)>,
    /// Time limits of attempts that are child runs.
    pub(super) limits: BTreeSet<(i64, RunNo, EffectNo, u32)>,
    /// When the first timer of the runs without a driver is due; `None` if there is none, or if this host does not drive them.
    pub(super) unowned_due_ms: Option<i64>,
    /// Orders for the next turns.
    pub(super) queue: VecDeque<Order>,
    /// Runs that have ended and are not in the full-text index yet.
    pub(super) unindexed: VecDeque<RunNo>,
    /// Open runs whose last event is not finished.
    pub(super) unfinished: VecDeque<RunNo>,
}

/// The computed and unwritten results of the current turn.
#[derive(Default)]
pub(super) struct CurrentTurn {
    /// Open runs that accepted events in this turn.
    pub(super) touched: Vec<RunNo>,
    /// Open runs that have ended in this turn.
    pub(super) ended: Vec<RunNo>,
    /// The outcome of the request that the current event has settled.
    pub(super) resolved: Option<Value>,
    /// The time of this turn.
    pub(super) now_ms: i64,
    /// The outputs of the turn, which are returned after it is written.
    pub(super) outputs: Vec<TurnOutput>,
    /// Events that this turn posts to the inbox of other runs.
    pub(super) posts: Vec<(RunNo, Event)>,
    /// Runs that are started in this turn, by id.
    pub(super) new_ids: BTreeMap<String, RunNo>,
    /// Numbers that are reserved for new runs.
    pub(super) numbers: Numbers,
    /// The number of ops that this turn has executed.
    pub(super) ops: u64,
    /// Whether the turn is computed but not written.
    pub(super) unwritten: bool,
}

/// Counters since the creation of the host.
#[derive(Default)]
pub(super) struct Counters {
    /// The number of runs that accepted events since the last unloading.
    pub(super) events_since_unload: usize,
    pub(super) events: Arc<AtomicU64>,
    pub(super) turns: u64,
    /// The turn of the last checkpoint of the log.
    pub(super) last_checkpoint: u64,
}

impl Settings {
    pub(super) fn new(drives: DrivenRuns, facts: Facts) -> Self {
        Self {
            drives,
            facts,
            idle_limit: 1_000,
            secrets: Arc::new(|_| None),
            env_secrets: EnvSecrets::default(),
            shared_secrets: None,
            agents: AgentLimits::default(),
            max_ops: MAX_OPS,
            run_limits: BTreeMap::new(),
            notifies: false,
            notifies_of_runs: false,
        }
    }
}
