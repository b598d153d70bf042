//! The records of approvals in responses.

use branchpoint_backend::{ApprovalRecord, Backend, OpenApproval, Run};
use branchpoint_core::ir::DecisionKind;
use branchpoint_core::{ApprovalKey, Vote, choice_meaning};
use branchpoint_expr::Value;
use branchpoint_runners::Secrets;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::caller::{Action, Caller};
use crate::problem::Problem;
use crate::routes::runs::record::UsageRecord;
use crate::time::{now_ms, rfc3339};

/// A choice of an approval.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Choice {
    pub(super) name: String,
    /// `yes`, `no` or `other`.
    #[schema(value_type = crate::schemas::Meaning)]
    pub(super) meaning: &'static str,
}

/// A person's vote.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Vote)]
pub(crate) struct VoteRecord {
    pub(super) user: String,
    pub(super) choice: String,
    pub(super) comment: Option<String>,
    pub(super) at: String,
}

/// A decision that led to an approval.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct LeadingDecision {
    pub(super) step: String,
    pub(super) branch: Option<String>,
    pub(super) sentence: Option<String>,
}

/// An approval.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Approval)]
pub(crate) struct ApprovalJson {
    /// The id of the run, `/`, and the number of the request or the id of the step.
    pub(crate) key: String,
    pub(super) run: String,
    pub(crate) workflow: String,
    pub(super) version: u32,
    pub(super) step: String,
    /// The question, as Markdown.
    pub(super) prompt: String,
    pub(super) choices: Vec<Choice>,
    /// The approvers; null if anyone can answer.
    pub(super) recipients: Option<Vec<String>>,
    /// The number of equal votes that settle it; null if the first answer does.
    pub(super) required: Option<u32>,
    pub(super) votes: Vec<VoteRecord>,
    /// The approvers who have not voted.
    pub(super) waits_for: Option<Vec<String>>,
    pub(super) requested: String,
    pub(super) deadline: Option<String>,
    /// Whether the caller can vote now.
    pub(crate) may_vote: bool,
    /// `open`, `settled` or `cancelled`.
    #[schema(value_type = crate::schemas::ApprovalStatus)]
    pub(super) status: &'static str,
    /// The choice that was made, `timeout`, `no_quorum` or `cancelled`.
    pub(super) outcome: Option<String>,
    /// What the approvers decide on.
    #[schema(value_type = Option<Value>)]
    pub(super) content: Value,
    /// The JSON Schema of the form that a vote carries; null without a form.
    #[schema(value_type = Option<Object>)]
    pub(super) form: Value,
    /// The proposed values of the form, by field.
    #[schema(value_type = Option<Object>)]
    pub(super) form_defaults: Value,
    /// Identifies what the approval shows. A vote with it is rejected if the approval shows something else by then.
    pub(super) shown_hash: Option<String>,
    /// The decisions that led to the approval. Only in the record of one approval.
    pub(super) decisions: Vec<LeadingDecision>,
    /// The tokens and the cost of the run so far. Only in the record of one approval.
    pub(super) usage: Option<UsageRecord>,
}

/// The name of an approval: `RUN/NUMBER`, or `RUN/STEP` if the first answer settles it.
pub(crate) fn key_of(open: &OpenApproval) -> String {
    format!("{}/{}", open.id, number_of(&open.approval.key))
}

pub(super) fn number_of(key: &ApprovalKey) -> String {
    match key {
        ApprovalKey::Request(request) => request.0.to_string(),
        ApprovalKey::Step(step) => step.to_string(),
        ApprovalKey::Line => branchpoint_core::LINE.to_owned(),
    }
}

impl ApprovalJson {
    /// Whether it is not settled yet.
    pub(crate) fn is_open(&self) -> bool {
        self.status == "open"
    }
}

/// How long a settled approval is part of live events.
const LIVE_MS: i64 = 60_000;

/// The open and the recently settled approvals of a run, without a caller.
pub(crate) fn live_records(app: &App, backend: &dyn Backend, run: &Run) -> Result<Vec<ApprovalJson>, Problem> {
    let mut records = Vec::new();
    for open in backend.approvals(run.run)?.open.iter().filter(|open| open.run == run.run) {
        records.push(record(app, backend, None, open)?);
    }
    let since_ms = now_ms() - LIVE_MS;
    for closed in backend.approval_records(run.run)? {
        if closed.closed_ms.is_some_and(|closed_ms| closed_ms >= since_ms) {
            records.push(closed_record(app, backend, run, &closed)?);
        }
    }
    Ok(records)
}

