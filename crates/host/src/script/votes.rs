//! Answers of scripts to approvals.

use std::sync::Arc;

use branchpoint_core::{Approval, ApprovalKey, RESUME};
use branchpoint_expr::Value;

use super::{Script, VOTES};
use crate::recordings::Vote;

/// The votes of an entry `{$votes: [...]}`; none for other entries.
pub fn votes_in_entry(entry: &Value) -> Option<Vec<Vote>> {
    let votes = entry.get(VOTES)?.as_list()?.iter().map(|vote| {
        let text = |key: &str| vote.get(key).and_then(Value::as_str).map(Arc::from);
        Vote {
            user: text("user").unwrap_or_default(),
            choice: text("choice").unwrap_or_default(),
            comment: text("comment"),
        }
    });
    Some(votes.collect())
}

impl Script {
    /// The key of the answers to an approval. Approvals without votes may share the key `resume`.
    pub fn approval_step(&self, approval: &Approval) -> Arc<str> {
        match approval.key {
            ApprovalKey::Step(_) if self.recorded.is_none() && !self.has_step(&approval.step) => RESUME.into(),
            _ => approval.step.clone(),
        }
    }
}
