//! Cancels, resumes, retries and forks runs, and sends signals.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use branchpoint_backend::{Backend, BackendError, CallSource, Rejection, Run, RunNo};
use branchpoint_core::ir::Status;
use branchpoint_core::{Event, is_approval_signal};
use branchpoint_expr::Value;
use branchpoint_host::host::new_id;
use serde::Deserialize;
use utoipa::ToSchema;

use super::find;
use super::record::{RunDetail, RunReader};
use super::start::{check_id, idempotency_key, location};
use crate::app::App;
use crate::body::{Body, OptionalBody, Path};
use crate::caller::{Action, Caller};
use crate::catalogue::Version;
use crate::executables::check_live;
use crate::problem::{Problem, ProblemKind};
use crate::time::now_ms;

/// Why a run is cancelled.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(super) struct CancelRequest {
    /// The reason, which the run shows.
    reason: Option<String>,
}

/// Cancels a run. Its program can still clean up; a second cancellation ends it immediately.
#[utoipa::path(post, path = "/runs/{run}/cancel", tag = "runs", operation_id = "cancel_run",
    params(("run" = String, Path, description = "The id of the run")), request_body = Option<CancelRequest>,
    responses((status = 202, description = "The cancellation is recorded", body = RunDetail)))]
pub(super) async fn cancel(
    State(app): State<App>,
    caller: Caller,
    Path(run): Path<String>,
    OptionalBody(request): OptionalBody<CancelRequest>,
) -> Result<(StatusCode, Json<RunDetail>), Problem> {
    let shared = app.clone();
    app.call(move |backend| {
        let (row, _) = find(&shared, backend, &caller, &run, Action::Operate)?;
        must_be_unfinished(&row)?;
        let event = Event::Cancel { reason: request.reason.as_deref().map(Into::into) };
        backend.send(row.run, &event)?;
        accepted(&shared, backend, row.run)
    })
    .await
}

fn must_be_unfinished(run: &Run) -> Result<(), Problem> {
    if run.status.is_final() {
        let detail = format!("Run `{}` has ended: {}.", run.id, run.status.as_str());
        return Err(Problem::new(ProblemKind::Conflict, detail).with("run_status", run.status.as_str()));
    }
    Ok(())
}

fn accepted(app: &App, backend: &dyn Backend, run: RunNo) -> Result<(StatusCode, Json<RunDetail>), Problem> {
    let row = backend.row(run)?;
    Ok((StatusCode::ACCEPTED, Json(RunReader::new(app, backend)?.detail(&row)?)))
}

/// What answers the calls of a scripted run from now on.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(super) struct ResumeRequest {
    /// Runners perform the calls, instead of the script of the run.
    live: bool,
}

/// Fails unless the calls of a run may be performed that a script answered until now.
fn may_call(app: &App, backend: &dyn Backend, version: &Version, live: bool) -> Result<(), Problem> {
    if live { check_live(app, backend, version) } else { Ok(()) }
}

fn calls(live: bool) -> CallSource {
    if live { CallSource::Runners } else { CallSource::Script }
}

/// Resumes an abandoned run with the runs that it called.
#[utoipa::path(post, path = "/runs/{run}/resume", tag = "runs", operation_id = "resume_run",
    params(("run" = String, Path, description = "The id of the run")), request_body = Option<ResumeRequest>,
    responses((status = 202, description = "The run continues", body = RunDetail)))]
pub(super) async fn resume(
    State(app): State<App>,
    caller: Caller,
    Path(run): Path<String>,
    OptionalBody(request): OptionalBody<ResumeRequest>,
) -> Result<(StatusCode, Json<RunDetail>), Problem> {
    let shared = app.clone();
    app.call(move |backend| {
        let (row, version) = find(&shared, backend, &caller, &run, Action::Operate)?;
        may_call(&shared, backend, &version, request.live)?;
        must_be_unfinished(&row)?;
        let root = backend.root_of(row.run)?;
        backend.resume(root, calls(request.live))?;
        resume_children(backend, root)?;
        accepted(&shared, backend, row.run)
    })
    .await
}

/// Resumes the abandoned runs that a run called.
fn resume_children(backend: &dyn Backend, run: RunNo) -> Result<(), Problem> {
    for child in backend.children(run)?.into_iter().filter(|child| !child.status.is_final()) {
        match backend.resume(child.run, CallSource::Script) {
            // Another process drives it, and it will end there.
            Ok(()) | Err(BackendError::Rejection(Rejection::Driven)) => {}
            Err(error) => return Err(error.into()),
        }
        resume_children(backend, child.run)?;
    }
    Ok(())
}

/// A new run that repeats the failed call of another.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(super) struct RetryRequest {
    /// The id of the new run; generated if absent.
    id: Option<String>,
    /// Runners perform the calls, instead of the script of the run.
    live: bool,
}

/// Starts a run that repeats the call that failed another.
#[utoipa::path(post, path = "/runs/{run}/retry", tag = "runs", operation_id = "retry_run",
    params(("run" = String, Path, description = "The id of the failed run")), request_body = Option<RetryRequest>,
    responses((status = 202, description = "The new run", body = RunDetail, headers(("Location" = String)))))]
