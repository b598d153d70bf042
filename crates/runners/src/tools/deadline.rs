//! The time limit and cancellation of calls.

use std::future::Future;
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::runner::{Answer, Call};

/// Performs the work of a call until it is done, exceeds the time limit of the attempt, or is cancelled. `default_ms` is the limit of
/// calls without one.
pub(super) async fn answer(
    call: &Call,
    cancel: &CancellationToken,
    default_ms: u64,
    work: impl Future<Output = Result<Answer, Answer>>,
) -> Answer {
    let limit_ms = call.attempt_limit_ms().unwrap_or(default_ms);
    match cancel.run_until_cancelled(timeout(Duration::from_millis(limit_ms), work)).await {
        Some(Ok(Ok(answer) | Err(answer))) => answer,
        _ if cancel.is_cancelled() || call.attempt_limit_ms().is_some() => Answer::Missing,
        _ => Answer::failed("timeout", format!("no response within {limit_ms} ms")),
    }
}
