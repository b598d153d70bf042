//! The records of approvals in responses.

use branchpoint_backend::{Backend, OpenApproval, Run};
use branchpoint_core::ir::{Index as _, Program};
use branchpoint_core::{ApprovalKey, DecisionRecord, Vote, choice_meaning};
use branchpoint_expr::{Value, preview};
use branchpoint_runners::Secrets;
use serde::Serialize;
use utoipa::ToSchema;

use super::rules::ApprovalRules;
use super::settled_approvals::closed_record;
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
    /// The recipient whose vote a delegate used.
    pub(super) on_behalf_of: Option<String>,
    /// The groups for which the vote counts.
    pub(super) groups: Vec<String>,
    /// The form that the vote carries; null without a form.
    #[schema(value_type = Option<Object>)]
    pub(super) form: Value,
}

/// A decision that led to an approval.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct LeadingDecision {
    pub(super) step: String,
    pub(super) branch: Option<String>,
    pub(super) sentence: Option<String>,
}

impl LeadingDecision {
    /// A recorded decision of a program, without its secrets.
    pub(super) fn new(decided: &DecisionRecord, program: &Program, secrets: &Secrets) -> Self {
        let sentence = decided.sentence().render(|value| preview(&secrets.mask_value(value)));
        Self {
            step: program.steps[decided.step.index()].id.to_string(),
            branch: decided.chosen().map(|branch| secrets.mask(&branch.name).into_owned()),
            sentence: Some(secrets.mask(&sentence).into_owned()),
        }
    }
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
    /// When it was settled.
    pub(super) settled: Option<String>,
    /// `quorum`, `veto`, `everyone_voted`, `unreachable`, `timeout`, `cancelled`, or `answer` if the first answer settled it.
    pub(super) settled_by: Option<String>,
    /// The reason of a cancellation.
    pub(super) reason: Option<String>,
    /// Who cancelled it. Only in the record of one approval.
    pub(super) cancelled_by: Option<String>,
    /// What the approvers decide on.
    #[schema(value_type = Option<Value>)]
    pub(super) content: Value,
    /// The positions of the enclosing items, outermost first.
    pub(super) path: Vec<u32>,
    #[serde(flatten)]
    pub(super) rules: ApprovalRules,
    /// The decisions that led to the approval. Only in the record of one approval.
    pub(super) decisions: Vec<LeadingDecision>,
    /// The tokens and the cost of the run so far. Only in the record of one approval.
    pub(super) usage: Option<UsageRecord>,
    /// The input of the run; a value above 4 KB is `{truncated, bytes}`. Only in the record of one approval.
    #[schema(value_type = Option<Value>)]
    pub(super) input: Value,
    /// Whether the caller can cancel it.
    pub(super) may_cancel: bool,
    /// Whether the caller can name a delegate.
    pub(super) may_delegate: bool,
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
        settled: None,
        settled_by: None,
        reason: None,
        cancelled_by: None,
        content: content_of(&approval.spec, &secrets),
        path: approval.path.clone(),
        rules: ApprovalRules::of(request, &approval.spec, &secrets),
        decisions: Vec::new(),
        usage: None,
        input: Value::Null,
        may_cancel: caller.is_some_and(|caller| request.is_some() && may_cancel(app, caller, &version.name)),
        may_delegate: caller.is_some_and(|caller| {
            let is_recipient = approval.missing_voters().iter().any(|user| **user == *caller.user);
            is_recipient && caller.may(Action::Approve, &version.name).is_ok() && !approval.is_overdue(now_ms())
        }),
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
        on_behalf_of: vote.on_behalf_of.as_ref().map(ToString::to_string),
        groups: vote.groups.iter().map(ToString::to_string).collect(),
        form: vote.form.as_ref().map(|form| secrets.mask_value(form)).unwrap_or_default(),
    }
}

/// Whether a caller can cancel approvals of a workflow: the owner and the admins of the host, and admins of the server.
pub(super) fn may_cancel(app: &App, caller: &Caller, workflow: &str) -> bool {
    let account = &app.host.account;
    let admins = account.get("admins").and_then(Value::as_list).unwrap_or_default();
    let mut owners = account.get("owner").into_iter().chain(admins);
    let is_owner = owners.any(|owner| owner.as_str() == Some(&*caller.user));
    (is_owner && caller.may(Action::Read, workflow).is_ok()) || caller.may(Action::Administer, workflow).is_ok()
}

/// What a workflow shows to approvers beside the prompt.
pub(super) fn content_of(spec: &Value, secrets: &Secrets) -> Value {
    let content = spec.get("show").or_else(|| spec.get("content")).filter(|content| **content != Value::Null);
    content.map(|content| secrets.mask_value(content)).unwrap_or_default()
}
