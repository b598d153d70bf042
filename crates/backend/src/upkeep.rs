//! Export, import, pruning and health of the storage, and notices to people.

use std::path::PathBuf;
use std::sync::Arc;

use branchpoint_core::RequestNo;
use branchpoint_core::ir::Status;
use branchpoint_expr::Value;

use crate::RunNo;

/// The result of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// The number of exported runs, including child runs.
    pub runs: u64,
    /// The omitted runs, and why.
    pub omitted: Vec<(String, String)>,
}

/// The result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// The ids of the added runs.
    pub runs: Vec<String>,
    /// The ids of runs that already existed, which are unchanged.
    pub existing: Vec<String>,
}

/// Options for removing ended runs.
#[derive(Clone, Debug)]
pub struct Prune {
    /// Remove runs whose latest event is older than this.
    pub before_ms: i64,
    /// Remove runs with these final statuses; empty means all.
    pub statuses: Vec<Status>,
    /// Only count the runs.
    pub dry_run: bool,
}

/// The result of a prune, or of a dry run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The number of runs, including child runs.
    pub runs: u64,
    /// The number of their events.
    pub events: u64,
    /// The number of large values that no other run refers to.
    pub blobs: u64,
    /// The number of runs that were not removed because a child run has not ended.
    pub skipped: u64,
}

/// The state of the storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The version of the storage format.
    pub version: usize,
    /// Damage of the storage, programs, large values and runs; empty if everything is intact.
    pub damage: Vec<String>,
    /// The key of sealed secrets.
    pub key: KeyState,
    /// Files with permissions for other users, each with its mode.
    pub open_files: Vec<(PathBuf, u32)>,
    /// The size of the storage in bytes.
    pub file_bytes: u64,
    /// The free space inside the storage in bytes.
    pub free_bytes: u64,
    /// The size of the write-ahead log in bytes.
    pub log_bytes: u64,
    /// The free space on the disk in bytes, if it is known.
    pub disk_bytes: Option<u64>,
    /// The number of runs with events dated in the future, because the clock was set back.
    pub future_runs: u64,
    /// The number of overdue timers.
    pub overdue: u64,
    /// The number of abandoned runs that could be resumed.
    pub abandoned: u64,
}

/// The state of the key for sealed secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// There are no sealed secrets and no key.
    None,
    /// The key opens the sealed secrets.
    Fits,
    /// The key cannot be used, for this reason.
    Unusable(String),
}

/// A notice about a request to people or about the status of a run. It is stored until it is dispatched, so that a killed process loses
/// none.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// Its number.
    pub number: i64,
    /// The run.
    pub run: RunNo,
    /// The request; none if the notice is about the run.
    pub request: Option<RequestNo>,
    /// What happened: `asked`, `reminded`, `escalated` or `ended`, or the new status of the run.
    pub kind: String,
    /// The users who were reminded, or who have become recipients.
    pub users: Vec<Arc<str>>,
    /// The outcome of an ended request; `None` if it was withdrawn.
    pub outcome: Option<Value>,
}
