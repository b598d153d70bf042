//! Requests to a host, and its replies.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_core::Rejected;
use branchpoint_expr::Value;
use branchpoint_runners::Secrets;
use branchpoint_runners::storage::Uploads;
use serde::{Deserialize, Serialize};

use crate::{Parent, Part, RunNo, WorkflowNo};

/// A run to be.
#[derive(Clone, Debug)]
pub struct Start {
    /// Its id. A second start under one id starts nothing.
    pub id: String,
    /// What it is a run of.
    pub workflow: WorkflowNo,
    /// Which program of it; the empty name is the document's own.
    pub part: Part,
    /// What it is started with.
    pub input: Value,
    /// The files that it is started with, stored together with the run. Its input is their [manifest](Uploads::manifest).
    pub attachments: Uploads,
    /// The folder that it works in; the empty name is the folder of the process that performs its calls.
    pub folder: Arc<str>,
    /// Facts that the host is not asked for.
    pub facts: BTreeMap<String, Value>,
    /// Inputs that are sealed: in the store, they are numbers wherever they stand.
    pub secrets: Secrets,
    /// The script that answers its calls and those of its child runs, in every process that drives them.
    pub script: Option<Value>,
    /// Whether somebody wants to hear what happens.
    pub watched: bool,
    /// Whether a worker drives it instead of this process.
    pub detached: bool,
    /// Whose child it is.
    pub parent: Option<Parent>,
    /// How many runs are around it.
    pub depth: u32,
}

impl Start {
    /// A run of a workflow under that id.
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
        }
    }
}

/// Who answers the calls of a scripted run that is continued.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ContinueWith {
    /// Its script.
    #[default]
    Script,
    /// Runners: from now on its calls are executed, which the store records.
    Runners,
    /// Another script, from its first answer on: a conversation may have one for each part of it.
    NewScript(Value),
    /// The script of another run, from the answer on that the other run has reached.
    ScriptOf(RunNo),
}

/// An order that was carried out and kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The run.
    pub run: RunNo,
    /// Whether it changed anything: a run of that id, or a signal of that key, may have been there before.
    pub new: bool,
}

/// Why an order was not carried out. The run is as it was. It crosses processes as a code with its fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "code", content = "detail", rename_all = "snake_case")]
pub enum Refused {
    /// The run does not take it.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// Another process drives the run.
    #[error("another process drives this run")]
    Driven,
    /// There is no such run.
    #[error("there is no such run")]
    NoRun,
    /// What is stored of the run cannot be used. The others go on.
    #[error("{0}")]
    Broken(String),
    /// The workflow has no such program.
    #[error("the workflow has no part `{0}`")]
    NoPart(String),
    /// It cannot be kept.
    #[error("{0}")]
    Unstorable(String),
    /// Another build of Branchpoint drives the run, and wrote this code.
    #[error("the process that drives the run rejected it with an unknown code: {0}")]
    #[serde(skip)]
    UnknownCode(String),
}

/// The process that applies an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandledBy {
    /// This process, which drives the run now.
    Us,
    /// Another process, which drives the run.
    Another,
}
