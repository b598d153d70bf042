//! How commands exit: one scheme for all dialects.
//!
//! `eval` has its own, because its answer is its exit status: 0 true, 1 false, 2 anything else.

use anyhow::Error;
use branchpoint_backend::BackendError;

/// Wrong arguments, or inputs that the workflow does not take.
pub(crate) const USAGE: u8 = 1;

/// The document is refused, so nothing was run.
pub(crate) const REJECTED: u8 = 2;

/// The run has failed, or was cancelled.
pub(crate) const FAILED: u8 = 3;

/// Not the workflow's doing: the store cannot be used, the output cannot be written.
pub(crate) const SYSTEM: u8 = 4;

/// The run waits for people.
pub(crate) const WAITING: u8 = 5;

/// Another process has the event and has not applied it yet.
pub(crate) const PENDING: u8 = 6;

/// Somebody pressed Ctrl-C; the run can go on.
pub(crate) const INTERRUPTED: u8 = 130;

/// Something that this machine cannot do, whatever the arguments are.
#[derive(Debug)]
pub(crate) struct System(pub(crate) String);

impl std::fmt::Display for System {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for System {}

/// An event that another process has claimed and has not applied yet: it may still take effect.
#[derive(Debug)]
pub(crate) struct Pending(pub(crate) String);

impl std::fmt::Display for Pending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Pending {}

/// The exit status of a command that could not do its work.
pub(crate) fn of(trouble: &Error) -> u8 {
    if trouble.is::<Pending>() {
        return PENDING;
    }
    let is_system = |error: &BackendError| {
        use BackendError::{BadFile, Limit, NoResponse, Refused, Session};
        !matches!(error, Refused(_) | Session(_) | NoResponse | BadFile(_) | Limit(_))
    };
    let system = trouble.chain().any(|cause| cause.is::<System>() || cause.downcast_ref().is_some_and(is_system));
    // `Context` wraps its text, so the error itself is asked too.
    if system || trouble.is::<System>() || trouble.downcast_ref().is_some_and(is_system) { SYSTEM } else { USAGE }
}
