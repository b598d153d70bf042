//! Delegations and cancellations of approvals.

use axum::Json;
use axum::extract::State;
use branchpoint_backend::{BackendError, Rejection};
use branchpoint_core::{Rejected, VoteRejection};
use serde::Deserialize;
use utoipa::ToSchema;

use super::record::{ApprovalJson, may_cancel};
use super::{find_open, find_record, record_after_event, settled_message};
use crate::app::App;
use crate::body::{Body, OptionalBody, Path};
use crate::caller::{Action, Caller};
use crate::problem::{Problem, ProblemKind};
use crate::routes::runs::find;
use crate::routes::runs::start::sentence;

/// Who votes in the place of the caller.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DelegateRequest {
    /// The person who may vote in the caller's place.
    to: String,
    /// The time at which the delegation ends, RFC 3339.
    until: String,
}

/// Names the person who may vote in the caller's place until a time. The caller must be an approver who has not voted. A second delegation
/// replaces the first.
#[utoipa::path(post, path = "/approvals/{run}/{number}/delegate", tag = "approvals", operation_id = "delegate_vote",
    params(("run" = String, Path, description = "The id of the run"),
        ("number" = String, Path, description = "The number of the request")),
    request_body = DelegateRequest,
    responses((status = 200, description = "The delegation is recorded", body = ApprovalJson)))]
pub(super) async fn delegate(
    State(app): State<App>,
    caller: Caller,
    Path(path): Path<(String, String)>,
    Body(request): Body<DelegateRequest>,
) -> Result<Json<ApprovalJson>, Problem> {
    let until = request.until.parse::<jiff::Timestamp>().map_err(|_| {
        Problem::invalid_input("`until` must be a time such as 2026-11-15T21:15:00Z.").with("field", "until")
    })?;
    send_delegation(app, caller, path, Some((request.to, until.as_millisecond()))).await
}

/// Revokes the caller's delegation.
#[utoipa::path(delete, path = "/approvals/{run}/{number}/delegate", tag = "approvals", operation_id = "revoke_delegation",
    params(("run" = String, Path, description = "The id of the run"),
        ("number" = String, Path, description = "The number of the request")),
    responses((status = 200, description = "The caller has no delegate any more", body = ApprovalJson)))]
pub(super) async fn revoke(
    State(app): State<App>,
    caller: Caller,
    Path(path): Path<(String, String)>,
) -> Result<Json<ApprovalJson>, Problem> {
    send_delegation(app, caller, path, None).await
}

async fn send_delegation(
    app: App,
    caller: Caller,
    (run, number): (String, String),
    to: Option<(String, i64)>,
) -> Result<Json<ApprovalJson>, Problem> {
    let shared = app.clone();
    app.call(move |backend| {
        let (row, _) = find(&shared, backend, &caller, &run, Action::Approve)?;
        let Some(open) = find_open(backend, &row, &number)? else {
            let settled = find_record(&shared, backend, &caller, &row, &number)?;
            return Err(Problem::new(ProblemKind::NotPending, settled_message(&settled)).with("approval", settled));
        };
        let to = to.as_ref().map(|(to, until_ms)| (to.as_str(), *until_ms));
        let event = open.approval.key.delegate(&caller.user, to).ok_or_else(|| {
            Problem::new(ProblemKind::Conflict, "This approval has no votes: the first answer decides.")
        })?;
        match backend.send(open.run, &event) {
            Ok(_) => Ok(Json(record_after_event(&shared, backend, &caller, &row, &open)?)),
            Err(error) => {
                let now = record_after_event(&shared, backend, &caller, &row, &open)?;
                Err(delegation_problem(error, &caller, &now).with("approval", now))
            }
        }
    })
    .await
}

fn delegation_problem(error: BackendError, caller: &Caller, now: &ApprovalJson) -> Problem {
    let BackendError::Rejection(rejection @ Rejection::Rejected(rejected)) = &error else { return error.into() };
    let code = serde_json::to_value(rejection).unwrap_or_default();
    let user = &caller.user;
    let problem = match rejected {
        Rejected::Vote(VoteRejection::NotRecipient) => {
            Problem::new(ProblemKind::NotRecipient, format!("{user} is not an approver, and has no vote to delegate."))
        }
        Rejected::Vote(VoteRejection::AlreadyVoted) => {
            Problem::new(ProblemKind::AlreadyVoted, format!("{user} has voted, and votes cannot be changed."))
        }
        Rejected::Vote(VoteRejection::BadDelegate(reason)) => Problem::new(ProblemKind::BadDelegate, sentence(reason)),
        Rejected::Vote(VoteRejection::NotPending) | Rejected::NotPending | Rejected::Ended => {
            Problem::new(ProblemKind::NotPending, settled_message(now))
        }
        _ => error.into(),
    };
    problem.with_rejection(code)
}

/// Why an approval is cancelled.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct CancelRequest {
    /// The reason, which the run records.
    reason: Option<String>,
}

/// Cancels an approval. Only the owner and the admins may.
#[utoipa::path(post, path = "/approvals/{run}/{number}/cancel", tag = "approvals", operation_id = "cancel_approval",
    params(("run" = String, Path, description = "The id of the run"),
        ("number" = String, Path, description = "The number of the request")),
    request_body = Option<CancelRequest>,
    responses((status = 200, description = "The approval is cancelled", body = ApprovalJson)))]
pub(super) async fn cancel(
    State(app): State<App>,
    caller: Caller,
    Path((run, number)): Path<(String, String)>,
    OptionalBody(request): OptionalBody<CancelRequest>,
) -> Result<Json<ApprovalJson>, Problem> {
    let shared = app.clone();
    app.call(move |backend| {
        let (row, version) = find(&shared, backend, &caller, &run, Action::Read)?;
        if !may_cancel(&shared, &caller, &version.name) {
            caller.may(Action::Administer, &version.name)?;
        }
        let Some(open) = find_open(backend, &row, &number)? else {
            let settled = find_record(&shared, backend, &caller, &row, &number)?;
            return Err(Problem::new(ProblemKind::NotPending, settled_message(&settled)).with("approval", settled));
        };
        let event = open.approval.key.cancel(Some(&caller.user), request.reason.as_deref()).ok_or_else(|| {
            Problem::new(ProblemKind::Conflict, "This approval cannot be cancelled. Reject it, or cancel the run.")
        })?;
        backend.send(open.run, &event)?;
        Ok(Json(record_after_event(&shared, backend, &caller, &row, &open)?))
    })
    .await
}
