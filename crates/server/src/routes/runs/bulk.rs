//! Cancels, resumes or retries all runs that a filter selects: first a preview, then with its confirmation.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use branchpoint_backend::{Backend, Cursor, Run};
use branchpoint_core::ir::Status;
use branchpoint_runners::hexadecimal;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;

use super::actions::{RetryRequest, cancel_run, resume_run, retry_run};
use super::record::{RunReader, RunRecord};
use super::selection::{Conditions, Selection};
use crate::app::App;
use crate::body::Body;
use crate::caller::{Action, Caller};
use crate::problem::{Problem, ProblemKind};

/// The most runs that one request changes.
const MAX_RUNS: usize = 500;

/// The most runs that one request looks at. Most of them may be left as they are.
const MAX_EXAMINED: usize = 5_000;

/// How many runs a preview shows.
const SHOWN: usize = 50;

/// What is done to each run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum BulkAction {
    /// Cancels runs that have not ended.
    Cancel,
    /// Resumes abandoned runs.
    Resume,
    /// Repeats the call that failed a run, in a new run.
    Retry,
}

/// A change of several runs.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BulkRequest {
    action: BulkAction,
    /// Which runs.
    #[serde(default)]
    filter: Selection,
    /// Shows which runs would change. Nothing changes.
    #[serde(default)]
    dry_run: bool,
    /// The `confirmation` of the preview. A request that would change other runs than the preview showed is rejected with a new preview.
    #[serde(default)]
    confirmation: Option<String>,
    /// The reason of a cancellation, which the runs show.
    #[serde(default)]
    reason: Option<String>,
    /// Runners perform the calls, instead of the scripts of the runs.
    #[serde(default)]
    live: bool,
    /// Only runs after those of an earlier response, from its `next`.
    #[serde(default)]
    after: Option<String>,
}

/// Runs that match and are left as they are.
#[derive(Clone, Debug, Serialize, ToSchema)]
struct SkippedRuns {
    reason: &'static str,
    count: usize,
}

/// What a request would change.
#[derive(Debug, Serialize, ToSchema)]
struct BulkPreview {
    action: BulkAction,
    /// The number of runs that would change.
    count: usize,
    /// The first of them, the oldest first.
    runs: Vec<RunRecord>,
    /// Runs that match and are left as they are.
    left: Vec<SkippedRuns>,
    /// Whether more runs match than one request changes or looks at. Repeat the request for them, with `next` as `after`.
    more: bool,
    /// Where the next request goes on; null if there are no more runs.
    next: Option<String>,
    /// Send it to make the change.
    confirmation: String,
}

/// What became of one run.
#[derive(Debug, Serialize, ToSchema)]
struct ChangedRun {
    run: String,
    /// Whether it was changed.
    changed: bool,
    /// The run that repeats it.
    new_run: Option<String>,
    /// Why it was not changed.
    problem: Option<String>,
}

/// The preview of a change, or its outcome.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct BulkOutcome {
    #[serde(flatten)]
    preview: BulkPreview,
    /// Whether the runs were changed; false for a preview.
    applied: bool,
    /// What became of each run, in order; empty for a preview.
    outcomes: Vec<ChangedRun>,
}

/// Cancels, resumes or retries all runs that a filter selects. Request a preview with `dry_run` first, and confirm it with its
/// `confirmation`. A run that is refused does not stop the others. At most 500 runs change at a time, the newest that match and can be
/// changed.
#[utoipa::path(post, path = "/runs/bulk", tag = "runs", operation_id = "change_runs", request_body = BulkRequest,
    responses((status = 200, description = "The preview, or the outcome", body = BulkOutcome)))]
pub(super) async fn change(
    State(app): State<App>,
    caller: Caller,
    Body(request): Body<BulkRequest>,
) -> Result<Json<BulkOutcome>, Problem> {
    caller.may_on_some(Action::Operate)?;
    let conditions = request.filter.conditions()?;
    let shared = app.clone();
    app.call(move |backend| {
        let after = request.after.as_deref().map(cursor).transpose()?;
        let Selected { runs: selected, left, next } =
            select(&shared, backend, &caller, (request.action, &conditions, after))?;
        let reader = RunReader::new(&shared, backend)?;
        let preview = BulkPreview {
            action: request.action,
            count: selected.len(),
            runs: selected.iter().take(SHOWN).map(|run| reader.record(run)).collect::<Result<_, _>>()?,
            left,
            more: next.is_some(),
            next,
            confirmation: confirmation_of(request.action, &selected),
        };
        if request.dry_run {
            return Ok(Json(BulkOutcome { preview, applied: false, outcomes: Vec::new() }));
        }
        if request.confirmation.as_deref() != Some(&*preview.confirmation) {
            let detail = match request.confirmation {
                None => "`confirmation` is missing. Send that of a preview, which `dry_run` requests.",
                Some(_) => "Other runs match now than the preview showed. Look at the new preview, and confirm it.",
            };
            return Err(Problem::new(ProblemKind::Conflict, detail).with("preview", preview));
        }
        let change = |run: &Run| changed(&shared, backend, &caller, run, &request);
        let outcomes = selected.iter().map(change).collect::<Result<_, _>>()?;
        Ok(Json(BulkOutcome { preview, applied: true, outcomes }))
    })
    .await
}

