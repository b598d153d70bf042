//! The rules of an approval, as `docs/spec/house.md` says them. Everything is computed from the list of ballots each time.

use std::collections::BTreeSet;

use branchpoint_expr::Value;

use super::ms;
use crate::tree::{ApprovalRules, Node, NodeKind};

/// An approval that is open.
#[derive(Clone, Debug)]
pub(super) struct Approval<'t> {
    people: u32,
    required: u32,
    deadline_ms: Option<i64>,
    rules: Option<&'t ApprovalRules>,
    opened_ms: i64,
    is_escalated: bool,
    ballots: Vec<Ballot>,
    /// A recipient, a delegate, and the end of the delegation.
    delegations: Vec<(String, String, i64)>,
}

/// A vote that was accepted.
#[derive(Clone, Debug)]
struct Ballot {
    voter: String,
    recipient: String,
    choice: String,
    /// The amount in the form.
    amount: Option<i64>,
    /// The groups for which it counts.
    groups: [bool; 2],
}

/// What a voter sends.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// The voter.
    pub user: String,
    /// The choice.
    pub choice: String,
    /// The form.
    pub form: Option<Value>,
    /// Whether the voter saw what the approval shows; none if the vote does not say.
    pub saw_it: Option<bool>,
}

/// How an approval ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct End {
    pub(super) outcome: String,
    pub(super) rule: &'static str,
}

fn user(number: u32) -> String {
    format!("u{number}")
}

impl<'t> Approval<'t> {
    /// Opens the approval of a node, or returns the kind of the error.
    pub(super) fn open(node: &'t Node, now: i64) -> Result<Self, &'static str> {
        let NodeKind::Request { people, required, timeout_ms, rules, .. } = &node.kind else {
            unreachable!("only requests have votes")
        };
        let approval = Self {
            people: *people,
            required: *required,
            deadline_ms: timeout_ms.map(|timeout| now + ms(timeout)),
            rules: rules.as_deref(),
            opened_ms: now,
            is_escalated: false,
            ballots: Vec::new(),
            delegations: Vec::new(),
        };
        match approval.problem() {
            Some(kind) => Err(kind),
            None => Ok(approval),
        }
    }

    fn problem(&self) -> Option<&'static str> {
        let rules = self.rules?;
        let too_few = self.needs().any(|(group, needed)| self.members(group).len() < needed as usize);
        let later = self.later();
        let no_one_later = rules.escalation.iter().flat_map(|(_, users)| users).any(|user| !self.may_vote(*user));
        let voters: BTreeSet<String> = self.first().union(&later).cloned().collect();
        let no_vetoer = rules.veto.iter().any(|vetoer| !self.may_vote(*vetoer) || !voters.contains(&user(*vetoer)))
            || rules.veto_group.is_some_and(|group| self.members(group).is_disjoint(&voters));
        if too_few || no_one_later || no_vetoer {
            return Some("hitl_group");
        }
        if rules.end_early && rules.need.is_none() && self.required as usize > voters.len() {
            return Some("hitl_required");
        }
        self.first().is_empty().then_some("no_recipients")
    }

    fn may_vote(&self, number: u32) -> bool {
        self.rules.is_none_or(|rules| rules.excluded != Some(number))
    }

    fn users(&self, numbers: &[u32]) -> BTreeSet<String> {
        numbers.iter().filter(|number| self.may_vote(**number)).map(|number| user(*number)).collect()
    }

    fn members(&self, group: usize) -> BTreeSet<String> {
        self.rules.map(|rules| self.users(&rules.groups[group])).unwrap_or_default()
    }

    /// The groups that a choice needs, with their numbers of votes.
    fn needs(&self) -> impl Iterator<Item = (usize, u32)> + use<> {
        let need = self.rules.and_then(|rules| rules.need).unwrap_or_default();
        need.into_iter().enumerate().filter(|(_, needed)| *needed > 0)
    }

    fn has_need(&self) -> bool {
        self.rules.is_some_and(|rules| rules.need.is_some())
    }

    fn first(&self) -> BTreeSet<String> {
        if self.has_need() {
            return self.needs().flat_map(|(group, _)| self.members(group)).collect();
        }
        self.users(&(0..self.people).collect::<Vec<_>>())
    }

    /// Those whom an escalation adds.
    fn later(&self) -> BTreeSet<String> {
        let later = self.rules.and_then(|rules| rules.escalation.as_ref());
        later.map(|(_, users)| self.users(users)).unwrap_or_default()
    }

