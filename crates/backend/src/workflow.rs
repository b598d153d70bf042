//! Workflows and sessions, as lists and commands see them.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_core::ir::Program;

/// A backend's number of a workflow: a document and the programs it became. The same content has the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkflowNo(pub i64);

/// A document as its author wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// What it is called.
    pub name: String,
    /// Its dialect.
    pub dialect: String,
    /// Where it was read from.
    pub origin: String,
    /// Its text.
    pub text: String,
}

/// A document, its program and the programs that it calls.
#[derive(Clone, Copy, Debug)]
pub struct Workflow<'w> {
    /// The document.
    pub document: &'w Document,
    /// What it became.
    pub program: &'w Program,
    /// What it calls, by name, and what they call.
    pub children: &'w BTreeMap<Arc<str>, Program>,
}

/// One of the programs of a workflow, by name; its own has the empty name.
pub type Part = Arc<str>;

/// A workflow in a list.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its number.
    pub workflow: WorkflowNo,
    /// What it is called.
    pub name: String,
    /// Its dialect.
    pub dialect: String,
    /// Where it was read from.
    pub origin: String,
    /// The hash of its content, in hexadecimal.
    pub hash: String,
    /// When it was added.
    pub added_ms: i64,
    /// How many runs it has.
    pub runs: u64,
}
