//! Approvals: lists, one approval, votes, and cancellations.

mod links;
mod record;

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use branchpoint_backend::{ApprovalRecord, Backend, BackendError, OpenApproval, Rejection, Run};
use branchpoint_core::ir::DecisionKind;
use branchpoint_core::{ApprovalKey, Ballot, Event, Rejected, VoteRejection, resume_rejection};
use branchpoint_expr::{Value, preview};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::record::{ApprovalJson, LeadingDecision, VoteRecord, closed_record, number_of, record};
pub(crate) use self::record::{key_of, live_records};
use super::runs::find;
use super::runs::start::idempotency_key;
use crate::app::App;
use crate::body::{Body, OptionalBody, Path, Query};
use crate::caller::{Action, Caller};
use crate::list::{Page, PageRequest};
use crate::problem::{Problem, ProblemKind};
use crate::time::{now_ms, rfc3339};

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(get))
        .routes(routes!(vote))
        .routes(routes!(cancel))
        .merge(links::routes())
}

/// Which approvals.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ListRequest {
    /// `mine` for open approvals that await the caller, `all` for all open ones, `answered` for settled ones.
    #[param(default = "mine")]
    show: Option<String>,
    /// Only approvals of this workflow.
    workflow: Option<String>,
    /// The most items, from 1 to 200.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// The cursor of the page before, from its `next`.
    #[param(pattern = "^[0-9]{1,15}$")]
    cursor: Option<String>,
}

/// Lists approvals: open ones with the soonest deadline first, settled ones with the latest first.
#[utoipa::path(get, path = "/approvals", tag = "approvals", operation_id = "list_approvals", params(ListRequest),
    responses((status = 200, description = "The approvals", body = Page<ApprovalJson>)))]
async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(request): Query<ListRequest>,
) -> Result<Json<Page<ApprovalJson>>, Problem> {
    let page = PageRequest::new(request.limit, request.cursor);
    page.limit()?;
    caller.may_on_some(Action::Read)?;
    let show = request.show.as_deref().unwrap_or("mine");
    let is_mine = match show {
        "mine" => true,
        "all" => false,
        "answered" => return answered(app, caller, page, request.workflow).await,
        other => {
            return Err(Problem::bad_request(format!("`show` is `{other}`, but must be mine, all or answered.")));
        }
    };
    let shared = app.clone();
    app.call(move |backend| {
        let mut open = readable_open(&shared, backend, &caller)?;
        open.retain(|(_, workflow)| request.workflow.as_ref().is_none_or(|wanted| **workflow == **wanted));
        if is_mine {
            open.retain(|(open, workflow)| {
                open.approval.awaits(&caller.user, now_ms()) && caller.may(Action::Approve, workflow).is_ok()
            });
        }
        open.sort_by_key(|(open, _)| (open.approval.deadline_ms().unwrap_or(i64::MAX), open.requested_ms));
        let page = page.page(open)?;
        let items = page.items.iter().map(|(open, _)| record(&shared, backend, Some(&caller), open));
        Ok(Json(Page { items: items.collect::<Result<_, _>>()?, next: page.next }))
    })
    .await
}

/// The open approvals that the caller may read, with the name of the workflow.
pub(crate) fn readable_open(
    app: &App,
    backend: &dyn Backend,
    caller: &Caller,
) -> Result<Vec<(OpenApproval, std::sync::Arc<str>)>, Problem> {
    let mut readable = Vec::new();
    for open in backend.open_approvals()?.open {
        let name = app.version(backend, open.workflow)?.name.clone();
        if caller.may(Action::Read, &name).is_ok() {
            readable.push((open, name));
        }
    }
    Ok(readable)
}

/// The maximum number of runs that are searched for settled approvals.
const MAX_SEARCHED: u32 = 1_000;

/// Lists settled approvals of the newest runs.
async fn answered(
    app: App,
    caller: Caller,
    page: PageRequest,
    workflow: Option<String>,
) -> Result<Json<Page<ApprovalJson>>, Problem> {
    let shared = app.clone();
    app.call(move |backend| {
        let filter = branchpoint_backend::Filter {
            workflow,
            children: true,
            limit: Some(MAX_SEARCHED),
            ..branchpoint_backend::Filter::default()
        };
        let mut closed = Vec::new();
        for run in backend.runs(&filter)? {
            let records = backend.approval_records(run.run)?;
            let is_closed = |record: &ApprovalRecord| record.closed_ms.is_some();
            closed.extend(records.into_iter().filter(is_closed).map(|record| (run.clone(), record)));
        }
        let mut readable = Vec::new();
        for (run, record) in closed {
            let name = shared.version(backend, run.workflow)?.name.clone();
            if caller.may(Action::Read, &name).is_ok() {
                readable.push((run, record));
            }
        }
        readable.sort_by_key(|(_, record)| std::cmp::Reverse(record.closed_ms));
        let page = page.page(readable)?;
        let items = page.items.iter().map(|(run, record)| closed_record(&shared, backend, run, record));
        Ok(Json(Page { items: items.collect::<Result<_, _>>()?, next: page.next }))
    })
    .await
}

