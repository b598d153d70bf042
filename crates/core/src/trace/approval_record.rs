//! How an approval is explained: who could vote, who voted, who delegated to whom, what each group had and needed, and the rule that
//! settled it.

use std::sync::Arc;

use branchpoint_expr::{Object, Value, iso_utc};

use super::Redact;
use super::json::{moment, number};
use crate::request::{GroupQuorum, Request, Resolution, Rules, object};

/// The reason of the outcome in one sentence.
pub(super) fn sentence(request: &Request, resolution: &Resolution) -> String {
    match resolution {
        Resolution::Choice(choice) => {
            let voters: Vec<String> = request.votes_for(choice).into_iter().map(voter).collect();
            let given = format!("{} for `{choice}` ({})", votes(voters.len()), voters.join(", "));
            match required_by_groups(request) {
                Some(required) => format!("{given}; required: {required}"),
                None => format!("{given}, {} required", request.required),
            }
        }
        Resolution::Veto(choice) => {
            let vetoed = request.votes.last().map(voter).unwrap_or_default();
            format!("{vetoed} voted for `{choice}` and has a veto")
        }
        Resolution::NoQuorum => {
            let required = required_by_groups(request).unwrap_or_else(|| votes(request.required as usize));
            format!("all {} approvers voted, and no choice has the required {required}", request.recipients.len())
        }
        Resolution::Unreachable => {
            let given = votes(request.votes.len());
            let required = required_by_groups(request).unwrap_or_else(|| votes(request.required as usize));
            format!("after {given}, no choice can have the required {required} any more")
        }
        Resolution::Timeout => match (request.votes.len(), required_by_groups(request)) {
            (0, _) => "the deadline passed without a vote".into(),
            (given, Some(required)) => {
                format!("the deadline passed with {}; required for one choice: {required}", votes(given))
            }
            (given, None) => {
                format!("the deadline passed with {}, {} required for one choice", votes(given), request.required)
            }
        },
        Resolution::Withdrawn => {
            let given = match request.votes.len() {
                0 => "without a vote".to_owned(),
                count => format!(
                    "with {} ({})",
                    votes(count),
                    request.votes.iter().map(voter).collect::<Vec<_>>().join(", ")
                ),
            };
            format!("the approval was withdrawn before it was settled, {given}")
        }
        Resolution::Cancelled(reason) => match reason {
            Some(reason) => format!("the approval was cancelled: {reason}"),
            None => "the approval was cancelled".into(),
        },
    }
}

/// The votes that a choice needs, and the votes that it has.
pub(crate) fn needs(request: &Request, choice: &str) -> String {
    let progress = request.group_progress(choice);
    if !progress.is_empty() {
        let groups: Vec<String> = progress
            .iter()
            .map(|of| format!("{} of {} (has {})", votes(of.needed as usize), of.group, of.votes))
            .collect();
        return format!("needs {}", groups.join(" and "));
    }
    let plural = |count: usize, noun: &str| if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") };
    let needed = plural(request.required as usize, "vote");
    let given = request.votes_for(choice).len();
    format!("needs {needed} from {}, has {given}", plural(request.recipients.len(), "approver"))
}

impl Request {
    /// Who may vote, who has voted, who has delegated to whom, and what the choices have, a line each, while the request is pending.
    ///
    /// ```
    #[doc = include_str!("../../docs/approval.txt")]
    /// let lines = request.progress_lines(&());
    /// assert_eq!(lines[0], "yes: needs 2 votes from 2 approvers, has 0");
    /// ```
    pub fn progress_lines(&self, redact: &dyn Redact) -> Vec<String> {
        let choices = self.choices.iter().map(|choice| format!("{choice}: {}", needs(self, choice)));
        let approvers = self.rules.is_none().then(|| format!("approvers: {}", self.recipients.join(", ")));
        choices.chain(approvers).chain(lines(self, redact)).collect()
    }
}

/// The votes, delegations, groups and the escalation of a request, a line each.
pub(super) fn lines(request: &Request, redact: &dyn Redact) -> Vec<String> {
    let at = |at_ms: i64| iso_utc(at_ms).unwrap_or_default();
    let mut lines = Vec::new();
    if let Some(rules) = request.rules.as_deref() {
        lines.push(format!("approvers: {}", request.recipients.join(", ")));
        lines.extend(rules.groups.iter().map(|group| {
            let GroupQuorum { name, needed, members } = group;
            format!("group: {name} needs {} of {}", votes(*needed as usize), members.join(", "))
        }));
        lines.extend((!rules.veto.is_empty()).then(|| format!("veto: {}", rules.veto.join(", "))));
        lines.extend(rules.excluded.iter().map(|user| format!("excluded: {user}, who started the run")));
        if let Some(escalation) = rules.escalation.as_ref().filter(|escalation| escalation.escalated) {
            lines.push(format!("escalated: to {} ({})", escalation.users.join(", "), at(escalation.at_ms)));
        }
    }
    for delegation in &request.delegations {
        let until = at(delegation.until_ms);
        lines.push(format!("delegated: {} to {} until {until}", delegation.recipient, delegation.to));
    }
    for vote in &request.votes {
        let comment = vote.comment.as_ref().map(|comment| format!(" {:?}", redact.text(comment))).unwrap_or_default();
        let groups = if vote.groups.is_empty() { String::new() } else { format!(" [{}]", vote.groups.join(", ")) };
        lines.push(format!("vote: {} {}{groups}{comment} ({})", voter(vote), vote.choice, at(vote.at_ms)));
        lines.extend(vote.form.as_ref().map(|form| format!("form: {:?}", redact.value(form))));
    }
    for choice in &request.choices {
        let together = request.votes_for(choice);
        let others = request.votes.iter().filter(|vote| vote.choice == *choice && !together.contains(vote));
        let others: Vec<String> = others.map(voter).collect();
        if !others.is_empty() {
            let together: Vec<String> = together.into_iter().map(voter).collect();
            let (together, others) = (together.join(", "), others.join(", "));
            lines.push(format!("other forms: votes of {others} for `{choice}` do not count with those of {together}"));
        }
    }
    lines
}

