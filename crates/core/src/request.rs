//! Requests to people: recipients, choices, votes, quorum, reminders and deadline. The rules are pure functions.

mod delegation;
mod form;
mod output;
mod rules;
mod shown;
mod stored;

use std::sync::Arc;

use branchpoint_expr::{Object, Value};
use serde::{Deserialize, Serialize};

pub use delegation::Delegation;
pub use form::{ApprovalForm, BadForm, FieldType, FormError, FormField};
pub use rules::{Escalation, GroupProgress, GroupQuorum, Rules, means_no};

use delegation::Standing;

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

/// The signal by which a recipient names a delegate: `{request, to, until_ms}`. Without `to`, it revokes the delegation.
///
/// ```
#[doc = include_str!("../docs/approval.txt")]
/// let delegate = approval.key.delegate("ada", Some(("eve", 2_000))).unwrap();
/// assert!(matches!(delegate, Event::Signal { name, .. } if &*name == DELEGATE));
/// ```
pub const DELEGATE: &str = "delegate";

/// A pending request to people. The request is settled when a choice has enough votes, someone with a veto has used it, every recipient
/// has voted, no choice can have enough votes any more, the deadline has passed, or an operator cancels it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "stored::StoredRequest", into = "stored::StoredRequest")]
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
    /// The delegations of recipients, at most one of each.
    pub delegations: Vec<Delegation>,
    /// Groups, vetoes, escalation and the form; none if the workflow uses none of them.
    pub rules: Option<Box<Rules>>,
}

/// One vote. Each recipient votes at most once, and votes cannot be changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Vote {
    /// The voter.
    pub user: Arc<str>,
    /// The choice of the voter.
    pub choice: Arc<str>,
    /// The comment of the voter.
    pub comment: Option<Arc<str>>,
    /// The time of the vote.
    pub at_ms: i64,
    /// The recipient whose vote the voter uses, if the voter is a delegate.
    pub on_behalf_of: Option<Arc<str>>,
    /// The groups for which the vote counts.
    pub groups: Vec<Arc<str>>,
    /// The form that the vote carries, with the defaults of the fields that the voter left out.
    pub form: Option<Value>,
}

/// What a voter sends.
///
/// ```
#[doc = include_str!("../docs/approval.txt")]
/// let vote = approval.key.vote("ada", &Ballot::new("yes"));
/// advance(&program, &mut state, &Stamp::default(), vote)?;
/// # Ok::<(), Rejected>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ballot {
    /// The choice.
    pub choice: Arc<str>,
    /// A comment.
    pub comment: Option<Arc<str>>,
    /// The values of the form, if the approval has one.
    pub form: Option<Value>,
    /// The hash of what the voter saw. The vote is rejected if the approval shows something else.
    pub shown_hash: Option<Arc<str>>,
}

impl Ballot {
    /// A vote for a choice, with nothing else.
    pub fn new(choice: impl Into<Arc<str>>) -> Self {
        Self { choice: choice.into(), ..Self::default() }
    }
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
    /// Someone with a veto has voted for this choice, which means no.
    Veto(Arc<str>),
    /// No choice can have enough votes any more.
    Unreachable,
    /// The request was withdrawn before it was settled, because the work around it ended: the run was cancelled, or another branch won.
    Withdrawn,
}

impl Resolution {
    /// The outcome as one word: the choice itself, `no_quorum`, `timeout`, `cancelled` or `withdrawn`.
    ///
    /// ```
    /// assert_eq!(branchpoint_core::Resolution::NoQuorum.outcome(), "no_quorum");
    /// ```
    pub fn outcome(&self) -> &str {
        match self {
            Self::Choice(choice) | Self::Veto(choice) => choice,
            Self::NoQuorum | Self::Unreachable => "no_quorum",
            Self::Timeout => "timeout",
            Self::Cancelled(_) => "cancelled",
            Self::Withdrawn => "withdrawn",
        }
    }