/// The record of an open approval.
pub(crate) fn record(
    app: &App,
    backend: &dyn Backend,
    caller: Option<&Caller>,
    open: &OpenApproval,
) -> Result<ApprovalJson, Problem> {
    let (approval, secrets) = (&open.approval, backend.secrets(open.run)?);
    let version = app.version(backend, open.workflow)?;
    let may_approve =
        |caller: &Caller| caller.may(Action::Approve, &version.name).is_ok() && approval.awaits(&caller.user, now_ms());
    let choices = approval.choices().into_iter().map(|choice| choice_record(&choice, &secrets));
    let texts = |users: &[std::sync::Arc<str>]| users.iter().map(ToString::to_string).collect::<Vec<_>>();
    let request = approval.request.as_ref();
    Ok(ApprovalJson {
        key: key_of(open),
        run: open.id.clone(),
        workflow: version.name.to_string(),
        version: version.version,
        step: approval.step.to_string(),
        prompt: secrets.mask(&approval.prompt).into_owned(),
        choices: choices.collect(),
        recipients: request.map(|_| texts(approval.recipients())),
        required: request.map(|request| request.required),
        votes: request.iter().flat_map(|request| &request.votes).map(|vote| vote_record(vote, &secrets)).collect(),
        waits_for: request.map(|_| texts(&approval.missing_voters())),
        requested: rfc3339(open.requested_ms),
        deadline: approval.deadline_ms().map(rfc3339),
        may_vote: caller.is_some_and(may_approve) && !approval.is_overdue(now_ms()),
        status: "open",
        outcome: None,
        content: content_of(&approval.spec, &secrets),
        form: part_of(&approval.spec, "form", &secrets),
        form_defaults: secrets.mask_value(&approval.form_defaults()),
        shown_hash: approval.shown_hash().map(ToString::to_string),
        decisions: Vec::new(),
        usage: None,
    })
}

pub(super) fn choice_record(choice: &str, secrets: &Secrets) -> Choice {
    let meaning = match choice_meaning(choice) {
        Some(true) => "yes",
        Some(false) => "no",
        None => "other",
    };
    Choice { name: secrets.mask(choice).into_owned(), meaning }
}

pub(super) fn vote_record(vote: &Vote, secrets: &Secrets) -> VoteRecord {
    VoteRecord {
        user: vote.user.to_string(),
        choice: secrets.mask(&vote.choice).into_owned(),
        comment: vote.comment.as_ref().map(|comment| secrets.mask(comment).into_owned()),
        at: rfc3339(vote.at_ms),
    }
}

fn part_of(spec: &Value, key: &str, secrets: &Secrets) -> Value {
    spec.get(key).map(|part| secrets.mask_value(part)).unwrap_or_default()
}

/// What a workflow shows to approvers beside the prompt.
pub(super) fn content_of(spec: &Value, secrets: &Secrets) -> Value {
    let content = spec.get("show").or_else(|| spec.get("content")).filter(|content| **content != Value::Null);
    content.map(|content| secrets.mask_value(content)).unwrap_or_default()
}

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
    let (votes, outcome) = settled(app, backend, run, record, &secrets);
    let deadline = match spec.get("timeout_ms") {
        Some(Value::Int(timeout_ms)) => Some(rfc3339(record.requested_ms.saturating_add(*timeout_ms))),
        _ => None,
    };
    let required = match spec.get("required") {
        Some(Value::Int(required)) => u32::try_from(*required).unwrap_or(1),
        _ => 1,
    };
    Ok(ApprovalJson {
        key: format!("{}/{}", run.id, record.request.0),
        run: run.id.clone(),
        workflow: version.name.to_string(),
        version: version.version,
        step: text("step").unwrap_or_default(),
        prompt: secrets.mask(&text("prompt").unwrap_or_default()).into_owned(),
        choices: choices.iter().map(|choice| choice_record(&choice.to_string(), &secrets)).collect(),
        recipients: Some(record.recipients()),
        required: Some(required),
        votes,
        waits_for: Some(Vec::new()),
        requested: rfc3339(record.requested_ms),
        deadline,
        may_vote: false,
        status: if outcome.is_some() && outcome.as_deref() != Some("cancelled") { "settled" } else { "cancelled" },
        outcome,
        content: content_of(spec, &secrets),
        form: part_of(spec, "form", &secrets),
        form_defaults: part_of(spec, "defaults", &secrets),
        shown_hash: None,
        decisions: Vec::new(),
        usage: None,
    })
}

/// The votes and the outcome of a settled request; none of one that was withdrawn with its run.
pub(super) fn settled(
    app: &App,
    backend: &dyn Backend,
    run: &Run,
    record: &ApprovalRecord,
    secrets: &Secrets,
) -> (Vec<VoteRecord>, Option<String>) {
    // A run that cannot be read has no votes to show.
    let Ok(trace) = app.trace(backend, run) else { return (Vec::new(), None) };
    let decisions = trace.records.iter().flat_map(|record| &record.decisions);
    let settled_by_votes =
        decisions.filter(|decided| decided.kind == DecisionKind::Approval).find_map(|decided| match &decided.basis {
            branchpoint_core::Basis::Votes { request, resolution }
                if request.requested_ms == record.requested_ms
                    && request.recipients.iter().map(ToString::to_string).eq(record.recipients()) =>
            {
                Some((request, resolution))
            }
            _ => None,
        });
    match settled_by_votes {
        Some((request, resolution)) => (
            request.votes.iter().map(|vote| vote_record(vote, secrets)).collect(),
            Some(secrets.mask(resolution.outcome()).into_owned()),
        ),
        None => (Vec::new(), None),
    }
}
