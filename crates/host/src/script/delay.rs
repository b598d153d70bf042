//! Answers of scripts that come after a delay, or never.

use std::time::Duration;

use branchpoint_runners::{Answer, Call, CancellationToken};

use super::Reply;

impl Reply {
    /// Whether the answer does not come at once. A call that hangs reaches the limit of its attempt at once, if it has one.
    pub(crate) fn is_delayed(&self, call: &Call) -> bool {
        self.withdrawn || self.delay_ms > 0 || (self.answer == Answer::Missing && call.attempt_limit_ms().is_none())
    }

    /// Waits for the answer, the limit of the attempt, or a cancellation.
    pub(crate) async fn after_delay(self, call: &Call, cancel: &CancellationToken) -> Answer {
        let hangs = self.withdrawn || (self.answer == Answer::Missing && call.attempt_limit_ms().is_none());
        let after = (!hangs).then_some(self.delay_ms);
        let until_ms = after.into_iter().chain(call.attempt_limit_ms()).min();
        let Some(until_ms) = until_ms else {
            cancel.cancelled().await;
            return Answer::Missing;
        };
        let waited = cancel.run_until_cancelled(tokio::time::sleep(Duration::from_millis(until_ms))).await;
        let in_time = after.is_some_and(|after| call.attempt_limit_ms().is_none_or(|limit| after <= limit));
        if waited.is_some() && in_time { self.answer } else { Answer::Missing }
    }
}
