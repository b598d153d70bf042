//! Events: the facts that a host hands to a run.

use std::sync::Arc;

use branchpoint_expr::{Object, Value};
use serde::{Deserialize, Serialize};

use crate::ir::BudgetLimits;
use crate::state::{EffectNo, State, TimerNo};

/// Facts of the host that go with an event: the time, a random seed and the granted fuel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stamp {
    /// The time, in milliseconds since the Unix epoch. Within a run, time never decreases.
    pub now_ms: i64,
    /// A random number for the jitter of retries.
    pub seed: u64,
    /// The offset from UTC of each of [`Program::zones`](crate::ir::Program::zones) at that time, in seconds.
    pub offsets_s: Vec<i32>,
    /// The maximum number of ops of this call, limited by [`Program::fuel`](crate::ir::Program::fuel); 0 grants the program's fuel. The
    /// host grants little fuel to a call that others wait for, and much to a run that only continues, so that its journal stays short.
    pub fuel: u32,
    /// Whether to record a trace. Recording does not change what the run does.
    pub record: bool,
}

/// A fact that a host hands to a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// The run begins.
    Start {
        /// The input of the run.
        input: Value,
        /// The facts that the program names.
        facts: Object,
        /// The number of runs that enclose this one: a child run has one more than its parent.
        depth: u32,
        /// The maximum number of ops of the run, as configured by the operator; 0 is no limit. The limit is a part of the event, so that
        /// a replay ends where the run ended, even if the setting has changed since.
        max_ops: u64,
        /// What the budgets of the callers have left; none for a top-level run. The time limit is not passed on, because the caller
        /// withdraws the call.
        budget: BudgetLimits,
    },
    /// An attempt of an effect has ended.
    Settled {
        /// The effect.
        effect: EffectNo,
        /// The number of the attempt, counted from 1.
        attempt: u32,
        /// The value or the error of the attempt.
        result: Result<Value, AttemptError>,
        /// The tokens and the cost of the attempt.
        usage: Usage,
    },
    /// A timer is due. The stamp's time is its due time.
    TimerFired(TimerNo),
    /// Someone sent a signal.
    Signal {
        /// The name of the signal.
        name: Arc<str>,
        /// The data of the signal.
        payload: Value,
        /// The sender, if known.
        sender: Option<Arc<str>>,
        /// The sender's deduplication key. The host accepts one signal for each key and run. The key is stored with the event, so that
        /// the host can rebuild its index from the journal.
        key: Option<Arc<str>>,
    },
    /// A request to cancel the run. A second request ends the run immediately, without the program's cleanup.
    Cancel {
        /// The reason, if one was given.
        reason: Option<Arc<str>>,
    },
    /// Continues a run whose last call ran out of fuel.
    Continue,
    /// Moves the run to a changed program or to other semantics, with this state.
    Adopt(Box<State>),
}

impl Event {
    /// The start of a top-level run with this input, without facts and without a limit of ops.
    ///
    /// ```
    /// use branchpoint_core::Event;
    ///
    /// assert!(matches!(Event::start("hello"), Event::Start { depth: 0, .. }));
    /// ```
    pub fn start(input: impl Into<Value>) -> Self {
        let budget = BudgetLimits::default();
        Self::Start { input: input.into(), facts: Object::default(), depth: 0, max_ops: 0, budget }
    }
}

/// The error of a failed attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptError {
    /// The kind of error.
    pub kind: Arc<str>,
    /// One sentence that describes the error.
    pub message: Arc<str>,
    /// Whether, and when, another attempt makes sense.
    pub retry: RetryHint,
    /// Whether the remote side replied. If it did not, the outcome is unknown, and the next attempt uses the same idempotency key.
    pub answered: bool,
}

/// Whether, and when, another attempt makes sense. The first two variants have the stored bytes of `false` and `true`, which older
/// journals contain instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RetryHint {
    /// Another attempt would fail too.
    Never,
    /// Another attempt may succeed, after the delay of the retry policy.
    Soon,
    /// Another attempt may succeed, but not before this number of milliseconds: the remote side sent a `Retry-After`.
    After(u64),
}

impl RetryHint {
    /// Whether another attempt makes sense.
    ///
    /// ```
    /// use branchpoint_core::RetryHint;
    ///
    /// assert!(RetryHint::Soon.allows_retry() && !RetryHint::Never.allows_retry());
    /// ```
    pub fn allows_retry(self) -> bool {
        self != Self::Never
    }

    /// The minimum delay that the remote side demands before another attempt, in milliseconds.
    ///
    /// ```
    /// use branchpoint_core::RetryHint;
    ///
    /// assert_eq!(RetryHint::After(1_500).min_delay_ms(), 1_500);
    /// assert_eq!(RetryHint::Soon.min_delay_ms(), 0);
    /// ```
    pub fn min_delay_ms(self) -> u64 {
        match self {
            Self::After(ms) => ms,
            Self::Never | Self::Soon => 0,
        }
    }
}

impl From<bool> for RetryHint {
    fn from(again: bool) -> Self {
        if again { Self::Soon } else { Self::Never }
    }
}

/// The tokens and the cost of an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The number of tokens.
    pub tokens: u64,
    /// The cost, in millionths of the currency unit.
    pub cost_micros: u64,
}

impl Usage {
    /// Adds the usage of another call.
    ///
    /// ```
    /// use branchpoint_core::Usage;
    ///
    /// let mut usage = Usage { tokens: 10, cost_micros: 3 };
    /// usage.add(Usage { tokens: 5, cost_micros: 0 });
    /// assert_eq!(usage, Usage { tokens: 15, cost_micros: 3 });
    /// ```
    pub fn add(&mut self, more: Self) {
        self.tokens = self.tokens.saturating_add(more.tokens);
        self.cost_micros = self.cost_micros.saturating_add(more.cost_micros);
    }
}
