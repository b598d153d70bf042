//! What a run that is only tried asks people, answered from the script or at the terminal.

use branchpoint_core::{Approval, ApprovalKey, Rejected};
use branchpoint_expr::Value;
use branchpoint_host::{VirtualDriver, scripted_answer, votes_in_entry};

use crate::approvals::shown;
use crate::run::answers::Answers;
use crate::terminal;

/// Answers the oldest thing for which there is an answer. False if there is none.
pub(crate) fn answer(host: &mut VirtualDriver<'_>, answers: &mut Answers) -> bool {
    host.approvals().iter().any(|approval| answered(approval, host, answers))
}

/// True: the run can go on.
fn answered(approval: &Approval, host: &mut VirtualDriver<'_>, answers: &mut Answers) -> bool {
    let name = answers.script().approval_step(approval);
    let Some(said) = answers.said(&name, approval, &shown(approval)) else {
        // A conversation without input gets null as its line.
        return approval.key == ApprovalKey::Line && host.answer(&approval.key, None, &Value::Null, None).is_ok();
    };
    if let Some(votes) = votes_in_entry(&said) {
        for vote in votes {
            let mut events = vote.delegation(approval).into_iter().chain([vote.event(approval)]);
            if let Err(refused) = events.try_for_each(|event| host.deliver(event)) {
                report_rejection(approval, &format!("`{}` of {}", vote.choice, vote.user), &refused);
            }
        }
        return !is_open(approval, host);
    }
    let said = said.get("$output").unwrap_or(&said);
    let mut is_accepted = false;
    // Everyone who was asked says the same, until it is enough.
    let users = approval.missing_voters().into_iter().map(Some);
    let users: Vec<_> = if approval.request.is_some() { users.collect() } else { vec![None] };
    for user in users {
        match host.deliver(scripted_answer(approval, user.as_deref(), said)) {
            Ok(()) => is_accepted = true,
            Err(_) if is_accepted => break,
            Err(refused) => {
                report_rejection(approval, &format!("`{said}`"), &refused);
                // A person may think again; what is written down stays as it is.
                return answers.can_ask(&name);
            }
        }
    }
    is_accepted && !is_open(approval, host)
}

fn report_rejection(approval: &Approval, answer: &str, refused: &Rejected) {
    terminal::error(&format!("the answer {answer} to step `{}` was rejected: {refused}", approval.step));
}

/// Whether votes are still missing. What else is answered is answered at once.
fn is_open(approval: &Approval, host: &VirtualDriver<'_>) -> bool {
    approval.request.is_some() && host.approvals().iter().any(|other| other.key == approval.key)
}

/// The approval, and how to answer it.
pub(crate) fn pending(approval: &Approval) -> String {
    let choices = approval.choices();
    let (answer, step) = (choices.first().map_or("a line", |choice| choice), &approval.step);
    format!("{}To answer it in a dry run, write `{step}: [{answer}]` into the file of --script.\n", shown(approval))
}
