//! Calls that the run waits for.

use std::collections::VecDeque;
use std::sync::Arc;

use branchpoint_core::EffectNo;
use branchpoint_expr::Value;

use branchpoint_runners::{Answer, Call};

/// Calls to perform, those that take their time, and those that were performed and never answered.
#[derive(Debug, Default)]
pub(super) struct Calls {
    queue: VecDeque<Call>,
    /// In the order in which they were begun.
    working: Vec<Working>,
    /// The call whose answer is being handed in.
    pub(super) ending: Option<Call>,
    /// With the time at which the limit of the attempt is over, if it has one.
    hanging: Vec<(Option<i64>, Call)>,
    /// Whether a call has no answer.
    is_lacking: bool,
}

/// A call that was performed and whose answer is on its way.
#[derive(Debug)]
pub(super) struct Working {
    pub(super) call: Call,
    pub(super) ends_ms: i64,
    pub(super) reports: Vec<(Arc<str>, Value)>,
    pub(super) answer: Answer,
}

impl Calls {
    /// Notes that nobody has an answer to a call.
    pub(super) fn note_lacking(&mut self, is_lacking: bool) {
        self.is_lacking |= is_lacking;
    }

    pub(super) fn lacks_answers(&self) -> bool {
        self.is_lacking
    }

    /// A call to perform. One that is known already is asked for again by a host that was stopped in between; the world outside
    /// was not.
    pub(super) fn push(&mut self, call: Call) {
        let known = self.queue.iter().chain(self.working.iter().map(|working| &working.call));
        let mut known = known.chain(self.hanging.iter().map(|(_, call)| call)).chain(&self.ending);
        let same = |known: &Call| (&known.run, known.effect, known.attempt) == (&call.run, call.effect, call.attempt);
        if !known.any(same) {
            self.queue.push_back(call);
        }
    }

    pub(super) fn next(&mut self) -> Option<Call> {
        self.queue.pop_front()
    }

    /// A call that was performed and takes its time.
    pub(super) fn work(&mut self, working: Working) {
        self.working.push(working);
    }

    /// When the first of the calls that take their time ends.
    pub(super) fn first_end_ms(&self) -> Option<i64> {
        self.working.iter().map(|working| working.ends_ms).min()
    }

    /// The first call that has ended by that time; of several, the one that was begun first.
    pub(super) fn take_ended(&mut self, now_ms: i64) -> Option<Working> {
        let first = self.first_end_ms().filter(|ends_ms| *ends_ms <= now_ms)?;
        let first = self.working.iter().position(|working| working.ends_ms == first)?;
        Some(self.working.remove(first))
    }

    /// Nobody waits for it any more, whether or not it was performed.
    pub(super) fn withdraw(&mut self, run: &str, effect: EffectNo) {
        let other = |call: &Call| call.effect != effect || &*call.run != run;
        self.queue.retain(other);
        self.working.retain(|working| other(&working.call));
        self.hanging.retain(|(_, call)| other(call));
    }

    /// A call that was performed and does not answer.
    pub(super) fn hang(&mut self, call: Call, now_ms: i64) {
        let limit = call.attempt_limit_ms().map(|limit| i64::try_from(limit).unwrap_or(i64::MAX));
        self.hanging.push((limit.map(|limit| now_ms.saturating_add(limit)), call));
    }

    pub(super) fn hangs(&self) -> bool {
        !self.hanging.is_empty()
    }

    /// When the first limit of a hanging call is over.
    pub(super) fn first_limit_ms(&self) -> Option<i64> {
        self.hanging.iter().filter_map(|(limit, _)| *limit).min()
    }

    /// The first hanging call whose limit is over by that time.
    pub(super) fn take_over_limit(&mut self, now_ms: i64) -> Option<Call> {
        let over = |(_, (limit, _)): &(usize, &(Option<i64>, Call))| limit.is_some_and(|limit| limit <= now_ms);
        let first = self.hanging.iter().enumerate().filter(over).min_by_key(|(_, (limit, _))| *limit)?.0;
        Some(self.hanging.remove(first).1)
    }
}
