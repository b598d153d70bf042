//! Approvals as text, as JSON, and as commands that answer them.

use std::sync::Arc;

use branchpoint_backend::OpenApproval;
use branchpoint_core::shell;
use branchpoint_core::{Approval, ApprovalKey, Request, RequestNo, means_no};
use branchpoint_expr::{Object, Value};
use branchpoint_runners::Secrets;

use super::form;
use crate::{json, time};

/// An approval as a person reads it.
pub(crate) fn describe(approval: &Approval) -> String {
    let prompt = approval.prompt.trim_end().replace('\n', "\n  ");
    let choices = approval.choices().join(", ");
    let part = |(name, part): (&str, String)| {
        let (first, rest) = name.split_at(1);
        format!("{}{rest}: {}\n", first.to_uppercase(), part.replace('\n', "\n  "))
    };
    let parts = shown_parts(approval).into_iter().map(part).collect::<Vec<_>>().concat();
    let shown = format!("Step `{}` requests an approval:\n  {prompt}\n{parts}Choices: {choices}\n", approval.step);
    let people = |word: &str, people: &[Arc<str>]| {
        if people.is_empty() { String::new() } else { format!("{word}: {}\n", people.join(", ")) }
    };
    let voters: Vec<Arc<str>> = approval.voters().cloned().collect();
    let needs = approval.request.as_ref().and_then(group_needs).map(|needs| format!("Needs: {needs}\n"));
    shown + &people("Approvers", approval.recipients()) + &needs.unwrap_or_default() + &people("Voted", &voters)
}

/// What is put before people beside the prompt: values, what has changed, and the form.
pub(super) fn shown_parts(approval: &Approval) -> Vec<(&'static str, String)> {
    let mut parts = Vec::new();
    parts.extend(approval.shown().map(|shown| ("shown", shown.to_string())));
    let changes = approval.changes().iter().map(|change| {
        let part = |key: &str| change.get(key).cloned().unwrap_or_default();
        format!("{} was {:?}, is {:?}", part("path"), part("before"), part("after"))
    });
    let changes: Vec<String> = changes.collect();
    if !changes.is_empty() {
        parts.push(("changed", changes.join("\n")));
    }
    let form = approval.form().map(|form| form::lines(&form, &approval.form_defaults()).join("\n"));
    parts.extend(form.map(|form| ("form", form)));
    parts
}

/// What approvers see below the prompt of an approval, for readers in any time zone.
pub(crate) fn facts_of(open: &OpenApproval) -> Vec<(&'static str, String)> {
    let approval = &open.approval;
    let mut facts: Vec<_> = shown_parts(approval).into_iter().map(|(name, part)| (capitalised(name), part)).collect();
    facts.push(("Run", open.id.clone()));
    facts.push(("Step", approval.step.to_string()));
    if let Some(request) = &approval.request {
        facts.push(("Approvers", request.recipients.join(", ")));
        let needs = group_needs(request).unwrap_or_else(|| match request.required {
            1 => "1 vote".to_owned(),
            required => format!("{required} votes for one choice"),
        });
        facts.push(("Needs", needs));
        let votes = request.votes.iter().map(|vote| format!("{}: {}", vote.user, vote.choice)).collect::<Vec<_>>();
        if !votes.is_empty() {
            facts.push(("Votes so far", votes.join(", ")));
        }
    }
    facts.extend(approval.deadline_ms().map(|at_ms| ("Deadline", time::utc(at_ms))));
    facts
}