    pub(super) fn recipients(&self) -> BTreeSet<String> {
        let later = if self.is_escalated { self.later() } else { BTreeSet::new() };
        self.first().union(&later).cloned().collect()
    }

    pub(super) fn is_over(&self, now: i64) -> bool {
        self.deadline_ms.is_some_and(|deadline| now >= deadline)
    }

    pub(super) fn deadline_ms(&self) -> Option<i64> {
        self.deadline_ms
    }

    /// When the escalation comes, unless the deadline comes first.
    pub(super) fn escalates_ms(&self) -> Option<i64> {
        let (after, _) = self.rules?.escalation.as_ref()?;
        let at = self.opened_ms + ms(*after);
        (!self.is_escalated && self.deadline_ms.is_none_or(|deadline| at < deadline)).then_some(at)
    }

    /// Adds the later recipients, and returns those who are new.
    pub(super) fn escalate(&mut self) -> Vec<String> {
        let before = self.recipients();
        self.is_escalated = true;
        self.recipients().difference(&before).cloned().collect()
    }

    fn has_voted(&self, recipient: &str) -> bool {
        self.ballots.iter().any(|ballot| ballot.recipient == recipient)
    }

    /// The recipient whose vote a delegate may use.
    fn represents(&self, delegate: &str, now: i64) -> Option<String> {
        let active =
            |(from, to, until): &&(String, String, i64)| to == delegate && now < *until && !self.has_voted(from);
        self.delegations.iter().find(active).map(|(from, ..)| from.clone())
    }

    /// Those who are reminded.
    pub(super) fn silent(&self, now: i64) -> Vec<String> {
        let silent = self.recipients().into_iter().filter(|user| !self.has_voted(user));
        let delegates = self.delegations.iter().filter(|(from, to, _)| self.represents(to, now).as_ref() == Some(from));
        silent.chain(delegates.map(|(_, to, _)| to.clone())).collect()
    }

    /// Records a vote, and returns whether it is accepted.
    pub(super) fn vote(&mut self, sent: &Sent, choices: &[&str], now: i64) -> bool {
        let recipient = if self.recipients().contains(&sent.user) {
            (!self.has_voted(&sent.user)).then(|| sent.user.clone())
        } else if self.ballots.iter().any(|ballot| ballot.voter == sent.user) {
            None
        } else {
            self.represents(&sent.user, now)
        };
        let saw_another = match sent.saw_it {
            Some(saw_it) => !saw_it || self.rules.is_none(),
            None => false,
        };
        let (Some(recipient), Ok(amount)) = (recipient, self.amount(sent)) else { return false };
        if self.is_over(now) || !choices.contains(&&*sent.choice) || saw_another {
            return false;
        }
        let for_all = self.is_escalated && self.later().contains(&recipient);
        let groups = [0, 1].map(|group| for_all || self.members(group).contains(&recipient));
        let (voter, choice) = (sent.user.clone(), sent.choice.clone());
        self.ballots.push(Ballot { voter, recipient, choice, amount, groups });
        true
    }

    /// The amount in the form of a vote; an error if the form is invalid.
    fn amount(&self, sent: &Sent) -> Result<Option<i64>, ()> {
        let proposed = self.rules.and_then(|rules| rules.form);
        match (proposed, &sent.form) {
            (None, None) => Ok(None),
            (Some(_), None) if sent.choice == "no" => Ok(None),
            (Some(proposed), Some(form)) => {
                let fields = form.as_object().ok_or(())?;
                let is_known = fields.keys().all(|key| ["amount", "note"].contains(&&**key));
                let is_note = fields.get("note").is_none_or(|note| note.as_str().is_some());
                match fields.get("amount") {
                    _ if !is_known || !is_note => Err(()),
                    None => Ok(Some(proposed)),
                    Some(Value::Int(amount)) => Ok(Some(*amount)),
                    Some(_) => Err(()),
                }
            }
            _ => Err(()),
        }
    }

