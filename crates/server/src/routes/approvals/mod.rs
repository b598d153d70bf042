//! Approvals: lists and single ones. Votes, delegations and cancellations are in [`vote`] and [`delegate_cancel`].

mod delegate_cancel;
mod links;
mod outcomes;
mod record;
mod rules;
mod settled_approvals;
mod vote;

use axum::Json;
use axum::extract::State;
use branchpoint_backend::{ApprovalRecord, Backend, Filter, OpenApproval, Run, RunTrace};
use branchpoint_core::Redact as _;
use branchpoint_core::ir::{DecisionKind, Status};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::record::{ApprovalJson, LeadingDecision, number_of, record};
pub(crate) use self::record::{key_of, live_records};
use self::settled_approvals::{answered_in, answered_record, cancelled_by, closed_record};
use super::runs::find;
use super::runs::record::start_of;
use crate::app::App;
use crate::body::{Path, Query};
use crate::caller::{Action, Caller};
use crate::list::{Page, PageRequest};
use crate::problem::Problem;
use crate::time::{now_ms, rfc3339};

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(get))
        .routes(routes!(outcomes::outcomes))
        .routes(routes!(vote::vote))
        .routes(routes!(delegate_cancel::delegate, delegate_cancel::revoke))
        .routes(routes!(delegate_cancel::cancel))
        .merge(links::routes())
}

/// Which approvals.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ListRequest {
    /// `mine` for open approvals that await the caller, `all` for all open ones, `answered` for settled ones.
    #[param(default = "mine", pattern = "^(mine|all|answered)$")]
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

/// The maximum number of runs whose traces are read for approvals that one answer has settled.
const MAX_TRACED: usize = 500;

/// Lists settled approvals of the newest runs.
async fn answered(
    app: App,
    caller: Caller,
    page: PageRequest,
    workflow: Option<String>,
) -> Result<Json<Page<ApprovalJson>>, Problem> {
    let shared = app.clone();
    app.call(move |backend| {
        let mut settled = find_settled(&shared, backend, &caller, workflow)?;
        settled.sort_by_key(|settled| std::cmp::Reverse(settled.at_ms()));
        let page = page.page(settled)?;
        let items = page.items.into_iter().map(|settled| settled.record(&shared, backend));
        Ok(Json(Page { items: items.collect::<Result<_, _>>()?, next: page.next }))
    })
    .await
}

/// A settled approval.
enum Settled {
    /// People voted on it.
    Request(Box<Run>, ApprovalRecord),
    /// One answer settled it: the trace, and the position among the answers.
    Answer(std::sync::Arc<RunTrace>, usize),
}

impl Settled {
    fn at_ms(&self) -> i64 {
        match self {
            Self::Request(_, record) => record.closed_ms.unwrap_or(record.requested_ms),
            Self::Answer(trace, position) => answered_in(trace).get(*position).map_or(0, |(_, decided)| decided.at_ms),
        }
    }

    fn record(self, app: &App, backend: &dyn Backend) -> Result<ApprovalJson, Problem> {
        match self {
            Self::Request(run, record) => closed_record(app, backend, &run, &record),
            Self::Answer(trace, position) => {
                let secrets = backend.secrets(trace.view.row.run)?;
                answered_record(app, backend, &trace, answered_in(&trace)[position], &secrets)
            }
        }
    }
}

/// The settled approvals of the newest runs that the caller may read.
fn find_settled(
    app: &App,
    backend: &dyn Backend,
    caller: &Caller,
    workflow: Option<String>,
) -> Result<Vec<Settled>, Problem> {
    let filter = Filter { workflow, children: true, limit: Some(MAX_SEARCHED), ..Filter::default() };
    let (mut settled, mut traced) = (Vec::new(), 0);
    for run in backend.runs(&filter)? {
        let name = app.version(backend, run.workflow)?.name.clone();
        if caller.may(Action::Read, &name).is_err() {
            continue;
        }
        let records = backend.approval_records(run.run)?;
        if traced < MAX_TRACED && may_have_answers(backend, &run, records.is_empty())? {
            traced += 1;
            if let Ok(trace) = app.trace(backend, &run) {
                let answers = answered_in(&trace).len();
                settled.extend((0..answers).map(|position| Settled::Answer(trace.clone(), position)));
            }
        }
        let closed = records.into_iter().filter(|record| record.closed_ms.is_some());
        settled.extend(closed.map(|record| Settled::Request(Box::new(run.clone()), record)));
    }
    Ok(settled)
}

