//! Delegation: a recipient names one person who votes in the recipient's place until a time.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Request, VoteRejection};

/// The maximum length of the name of a delegate, in bytes.
const MAX_NAME: usize = 500;

/// A delegation of the vote of a recipient.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegation {
    /// The recipient.
    pub recipient: Arc<str>,
    /// The person who votes in the recipient's place.
    pub to: Arc<str>,
    /// The time at which the delegation ends.
    pub until_ms: i64,
}

/// The right of a user to vote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// The user may use the vote of this recipient.
    May(Arc<str>),
    /// The user, or the user's delegate, has voted.
    Voted,
    /// The user is neither a recipient nor a delegate.
    None,
}

impl Request {
    pub(crate) fn is_recipient(&self, user: &str) -> bool {
        self.recipients.iter().any(|recipient| &**recipient == user)
    }

    /// Whether the vote of a recipient is used.
    pub(crate) fn has_voted(&self, recipient: &str) -> bool {
        self.votes.iter().any(|vote| &**vote.recipient() == recipient)
    }

    /// The delegation that lets a user vote at a time.
    ///
    /// ```
    #[doc = include_str!("../../docs/approval.txt")]
    /// assert_eq!(request.delegation_to("eve", 0), None);
    /// ```
    pub fn delegation_to(&self, user: &str, now_ms: i64) -> Option<&Delegation> {
        let is_active = |delegation: &&Delegation| {
            &*delegation.to == user && now_ms < delegation.until_ms && !self.has_voted(&delegation.recipient)
        };
        self.delegations.iter().find(is_active)
    }

    pub(super) fn standing(&self, user: &str, now_ms: i64) -> Standing {
        if self.is_recipient(user) {
            return if self.has_voted(user) { Standing::Voted } else { Standing::May(user.into()) };
        }
        if self.votes.iter().any(|vote| &*vote.user == user) {
            return Standing::Voted;
        }
        self.delegation_to(user, now_ms)
            .map_or(Standing::None, |delegation| Standing::May(delegation.recipient.clone()))
    }

    /// Checks a delegation; `to` is none for a revocation.
    pub(crate) fn check_delegation(
        &self,
        recipient: &str,
        to: Option<(&str, i64)>,
        now_ms: i64,
    ) -> Result<(), VoteRejection> {
        if self.deadline_ms.is_some_and(|deadline| now_ms >= deadline) {
            return Err(VoteRejection::NotPending);
        }
        if !self.is_recipient(recipient) {
            return Err(VoteRejection::NotRecipient);
        }
        if self.has_voted(recipient) {
            return Err(VoteRejection::AlreadyVoted);
        }
        let Some((to, until_ms)) = to else { return Ok(()) };
        let rules = self.rules.as_deref();
        let reason = if to.trim().is_empty() {
            "the delegate has no name"
        } else if to.len() > MAX_NAME {
            "the name of the delegate is too long"
        } else if until_ms <= now_ms {
            "the time until which it would last has passed"
        } else if self.is_recipient(to) {
            "the delegate is an approver"
        } else if rules.is_some_and(|rules| rules.is_named_for_escalation(to)) {
            "the delegate becomes an approver by escalation"
        } else if rules.is_some_and(|rules| rules.excluded.as_deref() == Some(to)) {
            "the delegate started the run and may not vote"
        } else if self.votes.iter().any(|vote| &*vote.user == to)
            || self.delegation_to(to, now_ms).is_some_and(|other| &*other.recipient != recipient)
        {
            "the delegate votes in the place of another approver"
        } else {
            return Ok(());
        };
        Err(VoteRejection::BadDelegate(reason.into()))
    }

    /// Records a delegation that was checked, or a revocation.
    pub(crate) fn delegate(&mut self, recipient: &Arc<str>, to: Option<(Arc<str>, i64)>) {
        self.delegations.retain(|delegation| delegation.recipient != *recipient);
        if let Some((to, until_ms)) = to {
            self.delegations.push(Delegation { recipient: recipient.clone(), to, until_ms });
        }
    }
}
