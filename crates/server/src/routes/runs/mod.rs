//! Runs: lists, one run, its trace, and what can be done with it.

mod actions;
mod bulk;
mod changed_workflow;
mod children;
mod document;
mod dry_run;
mod iterations;
mod migrate;
pub(crate) mod record;
mod selection;
pub(crate) mod start;
pub(crate) mod step;
mod trace;
mod transfer;
mod update;
mod values;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use branchpoint_backend::{Backend, Cursor, Run};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::record::{RunDetail, RunReader, RunRecord};
use self::selection::{Selection, list_of};
use crate::app::App;
use crate::body::{Path, Query};
use crate::caller::{Action, Caller};
use crate::catalogue::Version;
use crate::list::{Page, PageRequest};
use crate::problem::Problem;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list, start::start))
        .routes(routes!(bulk::change))
        .routes(routes!(get, update::update))
        .routes(routes!(children::list))
        .routes(routes!(trace::list))
        .routes(routes!(iterations::list))
        .routes(routes!(values::value))
        .routes(routes!(values::playground))
        .routes(routes!(trace::step))
        .routes(routes!(trace::decide_again))
        .routes(routes!(actions::cancel))
        .routes(routes!(actions::resume))
        .routes(routes!(actions::retry))
        .routes(routes!(actions::fork))
        .routes(routes!(actions::signal))
        .routes(routes!(migrate::migrate))
        .routes(routes!(transfer::export))
        .routes(routes!(transfer::recording))
        .routes(routes!(document::source))
        .routes(routes!(document::drawing))
}

/// Finds a run of which the caller may do something. A run that the caller may not read does not exist for them.
pub(crate) fn find(
    app: &App,
    backend: &dyn Backend,
    caller: &Caller,
    id: &str,
    action: Action,
) -> Result<(Run, Arc<Version>), Problem> {
    let missing = || Problem::not_found(format!("Run `{id}` does not exist."));
    let run = backend.run(id)?.ok_or_else(missing)?;
    let version = app.version(backend, run.workflow)?;
    caller.may(Action::Read, &version.name).map_err(|_| missing())?;
    caller.may(action, &version.name)?;
    Ok((run, version))
}

/// Finds a run that the caller may read.
pub(crate) fn readable(
    app: &App,
    backend: &dyn Backend,
    caller: &Caller,
    id: &str,
) -> Result<(Run, Arc<Version>), Problem> {
    find(app, backend, caller, id, Action::Read)
}

/// Which runs.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ListRequest {
    /// Only runs with one of these statuses, separated by commas.
    #[param(
        pattern = r"^((running|waiting_people|waiting_timer|completed|failed|cancelled)(,(running|waiting_people|waiting_timer|completed|failed|cancelled))*)?$"
    )]
    status: Option<String>,
    /// Only runs of this workflow.
    workflow: Option<String>,
    /// Only runs whose id, workflow, input or result contains all these words.
    q: Option<String>,
    /// Only runs that have all these tags, separated by commas.
    tag: Option<String>,
    /// Only runs started at or after this time, RFC 3339, or within this duration, such as `24h`.
    #[param(
        pattern = r"^([1-9][0-9]{0,3}[smh]|20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z)?$"
    )]
    since: Option<String>,
    /// Only runs started before this time, RFC 3339, or before this duration, such as `24h`.
    #[param(
        pattern = r"^([1-9][0-9]{0,3}[smh]|20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z)?$"
    )]
    until: Option<String>,
    /// Runs that other runs called, too.
    #[serde(default)]
    children: bool,
    /// Sessions, too, which are stored as runs.
    #[serde(default)]
    sessions: bool,
    /// The most items, from 1 to 200.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// The cursor of the page before, from its `next`.
    #[param(pattern = "^[0-9]{1,15}-[0-9]{1,15}$")]
    cursor: Option<String>,
}

impl ListRequest {
    fn selection(self) -> Selection {
        Selection {
            status: list_of(self.status.as_deref()),
            workflow: self.workflow,
            q: self.q,
            tags: list_of(self.tag.as_deref()),
            since: self.since,
            until: self.until,
            children: self.children,
            sessions: self.sessions,
        }
    }
}

/// Lists runs, newest first.
#[utoipa::path(get, path = "/runs", tag = "runs", operation_id = "list_runs", params(ListRequest),
    responses((status = 200, description = "The runs", body = Page<RunRecord>)))]
async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(request): Query<ListRequest>,
) -> Result<Json<Page<RunRecord>>, Problem> {
    let page = PageRequest::new(request.limit, request.cursor.clone());
    let (limit, before) = (page.limit()? as usize, page.cursor::<Cursor>()?);
    let conditions = request.selection().conditions()?;
    caller.may_on_some(Action::Read)?;
    let shared = app.clone();
    app.call(move |backend| {
        let reader = RunReader::new(&shared, backend)?;
        let (runs, next) = conditions.page(&shared, backend, &caller, (limit, before))?;
        let items = runs.iter().map(|run| reader.record(run)).collect::<Result<_, _>>()?;
        Ok(Json(Page { items, next }))
    })
    .await
}

/// Shows a run.
#[utoipa::path(get, path = "/runs/{run}", tag = "runs", operation_id = "get_run",
    params(("run" = String, Path, description = "The id of the run")),
    responses((status = 200, description = "The run", body = RunDetail)))]
async fn get(State(app): State<App>, caller: Caller, Path(run): Path<String>) -> Result<Json<RunDetail>, Problem> {
    let shared = app.clone();
    app.call(move |backend| {
        let (row, _) = readable(&shared, backend, &caller, &run)?;
        Ok(Json(RunReader::new(&shared, backend)?.detail(&row)?))
    })
    .await
}