    /// Names a delegate, or revokes a delegation, and returns whether that is accepted.
    pub(super) fn delegate(&mut self, from: &str, to: Option<&str>, until: i64, now: i64) -> bool {
        if self.is_over(now) || !self.recipients().contains(from) || self.has_voted(from) {
            return false;
        }
        if let Some(to) = to {
            let is_excluded = self.rules.and_then(|rules| rules.excluded).is_some_and(|excluded| user(excluded) == to);
            let is_recipient = self.recipients().contains(to) || self.later().contains(to);
            let has_used = self.ballots.iter().any(|ballot| ballot.voter == to);
            let is_taken = self.represents(to, now).is_some_and(|other| other != from);
            if to.is_empty() || until <= now || is_excluded || is_recipient || has_used || is_taken {
                return false;
            }
        }
        self.delegations.retain(|(other, ..)| other != from);
        self.delegations.extend(to.map(|to| (from.to_owned(), to.to_owned(), until)));
        true
    }

    /// How the newest vote has settled the approval, if it has.
    pub(super) fn settled(&self) -> Option<End> {
        let newest = self.ballots.last()?;
        let end = |outcome: &str, rule| Some(End { outcome: outcome.to_owned(), rule });
        if newest.choice == "no" && self.has_veto(&newest.recipient) {
            return end("no", "veto");
        }
        if self.is_enough(&self.agreeing(&newest.choice, newest.amount)) {
            return end(&newest.choice, "quorum");
        }
        if self.recipients().iter().all(|recipient| self.has_voted(recipient)) {
            return end("no_quorum", "everyone_voted");
        }
        let ends_early = self.rules.is_some_and(|rules| rules.end_early);
        if ends_early && !self.could_be_enough() { end("no_quorum", "unreachable") } else { None }
    }

    fn has_veto(&self, recipient: &str) -> bool {
        self.rules.is_some_and(|rules| {
            let of_group = rules.veto_group.map(|group| self.members(group)).unwrap_or_default();
            self.users(&rules.veto).contains(recipient) || of_group.contains(recipient)
        })
    }

    /// The groups of the votes for a choice that count together: those with the same amount, but all that mean no.
    fn agreeing(&self, choice: &str, amount: Option<i64>) -> Vec<[bool; 2]> {
        let agrees = |ballot: &&Ballot| ballot.choice == choice && (choice == "no" || ballot.amount == amount);
        self.ballots.iter().filter(agrees).map(|ballot| ballot.groups).collect()
    }

    fn is_enough(&self, votes: &[[bool; 2]]) -> bool {
        if !self.has_need() {
            return votes.len() >= self.required as usize;
        }
        self.needs().all(|(group, needed)| votes.iter().filter(|groups| groups[group]).count() >= needed as usize)
    }

    /// Whether some choice has enough votes if everyone votes for it who has not voted and may vote some day.
    fn could_be_enough(&self) -> bool {
        let later = if self.is_escalated || self.escalates_ms().is_some() { self.later() } else { BTreeSet::new() };
        let silent: Vec<[bool; 2]> = self
            .first()
            .union(&later)
            .filter(|user| !self.has_voted(user))
            .map(|user| [0, 1].map(|group| later.contains(user) || self.members(group).contains(user)))
            .collect();
        let cast = self.ballots.iter().map(|ballot| self.agreeing(&ballot.choice, ballot.amount));
        let mut possible = std::iter::once(Vec::new()).chain(cast);
        possible.any(|votes| self.is_enough(&votes.into_iter().chain(silent.iter().copied()).collect::<Vec<_>>()))
    }

    /// What the step after the approval reads.
    pub(super) fn output(&self, end: &End) -> Value {
        let votes = i64::try_from(self.ballots.len()).expect("few people vote");
        let mut output = vec![Value::from(&*end.outcome), Value::Int(votes)];
        if let Some(rules) = self.rules {
            let settling = self.ballots.last().filter(|_| ["quorum", "veto"].contains(&end.rule));
            let amount = settling.and_then(|ballot| ballot.amount);
            let is_edited = amount.is_some() && amount != rules.form;
            output.extend([
                Value::from(end.rule),
                Value::Bool(self.is_escalated),
                Value::Bool(is_edited),
                amount.map_or(Value::Null, Value::Int),
            ]);
        }
        Value::from(output)
    }

    /// Whether the newest vote is one of a delegate, for counts.
    pub(super) fn is_for_another(&self) -> bool {
        self.ballots.last().is_some_and(|ballot| ballot.voter != ballot.recipient)
    }

    /// Whether the form of the newest vote has another amount than the proposed one, for counts.
    pub(super) fn is_edited(&self) -> bool {
        let amount = self.ballots.last().and_then(|ballot| ballot.amount);
        amount.is_some() && amount != self.rules.and_then(|rules| rules.form)
    }
}
