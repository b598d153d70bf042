//! Answers of scripts to approvals.

use std::sync::Arc;

use branchpoint_core::{Approval, ApprovalKey, Ballot, Event, RESUME};
use branchpoint_expr::Value;

use super::{Script, VOTES};
use crate::recordings::Vote;

/// The votes of an entry `{$votes: [...]}`; none for other entries.
///
/// ```
/// use branchpoint_expr::Value;
/// use branchpoint_host::votes_in_entry;
///
/// let entry: Value = serde_json::from_str(r#"{"$votes": [{"user": "ada", "choice": "approve"}]}"#).unwrap();
/// assert_eq!(&*votes_in_entry(&entry).unwrap()[0].user, "ada");
/// ```
pub fn votes_in_entry(entry: &Value) -> Option<Vec<Vote>> {
    let votes = entry.get(VOTES)?.as_list()?.iter().map(|vote| {
        let text = |key: &str| vote.get(key).and_then(Value::as_str).map(Arc::from);
        Vote {
            user: text("user").unwrap_or_default(),
            choice: text("choice").unwrap_or_default(),
            comment: text("comment"),
            form: vote.get("form").filter(|form| **form != Value::Null).cloned(),
            on_behalf_of: text("on_behalf_of"),
        }
    });
    Some(votes.collect())
}

impl Vote {
    /// The delegation that the vote needs, if the approval does not have it. It lasts as long as the approval.
    pub fn delegation(&self, approval: &Approval) -> Option<Event> {
        let recipient = self.on_behalf_of.as_ref()?;
        let is_delegate = approval.request.as_ref()?.delegation_to(&self.user, i64::MIN).is_some();
        if is_delegate { None } else { approval.key.delegate(recipient, Some((&self.user, i64::MAX))) }
    }

    /// The event that casts the vote on an approval.
    pub fn event(&self, approval: &Approval) -> Event {
        let ballot = approval.ballot(&self.choice);
        let form = self.form.clone().or_else(|| ballot.form.clone());
        approval.key.vote(&self.user, &Ballot { comment: self.comment.clone(), form, ..ballot })
    }
}

/// The event by which a user answers an approval as a script says: with a choice, or with `{choice, comment, form}`.
pub fn scripted_answer(approval: &Approval, user: Option<&str>, answer: &Value) -> Event {
    match (user, answer.get("choice").and_then(Value::as_str)) {
        (Some(user), Some(choice)) if approval.request.is_some() => {
            let text = |key: &str| answer.get(key).and_then(Value::as_str).map(Arc::from);
            let form = answer.get("form").filter(|form| **form != Value::Null).cloned();
            let vote =
                Vote { user: user.into(), choice: choice.into(), comment: text("comment"), form, on_behalf_of: None };
            vote.event(approval)
        }
        (Some(user), None) if approval.form().is_some() => {
            approval.key.vote(user, &approval.ballot(&answer.to_string()))
        }
        _ => approval.key.answer(user, answer, None),
    }
}

impl Script {
    /// The key of the answers to an approval. Approvals without votes may share the key `resume`.
    ///
    /// ```
    #[doc = include_str!("../../docs/approval.txt")]
    /// let script = Script::default();
    /// let step = script.approval_step(&driver.approvals()[0]);
    /// assert_eq!(&*step, "ask");
    /// ```
    pub fn approval_step(&self, approval: &Approval) -> Arc<str> {
        match approval.key {
            ApprovalKey::Step(_) if self.recorded.is_none() && !self.has_step(&approval.step) => RESUME.into(),
            _ => approval.step.clone(),
        }
    }
}
