//! The rules of an approval beside its recipients and its number of votes: groups, vetoes, escalation, early end, form.

use std::collections::BTreeSet;
use std::sync::Arc;

use branchpoint_expr::{Object, Value};
use serde::{Deserialize, Serialize};

use super::form::ApprovalForm;
use super::{InvalidRequest, Request, Vote};
use crate::functions::approval_decision;

/// The maximum number of people who may vote on a request with rules.
const MAX_VOTERS: usize = 1_000;

/// The rules of a request. They and all groups in them are fixed when the request opens.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// The groups whose votes a choice needs; empty if it needs votes of any recipients.
    pub groups: Vec<GroupQuorum>,
    /// The users whose vote for a choice that means no settles the request.
    pub veto: Vec<Arc<str>>,
    /// The user who started the run, if that user may neither vote nor be a delegate.
    pub excluded: Option<Arc<str>>,
    /// The recipients who are added when the request is not settled in time.
    pub escalation: Option<Escalation>,
    /// Whether the request ends as soon as no choice can have enough votes any more.
    pub end_early: bool,
    /// The form as a JSON Schema; null without a form.
    pub form: Value,
    /// The proposed values of the form, by field.
    pub defaults: Value,
    /// A hash of what voters are shown and of the program.
    pub shown_hash: Arc<str>,
}

/// A group, and the number of its votes that a choice needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupQuorum {
    /// The name.
    pub name: Arc<str>,
    /// The number of votes.
    pub needed: u32,
    /// The members who may vote.
    pub members: Vec<Arc<str>>,
}

/// Recipients who are added at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalation {
    /// The time.
    pub at_ms: i64,
    /// The users.
    pub users: Vec<Arc<str>>,
    /// Whether the time has come while the request was pending.
    pub escalated: bool,
}

/// The groups of the operator, and the user who started the run.
struct Names<'s> {
    groups: Option<&'s Object>,
    excluded: Option<Arc<str>>,
}

impl Names<'_> {
    /// The members of a group who may vote; none if the group is not defined.
    fn group(&self, name: &str) -> Option<Vec<Arc<str>>> {
        let members = self.groups?.get(name)?;
        Some(self.allowed(texts(Some(members))))
    }

    /// The users of a list of groups and users, with the entry that each comes from.
    fn resolve(&self, listed: Option<&Value>) -> Vec<(Arc<str>, Vec<Arc<str>>)> {
        let entries = texts(listed).into_iter().map(|entry| {
            let users = self.group(&entry).unwrap_or_else(|| self.allowed(vec![entry.clone()]));
            (entry, users)
        });
        entries.collect()
    }

    fn allowed(&self, mut users: Vec<Arc<str>>) -> Vec<Arc<str>> {
        users.retain(|user| self.excluded.as_ref() != Some(user));
        users
    }
}

/// The texts of a list, without duplicates.
pub(super) fn texts(list: Option<&Value>) -> Vec<Arc<str>> {
    let mut seen = BTreeSet::new();
    let texts = list.and_then(Value::as_list).unwrap_or_default().iter().filter_map(Value::as_str);
    texts.filter(|text| seen.insert(*text)).map(Arc::from).collect()
}

