//! Requests to people: recipients, choices, votes, quorum, reminders and deadline. The rules are pure functions.

use std::sync::Arc;

use branchpoint_expr::{Object, Value, iso_utc};
use serde::{Deserialize, Serialize};

/// The signal that carries a vote: `{request, choice, comment?}`. The sender of the signal is the voter.
///
/// ```
#[doc = include_str!("../docs/approval.txt")]
/// let vote = approval.key.answer(Some("ada"), &"yes".into(), None);
/// assert!(matches!(vote, Event::Signal { name, .. } if &*name == VOTE));
/// ```
pub const VOTE: &str = "vote";

/// The signal that cancels a request: `{request, reason?}`.
pub(crate) const CANCEL_REQUEST: &str = "cancel_request";

/// A pending request to people. The request is settled when a choice has enough votes, every recipient has voted, the deadline has
/// passed, or an operator cancels it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The users who may vote, without duplicates.
    pub recipients: Vec<Arc<str>>,
    /// The possible answers.
    pub choices: Vec<Arc<str>>,
    /// The number of votes that a choice needs.
    pub required: u32,
    /// The time when the request was opened.
    pub requested_ms: i64,
    /// The time when the request expires.
    pub deadline_ms: Option<i64>,
    /// The interval between reminders in milliseconds, and the maximum number of reminders.
    pub reminder: Option<(i64, u32)>,
    /// The number of reminders so far.
    pub reminded: u32,
    /// The votes in order of arrival.
    pub votes: Vec<Vote>,
}

/// One vote. Each recipient votes at most once, and votes cannot be changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vote {
    /// The voter.
    pub user: Arc<str>,
    /// The choice of the voter.
    pub choice: Arc<str>,
    /// The comment of the voter.
    pub comment: Option<Arc<str>>,
    /// The time of the vote.
    pub at_ms: i64,
}

/// How a request was settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Resolution {
    /// A choice has the votes it needs.
    Choice(Arc<str>),
    /// Every recipient has voted, and no choice has enough votes.
    NoQuorum,
    /// The deadline has passed.
    Timeout,
    /// An operator cancelled the request, with an optional reason.
    Cancelled(Option<Arc<str>>),
}

impl Resolution {
    /// The outcome as one word: the choice itself, `no_quorum`, `timeout` or `cancelled`.
    ///
    /// ```
    /// assert_eq!(branchpoint_core::Resolution::NoQuorum.outcome(), "no_quorum");
    /// ```
    pub fn outcome(&self) -> &str {
        match self {
            Self::Choice(choice) => choice,
            Self::NoQuorum => "no_quorum",
            Self::Timeout => "timeout",
            Self::Cancelled(_) => "cancelled",
        }
    }
}

/// Why a vote is rejected. The checks run in the order of the variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum VoteRejection {
    /// The deadline has passed, even if its timer has not fired yet.
    #[error("the deadline of the approval has passed")]
    NotPending,
    /// The voter is not a recipient of the request.
    #[error("the voter is not an approver")]
    NotRecipient,
    /// The answer is not one of the choices. The comparison is exact.
    #[error("unknown choice")]
    UnknownChoice,
    /// The voter has voted before.
    #[error("the voter has already voted, and votes cannot be changed")]
    AlreadyVoted,
}

impl VoteRejection {
    /// The stable code of the rejection.
    ///
    /// ```
    /// assert_eq!(branchpoint_core::VoteRejection::AlreadyVoted.code(), "already_voted");
    /// ```
    pub fn code(self) -> &'static str {
        match self {
            Self::NotPending => "not_pending",
            Self::NotRecipient => "not_recipient",
            Self::UnknownChoice => "unknown_choice",
            Self::AlreadyVoted => "already_voted",
        }
    }
}

/// Why a request to people is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRequest {
    /// The list of recipients is empty.
    #[error("the approval has no approvers; list at least one recipient")]
    NoRecipients,
    /// The list of choices is empty.
    #[error("the approval has no choices; list at least one choice")]
    NoChoices,
    /// A number is out of range.
    #[error("`{0}` of the approval is not a valid number")]
    Number(&'static str),
}

impl InvalidRequest {
    /// The kind of error that the run gets.
    ///
    /// ```
    /// assert_eq!(branchpoint_core::InvalidRequest::NoRecipients.kind(), "no_recipients");
    /// ```
    pub fn kind(self) -> &'static str {
        match self {
            Self::NoRecipients => "no_recipients",
            Self::NoChoices | Self::Number(_) => "bad_request",
        }
    }
}

/// The action that is due at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    Nothing,
    Remind(Vec<Arc<str>>),
    Expired,
}