/// An open approval of a run or of the runs that it called, by number or step.
fn find_open(backend: &dyn Backend, run: &Run, number: &str) -> Result<Option<OpenApproval>, Problem> {
    let open = backend.approvals(run.run)?.open.into_iter().filter(|open| open.run == run.run);
    Ok(open.into_iter().find(|open| number_of(&open.approval.key) == number))
}

fn find_closed(backend: &dyn Backend, run: &Run, number: &str) -> Result<Option<ApprovalRecord>, Problem> {
    Ok(backend.approval_records(run.run)?.into_iter().find(|record| record.request.0.to_string() == number))
}

fn missing(run: &str, number: &str) -> Problem {
    Problem::not_found(format!("Approval `{run}/{number}` does not exist."))
}

/// Shows an approval with the decisions that led to it.
#[utoipa::path(get, path = "/approvals/{run}/{number}", tag = "approvals", operation_id = "get_approval",
    params(("run" = String, Path, description = "The id of the run"),
        ("number" = String, Path, description = "The number of the request, or the id of the step")),
    responses((status = 200, description = "The approval", body = ApprovalJson)))]
async fn get(
    State(app): State<App>,
    caller: Caller,
    Path((run, number)): Path<(String, String)>,
) -> Result<Json<ApprovalJson>, Problem> {
    let shared = app.clone();
    app.call(move |backend| {
        let (row, _) = find(&shared, backend, &caller, &run, Action::Read).map_err(|_| missing(&run, &number))?;
        Ok(Json(shown(&shared, backend, &caller, &row, &number)?))
    })
    .await
}

/// The record of an approval, open or settled.
fn shown(app: &App, backend: &dyn Backend, caller: &Caller, run: &Run, number: &str) -> Result<ApprovalJson, Problem> {
    let mut approval = if let Some(open) = find_open(backend, run, number)? {
        record(app, backend, Some(caller), &open)?
    } else {
        let closed = find_closed(backend, run, number)?.ok_or_else(|| missing(&run.id, number))?;
        closed_record(app, backend, run, &closed)?
    };
    let (trace, secrets) = (app.trace(backend, run)?, backend.secrets(run.run)?);
    let mut decisions: Vec<_> = trace.records.iter().flat_map(|record| &record.decisions).collect();
    decisions.sort_by_key(|decided| decided.at_ms);
    let requested = approval.requested.clone();
    let before = decisions.into_iter().filter(|decided| {
        decided.chosen.is_some() && decided.kind != DecisionKind::Retry && rfc3339(decided.at_ms) <= requested
    });
    let led = before.map(|decided| {
        use branchpoint_core::ir::Index as _;
        let sentence = decided.sentence().render(|value| preview(&secrets.mask_value(value)));
        LeadingDecision {
            step: trace.view.program.steps[decided.step.index()].id.to_string(),
            branch: decided.chosen().map(|branch| secrets.mask(&branch.name).into_owned()),
            sentence: Some(secrets.mask(&sentence).into_owned()),
        }
    });
    let mut led: Vec<_> = led.collect();
    // The latest decisions explain most.
    led.drain(..led.len().saturating_sub(MAX_DECISIONS));
    approval.decisions = led;
    approval.usage = Some(trace.view.state.usage().into());
    Ok(approval)
}

/// The maximum number of decisions in the record of an approval.
const MAX_DECISIONS: usize = 20;

/// A vote, or the answer of anyone.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = VoteRequest)]
struct VoteRequest {
    /// One of the choices, exactly as the approval lists it.
    choice: String,
    /// A comment, which the run records.
    #[serde(default)]
    comment: Option<String>,
    /// The values of the form, by field. Its defaults apply to absent fields.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    form: Option<Value>,
    /// The `shown_hash` of the approval that the voter saw. The vote is rejected if the approval shows something else now.
    #[serde(default)]
    shown_hash: Option<String>,
}

