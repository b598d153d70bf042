//! Exports of runs, and recordings of their answers.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use branchpoint_host::recording_yaml;

use super::{find, readable};
use crate::app::App;
use crate::body::Path;
use crate::caller::{Action, Caller};
use crate::problem::Problem;

/// Exports a run with the runs that it called, as JSON lines that another store can import. It contains all values that are not
/// secret inputs.
#[utoipa::path(get, path = "/runs/{run}/export", tag = "runs", operation_id = "export_run",
    params(("run" = String, Path, description = "The id of the run")),
    responses((status = 200, description = "The export", body = String, content_type = "application/x-ndjson")))]
pub(super) async fn export(
    State(app): State<App>,
    caller: Caller,
    Path(run): Path<String>,
) -> Result<Response, Problem> {
    let shared = app.clone();
    let bytes = app
        .call(move |backend| {
            let (row, _) = find(&shared, backend, &caller, &run, Action::Operate)?;
            let mut bytes = Vec::new();
            backend.export(&[row.run], &mut bytes)?;
            Ok(bytes)
        })
        .await?;
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], bytes).into_response())
}

/// Shows the recorded answers of a run as a script, which replays the run with the same result.
#[utoipa::path(get, path = "/runs/{run}/recording", tag = "runs", operation_id = "record_run",
    params(("run" = String, Path, description = "The id of the run")),
    responses((status = 200, description = "The script", body = Object, content_type = "application/yaml")))]
pub(super) async fn recording(
    State(app): State<App>,
    caller: Caller,
    Path(run): Path<String>,
) -> Result<Response, Problem> {
    let shared = app.clone();
    let text = app
        .call(move |backend| {
            let (row, _) = readable(&shared, backend, &caller, &run)?;
            let secrets = backend.secrets(row.run)?;
            Ok(recording_yaml(&backend.recording(row.run, &secrets)?))
        })
        .await?;
    Ok(([(header::CONTENT_TYPE, "application/yaml")], text).into_response())
}
