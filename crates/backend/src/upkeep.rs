//! Moving runs between backends, removing old ones, the state of the storage, and notices to people outside.

use std::path::PathBuf;
use std::sync::Arc;

use branchpoint_core::RequestNo;
use branchpoint_core::ir::Status;
use branchpoint_expr::Value;

use crate::RunNo;

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// How many runs, children among them.
    pub runs: u64,
    /// Those that were left out, and why.
    pub left_out: Vec<(String, String)>,
}

/// What an import has added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// The ids of the runs that are new here.
    pub runs: Vec<String>,
    /// The ids of runs that this store had already; they are unchanged.
    pub known: Vec<String>,
}

/// Which runs to remove. Runs that have not ended are never removed.
#[derive(Clone, Debug)]
pub struct Prune {
    /// Those whose newest event is older than this.
    pub before_ms: i64,
    /// Those that ended like this; all that have ended, if none is named.
    pub statuses: Vec<Status>,
    /// Only count.
    pub dry_run: bool,
}

/// What was removed, or would be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Runs, child runs among them.
    pub runs: u64,
    /// Events of these runs.
    pub events: u64,
    /// Large values that nobody else refers to.
    pub blobs: u64,
    /// Runs that were left because a child of theirs has not ended.
    pub kept: u64,
}

/// The state of the storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The version of the stored form.
    pub version: usize,
    /// Damage of the storage, of programs, of large values and of runs; empty if everything is intact.
    pub damage: Vec<String>,
    /// The key of sealed secrets.
    pub key: KeyState,
    /// Files that others than their owner may use, each with its mode.
    pub open_files: Vec<(PathBuf, u32)>,
    /// The size of the storage in bytes.
    pub file_bytes: u64,
    /// How many bytes of it are free.
    pub free_bytes: u64,
    /// The size of the write-ahead log in bytes.
    pub log_bytes: u64,
    /// Free space on the disk in bytes; none if it is unknown.
    pub disk_bytes: Option<u64>,
    /// How many runs have events dated in the future: the clock was set back.
    pub future_runs: u64,
    /// How many timers are overdue.
    pub overdue: u64,
    /// How many abandoned runs could continue.
    pub adrift: u64,
}

/// The key of sealed secrets, as a check found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// Nothing is sealed, and there is no key.
    None,
    /// The key opens what is sealed.
    Fits,
    /// The key cannot be used; the text is the reason.
    Unusable(String),
}

/// A notice to people outside about a request. It stays stored until it is dropped, so that a killed process loses none.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// Its number.
    pub number: i64,
    /// The run that asks.
    pub run: RunNo,
    /// The request.
    pub request: RequestNo,
    /// What happened: `asked`, `reminded` or `ended`.
    pub event: String,
    /// Who was reminded.
    pub users: Vec<Arc<str>>,
    /// The way a request that has ended was settled; none if it was withdrawn.
    pub outcome: Option<Value>,
}