    /// The rule that settled the request: `quorum`, `veto`, `everyone_voted`, `unreachable`, `timeout` or `cancelled`; `withdrawn` if none did.
    ///
    /// ```
    /// assert_eq!(branchpoint_core::Resolution::NoQuorum.rule(), "everyone_voted");
    /// ```
    pub fn rule(&self) -> &'static str {
        match self {
            Self::Choice(_) => "quorum",
            Self::Veto(_) => "veto",
            Self::NoQuorum => "everyone_voted",
            Self::Unreachable => "unreachable",
            Self::Timeout => "timeout",
            Self::Cancelled(_) => "cancelled",
            Self::Withdrawn => "withdrawn",
        }
    }
}

/// Why a vote or a delegation is rejected. The checks run in the order of the variants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
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
    /// The voter saw something else than the approval shows now.
    #[error("what the approval shows has changed since the voter saw it; look at it again, then vote")]
    ApprovalOutdated,
    /// The form is missing or invalid.
    #[error("{problem}")]
    BadForm {
        /// The field; empty if the problem is the form as a whole.
        field: String,
        /// What is wrong.
        problem: String,
    },
    /// The person cannot be a delegate.
    #[error("{0}")]
    BadDelegate(String),
}

impl VoteRejection {
    /// The stable code of the rejection.
    ///
    /// ```
    /// assert_eq!(branchpoint_core::VoteRejection::AlreadyVoted.code(), "already_voted");
    /// ```
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotPending => "not_pending",
            Self::NotRecipient => "not_recipient",
            Self::UnknownChoice => "unknown_choice",
            Self::AlreadyVoted => "already_voted",
            Self::ApprovalOutdated => "approval_outdated",
            Self::BadForm { .. } => "bad_form",
            Self::BadDelegate(_) => "bad_delegate",
        }
    }
}

impl From<BadForm> for VoteRejection {
    fn from(error: BadForm) -> Self {
        let problem = if error.field.is_empty() { format!("the form {}", error.problem) } else { error.to_string() };
        Self::BadForm { field: error.field, problem }
    }
}

/// Why a request to people is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
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
    /// The workflow excludes the user who started the run, but that user is unknown.
    #[error("the approval excludes the user who started the run, but that user is unknown")]
    RequesterUnknown,
    /// A group is not defined, or too few of its members may vote.
    #[error("{0}")]
    Group(String),
    /// A choice needs more votes than there are approvers.
    #[error("{required} votes are required, but only {voters} people may vote")]
    TooFew {
        /// The number of votes.
        required: u32,
        /// The number of people.
        voters: usize,
    },
    /// The form is invalid.
    #[error("the form of the approval is invalid: {0}")]
    Form(String),
}

impl InvalidRequest {
    /// The kind of error that the run gets.
    ///
    /// ```
    /// assert_eq!(branchpoint_core::InvalidRequest::NoRecipients.kind(), "no_recipients");
    /// ```
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NoRecipients => "no_recipients",
            Self::NoChoices | Self::Number(_) => "bad_request",
            Self::RequesterUnknown => "hitl_requester_unknown",
            Self::Group(_) => "hitl_group",
            Self::TooFew { .. } => "hitl_required",
            Self::Form(_) => "hitl_form",
        }
    }
}

/// The action that is due at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    Nothing,
    Remind(Vec<Arc<str>>),
    /// These users have become recipients.
    Escalate(Vec<Arc<str>>),
    Expired,
}