impl Rules {
    /// Reads the rules of a request: `{need, veto, self_approval, escalate_ms, escalate_to, end_early, form, defaults, groups, requester}`,
    /// where `groups` are those of the operator. Returns them with the recipients. `listed` are the recipients that the workflow names.
    pub(super) fn read(
        written: &Value,
        listed: Vec<Arc<str>>,
        required: u32,
        now_ms: i64,
    ) -> Result<(Self, Vec<Arc<str>>), InvalidRequest> {
        let given = |key: &str| written.get(key).filter(|value| **value != Value::Null);
        let excluded = match given("self_approval") {
            Some(Value::Bool(false)) => match given("requester").and_then(Value::as_str) {
                Some(requester) if !requester.is_empty() => Some(Arc::from(requester)),
                _ => return Err(InvalidRequest::RequesterUnknown),
            },
            _ => None,
        };
        let names = Names { groups: given("groups").and_then(Value::as_object), excluded };
        let groups = groups(given("need"), &names)?;
        let recipients = if groups.is_empty() {
            names.allowed(listed)
        } else {
            let mut seen = BTreeSet::new();
            let members = groups.iter().flat_map(|group| &group.members);
            members.filter(|user| seen.insert(*user)).cloned().collect()
        };
        let escalation = match given("escalate_ms") {
            None => None,
            Some(Value::Int(delay_ms)) if *delay_ms >= 0 => {
                let mut users: Vec<Arc<str>> = Vec::new();
                for (entry, resolved) in names.resolve(given("escalate_to")) {
                    if resolved.is_empty() {
                        return Err(InvalidRequest::Group(format!("no user of `{entry}` in `escalate_to` may vote")));
                    }
                    users.extend(resolved);
                }
                let mut seen = BTreeSet::new();
                users.retain(|user| seen.insert(user.clone()));
                Some(Escalation { at_ms: now_ms.saturating_add(*delay_ms), users, escalated: false })
            }
            Some(_) => return Err(InvalidRequest::Number("escalate_after")),
        };
        let later = escalation.iter().flat_map(|escalation| &escalation.users);
        let voters: BTreeSet<&Arc<str>> = recipients.iter().chain(later).collect();
        if voters.len() > MAX_VOTERS {
            let message = format!("{} people may vote, but at most {MAX_VOTERS} are supported", voters.len());
            return Err(InvalidRequest::Group(message));
        }
        let mut veto = Vec::new();
        for (entry, users) in names.resolve(given("veto")) {
            if !users.iter().any(|user| voters.contains(user)) {
                let message = format!("no user of `{entry}` in `veto` is an approver, so the veto could never be used");
                return Err(InvalidRequest::Group(message));
            }
            veto.extend(users);
        }
        let end_early = matches!(given("end_early"), Some(Value::Bool(true)));
        if end_early && groups.is_empty() && required as usize > voters.len() {
            return Err(InvalidRequest::TooFew { required, voters: voters.len() });
        }
        let form = given("form").cloned().unwrap_or_default();
        let parsed = (form != Value::Null).then(|| ApprovalForm::parse(&form)).transpose();
        let parsed = parsed.map_err(|error| InvalidRequest::Form(error.message))?;
        let defaults = given("defaults").and_then(Value::as_object);
        let fields = parsed.iter().flat_map(|form| &form.fields);
        let defaults: Object = fields
            .filter_map(|field| Some((field.name.clone(), field.default(defaults?.get(&field.name)?)?)))
            .collect();
        let (excluded, defaults, shown_hash) = (names.excluded, Value::from(defaults), Arc::from(""));
        Ok((Self { groups, veto, excluded, escalation, end_early, form, defaults, shown_hash }, recipients))
    }

    /// The form; none without one.
    pub fn form(&self) -> Option<ApprovalForm> {
        // The form was checked when the request opened.
        (self.form != Value::Null).then(|| ApprovalForm::parse(&self.form).ok()).flatten()
    }

    fn is_escalation_recipient(&self, user: &str) -> bool {
        self.escalation.as_ref().is_some_and(|escalation| escalation.users.iter().any(|other| &**other == user))
    }

    /// Whether the user has become a recipient, or will become one, by escalation.
    pub(super) fn is_named_for_escalation(&self, user: &str) -> bool {
        self.is_escalation_recipient(user)
    }

    /// The groups for which a vote of a recipient counts now.
    pub(super) fn groups_of(&self, recipient: &str) -> Vec<Arc<str>> {
        let is_escalated = self.escalation.as_ref().is_some_and(|escalation| escalation.escalated);
        let all = is_escalated && self.is_escalation_recipient(recipient);
        self.groups_with(recipient, all)
    }

    fn groups_with(&self, recipient: &str, all: bool) -> Vec<Arc<str>> {
        let counted = |group: &&GroupQuorum| all || group.members.iter().any(|member| &**member == recipient);
        self.groups.iter().filter(counted).map(|group| group.name.clone()).collect()
    }

