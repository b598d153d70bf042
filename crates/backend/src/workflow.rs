//! Workflows as plain data.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_core::ir::Program;
use serde::{Deserialize, Serialize};

/// The internal number of a workflow: a document with its programs. Equal content has the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WorkflowNo(pub i64);

/// The source of a workflow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// Its name.
    pub name: String,
    /// Its dialect.
    pub dialect: String,
    /// The path or the URL that it was read from.
    pub origin: String,
    /// Its text.
    pub text: String,
}

/// A document, its program and the programs that it calls.
#[derive(Clone, Copy, Debug)]
pub struct Workflow<'w> {
    /// The document.
    pub document: &'w Document,
    /// The lowered program.
    pub program: &'w Program,
    /// The programs that it calls, directly and indirectly, by name.
    pub children: &'w BTreeMap<Arc<str>, Program>,
}

/// The name of a program of a workflow. The main program has the empty name.
pub type Part = Arc<str>;

/// A workflow in a list.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkflowSummary {
    /// Its number.
    pub workflow: WorkflowNo,
    /// Its name.
    pub name: String,
    /// Its dialect.
    pub dialect: String,
    /// The path or the URL that it was read from.
    pub origin: String,
    /// The hash of its content, in hexadecimal.
    pub hash: String,
    /// When it was saved.
    pub added_ms: i64,
    /// The number of its runs.
    pub runs: u64,
}
