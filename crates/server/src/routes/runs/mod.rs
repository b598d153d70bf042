//! Runs: lists, one run, its trace, and what can be done with it.

mod actions;
mod document;
mod dry_run;
pub(crate) mod record;
pub(crate) mod start;
pub(crate) mod step;
mod trace;
mod transfer;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use branchpoint_backend::{Backend, Cursor, Filter, Run};
use branchpoint_core::ir::Status;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::record::{RunDetail, RunReader, RunRecord};
use crate::app::App;
use crate::body::{Path, Query};
use crate::caller::{Action, Caller};
use crate::catalogue::Version;
use crate::list::{Page, PageRequest};
use crate::problem::Problem;
use crate::time::now_ms;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list, start::start))
        .routes(routes!(get))
        .routes(routes!(trace::list))
        .routes(routes!(trace::step))
        .routes(routes!(trace::decide_again))
        .routes(routes!(actions::cancel))
        .routes(routes!(actions::resume))
        .routes(routes!(actions::retry))
        .routes(routes!(actions::fork))
        .routes(routes!(actions::signal))
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
    status: Option<String>,
    /// Only runs of this workflow.
    workflow: Option<String>,
    /// Only runs whose id, workflow, input or result contains all these words.
    q: Option<String>,
    /// Only runs that have all these tags, separated by commas.
    tag: Option<String>,
    /// Only runs started at or after this time, RFC 3339, or within this duration, such as `24h`.
    since: Option<String>,
    /// Runs that other runs called, too.
    #[serde(default)]
    children: bool,
    /// The most items, from 1 to 200.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// The cursor of the page before, from its `next`.
    #[param(pattern = "^[0-9]{1,15}-[0-9]{1,15}$")]
    cursor: Option<String>,
}

impl ListRequest {
    fn statuses(&self) -> Result<Vec<Status>, Problem> {
        list_of(self.status.as_deref()).iter().map(|name| status_named(name)).collect()
    }

    fn since_ms(&self) -> Result<Option<i64>, Problem> {
        self.since.as_deref().filter(|since| !since.is_empty()).map(moment).transpose()
    }
}

/// The parts of a list that is separated by commas.
fn list_of(text: Option<&str>) -> Vec<String> {
    let parts = text.unwrap_or_default().split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

/// The statuses of runs.
const STATUSES: [Status; 6] = [
    Status::Running,
    Status::WaitingPeople,
    Status::WaitingTimer,
    Status::Completed,
    Status::Failed,
    Status::Cancelled,
];

fn status_named(name: &str) -> Result<Status, Problem> {
    STATUSES.into_iter().find(|status| status.as_str() == name).ok_or_else(|| {
        let known = STATUSES.map(Status::as_str).join(", ");
        Problem::bad_request(format!("`{name}` is not a status of a run. The statuses are {known}."))
    })
}

/// A time as RFC 3339, or a duration before now.
fn moment(text: &str) -> Result<i64, Problem> {
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return Ok(time.as_millisecond());
    }
    let duration = text.parse::<jiff::SignedDuration>().or_else(|_| days(text).ok_or(()));
    let duration = duration.map_err(|()| {
        Problem::bad_request(format!(
            "`{text}` must be a time such as 2026-11-15T21:15:00Z, or a duration such as 24h."
        ))
    })?;
    let ms = i64::try_from(duration.as_millis().unsigned_abs()).unwrap_or(i64::MAX);
    Ok(now_ms().saturating_sub(ms))
}

fn days(text: &str) -> Option<jiff::SignedDuration> {
    let days: i64 = text.strip_suffix('d')?.parse().ok()?;
    Some(jiff::SignedDuration::from_hours(days.checked_mul(24)?))
}

/// How many rows a page may skip because the caller may not read them.
const MAX_SKIPPED: usize = 2_000;

/// Lists runs, newest first.
#[utoipa::path(get, path = "/runs", tag = "runs", operation_id = "list_runs", params(ListRequest),
    responses((status = 200, description = "The runs", body = Page<RunRecord>)))]
async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(request): Query<ListRequest>,
) -> Result<Json<Page<RunRecord>>, Problem> {
    let (statuses, since_ms) = (request.statuses()?, request.since_ms()?);
    let page = PageRequest::new(request.limit, request.cursor.clone());
    let (limit, before) = (page.limit()? as usize, page.cursor::<Cursor>()?);
    caller.may_on_some(Action::Read)?;
    let shared = app.clone();
    app.call(move |backend| {
        if request.q.is_some() {
            backend.index_runs()?;
        }
        let reader = RunReader::new(&shared, backend)?;
        let filter = Filter {
            status: if let [status] = statuses[..] { Some(status) } else { None },
            workflow: request.workflow.clone().filter(|workflow| !workflow.is_empty()),
            tags: list_of(request.tag.as_deref()),
            since_ms,
            search: request.q.clone().filter(|words| !words.trim().is_empty()),
            children: request.children,
            before,
            limit: Some(0),
        };
        let wanted = |run: &Run| statuses.len() < 2 || statuses.contains(&run.status);
        let (items, next) = page_of(&shared, backend, &caller, &filter, limit, &wanted)?;
        let items = items.iter().map(|run| reader.record(run)).collect::<Result<_, _>>()?;
        Ok(Json(Page { items, next }))
    })
    .await
}

/// So many runs that match and that the caller may read, and the cursor of the next.
fn page_of(
    app: &App,
    backend: &dyn Backend,
    caller: &Caller,
    filter: &Filter,
    limit: usize,
    wanted: &dyn Fn(&Run) -> bool,
) -> Result<(Vec<Run>, Option<String>), Problem> {
    let mut rows = Vec::new();
    let (mut before, mut skipped) = (filter.before, 0);
    loop {
        let batch = limit + 1;
        let filter = Filter { before, limit: u32::try_from(batch).ok(), ..filter.clone() };
        let runs = backend.runs(&filter)?;
        let is_end = runs.len() < batch;
        for run in runs {
            let may_read = caller.may(Action::Read, &app.version(backend, run.workflow)?.name).is_ok();
            if !may_read || !wanted(&run) {
                skipped += 1;
                before = Some(run.cursor());
                continue;
            }
            if rows.len() == limit {
                return Ok((rows, before.map(|before| before.to_string())));
            }
            before = Some(run.cursor());
            rows.push(run);
        }
        if is_end {
            return Ok((rows, None));
        }
        if skipped >= MAX_SKIPPED {
            return Ok((rows, before.map(|before| before.to_string())));
        }
    }
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
