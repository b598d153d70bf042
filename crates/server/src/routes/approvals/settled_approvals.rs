//! Settled approvals: those that people voted on, from the requests of their runs, and those that one answer settled, from the traces.

use branchpoint_backend::{ApprovalRecord, Backend, Run, RunTrace};
use branchpoint_core::ir::{DecisionKind, Index as _};
use branchpoint_core::{Basis, DecisionRecord, Event, Request, Resolution};
use branchpoint_expr::Value;
use branchpoint_runners::Secrets;

use super::record::{ApprovalJson, Choice, VoteRecord, choice_record, content_of, vote_record};
use super::rules::ApprovalRules;
use crate::app::App;
use crate::problem::Problem;
use crate::time::rfc3339;

/// The record of a settled request, with the votes from the trace of its run.
pub(super) fn closed_record(
    app: &App,
    backend: &dyn Backend,
    run: &Run,
    record: &ApprovalRecord,
) -> Result<ApprovalJson, Problem> {
    let secrets = backend.secrets(run.run)?;
    let version = app.version(backend, run.workflow)?;
    let spec = &record.spec;
    let choices = spec.get("choices").and_then(Value::as_list).unwrap_or_default();
    let text = |key: &str| spec.get(key).filter(|part| **part != Value::Null).map(ToString::to_string);
    // A run that cannot be read has no votes to show. A request that was withdrawn with its run has no resolution.
    let trace = app.trace(backend, run).ok();
    let settled = trace.as_deref().and_then(|trace| settlement_of(trace, record));
    let request = settled.map(|(request, _)| request);
    let outcome = settled.map(|(_, resolution)| secrets.mask(resolution.outcome()).into_owned());
    let deadline = match spec.get("timeout_ms") {
        Some(Value::Int(timeout_ms)) => Some(rfc3339(record.requested_ms.saturating_add(*timeout_ms))),
        _ => None,
    };
    let required = match spec.get("required") {
        Some(Value::Int(required)) => u32::try_from(*required).unwrap_or(1),
        _ => 1,
    };
    let reason = match settled {
        Some((_, Resolution::Cancelled(Some(reason)))) => Some(secrets.mask(reason).into_owned()),
        _ => None,
    };
    let votes = request.iter().flat_map(|request| &request.votes).map(|vote| vote_record(vote, &secrets)).collect();
    Ok(ApprovalJson {
        key: format!("{}/{}", run.id, record.request.0),
        run: run.id.clone(),
        workflow: version.name.to_string(),
        version: version.version,
        step: text("step").unwrap_or_default(),
        prompt: secrets.mask(&text("prompt").unwrap_or_default()).into_owned(),
        choices: choices.iter().map(|choice| choice_record(&choice.to_string(), &secrets)).collect(),
        recipients: Some(request.map_or_else(
            || record.recipients(),
            |request| request.recipients.iter().map(ToString::to_string).collect(),
        )),
        required: Some(required),
        votes,
        waits_for: Some(Vec::new()),
        requested: rfc3339(record.requested_ms),
        deadline,
        may_vote: false,
        status: if outcome.is_some() && outcome.as_deref() != Some("cancelled") { "settled" } else { "cancelled" },
        outcome,
        settled: record.closed_ms.map(rfc3339),
        settled_by: Some(settled.map_or("cancelled", |(_, resolution)| resolution.rule()).to_owned()),
        reason,
        cancelled_by: None,
        content: content_of(spec, &secrets),
        path: Vec::new(),
        rules: ApprovalRules::of(request, spec, &secrets),
        decisions: Vec::new(),
        usage: None,
        input: Value::Null,
        may_cancel: false,
        may_delegate: false,
    })
}

/// How a request was settled, with its votes. None if it was withdrawn with its run.
fn settlement_of<'t>(trace: &'t RunTrace, record: &ApprovalRecord) -> Option<(&'t Request, &'t Resolution)> {
    let step = record.spec.get("step").and_then(Value::as_str);
    let of_step =
        |decided: &&DecisionRecord| step.is_none_or(|step| *step == *trace.view.program.steps[decided.step.index()].id);
    approvals_in(trace).filter(of_step).find_map(|decided| match &decided.basis {
        Basis::Votes { request, resolution } => {
            let (now, then) = (&request.recipients, record.recipients());
            // Groups and escalation add recipients to those that the workflow wrote.
            let has_recipients = then.iter().all(|user| now.iter().any(|recipient| **recipient == **user));
            (request.requested_ms == record.requested_ms && has_recipients).then_some((&**request, resolution))
        }
        _ => None,
    })
}

