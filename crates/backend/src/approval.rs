//! Approvals and requests of runs.

use branchpoint_core::{Approval, RequestNo};
use branchpoint_expr::Value;

use crate::{BackendError, RunNo, WorkflowNo};

/// An open approval of a run.
#[derive(Clone, Debug)]
pub struct OpenApproval {
    /// The run that asks.
    pub run: RunNo,
    /// The id of that run.
    pub id: String,
    /// The workflow of that run.
    pub workflow: WorkflowNo,
    /// When the run asked.
    pub asked_ms: i64,
    /// Who may answer, and what.
    pub approval: Approval,
}

/// The open approvals of several runs. A run that cannot be read does not hide the others.
#[derive(Debug, Default)]
pub struct OpenApprovals {
    /// The approvals, the oldest first.
    pub open: Vec<OpenApproval>,
    /// The ids of runs that cannot be read, and the reason for each.
    pub unreadable: Vec<(String, BackendError)>,
}

/// A question that a run has put to people.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The run that asks.
    pub run: RunNo,
    /// Its number in that run.
    pub request: RequestNo,
    /// What is asked.
    pub spec: Value,
    /// When it was asked.
    pub asked_ms: i64,
    /// How often people were reminded.
    pub reminded: u32,
    /// When it was settled or taken back.
    pub closed_ms: Option<i64>,
}

impl Question {
    /// Who is asked. Somebody may be named twice, and is asked once.
    pub fn recipients(&self) -> Vec<String> {
        let named = self.spec.get("recipients").and_then(Value::as_list).unwrap_or_default();
        let mut once: Vec<String> = Vec::new();
        for user in named.iter().map(Value::to_string) {
            if !once.contains(&user) {
                once.push(user);
            }
        }
        once
    }
}
