//! The versions of workflows: who saved each, why, and how many runs it has.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use branchpoint_backend::{Backend, Filter};
use branchpoint_core::ir::Status;
use serde::Serialize;
use utoipa::ToSchema;

use super::workflows::{MAX_WAITING, RunCounts, readable, run_counts};
use crate::app::App;
use crate::body::Path;
use crate::caller::Caller;
use crate::catalogue::Version;
use crate::problem::Problem;
use crate::time::rfc3339;

/// A version of a workflow.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct VersionRecord {
    version: u32,
    hash: String,
    saved_at: String,
    /// The number of runs of this version.
    runs: u64,
    /// The number of runs of this version that have not ended, up to 1000 by status.
    active_runs: u64,
    /// Who saved it over the API.
    saved_by: Option<String>,
    /// What has changed, in the words of that person.
    message: Option<String>,
}

/// Answers for the calls of an example.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct DefaultScript {
    /// The name of its file.
    name: String,
}

/// The versions of a workflow, the newest first.
pub(super) fn version_records(
    app: &App,
    backend: &dyn Backend,
    name: &str,
    counts: &RunCounts,
) -> Result<Vec<VersionRecord>, Problem> {
    let versions = app.versions(backend, name)?;
    let active = active_runs(app, backend, name)?;
    let record = |version: &Arc<Version>| {
        let note = app.host.version_notes.as_ref().and_then(|notes| notes.find(&version.hash));
        let (saved_by, message) = note.map_or((None, None), |note| (Some(note.user), note.message));
        VersionRecord {
            version: version.version,
            hash: version.hash.to_string(),
            saved_at: rfc3339(version.saved_ms),
            runs: counts.get(&(Arc::clone(&version.name), version.version)).copied().unwrap_or_default(),
            active_runs: active.get(&version.version).copied().unwrap_or_default(),
            saved_by,
            message,
        }
    };
    Ok(versions.iter().rev().map(record).collect())
}

/// The number of runs of a workflow that have not ended, by version.
fn active_runs(app: &App, backend: &dyn Backend, name: &str) -> Result<BTreeMap<u32, u64>, Problem> {
    let mut active = BTreeMap::new();
    for status in Status::ALL.into_iter().filter(|status| !status.is_final()) {
        let filter =
            Filter { status: Some(status), workflow: Some(name.into()), limit: Some(MAX_WAITING), ..Filter::default() };
        for run in backend.runs(&filter)? {
            *active.entry(app.version(backend, run.workflow)?.version).or_default() += 1;
        }
    }
    Ok(active)
}

/// What answers the calls of runs of a workflow unless they have another script.
pub(super) fn default_script(app: &App, name: &str) -> Option<DefaultScript> {
    app.default_scripts.get(name).map(|_| DefaultScript { name: format!("{name}.script.yaml") })
}

/// Lists the versions of a workflow, newest first.
#[utoipa::path(get, path = "/workflows/{name}/versions", tag = "workflows", operation_id = "list_versions",
    params(("name" = String, Path, description = "The name of the workflow")),
    responses((status = 200, description = "The versions", body = Vec<VersionRecord>)))]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Json<Vec<VersionRecord>>, Problem> {
    let shared = app.clone();
    app.call(move |backend| {
        readable(&shared, backend, &caller, &name, None)?;
        let counts = run_counts(&shared, backend)?;
        Ok(Json(version_records(&shared, backend, &name, &counts)?))
    })
    .await
}

/// The longest message of a version, in characters.
const MESSAGE_CHARS: usize = 1_000;

/// A message without blanks around it; none if nothing remains.
pub(super) fn checked_message(message: Option<String>) -> Result<Option<String>, Problem> {
    let message = message.map(|message| message.trim().to_owned()).filter(|message| !message.is_empty());
    if message.as_ref().is_some_and(|message| message.chars().count() > MESSAGE_CHARS) {
        return Err(Problem::invalid_input(format!("`message` has more than {MESSAGE_CHARS} characters.")));
    }
    Ok(message)
}
