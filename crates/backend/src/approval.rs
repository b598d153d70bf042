//! Open approvals and requests to people.

use branchpoint_core::{Approval, RequestNo};
use branchpoint_expr::Value;
use serde::{Deserialize, Serialize};

use crate::{BackendError, RunNo, WorkflowNo};

/// An open approval of a run.
#[derive(Clone, Debug)]
pub struct OpenApproval {
    /// The run that waits for the approval.
    pub run: RunNo,
    /// The id of that run.
    pub id: String,
    /// The workflow of that run.
    pub workflow: WorkflowNo,
    /// When the approval was requested.
    pub requested_ms: i64,
    /// The approvers and the choices.
    pub approval: Approval,
}

/// The open approvals of several runs. Unreadable runs are listed separately.
#[derive(Debug, Default)]
pub struct OpenApprovals {
    /// The approvals, the oldest first.
    pub open: Vec<OpenApproval>,
    /// The ids of runs that cannot be read, and the reason for each.
    pub unreadable: Vec<(String, BackendError)>,
}

/// A request of a run to people.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRecord {
    /// The run.
    pub run: RunNo,
    /// Its number in that run.
    pub request: RequestNo,
    /// The specification of the request.
    pub spec: Value,
    /// When it was opened.
    pub requested_ms: i64,
    /// The number of reminders.
    pub reminded: u32,
    /// When it was settled or withdrawn.
    pub closed_ms: Option<i64>,
}

impl ApprovalRecord {
    /// The recipients without duplicates.
    ///
    /// ```
    /// use branchpoint_backend::{ApprovalRecord, RunNo};
    /// use branchpoint_expr::{Object, Value};
    ///
    /// let users: Vec<Value> = ["ada", "bob", "ada"].map(Value::from).to_vec();
    /// let question = ApprovalRecord {
    ///     run: RunNo(1),
    ///     request: branchpoint_core::RequestNo(1),
    ///     spec: [("recipients".into(), users.into())].into_iter().collect::<Object>().into(),
    ///     requested_ms: 0,
    ///     reminded: 0,
    ///     closed_ms: None,
    /// };
    /// assert_eq!(question.recipients(), ["ada", "bob"]);
    /// ```
    pub fn recipients(&self) -> Vec<String> {
        let listed = self.spec.get("recipients").and_then(Value::as_list).unwrap_or_default();
        let mut recipients: Vec<String> = Vec::new();
        for user in listed.iter().map(Value::to_string) {
            if !recipients.contains(&user) {
                recipients.push(user);
            }
        }
        recipients
    }
}
