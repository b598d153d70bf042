//! The exit codes of commands, the same for all dialects.
//!
//! `eval` has its own, because its result is its exit code: 0 true, 1 false, 2 anything else.

use anyhow::Error;
use branchpoint_backend::BackendError;

/// Invalid arguments or inputs.
pub(crate) const USAGE: u8 = 1;

/// The document is rejected, so nothing was executed.
pub(crate) const REJECTED: u8 = 2;

/// The run has failed, or was cancelled.
pub(crate) const FAILED: u8 = 3;

/// A system error: the store cannot be used, or the output cannot be written.
pub(crate) const SYSTEM: u8 = 4;

/// The run waits for people.
pub(crate) const WAITING: u8 = 5;

/// Another process has the event and has not applied it yet.
pub(crate) const PENDING: u8 = 6;

/// Interrupted by Ctrl-C; the run can be resumed.
pub(crate) const INTERRUPTED: u8 = 130;

/// An error with an exit status of its own.
#[derive(Debug)]
pub(crate) struct Exit(u8, String);

impl Exit {
    /// A system error, independent of the arguments.
    pub(crate) fn system(message: impl Into<String>) -> Self {
        Self(SYSTEM, message.into())
    }

    /// Another process has claimed the event and has not applied it yet: it may still take effect.
    pub(crate) fn pending(message: String) -> Self {
        Self(PENDING, message)
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.1)
    }
}

impl std::error::Error for Exit {}

/// The exit status of a command that could not do its work.
pub(crate) fn status_of(error: &Error) -> u8 {
    use BackendError::{BadFile, Limit, NoResponse, Rejection, Session};
    let is_usage =
        |error: &BackendError| matches!(error, Rejection(_) | Session(_) | NoResponse | BadFile(_) | Limit(_));
    // `Context` wraps its text, so the error itself is examined first.
    let own = error.downcast_ref().or_else(|| error.chain().find_map(|cause| cause.downcast_ref()));
    let backend = error.downcast_ref().or_else(|| error.chain().find_map(|cause| cause.downcast_ref()));
    match (own, backend) {
        (Some(Exit(code, _)), _) => *code,
        (None, Some(error)) if !is_usage(error) => SYSTEM,
        _ => USAGE,
    }
}