fn cursor(text: &str) -> Result<Cursor, Problem> {
    text.parse().map_err(|_| Problem::bad_request("`after` is not the `next` of an earlier response."))
}

/// The runs that an action changes, the oldest first, and the others by reason.
struct Selected {
    runs: Vec<Run>,
    left: Vec<SkippedRuns>,
    /// Where the next request goes on.
    next: Option<String>,
}

/// Looks at the newest runs that match until enough can be changed. Runs that are left as they are do not count, so that they cannot keep
/// the others from being changed.
fn select(
    app: &App,
    backend: &dyn Backend,
    caller: &Caller,
    (action, conditions, mut after): (BulkAction, &Conditions, Option<Cursor>),
) -> Result<Selected, Problem> {
    let owners: Vec<i64> = backend.drivers()?.into_iter().map(|driver| driver.owner).collect();
    let (mut selected, mut left) = (Vec::new(), BTreeMap::<&'static str, usize>::new());
    let mut next = None;
    for _ in 0..MAX_EXAMINED / MAX_RUNS {
        let (runs, following) = conditions.page(app, backend, caller, (MAX_RUNS, after))?;
        next = following;
        for run in runs {
            if selected.len() == MAX_RUNS {
                next = after.map(|after| after.to_string());
                break;
            }
            after = Some(run.cursor());
            match reason_to_leave(app, backend, caller, action, &run, &owners)? {
                Some(reason) => *left.entry(reason).or_default() += 1,
                None => selected.push(run),
            }
        }
        match next.as_deref() {
            Some(position) if selected.len() < MAX_RUNS => after = Some(cursor(position)?),
            _ => break,
        }
    }
    selected.reverse();
    let left = left.into_iter().map(|(reason, count)| SkippedRuns { reason, count }).collect();
    Ok(Selected { runs: selected, left, next })
}

fn reason_to_leave(
    app: &App,
    backend: &dyn Backend,
    caller: &Caller,
    action: BulkAction,
    run: &Run,
    owners: &[i64],
) -> Result<Option<&'static str>, Problem> {
    if caller.may(Action::Operate, &app.version(backend, run.workflow)?.name).is_err() {
        return Ok(Some("You may not change them."));
    }
    let is_driven = run.owner.is_some_and(|owner| owners.contains(&owner));
    Ok(match action {
        BulkAction::Cancel | BulkAction::Resume if run.status.is_final() => Some("They have ended."),
        BulkAction::Resume if is_driven => Some("A process drives them."),
        BulkAction::Resume if run.status != Status::Running => Some("They wait for people or timers."),
        BulkAction::Cancel | BulkAction::Resume => None,
        BulkAction::Retry if run.status != Status::Failed => Some("They have not failed."),
        BulkAction::Retry => match app.trace(backend, run) {
            Ok(trace) if trace.events_before_failure(backend)?.is_none() => {
                Some("No call has failed them: their workflows decided to fail.")
            }
            Ok(_) => None,
            Err(_) => Some("They cannot be read."),
        },
    })
}

/// A text that only the same action on the same runs has.
fn confirmation_of(action: BulkAction, runs: &[Run]) -> String {
    let mut digest = Sha256::new();
    digest.update([action as u8]);
    for run in runs {
        digest.update(run.id.as_bytes());
        digest.update([0]);
    }
    hexadecimal(&digest.finalize())[..16].to_owned()
}

fn changed(
    app: &App,
    backend: &dyn Backend,
    caller: &Caller,
    run: &Run,
    request: &BulkRequest,
) -> Result<ChangedRun, Problem> {
    let version = app.version(backend, run.workflow)?;
    let done = match request.action {
        BulkAction::Cancel => cancel_run(backend, run, request.reason.as_deref()).map(|()| None),
        BulkAction::Resume => resume_run(app, backend, caller, run, request.live).map(|()| None),
        BulkAction::Retry => {
            // The id follows from the run and the confirmation, so that a repeated request starts nothing twice.
            let confirmed = request.confirmation.as_deref().unwrap_or_default();
            let digest = Sha256::digest(format!("{confirmed}/{}", run.id).as_bytes());
            let id = Some(format!("r{}", &hexadecimal(&digest)[..20]));
            let retry = RetryRequest { id, live: request.live, ..RetryRequest::default() };
            retry_run(app, backend, caller, (run, &version), retry).map(Some)
        }
    };
    Ok(match done {
        Ok(new) => {
            let new_run = new.map(|new| backend.row(new)).transpose()?.map(|row| row.id);
            ChangedRun { run: run.id.clone(), changed: true, new_run, problem: None }
        }
        Err(problem) => {
            let problem = Some(problem.detail().to_owned());
            ChangedRun { run: run.id.clone(), changed: false, new_run: None, problem }
        }
    })
}