/// The approval as JSON.
pub(super) fn to_value(request: &Request, resolution: &Resolution, redact: &dyn Redact) -> Value {
    let rules = request.rules.as_deref();
    let rule = match resolution {
        Resolution::NoQuorum if rules.is_none() => "no_quorum",
        resolution => resolution.rule(),
    };
    let cast: Vec<Value> = request
        .votes
        .iter()
        .map(|vote| {
            let comment = vote.comment.as_ref().map_or(Value::Null, |comment| Value::from(redact.text(comment)));
            let mut shape = object([
                ("user", Value::Str(vote.user.clone())),
                ("choice", Value::Str(vote.choice.clone())),
                ("comment", comment),
                ("at", moment(vote.at_ms)),
            ]);
            if rules.is_some() || vote.on_behalf_of.is_some() {
                let recipient = vote.on_behalf_of.clone().map_or(Value::Null, Value::Str);
                shape.insert("on_behalf_of".into(), recipient);
            }
            if rules.is_some() {
                let form = vote.form.as_ref().map_or(Value::Null, |form| redact.data(form));
                shape.extend(object([("groups", texts(&vote.groups)), ("form", form)]));
            }
            Value::from(shape)
        })
        .collect();
    let required =
        if required_by_groups(request).is_some() { Value::Null } else { number(u64::from(request.required)) };
    let mut shape = object([
        ("rule", Value::from(rule)),
        ("required", required),
        ("approvers", texts(&request.recipients)),
        ("votes", Value::from(cast)),
        ("asked", moment(request.requested_ms)),
        ("deadline", request.deadline_ms.map_or(Value::Null, moment)),
    ]);
    if rules.is_some() || !request.delegations.is_empty() {
        let delegations = request.delegations.iter().map(|delegation| {
            Value::from(object([
                ("from", Value::Str(delegation.recipient.clone())),
                ("to", Value::Str(delegation.to.clone())),
                ("until", moment(delegation.until_ms)),
            ]))
        });
        shape.insert("delegations".into(), Value::from(delegations.collect::<Vec<_>>()));
    }
    if let Some(rules) = rules {
        shape.extend(rules_value(request, rules, resolution));
    }
    Value::from(shape)
}

fn rules_value(request: &Request, rules: &Rules, resolution: &Resolution) -> Object {
    // What each group had: for the choice that was settled, else for the choice with the most votes.
    let chosen = match resolution {
        Resolution::Choice(choice) | Resolution::Veto(choice) => Some(choice.clone()),
        _ => request.choices.iter().max_by_key(|choice| request.votes_for(choice).len()).cloned(),
    };
    let progress = request.group_progress(chosen.as_deref().unwrap_or_default());
    let groups = rules.groups.iter().zip(progress).map(|(group, of)| {
        Value::from(object([
            ("group", Value::Str(group.name.clone())),
            ("needed", number(u64::from(group.needed))),
            ("votes", number(u64::from(of.votes))),
            ("members", texts(&group.members)),
        ]))
    });
    let escalation = rules.escalation.as_ref().map_or(Value::Null, |escalation| {
        Value::from(object([
            ("at", moment(escalation.at_ms)),
            ("to", texts(&escalation.users)),
            ("escalated", Value::Bool(escalation.escalated)),
        ]))
    });
    object([
        ("groups", Value::from(groups.collect::<Vec<_>>())),
        ("veto", texts(&rules.veto)),
        ("excluded", rules.excluded.clone().map_or(Value::Null, Value::Str)),
        ("escalation", escalation),
        ("shown_hash", Value::Str(rules.shown_hash.clone())),
    ])
}

/// What each group needs, as text; none if votes of any recipients count.
fn required_by_groups(request: &Request) -> Option<String> {
    let groups = &request.rules.as_deref()?.groups;
    let needed = groups.iter().map(|group| format!("{} of {}", votes(group.needed as usize), group.name));
    let needed: Vec<String> = needed.collect();
    (!needed.is_empty()).then(|| needed.join(" and "))
}

fn voter(vote: &crate::request::Vote) -> String {
    match &vote.on_behalf_of {
        Some(recipient) => format!("{} for {recipient}", vote.user),
        None => vote.user.to_string(),
    }
}

fn votes(count: usize) -> String {
    if count == 1 { "1 vote".into() } else { format!("{count} votes") }
}

fn texts(texts: &[Arc<str>]) -> Value {
    Value::from(texts.iter().cloned().map(Value::Str).collect::<Vec<_>>())
}