/// Whether one answer may have settled an approval of a run: it has waited for people. A run with requests can have such approvals, too,
/// which its program lists in a view.
fn may_have_answers(backend: &dyn Backend, run: &Run, is_without_requests: bool) -> Result<bool, Problem> {
    // A run that waits again has had answers only if it was waiting before, which its time does not say yet.
    let has_waited = run.waited_ms > 0 || run.status.is_final() || run.status == Status::WaitingPeople;
    let program = if has_waited { backend.program(run.workflow, &run.part)? } else { None };
    Ok(program.is_some_and(|program| {
        let lists_approvals = program.views.iter().any(|view| &*view.name == "approvals");
        let asks_people = || program.decisions.iter().any(|decision| decision.kind == DecisionKind::Approval);
        (lists_approvals || is_without_requests) && asks_people()
    }))
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
        Ok(Json(find_record(&shared, backend, &caller, &row, &number)?))
    })
    .await
}

/// The record of an approval, open or settled.
fn find_record(
    app: &App,
    backend: &dyn Backend,
    caller: &Caller,
    run: &Run,
    number: &str,
) -> Result<ApprovalJson, Problem> {
    let (trace, secrets) = (app.trace(backend, run)?, backend.secrets(run.run)?);
    let mut approval = if let Some(open) = find_open(backend, run, number)? {
        record(app, backend, Some(caller), &open)?
    } else if let Some(closed) = find_closed(backend, run, number)? {
        ApprovalJson {
            cancelled_by: cancelled_by(backend, run, &closed)?,
            ..closed_record(app, backend, run, &closed)?
        }
    } else {
        let answered = answered_in(&trace).into_iter().rev().find(|(index, _)| trace.step_id(*index) == number);
        answered_record(app, backend, &trace, answered.ok_or_else(|| missing(&run.id, number))?, &secrets)?
    };
    approval.decisions = leading_decisions(&trace, &approval.requested, &secrets);
    approval.usage = Some(trace.view.state.usage().into());
    approval.input = secrets.data(&start_of(backend, run)?.0);
    Ok(approval)
}

/// The decisions that a run made before an approval was requested.
fn leading_decisions(
    trace: &RunTrace,
    requested: &str,
    secrets: &branchpoint_runners::Secrets,
) -> Vec<LeadingDecision> {
    let mut decisions: Vec<_> = trace.records.iter().flat_map(|record| &record.decisions).collect();
    decisions.sort_by_key(|decided| decided.at_ms);
    let before = decisions.into_iter().filter(|decided| {
        decided.chosen.is_some()
            && !matches!(decided.kind, DecisionKind::Retry | DecisionKind::Approval)
            && *rfc3339(decided.at_ms) <= *requested
    });
    let mut leading: Vec<_> =
        before.map(|decided| LeadingDecision::new(decided, &trace.view.program, secrets)).collect();
    // The latest decisions explain most.
    leading.drain(..leading.len().saturating_sub(MAX_DECISIONS));
    leading
}

/// The maximum number of decisions in the record of an approval.
const MAX_DECISIONS: usize = 20;

/// The record of an approval after an event; the answer of anyone leaves none behind, so the approval as it was.
fn record_after_event(
    app: &App,
    backend: &dyn Backend,
    caller: &Caller,
    run: &Run,
    open: &OpenApproval,
) -> Result<ApprovalJson, Problem> {
    app.note_changed_approvals(open.run);
    let row = backend.row(run.run)?;
    match find_record(app, backend, caller, &row, &number_of(&open.approval.key)) {
        Err(problem) if problem.is_not_found() => {
            Ok(ApprovalJson { status: "settled", may_vote: false, ..record(app, backend, Some(caller), open)? })
        }
        shown => shown,
    }
}

/// Why an approval cannot be answered or changed any more.
fn settled_message(approval: &ApprovalJson) -> String {
    let last = approval.votes.last();
    match (approval.outcome.as_deref(), last) {
        (Some("timeout"), _) => "Already settled: the deadline passed.".to_owned(),
        (Some("cancelled") | None, _) => "Already settled: the approval was cancelled.".to_owned(),
        (Some(outcome), Some(vote)) => format!("Already settled: `{outcome}`, by {} at {}.", vote.user, vote.at),
        (Some(outcome), None) => format!("Already settled: `{outcome}`."),
    }
}
