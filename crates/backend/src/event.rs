//! Live events of runs, for listeners.

use std::sync::Arc;

use branchpoint_core::ir::Status;
use branchpoint_core::{Note, RequestNo};
use branchpoint_expr::Value;

use crate::RunNo;

/// Receives the events of the runs that this process drives, in order. It must return quickly and must not call the backend,
/// because runs wait for it.
pub type EventListener = Box<dyn FnMut(&RunEvent) + Send>;

/// An event of a run. It is stored before it is reported. Its values are not redacted: see `Backend::secrets`.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEvent {
    /// The run.
    pub run: RunNo,
    /// The id of the run.
    pub id: Arc<str>,
    /// What happened.
    pub kind: RunEventKind,
}

/// The kind of an event of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEventKind {
    /// The run requested a call.
    Call,
    /// The run no longer waits for a call.
    CallWithdrawn,
    /// Notes of a watched run: started and ended steps, and decisions.
    Notes(Vec<Note>),
    /// The status changed. A run that has ended has a result.
    Status(Status, Option<Value>),
    /// A request to people changed.
    Request(RequestNo, RequestChange),
    /// A message about the run, such as a missing answer of its script.
    Message(String),
    /// The run cannot be opened, for this reason. It is not changed until it is repaired.
    Broken(String),
}

/// A change of a request to people.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestChange {
    /// The request was opened, with this specification.
    Opened(Value),
    /// These people were reminded.
    Reminded(Vec<Arc<str>>),
    /// These people have become recipients, because the approval was not settled in time.
    Escalated(Vec<Arc<str>>),
    /// The request was closed with this outcome, or withdrawn without one.
    Closed(Option<Value>),
}
