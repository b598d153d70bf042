//! Moving runs between backends, and removing old ones.

use branchpoint_core::ir::Status;

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