    /// Whether the vote is a veto.
    pub(super) fn is_veto(&self, vote: &Vote) -> bool {
        means_no(&vote.choice) && self.veto.contains(vote.recipient())
    }

    /// Whether two votes count together: they have the same choice, and the same values of all fields that the workflow proposes.
    /// Otherwise, one voter would change what another has approved.
    pub(super) fn count_together(&self, one: &Vote, other: &Vote) -> bool {
        let field = |vote: &Vote, name: &str| vote.form.as_ref().and_then(|form| form.get(name)).cloned();
        let mut proposed = self.defaults.as_object().into_iter().flat_map(Object::keys);
        one.choice == other.choice
            && (means_no(&one.choice) || proposed.all(|name| field(one, name) == field(other, name)))
    }

    /// Whether a form has other values than the proposed ones.
    pub(super) fn is_edited(&self, form: &Value) -> bool {
        let defaults = self.defaults.as_object();
        defaults.into_iter().flatten().any(|(name, proposed)| form.get(name) != Some(proposed))
    }

    /// The groups and what each needs; null if votes of any recipients count.
    pub(super) fn need(&self) -> Value {
        if self.groups.is_empty() {
            return Value::Null;
        }
        let needs = self.groups.iter().map(|group| (group.name.clone(), Value::Int(i64::from(group.needed))));
        Value::from(needs.collect::<Object>())
    }
}

/// Whether a choice means no, such as `deny` and `reject`.
///
/// ```
/// assert!(branchpoint_core::means_no("Deny") && !branchpoint_core::means_no("later"));
/// ```
pub fn means_no(choice: &str) -> bool {
    approval_decision(choice) == Some(false)
}

fn groups(need: Option<&Value>, names: &Names<'_>) -> Result<Vec<GroupQuorum>, InvalidRequest> {
    let Some(need) = need else { return Ok(Vec::new()) };
    let Some(need) = need.as_object().filter(|need| !need.is_empty()) else {
        return Err(InvalidRequest::Number("need"));
    };
    let group = |(name, needed): (&Arc<str>, &Value)| {
        let needed = match needed {
            Value::Int(needed) => u32::try_from(*needed).ok().filter(|needed| *needed >= 1),
            _ => None,
        };
        let needed = needed.ok_or(InvalidRequest::Number("need"))?;
        let members = names.group(name).ok_or_else(|| {
            InvalidRequest::Group(format!(
                "the group `{name}` is not defined; define it in `[groups]` of branchpoint.toml"
            ))
        })?;
        if members.len() < needed as usize {
            let message =
                format!("the group `{name}` needs {needed} votes, but {} of its members may vote", members.len());
            return Err(InvalidRequest::Group(message));
        }
        Ok(GroupQuorum { name: name.clone(), needed, members })
    };
    need.iter().map(group).collect()
}

/// The votes that a choice has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupProgress {
    /// The group.
    pub group: Arc<str>,
    /// The number of votes that a choice needs.
    pub needed: u32,
    /// The number of votes of the group that the choice has.
    pub votes: u32,
}

impl Request {
    /// The groups for which a vote of a user would count at a time.
    ///
    /// ```
    #[doc = include_str!("../../docs/approval.txt")]
    /// assert!(request.groups_of_voter("ada", 0).is_empty());
    /// ```
    pub fn groups_of_voter(&self, user: &str, now_ms: i64) -> Vec<Arc<str>> {
        let recipient = match self.delegation_to(user, now_ms) {
            Some(delegation) if !self.is_recipient(user) => &*delegation.recipient,
            _ => user,
        };
        self.rules.as_deref().map(|rules| rules.groups_of(recipient)).unwrap_or_default()
    }

    /// The votes of each group for a choice that count together; empty if the request needs votes of any recipients.
    ///
    /// ```
    #[doc = include_str!("../../docs/approval.txt")]
    /// assert!(request.group_progress("yes").is_empty());
    /// ```
    pub fn group_progress(&self, choice: &str) -> Vec<GroupProgress> {
        self.progress_of(&self.votes_for(choice))
    }

