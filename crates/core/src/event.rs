//! Facts that come in.

use std::sync::Arc;

use branchpoint_expr::{Object, Value};
use serde::{Deserialize, Serialize};

use crate::state::{EffectNo, State, TimerNo};

/// What the host knows when it hands in an event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stamp {
    /// The time, in milliseconds since the Unix epoch. It never goes back within a run.
    pub now_ms: i64,
    /// A random number, for jitter.
    pub seed: u64,
    /// How far each of [`Program::zones`](crate::ir::Program::zones) is ahead of UTC at that time, in seconds.
    pub offsets_s: Vec<i32>,
    /// How many ops the call may run. It is at most [`Program::fuel`](crate::ir::Program::fuel), which 0 stands for. The host grants
    /// little fuel to a call that others wait for, and much to a run that only continues, so that its journal stays short.
    pub fuel: u32,
    /// Whether the trace is wanted. It changes nothing but what is told.
    pub record: bool,
}

/// A fact coming in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// The run begins.
    Start {
        /// What it was started with.
        input: Value,
        /// The facts that the program names.
        facts: Object,
        /// How many runs are around this one: a child run has one more than the run that asked for it.
        depth: u32,
        /// How many ops the run may execute, as the operator has set it; 0 is no bound. It is a part of the event, so a replay ends
        /// where the run has ended, whatever the setting is by then.
        max_ops: u64,
    },
    /// An attempt of an effect has ended.
    Settled {
        /// Which effect.
        effect: EffectNo,
        /// Which attempt, counted from 1.
        attempt: u32,
        /// Its value or its error.
        result: Result<Value, AttemptError>,
        /// What it used up.
        usage: Usage,
    },
    /// A timer is due. The stamp's time is its due time.
    TimerFired(TimerNo),
    /// Someone sent a signal.
    Signal {
        /// Its name.
        name: Arc<str>,
        /// What it says.
        payload: Value,
        /// Who sent it.
        sender: Option<Arc<str>>,
        /// What the sender calls it. The host takes one signal of a key and run; it stays with the event, so that whoever
        /// rebuilds the host's index finds it.
        key: Option<Arc<str>>,
    },
    /// The run is to end; a second time, at once.
    Cancel {
        /// Why.
        reason: Option<Arc<str>>,
    },
    /// The fuel of the last call was spent before everything was done.
    Continue,
    /// The run crosses into a changed program, or into other semantics, carrying its state.
    Adopt(Box<State>),
}

impl Event {
    /// The start of a run with this input and without facts, which no other run has called.
    ///
    /// ```
    /// use branchpoint_core::Event;
    ///
    /// assert!(matches!(Event::start("hello"), Event::Start { depth: 0, .. }));
    /// ```
    pub fn start(input: impl Into<Value>) -> Self {
        Self::Start { input: input.into(), facts: Object::default(), depth: 0, max_ops: 0 }
    }
}

/// Why an attempt failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptError {
    /// The kind of error.
    pub kind: Arc<str>,
    /// One sentence for people.
    pub message: Arc<str>,
    /// Whether another attempt makes sense.
    pub retry: RetryHint,
    /// Whether the other side answered. An attempt whose fate is unknown is repeated under the same key.
    pub answered: bool,
}

/// Whether another attempt makes sense, and when. The first two have the stored bytes of `false` and `true`, which older journals
/// have in their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RetryHint {
    /// It would only fail again.
    Never,
    /// It may help, whenever the policy says.
    Soon,
    /// It may help, but not before so many milliseconds: the other side has said so.
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

    /// How many milliseconds the other side wants the caller to wait before another attempt.
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

/// What an attempt used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens.
    pub tokens: u64,
    /// Cost, in millionths.
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