impl Request {
    /// Reads a request `{recipients, choices, required?, timeout_ms?, reminder_ms?, reminder_max?}`. An invalid number is an error and
    /// does not fall back to the default, which could let one vote decide where two were intended.
    ///
    /// ```
    #[doc = include_str!("../docs/approval.txt")]
    /// let request = Request::open(&spec, 1_000)?;
    /// assert_eq!((request.required, request.deadline_ms), (2, Some(6_000)));
    /// # Ok::<(), InvalidRequest>(())
    /// ```
    pub fn open(spec: &Value, now_ms: i64) -> Result<Self, InvalidRequest> {
        let texts = |key: &str| -> Vec<Arc<str>> {
            let mut unique: Vec<Arc<str>> = Vec::new();
            for text in spec.get(key).and_then(Value::as_list).into_iter().flatten().filter_map(Value::as_str) {
                if !unique.iter().any(|other| &**other == text) {
                    unique.push(text.into());
                }
            }
            unique
        };
        let number = |key: &'static str, least: i64| match spec.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Int(int)) if (least..=i64::from(u32::MAX)).contains(int) => Ok(Some(*int)),
            Some(_) => Err(InvalidRequest::Number(key)),
        };
        let milliseconds = |key: &'static str, least: i64| match spec.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Int(int)) if *int >= least => Ok(Some(*int)),
            Some(_) => Err(InvalidRequest::Number(key)),
        };
        let recipients = texts("recipients");
        if recipients.is_empty() {
            return Err(InvalidRequest::NoRecipients);
        }
        let choices = texts("choices");
        if choices.is_empty() {
            return Err(InvalidRequest::NoChoices);
        }
        let count = |number: Option<i64>, default| number.map_or(default, |int| u32::try_from(int).unwrap_or(u32::MAX));
        let reminders = count(number("reminder_max", 0)?, u32::MAX);
        Ok(Self {
            recipients,
            choices,
            required: count(number("required", 1)?, 1),
            requested_ms: now_ms,
            deadline_ms: milliseconds("timeout_ms", 0)?.map(|timeout| now_ms.saturating_add(timeout)),
            reminder: milliseconds("reminder_ms", 1)?.map(|every| (every, reminders)),
            reminded: 0,
            votes: Vec::new(),
        })
    }

    /// Checks whether the request accepts this vote now.
    ///
    /// ```
    #[doc = include_str!("../docs/approval.txt")]
    /// assert_eq!(request.check("ada", "yes", 0), Ok(()));
    /// assert_eq!(request.check("eve", "yes", 0), Err(VoteRejection::NotRecipient));
    /// ```
    pub fn check(&self, user: &str, choice: &str, now_ms: i64) -> Result<(), VoteRejection> {
        if self.deadline_ms.is_some_and(|deadline| now_ms >= deadline) {
            return Err(VoteRejection::NotPending);
        }
        if !self.recipients.iter().any(|recipient| &**recipient == user) {
            return Err(VoteRejection::NotRecipient);
        }
        if !self.choices.iter().any(|other| &**other == choice) {
            return Err(VoteRejection::UnknownChoice);
        }
        if self.votes.iter().any(|vote| &*vote.user == user) {
            return Err(VoteRejection::AlreadyVoted);
        }
        Ok(())
    }

    /// Records a valid vote, and returns the resolution if the vote settles the request.
    pub(crate) fn record_vote(&mut self, vote: Vote) -> Option<Resolution> {
        assert!(self.check(&vote.user, &vote.choice, vote.at_ms).is_ok(), "a vote is checked before it is recorded");
        let choice = Arc::clone(&vote.choice);
        self.votes.push(vote);
        let for_choice = self.votes.iter().filter(|vote| vote.choice == choice).count();
        if for_choice >= self.required as usize {
            return Some(Resolution::Choice(choice));
        }
        (self.votes.len() == self.recipients.len()).then_some(Resolution::NoQuorum)
    }

    /// The time of the next reminder, or of the deadline.
    ///
    /// ```
    #[doc = include_str!("../docs/approval.txt")]
    /// assert_eq!(request.next_due_ms(), Some(5_000));
    /// ```
    pub fn next_due_ms(&self) -> Option<i64> {
        let reminder = self.reminder.and_then(|(every, most)| {
            let at = self.requested_ms.saturating_add(every.saturating_mul(i64::from(self.reminded) + 1));
            (self.reminded < most && self.deadline_ms.is_none_or(|deadline| at < deadline)).then_some(at)
        });
        reminder.or(self.deadline_ms)
    }

    /// The action that is due at a time that [`Self::next_due_ms`] returned.
    pub(crate) fn due(&mut self, now_ms: i64) -> Due {
        if self.deadline_ms.is_some_and(|deadline| now_ms >= deadline) {
            return Due::Expired;
        }
        if self.next_due_ms().is_none_or(|due| now_ms < due) {
            return Due::Nothing;
        }
        self.reminded += 1;
        let silent = self.recipients.iter().filter(|user| !self.votes.iter().any(|vote| vote.user == **user));
        Due::Remind(silent.cloned().collect())
    }

    /// The outcome as an object: `{outcome, quorum_met, required, total_recipients, votes}`.
    ///
    /// ```
    #[doc = include_str!("../docs/approval.txt")]
    /// let output = request.output(&Resolution::Timeout);
    /// assert_eq!(output.get("outcome"), Some(&"timeout".into()));
    /// ```
    pub fn output(&self, resolution: &Resolution) -> Value {
        let met = matches!(resolution, Resolution::Choice(_));
        let reason = match resolution {
            Resolution::Cancelled(reason) => reason.as_ref(),
            _ => None,
        };
        let count = |number: usize| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
        let mut output = object([
            ("outcome", Value::from(resolution.outcome())),
            ("quorum_met", Value::Bool(met)),
            ("required", Value::Int(i64::from(self.required))),
            ("total_recipients", count(self.recipients.len())),
            ("votes", Value::from(self.votes.iter().map(Vote::output).collect::<Vec<_>>())),
        ]);
        if let Some(reason) = reason.filter(|reason| !reason.trim().is_empty()) {
            output.insert("cancellation_reason".into(), Value::Str(Arc::clone(reason)));
        }
        Value::from(output)
    }
}

