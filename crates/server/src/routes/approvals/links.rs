//! Approvals by signed links, without signing in. A link gives its user this approval and a vote on it, and nothing else.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use branchpoint_backend::{Backend, Run};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::record::ApprovalJson;
use super::settled_approvals::closed_record;
use super::vote::{VoteRequest, cast};
use super::{find_closed, find_open, find_record};
use crate::access::{ApprovalLink, InvalidLink};
use crate::app::App;
use crate::body::{Body, Path};
use crate::caller::Caller;
use crate::problem::{Problem, ProblemKind};
use crate::routes::runs::start::idempotency_key;
use crate::time::{now_ms, rfc3339};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get)).routes(routes!(vote))
}

/// An approval as the user of a link sees it.
#[derive(Serialize, ToSchema)]
struct LinkedApproval {
    /// The user who votes with the link.
    user: String,
    /// When the link expires.
    expires: String,
    /// Whether the user has voted. A link is for one vote.
    used: bool,
    approval: ApprovalJson,
}

/// Shows the approval of a link. This consumes and decides nothing, because mail clients open links.
#[utoipa::path(get, path = "/links/{signed}", tag = "approvals", operation_id = "get_linked_approval", security(()),
    params(("signed" = String, Path, description = "The link")),
    responses((status = 200, description = "The approval", body = LinkedApproval)))]
async fn get(State(app): State<App>, Path(signed): Path<String>) -> Result<Json<LinkedApproval>, Problem> {
    let link = verified(&app, signed).await?;
    let shared = app.clone();
    app.call(move |backend| {
        let (caller, run) = open_link(&shared, backend, &link)?;
        let approval = find_record(&shared, backend, &caller, &run, &link.number.to_string())?;
        Ok(Json(LinkedApproval::new(&link, approval)))
    })
    .await
}

/// Votes as the user of a link. A link is for one vote. Repeating it with the same `Idempotency-Key` changes nothing.
#[utoipa::path(post, path = "/links/{signed}/vote", tag = "approvals", operation_id = "vote_by_link", security(()),
    params(("signed" = String, Path, description = "The link"),
        ("idempotency-key" = Option<String>, Header, min_length = 1, max_length = 255, pattern = "^[!-~]+$",
            description = "A key that makes it safe to repeat the request")),
    request_body = VoteRequest,
    responses((status = 200, description = "The vote is recorded", body = LinkedApproval)))]
async fn vote(
    State(app): State<App>,
    Path(signed): Path<String>,
    headers: HeaderMap,
    Body(request): Body<VoteRequest>,
) -> Result<Json<LinkedApproval>, Problem> {
    let is_repeatable = idempotency_key(&headers)?.is_some();
    let link = verified(&app, signed).await?;
    let shared = app.clone();
    app.call(move |backend| {
        let (caller, run) = open_link(&shared, backend, &link)?;
        let number = link.number.to_string();
        match cast(&shared, backend, &caller, &run, &number, &request, is_repeatable) {
            Ok(approval) => Ok(Json(LinkedApproval::new(&link, approval))),
            Err(problem) => {
                let now = find_record(&shared, backend, &caller, &run, &number)?;
                let vote = now.votes.iter().find(|vote| vote.user == link.user);
                let Some(vote) = vote else { return Err(problem) };
                let detail = format!("The link was used for the vote `{}` at {}.", vote.choice, vote.at);
                Err(Problem::new(ProblemKind::LinkUsed, detail).with("approval", now))
            }
        }
    })
    .await
}

impl LinkedApproval {
    fn new(link: &ApprovalLink, approval: ApprovalJson) -> Self {
        let used = approval.votes.iter().any(|vote| vote.user == link.user);
        Self { user: link.user.clone(), expires: rfc3339(link.expires_ms), used, approval }
    }
}

/// The content of a link. Nothing else is read before the signature is checked.
async fn verified(app: &App, signed: String) -> Result<ApprovalLink, Problem> {
    let shared = app.clone();
    app.compute(move || {
        let Some(access) = &shared.host.access else { return Err(InvalidLink::Invalid.into()) };
        Ok(access.verify_link(&signed, now_ms())?)
    })
    .await
}

/// The user and the run of a link, if the approval still exists and is addressed to the user.
fn open_link(app: &App, backend: &dyn Backend, link: &ApprovalLink) -> Result<(Caller, Run), Problem> {
    let gone = || Problem::new(ProblemKind::LinkInvalid, "The approval of this link does not exist any more.");
    let run = backend.run(&link.run)?.ok_or_else(gone)?;
    let number = link.number.to_string();
    let (requested_ms, is_for_user) = if let Some(open) = find_open(backend, &run, &number)? {
        let awaits = open.approval.awaits(&link.user, now_ms());
        let has_part = open.approval.recipients().iter().chain(open.approval.voters()).any(|user| **user == *link.user);
        (open.requested_ms, awaits || has_part)
    } else {
        let closed = find_closed(backend, &run, &number)?.ok_or_else(gone)?;
        let settled = closed_record(app, backend, &run, &closed)?;
        let has_voted = settled.votes.iter().any(|vote| vote.user == link.user);
        (closed.requested_ms, has_voted || closed.recipients().contains(&link.user))
    };
    if requested_ms != link.requested_ms {
        return Err(gone());
    }
    if !is_for_user {
        let detail = format!("{} is not an approver any more.", link.user);
        return Err(Problem::new(ProblemKind::NotRecipient, detail));
    }
    let workflow = app.version(backend, run.workflow)?.name.clone();
    Ok((Caller::of_link(link.user.clone(), &workflow), run))
}
