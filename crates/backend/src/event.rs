//! Live events of runs.

use std::sync::Arc;

use branchpoint_core::ir::Status;
use branchpoint_core::{Note, RequestNo};
use branchpoint_expr::Value;

use crate::RunNo;

/// Receives the events of the runs that this process drives, in order. It must not take long, and must not call the
/// backend: runs wait for it.
pub type EventListener = Box<dyn FnMut(&RunEvent) + Send>;

/// Something that happened to a run. It is stored when it is reported. Its values are not redacted: see `Backend::secrets`.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEvent {
    /// The run.
    pub run: RunNo,
    /// The id of the run.
    pub id: Arc<str>,
    /// What happened.
    pub kind: RunEventKind,
}

/// What happened to a run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEventKind {
    /// The run requests a call.
    Call,
    /// The run no longer waits for a call.
    CallWithdrawn,
    /// Notes of a watched run: the steps that began and ended, and the decisions.
    Notes(Vec<Note>),
    /// The run has another status. A run that has ended has a result.
    Status(Status, Option<Value>),
    /// A request to people changed.
    Request(RequestNo, RequestChange),
    /// A message about the run, such as a missing answer of its script.
    Message(String),
    /// The run cannot be opened, for this reason. It stays as it is until somebody repairs it.
    Broken(String),
}

/// A change of a request to people.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestChange {
    /// People are asked this.
    Opened(Value),
    /// These people have not answered.
    Reminded(Vec<Arc<str>>),
    /// It has ended: the way it was settled, or none if it was withdrawn.
    Closed(Option<Value>),
}
