//! Simulates the answers to calls under a virtual clock.

use std::sync::Arc;

use branchpoint_expr::Value;
use branchpoint_runners::{Answer, Call};

/// Gives the answer of each call, in the order of the calls.
pub type CallSimulator<'a> = dyn FnMut(&Call) -> SimulatedAnswer + 'a;

/// The answer of a call that was not performed.
#[derive(Clone, Debug)]
pub struct SimulatedAnswer {
    /// The raw answer.
    pub answer: Answer,
    /// How long the call takes.
    pub duration_ms: u64,
    /// Signals that the call sends to its own run before it ends, by name.
    pub reports: Vec<(Arc<str>, Value)>,
    /// Whether the simulator has no answer. Then the clock stops, so that a missing answer does not look like a late one.
    pub is_missing: bool,
}

impl From<Answer> for SimulatedAnswer {
    fn from(answer: Answer) -> Self {
        Self { answer, duration_ms: 0, reports: Vec::new(), is_missing: false }
    }
}
