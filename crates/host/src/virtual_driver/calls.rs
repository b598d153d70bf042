//! The pending calls of runs under a virtual clock.

use std::collections::VecDeque;
use std::sync::Arc;

use branchpoint_core::EffectNo;
use branchpoint_expr::Value;

use branchpoint_runners::{Answer, Call};

/// Calls to perform, running calls, and calls that hang.
#[derive(Debug, Default)]
pub(super) struct Calls {
    queue: VecDeque<Call>,
    /// In the order of their starts.
    running: Vec<RunningCall>,
    /// The call whose answer is being delivered.
    pub(super) ending: Option<Call>,
    /// Calls that never answer, each with the time of its attempt limit, if it has one.
    hanging: Vec<(Option<i64>, Call)>,
    /// Whether the simulator has no answer for a call.
    has_missing: bool,
}

/// A call that takes some time.
#[derive(Debug)]
pub(super) struct RunningCall {
    pub(super) call: Call,
    pub(super) ends_ms: i64,
    pub(super) reports: Vec<(Arc<str>, Value)>,
    pub(super) answer: Answer,
}

impl Calls {
    /// Records whether the simulator has no answer for a call.
    pub(super) fn record_missing(&mut self, is_missing: bool) {
        self.has_missing |= is_missing;
    }

    pub(super) fn has_missing_answers(&self) -> bool {
        self.has_missing
    }

    /// Adds a call to perform, unless it was added before: a restarted host requests its pending calls again.
    pub(super) fn push(&mut self, call: Call) {
        let present = self.queue.iter().chain(self.running.iter().map(|running| &running.call));
        let mut present = present.chain(self.hanging.iter().map(|(_, call)| call)).chain(&self.ending);
        let same = |other: &Call| (&other.run, other.effect, other.attempt) == (&call.run, call.effect, call.attempt);
        if !present.any(same) {
            self.queue.push_back(call);
        }
    }

    pub(super) fn next(&mut self) -> Option<Call> {
        self.queue.pop_front()
    }

    /// Starts a call that takes some time.
    pub(super) fn start(&mut self, running: RunningCall) {
        self.running.push(running);
    }

    /// When the first running call ends.
    pub(super) fn first_end_ms(&self) -> Option<i64> {
        self.running.iter().map(|running| running.ends_ms).min()
    }

    /// Removes the first call that has ended by that time; of several, the one that was started first.
    pub(super) fn take_ended(&mut self, now_ms: i64) -> Option<RunningCall> {
        let first = self.first_end_ms().filter(|ends_ms| *ends_ms <= now_ms)?;
        let first = self.running.iter().position(|running| running.ends_ms == first)?;
        Some(self.running.remove(first))
    }

    /// Removes a call that the run has withdrawn.
    pub(super) fn withdraw(&mut self, run: &str, effect: EffectNo) {
        let other = |call: &Call| call.effect != effect || &*call.run != run;
        self.queue.retain(other);
        self.running.retain(|running| other(&running.call));
        self.hanging.retain(|(_, call)| other(call));
    }

    /// Adds a call that never answers.
    pub(super) fn hang(&mut self, call: Call, now_ms: i64) {
        let limit = call.attempt_limit_ms().map(|limit| i64::try_from(limit).unwrap_or(i64::MAX));
        self.hanging.push((limit.map(|limit| now_ms.saturating_add(limit)), call));
    }

    pub(super) fn hangs(&self) -> bool {
        !self.hanging.is_empty()
    }

    /// When the first attempt limit of a hanging call is reached.
    pub(super) fn first_limit_ms(&self) -> Option<i64> {
        self.hanging.iter().filter_map(|(limit, _)| *limit).min()
    }

    /// Removes the first hanging call whose attempt limit is reached by that time.
    pub(super) fn take_over_limit(&mut self, now_ms: i64) -> Option<Call> {
        let over = |(_, (limit, _)): &(usize, &(Option<i64>, Call))| limit.is_some_and(|limit| limit <= now_ms);
        let first = self.hanging.iter().enumerate().filter(over).min_by_key(|(_, (limit, _))| *limit)?.0;
        Some(self.hanging.remove(first).1)
    }
}
