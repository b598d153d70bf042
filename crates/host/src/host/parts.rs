//! The parts of a host that are not rows of its store: its settings, the work that waits, and the present turn.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use branchpoint_core::{EffectNo, Event, TimerNo};
use branchpoint_expr::Value;

use super::env_secrets::EnvSecrets;
use super::turn::Numbers;
use super::{DrivenRuns, Facts, MAX_OPS, Order, TurnOutput};
use crate::store::RunNo;
use branchpoint_runners::agent::AgentLimits;
use branchpoint_runners::{SecretStore, SharedSecrets};

/// What the operator and the program that embeds the host have chosen.
pub(super) struct Settings {
    pub(super) drives: DrivenRuns,
    pub(super) facts: Facts,
    /// How many runs stay in memory that have nothing to do.
    pub(super) idle_limit: usize,
    /// Where secrets are that calls of other workflows name.
    pub(super) secrets: SecretStore,
    pub(super) env_secrets: EnvSecrets,
    pub(super) shared_secrets: Option<SharedSecrets>,
    pub(super) agents: AgentLimits,
    /// How many ops a run may execute that is started here; 0 is no bound.
    pub(super) max_ops: u64,
    /// Whether notices to people outside are kept.
    pub(super) notifies: bool,
}

/// Work that waits for a turn, and the times at which more is due.
#[derive(Default)]
pub(super) struct Schedule {
    /// Runs whose questions a script answers in the next turn.
    pub(super) answerable: BTreeSet<RunNo>,
    /// The timers of open runs.
    pub(super) timers: BTreeSet<(i64, RunNo, TimerNo)>,
    /// When attempts that are child runs have taken too long.
    pub(super) limits: BTreeSet<(i64, RunNo, EffectNo, u32)>,
    /// When the first timer of a run is due that nobody drives; none if that is not known to be any time.
    pub(super) closed_due_ms: Option<i64>,
    /// Orders for the next turns.
    pub(super) queue: VecDeque<Order>,
    /// Runs that have ended and are not in the full-text index yet.
    pub(super) unindexed: VecDeque<RunNo>,
    /// Open runs whose last event is not finished.
    pub(super) unfinished: VecDeque<RunNo>,
}

/// What the present turn has computed and not written yet.
#[derive(Default)]
pub(super) struct CurrentTurn {
    /// Open runs that took events in this turn.
    pub(super) touched: Vec<RunNo>,
    /// Open runs that have ended in this turn.
    pub(super) ended: Vec<RunNo>,
    /// How the event that is being applied has settled a question.
    pub(super) resolved: Option<Value>,
    /// The time of this turn.
    pub(super) now_ms: i64,
    /// What comes out of the turn when it is written.
    pub(super) outputs: Vec<TurnOutput>,
    /// Events that go into the inbox of other runs with this turn.
    pub(super) posts: Vec<(RunNo, Event)>,
    /// Runs that are started in this turn, by id.
    pub(super) new_ids: BTreeMap<String, RunNo>,
    /// Numbers that are reserved for new runs.
    pub(super) numbers: Numbers,
    /// How many ops this turn has executed.
    pub(super) ops: u64,
    /// Whether a turn was computed and not written.
    pub(super) unwritten: bool,
}

/// How much has happened since the host was made.
#[derive(Default)]
pub(super) struct Counters {
    /// How many runs took events since idle runs were looked for.
    pub(super) since_idle_away: usize,
    pub(super) events: Arc<AtomicU64>,
    pub(super) turns: u64,
    /// How many turns there were before the last rest.
    pub(super) rested: u64,
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
            notifies: false,
        }
    }
}