impl VoteRequest {
    fn ballot(&self, open: &OpenApproval) -> Ballot {
        let given = open.approval.ballot(&self.choice);
        Ballot {
            comment: self.comment.as_deref().map(Into::into),
            form: self.form.clone().or(given.form),
            shown_hash: self.shown_hash.as_deref().map(Into::into).or(given.shown_hash),
            ..given
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
async fn vote(
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
fn cast(
    app: &App,
    backend: &dyn Backend,
    caller: &Caller,
    row: &Run,
    number: &str,
    request: &VoteRequest,
    is_repeatable: bool,
) -> Result<ApprovalJson, Problem> {
    let Some(open) = find_open(backend, row, number)? else {
        let settled = shown(app, backend, caller, row, number)?;
        if is_repeatable && has_vote(&settled, caller, request) {
            return Ok(settled);
        }
        let detail = settled_message(&settled);
        return Err(Problem::new(ProblemKind::NotPending, detail).with("approval", settled));
    };
    let event = open.approval.key.vote(&caller.user, &request.ballot(&open));
    let Err(error) = backend.send(open.run, &event) else { return shown_or(app, backend, caller, row, &open) };
    let now = shown_or(app, backend, caller, row, &open)?;
    let is_repeated = matches!(
        error,
        BackendError::Rejection(Rejection::Rejected(
            Rejected::Vote(VoteRejection::AlreadyVoted | VoteRejection::NotPending) | Rejected::NotPending
        ))
    ) && is_repeatable
        && has_vote(&now, caller, request);
    if is_repeated { Ok(now) } else { Err(rejection(backend, &open, error, &event, caller, now)) }
}

/// The record of an approval after an event; the answer of anyone leaves none behind, so the approval as it was.
fn shown_or(
    app: &App,
    backend: &dyn Backend,
    caller: &Caller,
    run: &Run,
    open: &OpenApproval,
) -> Result<ApprovalJson, Problem> {
    let row = backend.row(run.run)?;
    let number = number_of(&open.approval.key);
    if find_open(backend, &row, &number)?.is_some() || find_closed(backend, &row, &number)?.is_some() {
        return shown(app, backend, caller, &row, &number);
    }
    Ok(ApprovalJson { status: "settled", may_vote: false, ..record(app, backend, Some(caller), open)? })
}

/// Whether the caller has cast this vote.
fn has_vote(approval: &ApprovalJson, caller: &Caller, request: &VoteRequest) -> bool {
    let is_same = |vote: &VoteRecord| {
        vote.user == caller.user && vote.choice == request.choice && vote.comment == request.comment
    };
    approval.votes.iter().any(is_same)
}

fn settled_message(approval: &ApprovalJson) -> String {
    let last = approval.votes.last();
    match (approval.outcome.as_deref(), last) {
        (Some("timeout"), _) => "Already settled: the deadline passed.".to_owned(),
        (Some("cancelled") | None, _) => "Already settled: the approval was cancelled.".to_owned(),
        (Some(outcome), Some(vote)) => format!("Already settled: `{outcome}`, by {} at {}.", vote.user, vote.at),
        (Some(outcome), None) => format!("Already settled: `{outcome}`."),
    }
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
    let BackendError::Rejection(Rejection::Rejected(rejected)) = &error else { return error.into() };
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
        (Rejected::Vote(VoteRejection::UnknownChoice), _) => {
            let choices = open.approval.choices().join(", ");
            new(ProblemKind::UnknownChoice, format!("Unknown choice (choices: {choices})."))
        }
        (Rejected::Vote(VoteRejection::BadForm { problem, .. }), _) => {
            new(ProblemKind::InvalidInput, format!("Rejected: {problem}."))
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
    problem.with("approval", now)
}

/// Why an approval is cancelled.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
struct CancelRequest {
    /// The reason, which the run records.
    reason: Option<String>,
}

/// Cancels an approval. Only the owner and the admins may.
#[utoipa::path(post, path = "/approvals/{run}/{number}/cancel", tag = "approvals", operation_id = "cancel_approval",
    params(("run" = String, Path, description = "The id of the run"),
        ("number" = String, Path, description = "The number of the request")),
    request_body = Option<CancelRequest>,
    responses((status = 200, description = "The approval is cancelled", body = ApprovalJson)))]
async fn cancel(
    State(app): State<App>,
    caller: Caller,
    Path((run, number)): Path<(String, String)>,
    OptionalBody(request): OptionalBody<CancelRequest>,
) -> Result<Json<ApprovalJson>, Problem> {
    let shared = app.clone();
    app.call(move |backend| {
        let (row, version) = find(&shared, backend, &caller, &run, Action::Read)?;
        if !owners(&shared).contains(&caller.user) {
            caller.may(Action::Administer, &version.name)?;
        }
        let Some(open) = find_open(backend, &row, &number)? else {
            let settled = shown(&shared, backend, &caller, &row, &number)?;
            return Err(Problem::new(ProblemKind::NotPending, settled_message(&settled)).with("approval", settled));
        };
        let event = open.approval.key.cancel(Some(&caller.user), request.reason.as_deref()).ok_or_else(|| {
            Problem::new(ProblemKind::Conflict, "This approval cannot be cancelled. Reject it, or cancel the run.")
        })?;
        backend.send(open.run, &event)?;
        Ok(Json(shown_or(&shared, backend, &caller, &row, &open)?))
    })
    .await
}

/// The owner and the admins of the host.
fn owners(app: &App) -> BTreeSet<String> {
    let account = &app.host.account;
    let admins = account.get("admins").and_then(Value::as_list).unwrap_or_default();
    let owner = account.get("owner").filter(|owner| **owner != Value::Null);
    owner.into_iter().chain(admins).map(Value::to_string).collect()
}
