//! Ways in which a call of a tool fails.

use std::sync::Arc;

use branchpoint_core::{AttemptError, RetryHint};

use crate::runner::Answer;

/// The kind of a failure that is the tool's own.
const OWN: &str = "step_failed";

/// Whether the other side has seen the call is not known; another attempt goes out under the same key.
pub(super) fn failed(message: impl Into<Arc<str>>) -> Answer {
    Answer::failed(OWN, message)
}

/// Nothing went out, and nothing will: what is wrong is wrong in the document or in the settings.
pub(super) fn impossible(message: impl Into<Arc<str>>) -> Answer {
    Answer::impossible(OWN, message)
}

/// The other side has answered, and a repetition would be answered the same.
pub(super) fn refused(message: impl Into<Arc<str>>) -> Answer {
    Answer::refused(OWN, message)
}

/// The other side has answered, and may answer better the next time.
pub(super) fn denied(message: impl Into<Arc<str>>) -> Answer {
    busy(message, RetryHint::Soon)
}

/// The same, and it has said how long it wants to be left alone.
pub(super) fn busy(message: impl Into<Arc<str>>, retry: RetryHint) -> Answer {
    Answer::Failed(AttemptError { kind: OWN.into(), message: message.into(), retry, answered: true })
}
