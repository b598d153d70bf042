//! Runs as plain data.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use branchpoint_core::ir::{Program, Status, ViewId};
use branchpoint_core::{State, status, view};
use branchpoint_expr::Value;
use serde::{Deserialize, Serialize};

use crate::{Priority, Tags, WorkflowNo};

/// The internal number of a run. People and other systems use the id of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RunNo(pub i64);

/// Ids that no new run has, because they are words in the paths of the HTTP API, where the id of a run would be: `/runs/bulk`.
pub const RESERVED_RUN_IDS: [&str; 1] = ["bulk"];

/// The parent of a child run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// The calling run.
    pub run: RunNo,
    /// The effect of the calling run.
    pub effect: u64,
    /// The attempt of the effect.
    pub attempt: u32,
}

/// The row of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// Its number in this store.
    pub run: RunNo,
    /// Its id for people and other systems.
    pub id: String,
    /// Its workflow.
    pub workflow: WorkflowNo,
    /// The program of the workflow.
    pub part: String,
    /// Its status.
    pub status: Status,
    /// The number of its events.
    pub seq: u64,
    /// The process that drives it.
    pub owner: Option<i64>,
    /// The parent, if it is a child run.
    pub parent: Option<Parent>,
    /// Its working directory.
    pub folder: String,
    /// When it was started.
    pub started_ms: i64,
    /// The time of its latest event.
    pub updated_ms: i64,
    /// How long it waited for people, up to its latest event.
    pub waited_ms: i64,
    /// Its tags.
    pub tags: Tags,
    /// Its priority in queues.
    pub priority: Priority,
    /// Its last decision, with secrets masked: the step, the chosen branch and the reason.
    pub decision: Option<String>,
}

impl Run {
    /// The position of the run in lists.
    pub fn cursor(&self) -> Cursor {
        Cursor { started_ms: self.started_ms, run: self.run }
    }
}

/// A filter for runs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Filter {
    /// Runs with this status.
    pub status: Option<Status>,
    /// Runs of this workflow.
    pub workflow: Option<String>,
    /// Runs that have all these tags.
    pub tags: Vec<String>,
    /// Runs started at this time or later.
    pub since_ms: Option<i64>,
    /// Runs started before this time.
    pub until_ms: Option<i64>,
    /// Runs whose id, workflow, input or result contains all these words.
    pub search: Option<String>,
    /// Whether child runs are included.
    pub children: bool,
    /// Whether sessions are included, which are stored as runs and wait most of the time.
    pub sessions: bool,
    /// Runs after this position of the list: the next page.
    pub before: Option<Cursor>,
    /// The maximum number of runs.
    pub limit: Option<u32>,
}

/// A position in the list of runs, which has the newest start first.
///
/// ```
/// use branchpoint_backend::{Cursor, RunNo};
///
/// let cursor = Cursor { started_ms: 1_000, run: RunNo(7) };
/// assert_eq!(cursor.to_string().parse(), Ok(cursor));
/// assert!("7".parse::<Cursor>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cursor {
    /// When the run was started.
    pub started_ms: i64,
    /// The run.
    pub run: RunNo,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.started_ms, self.run.0)
    }
}

/// A text is not a [`Cursor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the cursor is invalid. Use the cursor of the previous page")]
pub struct InvalidCursor;

impl FromStr for Cursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let (started_ms, run) = text.rsplit_once('-').ok_or(InvalidCursor)?;
        let number = |digits: &str| digits.parse().map_err(|_| InvalidCursor);
        Ok(Self { started_ms: number(started_ms)?, run: RunNo(number(run)?) })
    }
}

/// Why a run with limits waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queued {
    /// Its position among the queued runs of its group, counted from 1.
    pub position: u64,
    /// Its group; `None` if all runs of the workflow are one group.
    pub group: Option<String>,
    /// The limit that keeps it waiting, in words.
    pub reason: String,
}

/// The number of runs in one hour. Child runs count only in `decisions`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HourCount {
    /// The beginning of the hour.
    pub hour_ms: i64,
    /// Runs that were started.
    pub started: u64,
    /// Runs that completed.
    pub completed: u64,
    /// Runs that failed.
    pub failed: u64,
    /// Runs that were cancelled.
    pub cancelled: u64,
    /// Decisions that were made.
    pub decisions: u64,
}

/// A loaded run: its row, its program and its state.
#[derive(Debug)]
pub struct RunView {
    /// Its row.
    pub row: Run,
    /// Its program.
    pub program: Arc<Program>,
    /// Its state.
    pub state: State,
}

impl RunView {
    /// The status of the run.
    ///
    /// ```
    #[doc = include_str!("../docs/run_view.txt")]
    /// assert_eq!(view.status(), Status::Completed);
    /// ```
    pub fn status(&self) -> Status {
        status(&self.program, &self.state)
    }

    /// The result of a run that has ended, or the intermediate result that its program shows.
    ///
    /// ```
    #[doc = include_str!("../docs/run_view.txt")]
    /// assert_eq!(view.result(), Some("hello".into()));
    /// ```
    pub fn result(&self) -> Option<Value> {
        self.state.result().map(|(_, result)| result.clone()).or_else(|| self.view("result"))
    }

    /// The value of a view; `None` if the view does not exist or fails.
    ///
    /// ```
    #[doc = include_str!("../docs/run_view.txt")]
    /// assert_eq!(view.view("progress"), None);
    /// ```
    pub fn view(&self, name: &str) -> Option<Value> {
        let id = self.program.views.iter().position(|view| &*view.name == name)?;
        view(&self.program, &self.state, ViewId(u32::try_from(id).ok()?)).ok()
    }
}

impl RunView {
    /// The error of a run that failed; none if the run has not failed. Each dialect places the parts of its errors in its own way.
    ///
    /// ```
    #[doc = include_str!("../docs/run_view.txt")]
    /// assert_eq!(view.failure(), None);
    /// ```
    pub fn failure(&self) -> Option<RunFailure> {
        if self.status() != Status::Failed {
            return None;
        }
        let result = self.result().unwrap_or_default();
        let part = |name: &str| {
            let within = [result.get("failure"), result.get("error"), Some(&result)].into_iter().flatten();
            let parts = within.filter_map(|within| within.get(name)).filter(|part| **part != Value::Null);
            parts.map(Value::to_string).find(|part| !part.is_empty())
        };
        Some(RunFailure {
            kind: part("kind").unwrap_or_else(|| "failed".into()),
            message: part("message").unwrap_or_default(),
            step: part("step"),
        })
    }
}

/// The error of a run that failed. It is not redacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFailure {
    /// The kind.
    pub kind: String,
    /// The message.
    pub message: String,
    /// The id of the step that failed, if the result names it.
    pub step: Option<String>,
}

/// The result of replaying a part of a run.
#[derive(Debug)]
pub struct Replayed {
    /// The loaded run.
    pub view: RunView,
    /// The number of events before the part.
    pub first: u64,
    /// The number of the last event of the part.
    pub last: u64,
    /// Whether the part is the whole run.
    pub is_whole: bool,
}

/// A process that drives runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DriverProcess {
    /// Its number, which is the `owner` of its runs.
    pub owner: i64,
    /// Its process id.
    pub pid: u32,
    /// Its command line.
    pub command: String,
    /// When it started.
    pub since_ms: i64,
}

/// The script that answers the calls of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunScript {
    /// The hash of its stored form, in hexadecimal.
    pub hash: String,
    /// The script.
    pub script: Value,
    /// Whether it is a recording, which answers every call and every approval.
    pub is_recorded: bool,
    /// When the run was resumed without the script.
    pub live_ms: Option<i64>,
}
