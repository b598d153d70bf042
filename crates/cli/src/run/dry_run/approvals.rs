//! Answers the approvals of a dry run, from the script or at the terminal.

use branchpoint_core::{Approval, ApprovalKey, Rejected};
use branchpoint_expr::Value;
use branchpoint_host::{VirtualDriver, scripted_answer, votes_in_entry};

use crate::approvals::describe;
use crate::run::answers::Answers;
use crate::terminal;

/// Answers the oldest approval that has an answer. Returns false if there is none.
pub(crate) fn answer(host: &mut VirtualDriver<'_>, answers: &mut Answers) -> bool {
    host.approvals().iter().any(|approval| answered(approval, host, answers))
}

/// Answers an approval. Returns whether the run can continue.
fn answered(approval: &Approval, host: &mut VirtualDriver<'_>, answers: &mut Answers) -> bool {
    let name = answers.script().approval_step(approval);
    let Some(answer) = answers.approval_answer(&name, approval, &describe(approval)) else {
        // A conversation without input gets null as its line.
        return approval.key == ApprovalKey::Line && host.answer(&approval.key, None, &Value::Null, None).is_ok();
    };
    if let Some(votes) = votes_in_entry(&answer) {
        for vote in votes {
            let mut events = vote.delegation(approval).into_iter().chain([vote.event(approval)]);
            if let Err(refused) = events.try_for_each(|event| host.deliver(event)) {
                report_rejection(approval, &format!("`{}` of {}", vote.choice, vote.user), &refused);
            }
        }
        return !is_open(approval, host);
    }
    let answer = answer.get("$output").unwrap_or(&answer);
    let mut is_accepted = false;
    // Every approver gives the same answer, until the approval is settled.
    let users = approval.missing_voters().into_iter().map(Some);
    let users: Vec<_> = if approval.request.is_some() { users.collect() } else { vec![None] };
    for user in users {
        match host.deliver(scripted_answer(approval, user.as_deref(), answer)) {
            Ok(()) => is_accepted = true,
            Err(_) if is_accepted => break,
            Err(refused) => {
                report_rejection(approval, &format!("`{answer}`"), &refused);
                // A person may answer again; the answer of a script stays the same.
                return answers.can_ask(&name);
            }
        }
    }
    is_accepted && !is_open(approval, host)
}

fn report_rejection(approval: &Approval, answer: &str, refused: &Rejected) {
    terminal::error(&format!("the answer {answer} to step `{}` was rejected: {refused}", approval.step));
}

/// Whether votes are still missing. An approval without votes is settled by one answer.
fn is_open(approval: &Approval, host: &VirtualDriver<'_>) -> bool {
    approval.request.is_some() && host.approvals().iter().any(|other| other.key == approval.key)
}

/// The approval, and how to answer it.
pub(crate) fn pending(approval: &Approval) -> String {
    let choices = approval.choices();
    let (answer, step) = (choices.first().map_or("a line", |choice| choice), &approval.step);
    format!("{}To answer it in a dry run, write `{step}: [{answer}]` into the --script file.\n", describe(approval))
}
