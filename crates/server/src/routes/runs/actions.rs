//! Cancels, resumes, retries and forks runs, and sends signals.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use branchpoint_backend::{Backend, BackendError, CallSource, Rejection, Run, RunNo, WorkflowNo};
use branchpoint_core::ir::Status;
use branchpoint_core::{Event, is_approval_signal};
use branchpoint_expr::Value;
use branchpoint_host::host::new_id;
use serde::Deserialize;
use utoipa::ToSchema;

use super::changed_workflow::ChangedWorkflow;
use super::find;
use super::record::{RunDetail, RunReader};
use super::start::{check_id, idempotency_key, location};
use crate::app::App;
use crate::body::{Body, OptionalBody, Path};
use crate::caller::{Action, Caller};
use crate::catalogue::Version;
use crate::prepared_workflows::check_live;
use crate::problem::{Problem, ProblemKind};
use crate::time::now_ms;

/// Why a run is cancelled.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
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
        cancel_run(backend, &row, request.reason.as_deref())?;
        accepted(&shared, backend, row.run)
    })
    .await
}

/// Cancels a run.
pub(super) fn cancel_run(backend: &dyn Backend, run: &Run, reason: Option<&str>) -> Result<(), Problem> {
    must_be_unfinished(run)?;
    backend.send(run.run, &Event::Cancel { reason: reason.map(Into::into) })?;
    Ok(())
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
#[serde(default, deny_unknown_fields)]
pub(super) struct ResumeRequest {
    /// Runners perform the calls, instead of the script of the run.
    live: bool,
}

/// Fails unless runners may perform the calls of a run; calls that its script answers need no permission.
fn may_call(app: &App, backend: &dyn Backend, (run, version): (&Run, &Version), live: bool) -> Result<(), Problem> {
    let is_scripted = !live && backend.is_scripted(run.run)?;
    if is_scripted { Ok(()) } else { check_live(app, backend, version) }
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
        let (row, _) = find(&shared, backend, &caller, &run, Action::Operate)?;
        resume_run(&shared, backend, &caller, &row, request.live)?;
        accepted(&shared, backend, row.run)
    })
    .await
}

/// Resumes a run with the runs that called it and that it called. The caller must be allowed to operate the workflow of the first of them.
pub(super) fn resume_run(
    app: &App,
    backend: &dyn Backend,
    caller: &Caller,
    run: &Run,
    live: bool,
) -> Result<(), Problem> {
    must_be_unfinished(run)?;
    let root = backend.root_of(run.run)?;
    let first = backend.row(root)?;
    let version = app.version(backend, first.workflow)?;
    caller.may(Action::Operate, &version.name)?;
    may_call(app, backend, (&first, &version), live)?;
    backend.resume(root, calls(live))?;
    resume_children(backend, root)
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
#[serde(default, deny_unknown_fields)]
pub(super) struct RetryRequest {
    /// The id of the new run; generated if absent.
    pub(super) id: Option<String>,
    /// Runners perform the calls, instead of the script of the run.
    pub(super) live: bool,
    /// The changed workflow on which the new run continues.
    pub(super) with: Option<ChangedWorkflow>,
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
        let new = retry_run(&shared, backend, &caller, (&row, &version), request)?;
        created(&shared, backend, new)
    })
    .await
}

/// Starts a run that repeats the call that failed another.
pub(super) fn retry_run(
    app: &App,
    backend: &dyn Backend,
    caller: &Caller,
    (run, version): (&Run, &Version),
    request: RetryRequest,
) -> Result<RunNo, Problem> {
    let RetryRequest { id, live, with } = request;
    may_call(app, backend, (run, version), live)?;
    if run.status != Status::Failed {
        let detail =
            format!("Run `{}` has not failed, it is {}. Fork it from a step instead.", run.id, run.status.as_str());
        return Err(Problem::new(ProblemKind::Conflict, detail));
    }
    let trace = app.trace(backend, run)?;
    let events = match trace.events_before_failure(backend)? {
        Some(events) => events,
        // The changed workflow may not fail where the workflow itself decided to.
        None if with.is_some() => trace.view.state.seq(),
        None => {
            let detail =
                format!("No call failed run `{}`: the workflow itself decided to fail. Fork it from a step.", run.id);
            return Err(Problem::new(ProblemKind::Conflict, detail));
        }
    };
    let workflow = with.map(|with| with.save(app, backend, caller, (run, version), live)).transpose()?;
    continue_from(backend, (run, events), workflow, id, calls(live))
}

