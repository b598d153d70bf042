//! Changes the tags and the priority of a run.

use axum::Json;
use axum::extract::State;
use branchpoint_backend::{Priority, Tags};
use serde::Deserialize;
use utoipa::ToSchema;

use super::find;
use super::record::{RunDetail, RunReader};
use super::start::sentence;
use crate::app::App;
use crate::body::{Body, Path};
use crate::caller::{Action, Caller};
use crate::problem::Problem;

/// Changes of a run. What is absent stays as it is.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct UpdateRequest {
    /// Tags to add.
    add_tags: Vec<String>,
    /// Tags to remove.
    remove_tags: Vec<String>,
    /// The priority in queues, from -100 to 100.
    priority: Option<i64>,
}

/// Changes the tags and the priority of a run. They may change at any time, and do not change what the run does.
#[utoipa::path(patch, path = "/runs/{run}", tag = "runs", operation_id = "update_run",
    params(("run" = String, Path, description = "The id of the run")), request_body = UpdateRequest,
    responses((status = 200, description = "The changed run", body = RunDetail)))]
pub(super) async fn update(
    State(app): State<App>,
    caller: Caller,
    Path(run): Path<String>,
    Body(request): Body<UpdateRequest>,
) -> Result<Json<RunDetail>, Problem> {
    let invalid = |error: String| Problem::invalid_input(sentence(&error));
    let add = Tags::new(request.add_tags).map_err(|error| invalid(error.to_string()))?;
    let remove = Tags::new(request.remove_tags).map_err(|error| invalid(error.to_string()))?;
    let priority = request.priority.map(Priority::new).transpose().map_err(|error| invalid(error.to_string()))?;
    let shared = app.clone();
    app.call(move |backend| {
        let (row, _) = find(&shared, backend, &caller, &run, Action::Operate)?;
        if !add.as_slice().is_empty() || !remove.as_slice().is_empty() {
            backend.tag(row.run, &add, &remove)?;
        }
        if let Some(priority) = priority {
            backend.prioritize(row.run, priority)?;
        }
        shared.note_changed_row(row.run);
        let row = backend.row(row.run)?;
        Ok(Json(RunReader::new(&shared, backend)?.detail(&row)?))
    })
    .await
}