pub(super) async fn retry(
    State(app): State<App>,
    caller: Caller,
    Path(run): Path<String>,
    OptionalBody(request): OptionalBody<RetryRequest>,
) -> Result<Response, Problem> {
    let shared = app.clone();
    app.call(move |backend| {
        let (row, version) = find(&shared, backend, &caller, &run, Action::Operate)?;
        may_call(&shared, backend, &version, request.live)?;
        if row.status != Status::Failed {
            let detail =
                format!("Run `{run}` has not failed, it is {}. Fork it from a step instead.", row.status.as_str());
            return Err(Problem::new(ProblemKind::Conflict, detail));
        }
        let Some(events) = shared.trace(backend, &row)?.events_before_failure(backend)? else {
            let detail =
                format!("No call failed run `{run}`: the workflow itself decided to fail. Fork it from a step.");
            return Err(Problem::new(ProblemKind::Conflict, detail));
        };
        continue_from(&shared, backend, (&row, events), request.id, calls(request.live))
    })
    .await
}

/// A new run that repeats another from a step on.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct ForkRequest {
    /// The key of the step in the trace, or the id of a step, which means its first execution.
    step: String,
    /// The id of the new run; generated if absent.
    #[serde(default)]
    id: Option<String>,
    /// Runners perform the calls, instead of the script of the run.
    #[serde(default)]
    live: bool,
}

/// Starts a run that has the events of another up to a step, and continues from there.
#[utoipa::path(post, path = "/runs/{run}/fork", tag = "runs", operation_id = "fork_run",
    params(("run" = String, Path, description = "The id of the run")), request_body = ForkRequest,
    responses((status = 202, description = "The new run", body = RunDetail, headers(("Location" = String)))))]
pub(super) async fn fork(
    State(app): State<App>,
    caller: Caller,
    Path(run): Path<String>,
    Body(request): Body<ForkRequest>,
) -> Result<Response, Problem> {
    let shared = app.clone();
    app.call(move |backend| {
        let (row, version) = find(&shared, backend, &caller, &run, Action::Operate)?;
        may_call(&shared, backend, &version, request.live)?;
        let trace = shared.trace(backend, &row)?;
        let step = &request.step;
        let index = trace.index_of(step).or_else(|| trace.of_step(step, None).first().copied());
        let index = index.ok_or_else(|| Problem::invalid_input(format!("Run `{run}` has no step `{step}`.")))?;
        let events = trace.events_until(backend, index)?;
        let unreached = || Problem::invalid_input(format!("Step `{step}` has not begun in run `{run}`."));
        continue_from(&shared, backend, (&row, events.ok_or_else(unreached)?), request.id, calls(request.live))
    })
    .await
}

fn continue_from(
    app: &App,
    backend: &dyn Backend,
    (from, events): (&Run, u64),
    id: Option<String>,
    calls: CallSource,
) -> Result<Response, Problem> {
    let id = id.map_or_else(|| Ok(new_id(now_ms())?), |id| check_id(&id).map(|()| id))?;
    let forked = backend.fork(from.run, events, &id, calls)?;
    if !forked.new {
        return Err(Problem::new(ProblemKind::Conflict, format!("Run `{id}` already exists. Choose another id.")));
    }
    let created = accepted(app, backend, forked.run)?;
    Ok(([(header::LOCATION, location(app, &id)?)], created).into_response())
}

/// A signal: an event that a person or a program sends.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct SignalRequest {
    /// The name of the signal.
    name: String,
    /// The data of the signal.
    #[serde(default)]
    payload: Value,
}

/// Sends a signal to a run. A repeated `Idempotency-Key` changes nothing.
#[utoipa::path(post, path = "/runs/{run}/signals", tag = "runs", operation_id = "send_signal",
    params(("run" = String, Path, description = "The id of the run"),
        ("idempotency-key" = Option<String>, Header, min_length = 1, max_length = 255, pattern = "^[!-~]+$",
            description = "A key that makes it safe to repeat the request")),
    request_body = SignalRequest,
    responses((status = 202, description = "The signal is recorded", body = RunDetail)))]
pub(super) async fn signal(
    State(app): State<App>,
    caller: Caller,
    Path(run): Path<String>,
    headers: HeaderMap,
    Body(request): Body<SignalRequest>,
) -> Result<(StatusCode, Json<RunDetail>), Problem> {
    let key = idempotency_key(&headers)?;
    let shared = app.clone();
    app.call(move |backend| {
        let (row, _) = find(&shared, backend, &caller, &run, Action::Operate)?;
        if is_approval_signal(&request.name) {
            let detail = format!("The signal `{}` belongs to approvals. Vote with `POST /approvals/…`.", request.name);
            return Err(Problem::invalid_input(detail));
        }
        must_be_unfinished(&row)?;
        let event = Event::Signal {
            name: request.name.as_str().into(),
            payload: request.payload,
            sender: Some(caller.user.as_str().into()),
            key: key.map(|key| format!("{}:{key}", caller.user).into()),
        };
        backend.send(row.run, &event)?;
        accepted(&shared, backend, row.run)
    })
    .await
}
