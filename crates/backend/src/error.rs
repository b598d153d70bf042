//! The error of backend operations.

use crate::{Rejection, SessionRejection};

/// The error of a backend operation.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// The storage or the network of the backend failed.
    #[error("{0}")]
    Unavailable(String),
    /// The stored data comes from an incompatible version of Branchpoint.
    #[error("{0}")]
    Incompatible(String),
    /// The stored data of one run cannot be read. Other runs are not affected.
    #[error("{0}")]
    Damaged(String),
    /// The run or the host rejected the request. Nothing has changed.
    #[error(transparent)]
    Rejection(#[from] Rejection),
    /// The session rejected the request. Nothing has changed.
    #[error(transparent)]
    Session(#[from] SessionRejection),
    /// The run is busy, or the process that drives it does not respond. Nothing has changed.
    #[error("the run is busy, or the process that drives it does not respond; nothing was changed")]
    NoResponse,
    /// The process that drives the run received the event and has not applied it yet. It may still take effect.
    #[error(
        "the process that drives the run has received the event and has not applied it yet; it may still take effect"
    )]
    Pending,
    /// An export file cannot be written or read. Nothing has changed.
    #[error("{0}")]
    BadFile(String),
    /// The request exceeds a limit. Nothing has changed.
    #[error("{0}")]
    Limit(String),
    /// The backend was opened read-only.
    #[error("the backend is read-only")]
    ReadOnly,
    /// A server rejected the request, for this reason.
    #[error("{0}")]
    Refused(String),
    /// A server does not offer this.
    #[error("{0} is not available over --server; run the command on the server, or use its web page")]
    Unsupported(&'static str),
}

impl BackendError {
    /// The stable code of the error.
    ///
    /// ```
    /// use branchpoint_backend::{BackendError, Rejection};
    ///
    /// assert_eq!(BackendError::from(Rejection::NoRun).code(), "rejected");
    /// ```
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unavailable(_) => "unavailable",
            Self::Incompatible(_) => "incompatible",
            Self::Damaged(_) => "damaged",
            Self::Rejection(_) => "rejected",
            Self::Session(_) => "session",
            Self::NoResponse => "no_response",
            Self::Pending => "pending",
            Self::BadFile(_) => "bad_file",
            Self::Limit(_) => "limit",
            Self::ReadOnly => "read_only",
            Self::Refused(_) => "refused",
            Self::Unsupported(_) => "unsupported",
        }
    }

    /// Whether the error affects only one run.
    ///
    /// ```
    /// use branchpoint_backend::BackendError;
    ///
    /// assert!(BackendError::Damaged("an event is missing".into()).is_of_one_run());
    /// assert!(!BackendError::ReadOnly.is_of_one_run());
    /// ```
    pub fn is_of_one_run(&self) -> bool {
        matches!(self, Self::Damaged(_))
    }
}