fn capitalised(name: &'static str) -> &'static str {
    match name {
        "shown" => "Shown",
        "changed" => "Changed",
        "form" => "Form",
        name => name,
    }
}

/// What each group needs, and the votes that the choice with the most votes has; none if votes of any approvers count.
pub(super) fn group_needs(request: &Request) -> Option<String> {
    let votes = |choice: &Arc<str>| request.votes_for(choice).len();
    let leading = request.choices.iter().rev().max_by_key(|choice| votes(choice))?;
    let progress = request.group_progress(leading);
    let groups = progress.iter().map(|of| format!("{} {} of {}", of.group, of.votes, of.needed));
    let groups: Vec<String> = groups.collect();
    (!groups.is_empty()).then(|| match votes(leading) {
        0 => groups.join(", "),
        _ => format!("{} for `{leading}`", groups.join(", ")),
    })
}

/// The groups, vetoes, delegations and the escalation of a request.
pub(super) fn rule_lines(request: &Request) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if let Some(rules) = request.rules.as_deref() {
        let groups = rules.groups.iter().map(|group| format!("{}: {}", group.name, group.members.join(", ")));
        let groups: Vec<String> = groups.collect();
        if !groups.is_empty() {
            lines.push(("groups", groups.join("\n")));
        }
        if !rules.veto.is_empty() {
            lines.push(("veto", rules.veto.join(", ")));
        }
        lines.extend(rules.excluded.iter().map(|user| ("excluded", format!("{user}, who started the run"))));
        lines.extend(rules.escalation.iter().map(|escalation| {
            let users = escalation.users.join(", ");
            ("escalates", format!("to {users}, {}", time::local(escalation.at_ms)))
        }));
    }
    let delegated = request.delegations.iter().map(|delegation| {
        format!("{} to {} until {}", delegation.recipient, delegation.to, time::local(delegation.until_ms))
    });
    let delegated: Vec<String> = delegated.collect();
    if !delegated.is_empty() {
        lines.push(("delegated", delegated.join("\n")));
    }
    lines
}

/// An approval as a person reads it, and the command that answers it.
pub(crate) fn shown_with_command(open: &OpenApproval) -> String {
    let command = answer_command(open).map(|command| format!("To answer: {command}\n")).unwrap_or_default();
    format!("\n{}{command}", describe(&open.approval))
}

/// Who has not voted; `anybody` if an approval has no recipients.
pub(crate) fn missing_voters(approval: &Approval) -> String {
    match approval.request {
        Some(_) => approval.missing_voters().join(", "),
        None => "anybody".to_owned(),
    }
}

/// An approval as JSON.
pub(crate) fn to_value(open: &OpenApproval, secrets: &Secrets) -> Value {
    let approval = &open.approval;
    let texts = |texts: &[Arc<str>]| Value::from(texts.iter().cloned().map(Value::Str).collect::<Vec<_>>());
    let request = approval.request.as_ref();
    let has_rules = approval.shown_hash().is_some();
    let votes = request.iter().flat_map(|request| &request.votes).map(|vote| {
        let mut shape = json::object([
            ("user", Value::Str(vote.user.clone())),
            ("choice", Value::Str(vote.choice.clone())),
            ("comment", vote.comment.clone().map_or(Value::Null, Value::Str)),
            ("at", time::to_iso(vote.at_ms)),
        ]);
        if has_rules || vote.on_behalf_of.is_some() {
            let recipient = vote.on_behalf_of.clone().map_or(Value::Null, Value::Str);
            json::insert(&mut shape, "on_behalf_of", recipient);
        }
        if has_rules {
            json::insert(&mut shape, "groups", texts(&vote.groups));
            json::insert(&mut shape, "form", vote.form.clone().unwrap_or_default());
        }
        shape
    });
    let of_request = |value: Value| if request.is_some() { value } else { Value::Null };
    let mut shape = json::object([
        ("approval", Value::from(reference_to(open))),
        ("run", Value::from(open.id.as_str())),
        ("step", Value::Str(approval.step.clone())),
        ("question", Value::from(approval.prompt.as_str())),
        ("choices", texts(&approval.choices())),
        ("recipients", of_request(texts(approval.recipients()))),
        ("required", request.map_or(Value::Null, |request| json::count(request.required))),
        ("votes", Value::from(votes.collect::<Vec<_>>())),
        ("waits_for", of_request(texts(&approval.missing_voters()))),
        ("asked", time::to_iso(open.requested_ms)),
        ("deadline", approval.deadline_ms().map_or(Value::Null, time::to_iso)),
        ("overdue", Value::Bool(approval.is_overdue(time::now_ms()))),
        ("command", answer_command(open).map_or(Value::Null, Value::from)),
    ]);
    for (key, value) in request.into_iter().flat_map(|request| rule_values(approval, request)) {
        json::insert(&mut shape, key, value);
    }
    secrets.mask_value(&shape)
}

