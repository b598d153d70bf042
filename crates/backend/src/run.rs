//! Runs, as lists and commands see them.

use std::sync::Arc;

use branchpoint_core::ir::{Program, Status, ViewId};
use branchpoint_core::{State, status, view};
use branchpoint_expr::Value;

use crate::WorkflowNo;

/// A backend's own number of a run. People and other systems use the id of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunNo(pub i64);

/// Whose child a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    /// The run that called.
    pub run: RunNo,
    /// The effect of that run.
    pub effect: u64,
    /// Which attempt of it.
    pub attempt: u32,
}

/// The row of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its number in this store.
    pub run: RunNo,
    /// Its id, as people and other systems name it.
    pub id: String,
    /// What it is a run of.
    pub workflow: WorkflowNo,
    /// Which program of that workflow.
    pub part: String,
    /// How it stands.
    pub status: Status,
    /// How many events it has taken.
    pub seq: u64,
    /// The process that drives it.
    pub owner: Option<i64>,
    /// Whose child it is.
    pub parent: Option<Parent>,
    /// The folder that it works in.
    pub folder: String,
    /// When it was started.
    pub started_ms: i64,
    /// The time of its newest event.
    pub touched_ms: i64,
    /// How long it waited for people, up to its newest event.
    pub waited_ms: i64,
}

/// Which runs are meant.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Of that status.
    pub status: Option<Status>,
    /// Of the workflow of that name.
    pub workflow: Option<String>,
    /// Started at that time or later.
    pub since_ms: Option<i64>,
    /// Whose id, workflow, input or result contains all these words.
    pub search: Option<String>,
    /// Whether child runs are listed too.
    pub children: bool,
    /// Older than that run.
    pub before: Option<RunNo>,
    /// At most so many.
    pub limit: Option<u32>,
}

/// A run as it stands.
#[derive(Debug)]
pub struct Look {
    /// Its row.
    pub row: Run,
    /// Its program.
    pub program: Arc<Program>,
    /// Its state.
    pub state: State,
}

impl Look {
    /// How it stands.
    pub fn status(&self) -> Status {
        status(&self.program, &self.state)
    }

    /// The result object of one that has ended; else what its program shows of it meanwhile.
    pub fn result(&self) -> Option<Value> {
        self.state.result().map(|(_, result)| result.clone()).or_else(|| self.view("result"))
    }

    /// A pure read of it, by name; none if there is no such view or it cannot be read.
    pub fn view(&self, name: &str) -> Option<Value> {
        let id = self.program.views.iter().position(|view| &*view.name == name)?;
        view(&self.program, &self.state, ViewId(u32::try_from(id).ok()?)).ok()
    }
}

/// A part of a run that was replayed.
#[derive(Debug)]
pub struct Replayed {
    /// The run as it stands.
    pub look: Look,
    /// How many events came before the part.
    pub first: u64,
    /// The number of the last event of the part.
    pub last: u64,
    /// Whether the part is the whole run.
    pub is_whole: bool,
}

/// A process that drives runs.
#[derive(Clone, Debug)]
pub struct DriverProcess {
    /// The number that the rows of its runs have as `owner`.
    pub owner: i64,
    /// Its process id.
    pub pid: u32,
    /// The command that it executes.
    pub command: String,
    /// When it began.
    pub since_ms: i64,
}

/// The script that answers the calls of a run.
#[derive(Clone, Debug)]
pub struct RunScript {
    /// The hash of its stored form, in hexadecimal.
    pub hash: String,
    /// The script.
    pub script: Value,
    /// Whether it is a recording, which answers every call and every approval.
    pub is_recorded: bool,
    /// When somebody continued the run without the script.
    pub live_ms: Option<i64>,
}
