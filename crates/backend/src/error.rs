//! Why a backend did not do what it was asked for.

use crate::{Refused, SessionRefused};

/// Why a backend did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// The storage or the network of the backend fails.
    #[error("{0}")]
    Unavailable(String),
    /// Another build of Branchpoint wrote what is stored.
    #[error("{0}")]
    Incompatible(String),
    /// What is stored of one run cannot be read. Other runs are not concerned.
    #[error("{0}")]
    Damaged(String),
    /// The run, or the host, rejects the request. Nothing has changed.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The session rejects the request. Nothing has changed.
    #[error(transparent)]
    Session(#[from] SessionRefused),
    /// The run is busy, or the process that drives it does not respond. Nothing has changed.
    #[error("the run is busy, or the process that drives it does not respond; nothing was changed")]
    NoResponse,
    /// The process that drives the run has the event and has not applied it yet. It may still take effect.
    #[error(
        "the process that drives the run has received the event and has not applied it yet; it may still take effect"
    )]
    Pending,
    /// An exported file cannot be written or read. Nothing has changed.
    #[error("{0}")]
    BadFile(String),
    /// The request exceeds a limit. Nothing has changed.
    #[error("{0}")]
    Limit(String),
    /// The backend was opened to read, not to drive runs.
    #[error("the runs are only read here")]
    ReadOnly,
}

impl BackendError {
    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unavailable(_) => "unavailable",
            Self::Incompatible(_) => "incompatible",
            Self::Damaged(_) => "damaged",
            Self::Refused(_) => "refused",
            Self::Session(_) => "session",
            Self::NoResponse => "no_response",
            Self::Pending => "pending",
            Self::BadFile(_) => "bad_file",
            Self::Limit(_) => "limit",
            Self::ReadOnly => "read_only",
        }
    }

    /// Whether the error concerns what is stored of one run only.
    pub fn is_of_one_run(&self) -> bool {
        matches!(self, Self::Damaged(_))
    }
}
