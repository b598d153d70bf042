//! Moves waiting runs to a changed workflow: a plan, and the move.

use axum::Json;
use axum::extract::State;
use branchpoint_backend::{Backend, BackendError, Migration, Run};
use branchpoint_core::ir::Status;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::changed_workflow::ChangedWorkflow;
use super::find;
use super::selection::Selection;
use crate::app::App;
use crate::body::{Body, Path};
use crate::caller::{Action, Caller};
use crate::problem::Problem;

/// The most runs that one request moves.
const MAX_RUNS: usize = 500;

/// A move of waiting runs.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MigrateRequest {
    /// The version to move to.
    to: u32,
    /// The ids of runs; all waiting runs of the workflow if absent.
    #[serde(default)]
    runs: Option<Vec<String>>,
    /// Moves the runs that can move. Without it, nothing changes.
    #[serde(default)]
    apply: bool,
}

/// An approval that people must answer again.
#[derive(Debug, Serialize, ToSchema)]
struct VoidVotes {
    step: String,
    /// The number of votes that would be void.
    votes: usize,
}

/// What becomes of one run.
#[derive(Debug, Serialize, ToSchema)]
struct MovedRun {
    run: String,
    /// Whether the run can move, or has moved.
    can_move: bool,
    moved: bool,
    /// The steps at which the run waits on the changed workflow.
    waits_at: Vec<String>,
    void_votes: Vec<VoidVotes>,
    /// Why the run cannot move.
    problem: Option<String>,
}

/// What becomes of the runs.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct MigrationPlan {
    applied: bool,
    /// The runs, the oldest first.
    items: Vec<MovedRun>,
    /// Whether more runs wait than one request moves.
    more: bool,
}

/// Moves waiting runs to a changed workflow, or shows which can move and why the others cannot. A run moves if it would wait at the same
/// steps: its journal is replayed on the changed workflow.
#[utoipa::path(post, path = "/workflows/{name}/migrate", tag = "workflows", operation_id = "migrate_runs",
    params(("name" = String, Path, description = "The name of the workflow")), request_body = MigrateRequest,
    responses((status = 200, description = "The plan, or the outcome", body = MigrationPlan)))]
pub(super) async fn migrate(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Body(request): Body<MigrateRequest>,
) -> Result<Json<MigrationPlan>, Problem> {
    caller.may(Action::Operate, &name)?;
    if request.runs.as_ref().is_some_and(|runs| runs.len() > MAX_RUNS) {
        return Err(Problem::invalid_input(format!("At most {MAX_RUNS} runs can move at a time.")));
    }
    let shared = app.clone();
    app.call(move |backend| {
        shared.find_version(backend, &name, Some(request.to))?;
        let (runs, more) = match &request.runs {
            Some(ids) => (runs_by_id(&shared, backend, &caller, &name, ids)?, false),
            None => waiting(&shared, backend, &caller, &name)?,
        };
        let plan = |run: &Run| planned(&shared, backend, &caller, run, &request);
        let items = runs.iter().filter_map(|run| plan(run).transpose()).collect::<Result<_, _>>()?;
        Ok(Json(MigrationPlan { applied: request.apply, items, more }))
    })
    .await
}

fn runs_by_id(
    app: &App,
    backend: &dyn Backend,
    caller: &Caller,
    name: &str,
    ids: &[String],
) -> Result<Vec<Run>, Problem> {
    let mut runs = Vec::new();
    for id in ids {
        let (run, version) = find(app, backend, caller, id, Action::Operate)?;
        if *version.name != *name {
            return Err(Problem::invalid_input(format!("Run `{id}` is not a run of workflow `{name}`.")));
        }
        runs.push(run);
    }
    Ok(runs)
}

fn waiting(app: &App, backend: &dyn Backend, caller: &Caller, name: &str) -> Result<(Vec<Run>, bool), Problem> {
    let status = [Status::WaitingPeople, Status::WaitingTimer].map(|status| status.as_str().to_owned()).to_vec();
    let selection = Selection { status, workflow: Some(name.to_owned()), ..Selection::default() };
    let (mut runs, next) = selection.conditions()?.page(app, backend, caller, (MAX_RUNS, None))?;
    runs.reverse();
    Ok((runs, next.is_some()))
}

/// Plans the move of a run, or moves it. None if it is on the changed workflow already.
fn planned(
    app: &App,
    backend: &dyn Backend,
    caller: &Caller,
    run: &Run,
    request: &MigrateRequest,
) -> Result<Option<MovedRun>, Problem> {
    let version = app.version(backend, run.workflow)?;
    let to = ChangedWorkflow::version(request.to).save(app, backend, caller, (run, &version), false)?;
    if to == run.workflow {
        return Ok(None);
    }
    let migration = match backend.plan_migration(run.run, to) {
        Ok(migration) => migration,
        Err(BackendError::Rejection(rejection)) => return Ok(Some(refused(run, &rejection.to_string()))),
        Err(error) => return Err(error.into()),
    };
    if request.apply {
        match backend.migrate(run.run, to) {
            Ok(_) => {}
            Err(BackendError::Rejection(rejection)) => return Ok(Some(refused(run, &rejection.to_string()))),
            Err(error) => return Err(error.into()),
        }
    }
    let Migration { waits_at, void_votes } = migration;
    Ok(Some(MovedRun {
        run: run.id.clone(),
        can_move: true,
        moved: request.apply,
        waits_at,
        void_votes: void_votes.into_iter().map(|(step, votes)| VoidVotes { step, votes }).collect(),
        problem: None,
    }))
}

fn refused(run: &Run, problem: &str) -> MovedRun {
    MovedRun {
        run: run.id.clone(),
        can_move: false,
        moved: false,
        waits_at: Vec::new(),
        void_votes: Vec::new(),
        problem: Some(super::start::sentence(problem)),
    }
}
