//! Approvals as text, as JSON, and as commands that answer them.

use std::sync::Arc;

use branchpoint_backend::OpenApproval;
use branchpoint_core::shell;
use branchpoint_core::{Approval, ApprovalKey, RequestNo};
use branchpoint_expr::Value;
use branchpoint_runners::Secrets;

use crate::{json, time};

/// An approval as a person reads it.
pub(crate) fn shown(approval: &Approval) -> String {
    let prompt = approval.prompt.trim_end().replace('\n', "\n  ");
    let choices = approval.choices().join(", ");
    let shown = format!("The step `{}` asks people:\n  {prompt}\nChoices: {choices}\n", approval.step);
    let people = |word: &str, people: &[Arc<str>]| {
        if people.is_empty() { String::new() } else { format!("{word}: {}\n", people.join(", ")) }
    };
    let voters: Vec<Arc<str>> = approval.voters().cloned().collect();
    shown + &people("Asked", approval.recipients()) + &people("Answered", &voters)
}

/// An approval as a person reads it, and the command that answers it.
pub(crate) fn shown_with_command(open: &OpenApproval) -> String {
    let command = answer_command(open).map(|command| format!("To answer: {command}\n")).unwrap_or_default();
    format!("\n{}{command}", shown(&open.approval))
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
    let votes = request.iter().flat_map(|request| &request.votes).map(|vote| {
        json::object([
            ("user", Value::Str(vote.user.clone())),
            ("choice", Value::Str(vote.choice.clone())),
            ("comment", vote.comment.clone().map_or(Value::Null, Value::Str)),
            ("at", time::to_iso(vote.at_ms)),
        ])
    });
    let of_request = |value: Value| if request.is_some() { value } else { Value::Null };
    secrets.mask_value(&json::object([
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
    ]))
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
    Some(command(&reference_to(open), open.approval.choices().first()?, user))
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