impl Vote {
    fn output(&self) -> Value {
        Value::from(object([
            ("user_id", Value::Str(Arc::clone(&self.user))),
            ("choice", Value::Str(Arc::clone(&self.choice))),
            ("comment", self.comment.clone().map_or(Value::Null, Value::Str)),
            ("decided_at", iso_utc(self.at_ms).map_or(Value::Null, Value::from)),
        ]))
    }
}

pub(crate) fn object<const N: usize>(entries: [(&str, Value); N]) -> Object {
    entries.into_iter().map(|(key, value)| (key.into(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(required: i64) -> Request {
        let texts = |texts: &[&str]| Value::from(texts.iter().map(|text| Value::from(*text)).collect::<Vec<_>>());
        let spec = object([
            ("recipients", texts(&["u1", "u2", "u3", "u1"])),
            ("choices", texts(&["approve", "deny"])),
            ("required", Value::Int(required)),
            ("timeout_ms", Value::Int(100)),
            ("reminder_ms", Value::Int(30)),
        ]);
        Request::open(&Value::from(spec), 1000).expect("the request is valid")
    }

    fn vote(user: &str, choice: &str, at_ms: i64) -> Vote {
        Vote { user: user.into(), choice: choice.into(), comment: None, at_ms }
    }

    #[test]
    fn a_choice_with_enough_votes_settles_the_request() {
        let mut request = request(2);
        assert_eq!(request.recipients.len(), 3, "duplicate recipients are removed");
        assert_eq!(request.record_vote(vote("u1", "approve", 1001)), None);
        assert_eq!(request.record_vote(vote("u3", "approve", 1002)), Some(Resolution::Choice("approve".into())));
    }

    #[test]
    fn no_quorum_needs_the_votes_of_all_recipients() {
        let mut request = request(3);
        assert_eq!(request.record_vote(vote("u1", "approve", 1001)), None);
        assert_eq!(request.record_vote(vote("u2", "deny", 1001)), None);
        assert_eq!(request.record_vote(vote("u3", "deny", 1001)), Some(Resolution::NoQuorum));
    }

    #[test]
    fn rejections_are_checked_in_their_order() {
        let mut request = request(2);
        request.record_vote(vote("u1", "approve", 1001));
        assert_eq!(request.check("u1", "approve", 1100), Err(VoteRejection::NotPending));
        assert_eq!(request.check("u9", "maybe", 1002), Err(VoteRejection::NotRecipient));
        assert_eq!(request.check("u1", "maybe", 1002), Err(VoteRejection::UnknownChoice));
        assert_eq!(request.check("u1", "deny", 1002), Err(VoteRejection::AlreadyVoted));
        assert_eq!(request.check("u2", "deny", 1002), Ok(()));
    }

    #[test]
    fn reminders_go_to_missing_voters_and_end_before_the_deadline() {
        let mut request = request(2);
        request.record_vote(vote("u2", "deny", 1001));
        assert_eq!(request.next_due_ms(), Some(1030));
        assert_eq!(request.due(1030), Due::Remind(vec!["u1".into(), "u3".into()]));
        assert_eq!(
            (request.next_due_ms(), request.due(1060)),
            (Some(1060), Due::Remind(vec!["u1".into(), "u3".into()]))
        );
        request.due(1090);
        assert_eq!(request.next_due_ms(), Some(1100), "the next reminder would be after the deadline");
        assert_eq!(request.due(1100), Due::Expired);
    }
}