/// A new run that repeats another from a step on.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ForkRequest {
    /// The key of the step in the trace, or the id of a step, which means its first execution. With a changed workflow it may be absent:
    /// the new run then continues where the run is.
    #[serde(default)]
    step: Option<String>,
    /// The number of events that the new run has of this one, in place of `step`.
    #[serde(default)]
    events: Option<u64>,
    /// The id of the new run; generated if absent.
    #[serde(default)]
    id: Option<String>,
    /// Runners perform the calls, instead of the script of the run.
    #[serde(default)]
    live: bool,
    /// The changed workflow on which the new run continues.
    #[serde(default)]
    with: Option<ChangedWorkflow>,
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
        may_call(&shared, backend, (&row, &version), request.live)?;
        let events = events_of(&shared, backend, &row, &request)?;
        let (changed, live) = (request.with, request.live);
        let workflow = changed.map(|with| with.save(&shared, backend, &caller, (&row, &version), live)).transpose()?;
        let new = continue_from(backend, (&row, events), workflow, request.id, calls(request.live))?;
        created(&shared, backend, new)
    })
    .await
}

/// The number of events that a fork takes over.
fn events_of(app: &App, backend: &dyn Backend, run: &Run, request: &ForkRequest) -> Result<u64, Problem> {
    if let Some(events) = request.events {
        return match (&request.step, events) {
            (None, 1..) if events <= run.seq => Ok(events),
            (None, _) => Err(Problem::invalid_input(format!("`events` must be a number from 1 to {}.", run.seq))),
            (Some(_), _) => Err(Problem::invalid_input("Name the step or the number of events, not both.")),
        };
    }
    let trace = app.trace(backend, run)?;
    let Some(step) = &request.step else {
        if request.with.is_none() || run.status.is_final() {
            return Err(Problem::invalid_input("`step` is missing. Name the step to repeat."));
        }
        return Ok(trace.view.state.seq());
    };
    let index = trace.index_of(step).or_else(|| trace.of_step(step, None).first().copied());
    let index = index.ok_or_else(|| Problem::invalid_input(format!("Run `{}` has no step `{step}`.", run.id)))?;
    let unreached = || Problem::invalid_input(format!("Step `{step}` has not begun in run `{}`.", run.id));
    trace.events_until(backend, index)?.ok_or_else(unreached)
}

/// Starts a run with the first events of another, on its workflow or on a changed one.
fn continue_from(
    backend: &dyn Backend,
    (from, events): (&Run, u64),
    workflow: Option<WorkflowNo>,
    id: Option<String>,
    calls: CallSource,
) -> Result<RunNo, Problem> {
    let id = id.map_or_else(|| Ok(new_id(now_ms())?), |id| check_id(&id).map(|()| id))?;
    let forked = match workflow {
        None => backend.fork(from.run, events, &id, calls)?,
        Some(workflow) => backend.fork_on(from.run, events, workflow, &id, calls)?,
    };
    if !forked.new {
        return Err(Problem::new(ProblemKind::Conflict, format!("Run `{id}` already exists. Choose another id.")));
    }
    Ok(forked.run)
}

fn created(app: &App, backend: &dyn Backend, run: RunNo) -> Result<Response, Problem> {
    let location = location(app, &backend.row(run)?.id)?;
    Ok(([(header::LOCATION, location)], accepted(app, backend, run)?).into_response())
}

/// A signal: an event that a person or a program sends.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
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