/// The parts of an approval that only approvals with rules or delegations have.
fn rule_values(approval: &Approval, request: &Request) -> Vec<(&'static str, Value)> {
    let texts = |texts: &[Arc<str>]| Value::from(texts.iter().cloned().map(Value::Str).collect::<Vec<_>>());
    let delegations = request.delegations.iter().map(|delegation| {
        json::object([
            ("from", Value::Str(delegation.recipient.clone())),
            ("to", Value::Str(delegation.to.clone())),
            ("until", time::to_iso(delegation.until_ms)),
        ])
    });
    let delegations = Value::from(delegations.collect::<Vec<_>>());
    let Some(rules) = request.rules.as_deref() else {
        return if request.delegations.is_empty() { Vec::new() } else { vec![("delegations", delegations)] };
    };
    let groups = rules.groups.iter().map(|group| {
        let votes = request.choices.iter().map(|choice| {
            let together = request.votes_for(choice);
            let count = together.iter().filter(|vote| vote.groups.contains(&group.name)).count();
            (choice.clone(), json::count(u64::try_from(count).unwrap_or(u64::MAX)))
        });
        json::object([
            ("group", Value::Str(group.name.clone())),
            ("needed", json::count(group.needed)),
            ("members", texts(&group.members)),
            ("votes", Value::from(votes.collect::<Object>())),
        ])
    });
    let escalation = rules.escalation.as_ref().map_or(Value::Null, |escalation| {
        json::object([
            ("at", time::to_iso(escalation.at_ms)),
            ("to", texts(&escalation.users)),
            ("escalated", Value::Bool(escalation.escalated)),
        ])
    });
    vec![
        ("shown", approval.shown().cloned().unwrap_or_default()),
        ("changed", Value::from(approval.changes().to_vec())),
        ("form", rules.form.clone()),
        ("defaults", rules.defaults.clone()),
        ("shown_hash", Value::Str(rules.shown_hash.clone())),
        ("groups", Value::from(groups.collect::<Vec<_>>())),
        ("veto", texts(&rules.veto)),
        ("excluded", rules.excluded.clone().map_or(Value::Null, Value::Str)),
        ("escalation", escalation),
        ("delegations", delegations),
    ]
}

/// The name of an approval in commands.
pub(super) fn reference_to(open: &OpenApproval) -> String {
    reference(&open.id, &open.approval.key)
}

/// The name of an approval in commands: the id of its run, and its number or step.
pub(crate) fn reference(run: &str, key: &ApprovalKey) -> String {
    match key {
        ApprovalKey::Request(RequestNo(number)) => format!("{run}/{number}"),
        ApprovalKey::Step(step) => format!("{run}/{step}"),
        ApprovalKey::Line => run.to_owned(),
    }
}

/// The command that answers an approval; none if any text does.
pub(super) fn answer_command(open: &OpenApproval) -> Option<String> {
    let missing = open.approval.missing_voters();
    let user = missing.first().map(|user| &**user);
    let choices = open.approval.choices();
    let choice = choices.first()?;
    let fields = if means_no(choice) { Vec::new() } else { form::missing(&open.approval) };
    let fields = fields.iter().map(|name| format!(" --form {}", quoted(&format!("{name}=VALUE"))));
    Some(command(&reference_to(open), choice, user) + &fields.collect::<Vec<_>>().concat())
}

/// The command that answers an approval as a user, quoted for a shell.
pub(crate) fn command(reference: &str, choice: &str, user: Option<&str>) -> String {
    // A word that begins with a dash would be read as an option.
    let is_option = |word: &str| word.starts_with('-');
    let user = user.map(|user| format!(" --as{}{}", if is_option(user) { '=' } else { ' ' }, quoted(user)));
    let (user, words) = (user.unwrap_or_default(), format!("{} {}", quoted(reference), quoted(choice)));
    if is_option(reference) || is_option(choice) {
        format!("branchpoint approvals vote{user} -- {words}")
    } else {
        format!("branchpoint approvals vote {words}{user}")
    }
}

/// A word of a shell command, in quotes unless it needs none.
pub(crate) fn quoted(text: &str) -> String {
    let plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./@:+".contains(c));
    if plain { text.to_owned() } else { shell::word(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(reference: &str, choice: &str, user: Option<&str>, expect: &str) {
        assert_eq!(command(reference, choice, user), format!("branchpoint approvals vote {expect}"));
    }

    #[test]
    fn the_suggested_command_is_quoted_for_a_shell() {
        check("k/1", "approve", Some("ada"), "k/1 approve --as ada");
        check("k/a b; rm -rf ~", "$(id)", None, "'k/a b; rm -rf ~' '$(id)'");
        check("k/1", "it's fine", Some("a`b"), r"k/1 'it'\''s fine' --as 'a`b'");
        check("k/1", "--json", Some("-x"), "--as=-x -- k/1 --json");
        check("k/1", "", None, "k/1 ''");
    }
}
