//! Votes on approvals.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use branchpoint_backend::{Backend, BackendError, OpenApproval, Rejection, Run};
use branchpoint_core::{Approval, ApprovalKey, Ballot, Event, Rejected, VoteRejection, resume_rejection};
use branchpoint_expr::{Object, Value};
use serde::Deserialize;
use utoipa::ToSchema;

use super::record::{ApprovalJson, VoteRecord};
use super::{find_open, find_record, record_after_event, settled_message};
use crate::app::App;
use crate::body::{Body, Path};
use crate::caller::{Action, Caller};
use crate::problem::{Problem, ProblemKind};
use crate::routes::runs::find;
use crate::routes::runs::start::{idempotency_key, sentence};

/// A vote, or the answer of anyone.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = VoteRequest)]
pub(super) struct VoteRequest {
    /// One of the choices, exactly as the approval lists it.
    choice: String,
    /// A comment, which the run records.
    #[serde(default)]
    comment: Option<String>,
    /// The values of the form, by field. Fields that are left out have their proposed values.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    form: Option<Object>,
    /// The `shown_hash` of the approval that the voter saw. The vote is rejected if it shows something else now.
    #[serde(default)]
    shown_hash: Option<String>,
}

impl VoteRequest {
    /// The ballot for an approval.
    fn ballot(&self, approval: &Approval) -> Ballot {
        let usual = approval.ballot(&self.choice);
        Ballot {
            comment: self.comment.as_deref().map(Into::into),
            form: self.form.clone().map(Value::from).or(usual.form),
            shown_hash: self.shown_hash.as_deref().map(Into::into).or(usual.shown_hash),
            ..Ballot::new(&*self.choice)
        }
    }
}

/// Votes as the caller. A vote cannot be changed. Repeating it with the same `Idempotency-Key` changes nothing.
#[utoipa::path(post, path = "/approvals/{run}/{number}/vote", tag = "approvals", operation_id = "vote",
    params(("run" = String, Path, description = "The id of the run"),
        ("number" = String, Path, description = "The number of the request, or the id of the step"),
        ("idempotency-key" = Option<String>, Header, min_length = 1, max_length = 255, pattern = "^[!-~]+$",
            description = "A key that makes it safe to repeat the request")),
    request_body = VoteRequest,
    responses((status = 200, description = "The vote is recorded", body = ApprovalJson)))]
pub(super) async fn vote(
    State(app): State<App>,
    caller: Caller,
    Path((run, number)): Path<(String, String)>,
    headers: HeaderMap,
    Body(request): Body<VoteRequest>,
) -> Result<Json<ApprovalJson>, Problem> {
    let is_repeatable = idempotency_key(&headers)?.is_some();
    let shared = app.clone();
    app.call(move |backend| {
        let (row, _) = find(&shared, backend, &caller, &run, Action::Approve)?;
        cast(&shared, backend, &caller, &row, &number, &request, is_repeatable).map(Json)
    })
    .await
}

/// Casts a vote of the caller, who may vote on approvals of the run's workflow. If the approval is settled or the caller has voted, the
/// problem has the recorded state.
pub(super) fn cast(
    app: &App,
    backend: &dyn Backend,
    caller: &Caller,
    row: &Run,
    number: &str,
    request: &VoteRequest,
    is_repeatable: bool,
) -> Result<ApprovalJson, Problem> {
    let Some(open) = find_open(backend, row, number)? else {
        let settled = find_record(app, backend, caller, row, number)?;
        if is_repeatable && has_vote(&settled, caller, request) {
            return Ok(settled);
        }
        let detail = settled_message(&settled);
        return Err(Problem::new(ProblemKind::NotPending, detail).with("approval", settled));
    };
    let event = open.approval.key.vote(&caller.user, &request.ballot(&open.approval));
    let Err(error) = backend.send(open.run, &event) else {
        return record_after_event(app, backend, caller, row, &open);
    };
    let now = record_after_event(app, backend, caller, row, &open)?;
    let is_repeated = matches!(
        error,
        BackendError::Rejection(Rejection::Rejected(
            Rejected::Vote(VoteRejection::AlreadyVoted | VoteRejection::NotPending) | Rejected::NotPending
        ))
    ) && is_repeatable
        && has_vote(&now, caller, request);
    if is_repeated { Ok(now) } else { Err(rejection(backend, &open, error, &event, caller, now)) }
}

/// Whether the caller has cast this vote.
fn has_vote(approval: &ApprovalJson, caller: &Caller, request: &VoteRequest) -> bool {
    let is_same = |vote: &VoteRecord| {
        let has_field = |(field, value): (&Arc<str>, &Value)| vote.form.get(field) == Some(value);
        vote.user == caller.user
            && vote.choice == request.choice
            && vote.comment == request.comment
            && request.form.iter().flatten().all(has_field)
    };
    approval.votes.iter().any(is_same)
}

/// The problem of an answer that a run rejected, with the recorded state.
fn rejection(
    backend: &dyn Backend,
    open: &OpenApproval,
    error: BackendError,
    event: &Event,
    caller: &Caller,
    now: ApprovalJson,
) -> Problem {
    let BackendError::Rejection(rejection @ Rejection::Rejected(rejected)) = &error else { return error.into() };
    let code = serde_json::to_value(rejection).unwrap_or_default();
    let new = |kind, detail: String| Problem::new(kind, detail);
    let problem = match (rejected, &open.approval.key) {
        (Rejected::Vote(VoteRejection::NotRecipient), _) => {
            let approvers = open.approval.recipients().join(", ");
            new(ProblemKind::NotRecipient, format!("{} is not an approver (approvers: {approvers}).", caller.user))
        }
        (Rejected::Vote(VoteRejection::AlreadyVoted), _) => {
            let vote = now.votes.iter().find(|vote| vote.user == caller.user);
            let vote = vote.map(|vote| format!(" `{}` at {}", vote.choice, vote.at)).unwrap_or_default();
            new(ProblemKind::AlreadyVoted, format!("{} has voted{vote}, and votes cannot be changed.", caller.user))
        }
        (Rejected::Vote(VoteRejection::BadForm { field, problem }), _) => {
            new(ProblemKind::BadForm, sentence(problem)).with("field", field)
        }
        (Rejected::Vote(VoteRejection::UnknownChoice), _) => {
            let choices = open.approval.choices().join(", ");
            new(ProblemKind::UnknownChoice, format!("Unknown choice (choices: {choices})."))
        }
        (Rejected::Vote(VoteRejection::NotPending) | Rejected::NotPending | Rejected::Ended, _) => {
            new(ProblemKind::NotPending, settled_message(&now))
        }
        (rejected, ApprovalKey::Step(_)) => {
            let payload = if let Event::Signal { payload, .. } = event { payload.clone() } else { Value::Null };
            let open_now = backend.approvals(open.run).map(|approval| approval.open).unwrap_or_default();
            let open_now: Vec<_> = open_now.into_iter().map(|open| open.approval).collect();
            match resume_rejection(rejected, &payload, &open_now) {
                "bad_approval_input" => {
                    let choices = open.approval.choices().join(", ");
                    new(ProblemKind::UnknownChoice, format!("Unknown choice (choices: {choices})."))
                }
                _ => new(ProblemKind::NotPending, settled_message(&now)),
            }
        }
        _ => error.into(),
    };
    problem.with("approval", now).with_rejection(code)
}