fn approvals_in(trace: &RunTrace) -> impl Iterator<Item = &DecisionRecord> {
    let decisions = trace.records.iter().flat_map(|record| &record.decisions);
    decisions.filter(|decided| decided.kind == DecisionKind::Approval)
}

/// Who cancelled a request, from the journal of its run.
pub(super) fn cancelled_by(
    backend: &dyn Backend,
    run: &Run,
    record: &ApprovalRecord,
) -> Result<Option<String>, Problem> {
    let number = i64::try_from(record.request.0).unwrap_or(i64::MAX);
    let events = backend.journal(run.run)?;
    let sender = events.iter().rev().find_map(|(_, event, _)| match event {
        Event::Signal { name, payload, sender, .. }
            if &**name == "cancel_request" && payload.get("request") == Some(&Value::Int(number)) =>
        {
            sender.clone()
        }
        _ => None,
    });
    Ok(sender.map(|sender| sender.to_string()))
}

/// An approval that one answer has settled: the record of its step in the trace, and the decision.
pub(super) type Answered<'t> = (usize, &'t DecisionRecord);

/// The approvals of a run that one answer has settled, in order.
pub(super) fn answered_in(trace: &RunTrace) -> Vec<Answered<'_>> {
    let of_record = |index: usize| {
        let decisions = trace.records[index].decisions.iter();
        let answered = decisions
            .filter(|decided| decided.kind == DecisionKind::Approval && matches!(decided.basis, Basis::Answer { .. }));
        answered.map(move |decided| (index, decided))
    };
    (0..trace.records.len()).flat_map(of_record).collect()
}

/// The record of an approval that one answer has settled.
pub(super) fn answered_record(
    app: &App,
    backend: &dyn Backend,
    trace: &RunTrace,
    (index, decided): Answered<'_>,
    secrets: &Secrets,
) -> Result<ApprovalJson, Problem> {
    let (run, record) = (&trace.view.row, &trace.records[index]);
    let version = app.version(backend, run.workflow)?;
    let step = trace.step_id(index).to_owned();
    let prompt = record.input.as_ref().and_then(|input| input.get("prompt").or(Some(input)));
    let prompt = prompt.map(|prompt| secrets.mask_value(prompt).to_string()).unwrap_or_default();
    let outcome = decided.chosen().map(|branch| secrets.mask(&branch.name).into_owned());
    let (sender, note) = match &decided.basis {
        Basis::Answer { sender, note } => (sender.clone(), note.clone()),
        _ => (None, None),
    };
    let vote = outcome.clone().map(|choice| VoteRecord {
        user: sender.map(|sender| sender.to_string()).unwrap_or_default(),
        choice,
        comment: note.filter(|note| *note != Value::Null).map(|note| secrets.mask_value(&note).to_string()),
        at: rfc3339(decided.at_ms),
        on_behalf_of: None,
        groups: Vec::new(),
        form: Value::Null,
    });
    let choices: Vec<Choice> = decided.branches.iter().map(|branch| choice_record(&branch.name, secrets)).collect();
    Ok(ApprovalJson {
        key: format!("{}/{step}", run.id),
        run: run.id.clone(),
        workflow: version.name.to_string(),
        version: version.version,
        step,
        prompt,
        choices,
        recipients: None,
        required: None,
        votes: vote.into_iter().collect(),
        waits_for: None,
        requested: rfc3339(record.began_ms),
        deadline: None,
        may_vote: false,
        status: "settled",
        outcome,
        settled: Some(rfc3339(decided.at_ms)),
        settled_by: Some("answer".into()),
        reason: None,
        cancelled_by: None,
        content: Value::Null,
        path: record.path.clone(),
        rules: ApprovalRules::default(),
        decisions: Vec::new(),
        usage: None,
        input: Value::Null,
        may_cancel: false,
        may_delegate: false,
    })
}