    /// The votes of each group among these; empty if the request needs votes of any recipients.
    ///
    /// ```
    #[doc = include_str!("../../docs/approval.txt")]
    /// assert!(request.progress_of(&[]).is_empty());
    /// ```
    pub fn progress_of(&self, votes: &[&Vote]) -> Vec<GroupProgress> {
        let of_group = |group: &GroupQuorum| {
            let votes = votes.iter().filter(|vote| vote.groups.contains(&group.name));
            let votes = u32::try_from(votes.count()).unwrap_or(u32::MAX);
            GroupProgress { group: group.name.clone(), needed: group.needed, votes }
        };
        self.rules.iter().flat_map(|rules| &rules.groups).map(of_group).collect()
    }

    /// The votes for a choice that count together. If there are several such sets, because forms differ, it is the one that is enough, or
    /// the largest.
    ///
    /// ```
    #[doc = include_str!("../../docs/approval.txt")]
    /// assert!(request.votes_for("yes").is_empty());
    /// ```
    pub fn votes_for(&self, choice: &str) -> Vec<&Vote> {
        let of_choice = self.votes.iter().filter(|vote| &*vote.choice == choice);
        let sets = of_choice.map(|vote| self.votes_with(vote));
        sets.max_by_key(|votes| (self.is_quorum(votes), votes.len())).unwrap_or_default()
    }

    /// Whether these votes are enough for their choice.
    fn is_quorum(&self, votes: &[&Vote]) -> bool {
        match self.rules.as_deref().filter(|rules| !rules.groups.is_empty()) {
            None => votes.len() >= self.required as usize,
            Some(rules) => rules.groups.iter().all(|group| {
                votes.iter().filter(|vote| vote.groups.contains(&group.name)).count() >= group.needed as usize
            }),
        }
    }

    /// The votes that count together with a vote, the vote included.
    ///
    /// ```
    #[doc = include_str!("../../docs/approval.txt")]
    /// let vote = request.read_vote("ada", Ballot::new("yes"), 0)?;
    /// assert!(request.votes_with(&vote).is_empty(), "it is not recorded");
    /// # Ok::<(), VoteRejection>(())
    /// ```
    pub fn votes_with(&self, vote: &Vote) -> Vec<&Vote> {
        let together = |other: &&Vote| match &self.rules {
            Some(rules) => rules.count_together(vote, other),
            None => vote.choice == other.choice,
        };
        self.votes.iter().filter(together).collect()
    }

    /// Whether the choice of a vote has enough votes.
    pub(super) fn has_quorum_with(&self, vote: &Vote) -> bool {
        self.is_quorum(&self.votes_with(vote))
    }

    /// Whether some choice can still have enough votes, if everyone who may vote now or after the escalation votes for it.
    pub(super) fn is_quorum_reachable(&self) -> bool {
        let Some(rules) = self.rules.as_deref() else { return true };
        let coming = rules.escalation.as_ref().filter(|escalation| {
            !escalation.escalated && self.deadline_ms.is_none_or(|deadline| escalation.at_ms < deadline)
        });
        let later = coming.into_iter().flat_map(|escalation| &escalation.users);
        let voters: BTreeSet<&Arc<str>> = self.recipients.iter().chain(later).collect();
        let silent = voters.into_iter().filter(|user| !self.votes.iter().any(|vote| vote.recipient() == *user));
        let can_escalate = rules.escalation.as_ref().is_some_and(|escalation| escalation.escalated) || coming.is_some();
        let possible: Vec<Vote> = silent
            .map(|user| {
                let all = can_escalate && rules.is_escalation_recipient(user);
                Vote { groups: rules.groups_with(user, all), ..Vote::new(user.clone(), "".into(), 0) }
            })
            .collect();
        // A new choice has only future votes; any other has the votes that count together, too.
        let candidates = std::iter::once(Vec::new()).chain(self.votes.iter().map(|vote| self.votes_with(vote)));
        candidates
            .map(|votes| votes.into_iter().chain(&possible).collect::<Vec<_>>())
            .any(|votes| self.is_quorum(&votes))
    }
}