impl Request {
    /// Reads a request `{recipients, choices, required?, timeout_ms?, reminder_ms?, reminder_max?, rules?}`. An invalid number is an error
    /// and does not fall back to the default, which could let one vote decide where two were intended. `rules` are `{need?, veto?,
    /// self_approval?, escalate_ms?, escalate_to?, end_early?, form?, defaults?, groups, requester}`; `groups` are those of the operator.
    ///
    /// ```
    #[doc = include_str!("../docs/approval.txt")]
    /// let request = Request::open(&spec, 1_000)?;
    /// assert_eq!((request.required, request.deadline_ms), (2, Some(6_000)));
    /// # Ok::<(), InvalidRequest>(())
    /// ```
    pub fn open(spec: &Value, now_ms: i64) -> Result<Self, InvalidRequest> {
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
        let texts = |key: &str| rules::texts(spec.get(key));
        let count = |number: Option<i64>, default| number.map_or(default, |int| u32::try_from(int).unwrap_or(u32::MAX));
        let (mut recipients, mut rules) = (texts("recipients"), None);
        let required = number("required", 1);
        if let Some(written) = spec.get("rules").filter(|rules| **rules != Value::Null) {
            let required = count(required.clone()?, 1);
            let (read, resolved) = Rules::read(written, recipients, required, now_ms)?;
            (recipients, rules) = (resolved, Some(Box::new(read)));
        }
        if recipients.is_empty() {
            return Err(InvalidRequest::NoRecipients);
        }
        let choices = texts("choices");
        if choices.is_empty() {
            return Err(InvalidRequest::NoChoices);
        }
        let reminders = count(number("reminder_max", 0)?, u32::MAX);
        Ok(Self {
            recipients,
            choices,
            required: count(required?, 1),
            requested_ms: now_ms,
            deadline_ms: milliseconds("timeout_ms", 0)?.map(|timeout| now_ms.saturating_add(timeout)),
            reminder: milliseconds("reminder_ms", 1)?.map(|every| (every, reminders)),
            reminded: 0,
            votes: Vec::new(),
            delegations: Vec::new(),
            rules,
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
        let standing = self.standing(user, now_ms);
        if standing == Standing::None {
            return Err(VoteRejection::NotRecipient);
        }
        if !self.choices.iter().any(|other| &**other == choice) {
            return Err(VoteRejection::UnknownChoice);
        }
        match standing {
            Standing::Voted => Err(VoteRejection::AlreadyVoted),
            _ => Ok(()),
        }
    }

    /// Checks what a voter sends, and returns the vote.
    ///
    /// ```
    #[doc = include_str!("../docs/approval.txt")]
    /// let outdated = Ballot { shown_hash: Some("other".into()), ..Ballot::new("yes") };
    /// assert_eq!(request.read_vote("ada", outdated, 0), Err(VoteRejection::ApprovalOutdated));
    /// assert_eq!(&*request.read_vote("ada", Ballot::new("yes"), 0)?.user, "ada");
    /// # Ok::<(), VoteRejection>(())
    /// ```
    pub fn read_vote(&self, user: &str, ballot: Ballot, now_ms: i64) -> Result<Vote, VoteRejection> {
        self.check(user, &ballot.choice, now_ms)?;
        let rules = self.rules.as_deref();
        if ballot.shown_hash.is_some_and(|seen| rules.is_none_or(|rules| rules.shown_hash != seen)) {
            return Err(VoteRejection::ApprovalOutdated);
        }
        let form = match (rules.and_then(Rules::form), ballot.form) {
            (None, None) => None,
            (None, Some(_)) => return Err(BadForm::whole("must be left out, because the approval has none").into()),
            (Some(_), None) if means_no(&ballot.choice) => None,
            (Some(_), None) => return Err(BadForm::whole("is missing").into()),
            (Some(form), Some(given)) => {
                let defaults = rules.map(|rules| rules.defaults.clone()).unwrap_or_default();
                Some(form.complete(&given, &defaults)?)
            }
        };
        let recipient = match self.standing(user, now_ms) {
            Standing::May(recipient) => recipient,
            // The check above has rejected these.
            Standing::Voted | Standing::None => return Err(VoteRejection::NotRecipient),
        };
        let groups = rules.map(|rules| rules.groups_of(&recipient)).unwrap_or_default();
        let on_behalf_of = (&*recipient != user).then_some(recipient);
        Ok(Vote {
            comment: ballot.comment,
            on_behalf_of,
            groups,
            form,
            ..Vote::new(user.into(), ballot.choice, now_ms)
        })
    }

    /// Records a valid vote, and returns the resolution if the vote settles the request.
    pub(crate) fn record_vote(&mut self, vote: Vote) -> Option<Resolution> {
        assert!(self.check(&vote.user, &vote.choice, vote.at_ms).is_ok(), "a vote is checked before it is recorded");
        self.votes.push(vote.clone());
        if self.rules.as_ref().is_some_and(|rules| rules.is_veto(&vote)) {
            return Some(Resolution::Veto(vote.choice));
        }
        if self.has_quorum_with(&vote) {
            return Some(Resolution::Choice(vote.choice));
        }
        if self.recipients.iter().all(|recipient| self.has_voted(recipient)) {
            return Some(Resolution::NoQuorum);
        }
        let ends_early = self.rules.as_ref().is_some_and(|rules| rules.end_early);
        (ends_early && !self.is_quorum_reachable()).then_some(Resolution::Unreachable)
    }

    /// The request after a vote that [`Self::read_vote`] returned, for messages about what the vote changes.
    ///
    /// ```
    #[doc = include_str!("../docs/approval.txt")]
    /// let vote = request.read_vote("ada", Ballot::new("yes"), 0)?;
    /// assert_eq!(request.after(vote.clone()).votes_with(&vote).len(), 1);
    /// # Ok::<(), VoteRejection>(())
    /// ```
    #[must_use]
    pub fn after(&self, vote: Vote) -> Self {
        let mut after = self.clone();
        after.votes.push(vote);
        after
    }

    /// The time of the next reminder, of the escalation or of the deadline.
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
        let escalation = self.escalation_ms().filter(|at| self.deadline_ms.is_none_or(|deadline| *at < deadline));
        [reminder, escalation].into_iter().flatten().min().or(self.deadline_ms)
    }

    /// The time of an escalation that has not happened.
    fn escalation_ms(&self) -> Option<i64> {
        let escalation = self.rules.as_ref()?.escalation.as_ref()?;
        (!escalation.escalated).then_some(escalation.at_ms)
    }

    /// The action that is due at a time that [`Self::next_due_ms`] returned.
    pub(crate) fn due(&mut self, now_ms: i64) -> Due {
        if self.deadline_ms.is_some_and(|deadline| now_ms >= deadline) {
            return Due::Expired;
        }
        if self.next_due_ms().is_none_or(|due| now_ms < due) {
            return Due::Nothing;
        }
        if self.escalation_ms().is_some_and(|at| at <= now_ms) {
            return Due::Escalate(self.escalate());
        }
        self.reminded += 1;
        let silent = self.recipients.iter().filter(|user| !self.has_voted(user));
        let mut users: Vec<Arc<str>> = silent.cloned().collect();
        let is_active = |delegation: &&Delegation| self.delegation_to(&delegation.to, now_ms) == Some(*delegation);
        users.extend(self.delegations.iter().filter(is_active).map(|delegation| delegation.to.clone()));
        Due::Remind(users)
    }

    /// Adds the recipients of the escalation, and returns those who are new.
    fn escalate(&mut self) -> Vec<Arc<str>> {
        let Some(escalation) = self.rules.as_mut().and_then(|rules| rules.escalation.as_mut()) else {
            return Vec::new();
        };
        escalation.escalated = true;
        let new: Vec<_> = escalation.users.iter().filter(|user| !self.recipients.contains(user)).cloned().collect();
        self.recipients.extend(new.iter().cloned());
        new
    }

    /// The values of the request that a host may store elsewhere: the form, its defaults, and the forms of the votes.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        let rules = self.rules.as_deref_mut().into_iter();
        let forms = self.votes.iter_mut().filter_map(|vote| vote.form.as_mut());
        rules.flat_map(|rules| [&mut rules.form, &mut rules.defaults]).chain(forms)
    }
}

impl Vote {
    /// A vote of a recipient, with nothing but the choice.
    pub(crate) fn new(user: Arc<str>, choice: Arc<str>, at_ms: i64) -> Self {
        Self { user, choice, comment: None, at_ms, on_behalf_of: None, groups: Vec::new(), form: None }
    }

    /// The recipient whose vote this is.
    pub fn recipient(&self) -> &Arc<str> {
        self.on_behalf_of.as_ref().unwrap_or(&self.user)
    }

    /// The size of the texts and the form, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let comment = self.comment.as_ref().map_or(0, |comment| comment.len() as u64);
        comment + crate::state_size::some_bytes(self.form.as_ref())
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
        Vote::new(user.into(), choice.into(), at_ms)
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
