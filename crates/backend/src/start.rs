//! Requests to a host and their outcomes.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_core::ir::BudgetLimits;
use branchpoint_core::{Difference, Rejected};
use branchpoint_expr::Value;
use branchpoint_runners::Secrets;
use branchpoint_runners::storage::Uploads;
use serde::{Deserialize, Serialize};

use crate::{BackendError, Parent, Part, Priority, RunNo, Tags, WorkflowNo};

/// The request to start a run.
#[derive(Clone, Debug)]
pub struct Start {
    /// Its id. A second start with the same id has no effect.
    pub id: String,
    /// Its workflow.
    pub workflow: WorkflowNo,
    /// The program of the workflow; the empty name is the main program.
    pub part: Part,
    /// Its input.
    pub input: Value,
    /// The files of the input, which are stored with the run. The input is their [manifest](Uploads::manifest).
    pub attachments: Uploads,
    /// Its working directory; the empty path is that of the process that performs its calls.
    pub folder: Arc<str>,
    /// Facts that override those of the host.
    pub facts: BTreeMap<String, Value>,
    /// Secret inputs. The store contains only references to them.
    pub secrets: Secrets,
    /// The script that answers its calls and those of its child runs, in every process.
    pub script: Option<Value>,
    /// Whether its notes are reported to listeners.
    pub watched: bool,
    /// Whether a worker drives it instead of this process.
    pub detached: bool,
    /// The parent, if it is a child run.
    pub parent: Option<Parent>,
    /// The number of its ancestors.
    pub depth: u32,
    /// Its tags.
    pub tags: Tags,
    /// Its priority in queues.
    pub priority: Priority,
    /// What the budgets of its callers have left.
    pub budget: BudgetLimits,
}

impl Start {
    /// Builds a request with default options.
    ///
    /// ```
    /// use branchpoint_backend::{Start, WorkflowNo};
    ///
    /// let start = Start { detached: true, ..Start::new(WorkflowNo(1), "d1".into(), "hello".into()) };
    /// assert_eq!(start.id, "d1");
    /// ```
    pub fn new(workflow: WorkflowNo, id: String, input: Value) -> Self {
        Self {
            id,
            workflow,
            part: "".into(),
            input,
            attachments: Uploads::default(),
            folder: "".into(),
            facts: BTreeMap::new(),
            secrets: Secrets::default(),
            script: None,
            watched: false,
            detached: false,
            parent: None,
            depth: 0,
            tags: Tags::default(),
            priority: Priority::default(),
            budget: BudgetLimits::default(),
        }
    }
}

/// What answers the calls of a scripted run after it is resumed.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum CallSource {
    /// Its script.
    #[default]
    Script,
    /// Runners: its calls are executed from now on, which the store records.
    Runners,
    /// Another script, from its first answer on.
    NewScript(Value),
    /// The script of another run, from the answer that the other run has reached.
    ScriptOf(RunNo),
}

/// The outcome of an accepted request, which is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The run.
    pub run: RunNo,
    /// Whether it changed anything: false if the run id or the signal key already existed.
    pub new: bool,
}

/// Receives the outcome of a start.
pub type OnStart = Box<dyn FnOnce(Result<Accepted, BackendError>) + Send>;

/// Why a request was rejected. The run is unchanged. It is sent between processes as a code with fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "code", content = "detail", rename_all = "snake_case")]
pub enum Rejection {
    /// The run rejected the event.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// Another process drives the run.
    #[error("another process drives the run")]
    Driven,
    /// The run does not exist.
    #[error("the run does not exist")]
    NoRun,
    /// The stored data of the run is damaged. Other runs are not affected.
    #[error("{0}")]
    Broken(String),
    /// The workflow does not have this program.
    #[error("the workflow has no part `{0}`")]
    NoPart(String),
    /// The request cannot be stored.
    #[error("{0}")]
    Unstorable(String),
    /// The run cannot continue on the changed workflow: the first difference.
    #[error("{0}")]
    Differs(Box<Difference>),
    /// A run of this kind or in this state cannot move to a changed workflow.
    #[error("{0}")]
    NotMovable(NotMovable),
    /// An unknown code from another version of Branchpoint, which drives the run.
    #[error("the process that drives the run rejected it with an unknown code: {0}")]
    #[serde(skip)]
    UnknownCode(String),
}

/// Why a run cannot move to a changed workflow, whatever has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum NotMovable {
    /// It is a child run.
    #[error("the run is a child run")]
    ChildRun,
    /// It has child runs that have not ended.
    #[error("the run waits for a child run")]
    OpenChildRuns,
    /// It is a session.
    #[error("the run is a session, which continues on its document")]
    Session,
    /// It is at work, or it has ended.
    #[error("the run does not wait for people or for a time")]
    NotWaiting,
}

/// What a move of a run to a changed workflow would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Migration {
    /// The steps at which the run waits.
    pub waits_at: Vec<String>,
    /// The approvals that people must answer again, each with the number of votes that would be void.
    pub void_votes: Vec<(String, usize)>,
}

/// The process that applies an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandledBy {
    /// This process, which drives the run now.
    ThisProcess,
    /// Another process, which drives the run.
    AnotherProcess,
}
