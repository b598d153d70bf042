//! Answers of scripts that come after a delay, or never.

use std::thread;
use std::time::{Duration, Instant};

use super::Reply;
use branchpoint_runners::Stop;
use branchpoint_runners::{Answer, Call};

/// How often a call that hangs checks whether it was cancelled.
const POLL: Duration = Duration::from_millis(20);

impl Reply {
    /// Whether the answer does not come at once. A call that hangs reaches the limit of its attempt at once, if it has one.
    pub(crate) fn is_delayed(&self, call: &Call) -> bool {
        self.withdrawn || self.delay_ms > 0 || (self.answer == Answer::Never && call.attempt_limit_ms().is_none())
    }

    /// Waits for the answer, the limit of the attempt, or a cancellation.
    pub(crate) fn after_delay(self, call: &Call, stop: &Stop) -> Answer {
        let hangs = self.withdrawn || (self.answer == Answer::Never && call.attempt_limit_ms().is_none());
        let after = (!hangs).then_some(Duration::from_millis(self.delay_ms));
        let (began, limit) = (Instant::now(), call.attempt_limit_ms().map(Duration::from_millis));
        let until = after.into_iter().chain(limit).min();
        while !stop.is_set() {
            let left = until.map(|until| until.saturating_sub(began.elapsed()));
            if left.is_some_and(|left| left.is_zero()) {
                let in_time = after.is_some_and(|after| limit.is_none_or(|limit| after <= limit));
                return if in_time { self.answer } else { Answer::Never };
            }
            thread::sleep(left.map_or(POLL, |left| left.min(POLL)));
        }
        Answer::Never
    }
}
