//! Constructors for the failures of tool calls.

use std::sync::Arc;

use branchpoint_core::{AttemptError, RetryHint};

use crate::runner::Answer;

/// The kind of failures without a more specific one.
const KIND: &str = "step_failed";

/// It is unknown whether the other side has received the call. Another attempt uses the same idempotency key.
pub(super) fn failed(message: impl Into<Arc<str>>) -> Answer {
    Answer::failed(KIND, message)
}

/// The call was not sent, because the document or the settings are wrong.
pub(super) fn impossible(message: impl Into<Arc<str>>) -> Answer {
    Answer::impossible(KIND, message)
}

/// The other side rejected the call, and would reject it again.
pub(super) fn refused(message: impl Into<Arc<str>>) -> Answer {
    Answer::refused(KIND, message)
}

/// The other side rejected the call, but another attempt may succeed.
pub(super) fn denied(message: impl Into<Arc<str>>) -> Answer {
    busy(message, RetryHint::Soon)
}

/// The other side rejected the call and may ask to wait before another attempt.
pub(super) fn busy(message: impl Into<Arc<str>>, retry: RetryHint) -> Answer {
    Answer::Failed(AttemptError { kind: KIND.into(), message: message.into(), retry, answered: true })
}
