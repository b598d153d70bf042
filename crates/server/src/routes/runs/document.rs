//! The pinned document of a run: its text and its drawing.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::readable;
use crate::app::App;
use crate::body::Path;
use crate::caller::Caller;
use crate::drawing::{Drawing, draw};
use crate::problem::Problem;

/// The text that a run was started with.
#[derive(Serialize, ToSchema)]
pub(super) struct RunSource {
    /// The text; empty for a run of a called workflow, of which only the program is stored.
    text: String,
    name: String,
    dialect: String,
}

/// Shows the document of a run.
#[utoipa::path(get, path = "/runs/{run}/source", tag = "runs", operation_id = "get_run_source",
    params(("run" = String, Path, description = "The id of the run")),
    responses((status = 200, description = "The document", body = RunSource)))]
pub(super) async fn source(
    State(app): State<App>,
    caller: Caller,
    Path(run): Path<String>,
) -> Result<Json<RunSource>, Problem> {
    let shared = app.clone();
    app.call(move |backend| {
        let (row, version) = readable(&shared, backend, &caller, &run)?;
        let document = backend.document(row.workflow)?;
        let text = if row.part.is_empty() { document.text } else { String::new() };
        let text = backend.secrets(row.run)?.mask(&text).into_owned();
        Ok(Json(RunSource { text, name: super::record::name_of(&row, &version), dialect: document.dialect }))
    })
    .await
}

/// Draws the program of a run.
#[utoipa::path(get, path = "/runs/{run}/drawing", tag = "runs", operation_id = "draw_run",
    params(("run" = String, Path, description = "The id of the run")),
    responses((status = 200, description = "The drawing", body = Drawing)))]
pub(super) async fn drawing(
    State(app): State<App>,
    caller: Caller,
    Path(run): Path<String>,
) -> Result<Json<Drawing>, Problem> {
    let shared = app.clone();
    app.call(move |backend| {
        let (row, version) = readable(&shared, backend, &caller, &run)?;
        let missing = || Problem::not_found(format!("The program of run `{run}` is missing."));
        let program = backend.program(row.workflow, &row.part)?.ok_or_else(missing)?;
        let text = if row.part.is_empty() { backend.document(row.workflow)?.text } else { String::new() };
        Ok(Json(draw(&program, &text, &version.dialect)))
    })
    .await
}
