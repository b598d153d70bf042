//! Feeds votes, cancellations and clock changes to a run.

use branchpoint_core::ir::Program;
use branchpoint_core::{Offer, Rejected, VoteRejection, offers};
use branchpoint_expr::Value;
use branchpoint_host::{RequestedApproval, Script, VirtualDriver};

use super::object;

/// Feeds the events of a vector, each when nothing else can run. Each event must be accepted or rejected as it says.
pub(super) fn feed(vector: &Value, memory: &mut VirtualDriver<'_>, script: &mut Script) -> Vec<String> {
    let mut problems = Vec::new();
    for event in vector.get("hitl").and_then(Value::as_list).unwrap_or_default() {
        let outcome = send(event, memory, script);
        let rejection = outcome.err().map(|rejected| code(&rejected));
        let wanted = event.get("refused").and_then(Value::as_str).map(str::to_owned);
        if rejection != wanted {
            problems.push(format!("{event:?} has the rejection {rejection:?}"));
        }
        memory.run_until_idle(&mut |call| script.simulate(call));
    }
    problems
}

fn send(event: &Value, memory: &mut VirtualDriver<'_>, script: &mut Script) -> Result<(), Rejected> {
    if event.get("cancel_run").is_some() {
        return memory.cancel(None);
    }
    if let Some(Value::Int(seconds)) = event.get("advance") {
        memory.advance_clock(seconds.saturating_mul(1000), &mut |call| script.simulate(call));
        return Ok(());
    }
    if let Some(Value::Float(seconds)) = event.get("advance") {
        let ms = branchpoint_expr::seconds_ms(*seconds).and_then(|ms| i64::try_from(ms).ok());
        memory.advance_clock(ms.unwrap_or_default(), &mut |call| script.simulate(call));
        return Ok(());
    }
    let step = event.get("step").and_then(Value::as_str);
    let question = find_request(memory, step).ok_or(Rejected::NotPending)?;
    if event.get("timeout").is_some() {
        let deadline = match question.spec.get("timeout_ms") {
            Some(Value::Int(timeout)) => question.requested_ms.saturating_add(*timeout),
            _ => return Err(Rejected::NotPending),
        };
        memory.advance_clock_to(deadline, &mut |call| script.simulate(call));
        return Ok(());
    }
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    if let Some(vote) = event.get("vote") {
        let (user, choice) = (text(vote, "user_id").unwrap_or_default(), text(vote, "choice").unwrap_or_default());
        return memory.vote(question.request, &user, &choice, text(vote, "comment").as_deref());
    }
    memory.cancel_request(question.request, text(event, "cancel").as_deref())
}

/// The pending request of a step, or the oldest one; else the latest, which rejects the event.
fn find_request(memory: &VirtualDriver<'_>, step: Option<&str>) -> Option<RequestedApproval> {
    let of_step = |question: &&RequestedApproval| step.is_none_or(|step| is_of_step(question, step));
    let open = memory.requested_approvals().iter().filter(of_step).find(|question| question.is_open);
    open.or_else(|| memory.requested_approvals().iter().rev().find(of_step)).cloned()
}

fn is_of_step(question: &RequestedApproval, step: &str) -> bool {
    question.spec.get("step").and_then(Value::as_str) == Some(step)
}

fn code(rejected: &Rejected) -> String {
    match rejected {
        // A run that has ended has nothing pending.
        Rejected::Ended | Rejected::NotPending => VoteRejection::NotPending.code().to_owned(),
        Rejected::Vote(refusal) => refusal.code().to_owned(),
        other => other.to_string(),
    }
}

/// The open requests, in the format of the vectors.
pub(super) fn pending(program: &Program, memory: &VirtualDriver<'_>) -> Vec<Value> {
    let offers = offers(program, memory.state());
    let votes = |question: &RequestedApproval| {
        offers.iter().find_map(|offer| match offer {
            Offer::Vote { request, details } if *request == question.request => Some(details.votes.len()),
            _ => None,
        })
    };
    let open = memory.requested_approvals().iter().filter(|question| question.is_open);
    open.map(|question| {
        let field = |key: &str| question.spec.get(key).cloned().unwrap_or_default();
        let votes = votes(question).and_then(|votes| i64::try_from(votes).ok()).unwrap_or(-1);
        object([
            ("step", field("step")),
            ("recipients", field("recipients")),
            ("choices", field("choices")),
            ("votes", Value::Int(votes)),
            ("prompt", field("prompt")),
        ])
    })
    .collect()
}
