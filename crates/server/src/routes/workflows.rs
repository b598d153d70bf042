//! Workflows: lists, versions, saving, and drawings.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use branchpoint_backend::{Backend, Filter, WorkflowNo};
use branchpoint_core::effect::AGENT;
use branchpoint_core::ir::Status;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::versions::{self, DefaultScript, VersionRecord, checked_message, default_script, version_records};
use crate::app::App;
use crate::body::{Body, Path, Query};
use crate::caller::{Action, Caller};
use crate::catalogue::Version;
use crate::documents::{Executable, Source, check_name, description_of, dialect_named, load, name_of, unknown_dialect};
use crate::drawing::{Drawing, draw};
use crate::list::{Page, PageRequest};
use crate::live::{NewEvent, Topic};
use crate::problem::{Problem, ProblemKind};
use crate::structure::{InputDeclaration, Structure, input_schema, inputs_of, structure_of};
use crate::time::rfc3339;
use crate::version_notes::VersionNote;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(get, save))
        .routes(routes!(versions::list))
        .routes(routes!(drawing))
}

/// The origin of documents that are saved over the API.
pub(crate) const ORIGIN: &str = "api";

/// A run in the list of the latest runs of a workflow.
#[derive(Clone, Debug, Serialize, ToSchema)]
struct LatestRun {
    id: String,
    #[schema(value_type = crate::schemas::RunStatus)]
    status: &'static str,
    started: String,
    duration_ms: i64,
}

/// A workflow in a list.
#[derive(Clone, Debug, Serialize, ToSchema)]
struct WorkflowRecord {
    name: String,
    description: Option<String>,
    dialect: String,
    /// The latest version.
    version: u32,
    /// The hash of the version, which is also its `ETag`.
    hash: String,
    saved_at: String,
    /// Where the document comes from: `api`, `example`, or the path of a file.
    origin: String,
    structure: Option<Structure>,
    /// The latest runs, newest first.
    last_runs: Vec<LatestRun>,
    /// The number of runs that wait for people.
    waiting: u64,
    runs_total: u64,
    last_run_at: Option<String>,
    /// Whether the drawing can be edited.
    editable: bool,
}

/// A workflow with its text.
#[derive(Clone, Debug, Serialize, ToSchema)]
struct WorkflowDetail {
    #[serde(flatten)]
    workflow: WorkflowRecord,
    text: String,
    /// All versions, newest first.
    versions: Vec<VersionRecord>,
    inputs: Vec<InputDeclaration>,
    /// The declared inputs as a JSON Schema.
    #[schema(value_type = Object)]
    input_schema: serde_json::Value,
    /// What answers the calls of its runs unless they have another script; null if runners perform them.
    script: Option<DefaultScript>,
    /// The workflows that it calls.
    callees: Vec<String>,
}

/// Which workflows.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ListRequest {
    /// Only workflows whose name or description contains this text.
    q: Option<String>,
    /// Only workflows of this dialect.
    dialect: Option<String>,
    /// `name`, `saved` for the latest version first, or `run` for the latest run first.
    #[param(default = "name", pattern = "^(name|saved|run)?$")]
    sort: Option<String>,
    /// The most items, from 1 to 200.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// The cursor of the page before, from its `next`.
    #[param(pattern = "^[0-9]{1,15}$")]
    cursor: Option<String>,
}

/// Lists workflows with statistics of their runs.
#[utoipa::path(get, path = "/workflows", tag = "workflows", operation_id = "list_workflows", params(ListRequest),
    responses((status = 200, description = "The workflows", body = Page<WorkflowRecord>)))]
async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(request): Query<ListRequest>,
) -> Result<Json<Page<WorkflowRecord>>, Problem> {
    let page = PageRequest::new(request.limit, request.cursor);
    page.limit()?;
    caller.may_on_some(Action::Read)?;
    let sort = request.sort.unwrap_or_else(|| "name".into());
    if !["name", "saved", "run", ""].contains(&sort.as_str()) {
        return Err(Problem::bad_request(format!("`sort` is `{sort}`, but must be name, saved or run.")));
    }
    let shared = app.clone();
    app.call(move |backend| {
        let counts = run_counts(&shared, backend)?;
        let mut listed = Vec::new();
        for (name, versions) in shared.all_versions(backend)? {
            let Some(latest) = versions.last().filter(|_| caller.may(Action::Read, &name).is_ok()) else { continue };
            if request.dialect.as_deref().is_some_and(|dialect| !dialect.is_empty() && dialect != &*latest.dialect) {
                continue;
            }
            let facts = shared.facts_of(backend, latest)?;
            let words = request.q.as_deref().unwrap_or_default().to_lowercase();
            let description = facts.description.as_deref().unwrap_or_default();
            if name.to_lowercase().contains(&words) || description.to_lowercase().contains(&words) {
                listed.push(Arc::clone(latest));
            }
        }
        if sort == "saved" {
            listed.sort_by_key(|version| std::cmp::Reverse(version.saved_ms));
        }
        if sort == "run" {
            let mut dated = Vec::new();
            for version in listed {
                let last = latest_runs(backend, &version.name, 1)?.first().map(|run| run.started_ms);
                dated.push((std::cmp::Reverse(last), version));
            }
            dated.sort_by_key(|(last, _)| *last);
            listed = dated.into_iter().map(|(_, version)| version).collect();
        }
        let page = page.page(listed)?;
        let items = page.items.iter().map(|version| record(&shared, backend, version, &counts));
        Ok(Json(Page { items: items.collect::<Result<_, _>>()?, next: page.next }))
    })
    .await
}

/// The number of runs by workflow and version.
pub(super) type RunCounts = BTreeMap<(Arc<str>, u32), u64>;

pub(super) fn run_counts(app: &App, backend: &dyn Backend) -> Result<RunCounts, Problem> {
    let mut counts = RunCounts::new();
    for listed in backend.workflows()? {
        let version = app.version(backend, listed.workflow)?;
        *counts.entry((Arc::clone(&version.name), version.version)).or_default() += listed.runs;
    }
    Ok(counts)
}

fn latest_runs(backend: &dyn Backend, name: &str, limit: u32) -> Result<Vec<branchpoint_backend::Run>, Problem> {
    Ok(backend.runs(&Filter { workflow: Some(name.into()), limit: Some(limit), ..Filter::default() })?)
}

/// The number of runs of a workflow that wait for people is counted up to this.
pub(super) const MAX_WAITING: u32 = 1_000;

fn record(app: &App, backend: &dyn Backend, version: &Version, counts: &RunCounts) -> Result<WorkflowRecord, Problem> {
    const LATEST: u32 = 16;
    let facts = app.facts_of(backend, version)?;
    let runs = latest_runs(backend, &version.name, LATEST)?;
    let waiting = Filter {
        status: Some(Status::WaitingPeople),
        workflow: Some(version.name.to_string()),
        limit: Some(MAX_WAITING),
        ..Filter::default()
    };
    let of_name = counts.iter().filter(|((name, _), _)| *name == version.name);
    Ok(WorkflowRecord {
        name: version.name.to_string(),
        description: facts.description.clone(),
        dialect: version.dialect.to_string(),
        version: version.version,
        hash: version.hash.to_string(),
        saved_at: rfc3339(version.saved_ms),
        origin: version.origin.to_string(),
        structure: facts.structure,
        waiting: backend.runs(&waiting)?.len() as u64,
        runs_total: of_name.map(|(_, count)| count).sum(),
        last_run_at: runs.first().map(|run| rfc3339(run.started_ms)),
        last_runs: runs
            .into_iter()
            .map(|run| LatestRun {
                status: run.status.as_str(),
                started: rfc3339(run.started_ms),
                duration_ms: run.updated_ms - run.started_ms,
                id: run.id,
            })
            .collect(),
        editable: false,
    })
}

/// Which version.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct VersionRequest {
    /// The version; the latest if absent.
    version: Option<u32>,
}

/// Shows a workflow with its text.
#[utoipa::path(get, path = "/workflows/{name}", tag = "workflows", operation_id = "get_workflow",
    params(("name" = String, Path, description = "The name of the workflow"), VersionRequest),
    responses((status = 200, description = "The workflow", body = WorkflowDetail, headers(("ETag" = String)))))]
async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Query(request): Query<VersionRequest>,
) -> Result<Response, Problem> {
    let shared = app.clone();
    app.call(move |backend| {
        let version = readable(&shared, backend, &caller, &name, request.version)?;
        let detail = detail(&shared, backend, &version)?;
        Ok((etag(&version.hash), Json(detail)).into_response())
    })
    .await
}

fn etag(hash: &str) -> [(HeaderName, HeaderValue); 1] {
    let value = HeaderValue::from_str(&format!("\"{hash}\"")).unwrap_or(HeaderValue::from_static("\"\""));
    [(header::ETAG, value)]
}

/// A version of a workflow that the caller may read.
pub(super) fn readable(
    app: &App,
    backend: &dyn Backend,
    caller: &Caller,
    name: &str,
    version: Option<u32>,
) -> Result<Arc<Version>, Problem> {
    let missing = || Problem::not_found(format!("Workflow `{name}` does not exist."));
    caller.may(Action::Read, name).map_err(|_| missing())?;
    app.find_version(backend, name, version)
}

fn detail(app: &App, backend: &dyn Backend, version: &Version) -> Result<WorkflowDetail, Problem> {
    let counts = run_counts(app, backend)?;
    let facts = app.facts_of(backend, version)?;
    Ok(WorkflowDetail {
        workflow: record(app, backend, version, &counts)?,
        text: backend.document(version.workflow)?.text,
        versions: version_records(app, backend, &version.name, &counts)?,
        inputs: facts.inputs.clone(),
        input_schema: input_schema(&facts.inputs),
        script: default_script(app, &version.name),
        callees: facts.callees.clone(),
    })
}

/// Draws a workflow: nodes, edges, and branches with their conditions.
#[utoipa::path(get, path = "/workflows/{name}/drawing", tag = "workflows", operation_id = "draw_workflow",
    params(("name" = String, Path, description = "The name of the workflow"), VersionRequest),
    responses((status = 200, description = "The drawing", body = Drawing)))]
async fn drawing(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Query(request): Query<VersionRequest>,
) -> Result<Json<Drawing>, Problem> {
    let shared = app.clone();
    app.call(move |backend| {
        let version = readable(&shared, backend, &caller, &name, request.version)?;
        let missing = || Problem::not_found(format!("The program of workflow `{name}` is missing."));
        let program = backend.program(version.workflow, "")?.ok_or_else(missing)?;
        let text = backend.document(version.workflow)?.text;
        Ok(Json(draw(&program, &text, &version.dialect)))
    })
    .await
}

/// A new workflow.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CreateRequest {
    /// The document.
    text: String,
    /// The name; that of the document if absent.
    #[serde(default)]
    name: Option<String>,
    /// What the document is for, for the list of versions; at most 1000 characters.
    #[serde(default)]
    message: Option<String>,
    /// The dialect; detected by the content if absent.
    #[serde(default)]
    dialect: Option<String>,
}

/// Saves a new workflow. A document with errors is not saved.
#[utoipa::path(post, path = "/workflows", tag = "workflows", operation_id = "create_workflow",
    request_body = CreateRequest,
    responses(
        (status = 200, description = "The same text was saved before", body = WorkflowDetail, headers(("ETag" = String))),
        (status = 201, description = "The workflow is saved", body = WorkflowDetail,
            headers(("ETag" = String), ("Location" = String)))))]
async fn create(
    State(app): State<App>,
    caller: Caller,
    Body(request): Body<CreateRequest>,
) -> Result<Response, Problem> {
    let name = name_of(&request.text, request.name.clone())?;
    caller.may(Action::Edit, &name)?;
    let shared = app.clone();
    app.call(move |backend| {
        let (author, message) = (caller, checked_message(request.message)?);
        let new = NewVersion { name, text: request.text, dialect: request.dialect, base: Base::New, author, message };
        save_version(&shared, backend, new)
    })
    .await
}

/// A new version of a workflow.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SaveRequest {
    /// The document.
    text: String,
    /// The version that was edited. `If-Match` with the `ETag` of that version does the same.
    #[serde(default)]
    base_version: Option<u32>,
    /// What has changed, for the list of versions; at most 1000 characters.
    #[serde(default)]
    message: Option<String>,
    /// The dialect; detected by the content if absent.
    #[serde(default)]
    dialect: Option<String>,
}

/// Saves a version of a workflow. A document with errors is not saved, nor is one that edits an outdated version.
#[utoipa::path(put, path = "/workflows/{name}", tag = "workflows", operation_id = "save_workflow",
    params(("name" = String, Path, description = "The name of the workflow"),
        ("if-match" = Option<String>, Header, description = "The `ETag` of the version that was edited")),
    request_body = SaveRequest,
    responses(
        (status = 200, description = "The version is saved, or the text is the same", body = WorkflowDetail, headers(("ETag" = String))),
        (status = 201, description = "The workflow is saved as new", body = WorkflowDetail,
            headers(("ETag" = String), ("Location" = String)))))]
async fn save(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    headers: HeaderMap,
    Body(request): Body<SaveRequest>,
) -> Result<Response, Problem> {
    check_name(&name)?;
    caller.may(Action::Edit, &name)?;
    let matches = headers.get(header::IF_MATCH).map(|value| value.to_str().map(str::to_owned));
    let matches = matches.transpose().map_err(|_| Problem::bad_request("`If-Match` must be an `ETag`."))?;
    let base = match (matches, request.base_version) {
        (Some(tag), _) => Base::Tag(tag.trim().trim_start_matches("W/").trim_matches('"').to_owned()),
        (None, Some(version)) => Base::Version(version),
        (None, None) => Base::New,
    };
    let shared = app.clone();
    app.call(move |backend| {
        let (author, message) = (caller, checked_message(request.message)?);
        let new = NewVersion { name, text: request.text, dialect: request.dialect, base, author, message };
        save_version(&shared, backend, new)
    })
    .await
}

/// The version that was edited.
enum Base {
    /// None: the workflow must be new.
    New,
    Version(u32),
    /// Its `ETag`; `*` for any.
    Tag(String),
}

struct NewVersion {
    name: String,
    text: String,
    dialect: Option<String>,
    base: Base,
    author: Caller,
    message: Option<String>,
}

fn save_version(app: &App, backend: &dyn Backend, new: NewVersion) -> Result<Response, Problem> {
    let NewVersion { name, text, dialect, base, author, message } = new;
    let dialect =
        dialect.map(|dialect| dialect_named(&dialect).ok_or_else(|| Problem::invalid_input(unknown_dialect(&dialect))));
    let source = Source { text: &text, name: Some(&name), dialect: dialect.transpose()?, author: Some(&author) };
    let loaded = load(backend, source)?;
    let executable = Executable::new(loaded, name.clone(), ORIGIN.into(), text)?;
    // Two saves of the same version must not both succeed.
    let _saving = app.saving.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    app.catalogue.invalidate();
    let versions = app.versions(backend, &name)?;
    let is_new = versions.is_empty();
    if let Some(latest) = versions.last() {
        let is_same = backend.document(latest.workflow)?.text == executable.document.text;
        if is_same {
            let detail = detail(app, backend, latest)?;
            return Ok((StatusCode::OK, etag(&latest.hash), Json(detail)).into_response());
        }
        let is_current = match &base {
            Base::New => {
                let message =
                    format!("Workflow `{name}` already exists. Send the `ETag` of the version that you edited.");
                return Err(outdated(app, message, latest));
            }
            Base::Version(version) => *version == latest.version,
            Base::Tag(tag) => tag == "*" || **tag == *latest.hash,
        };
        if !is_current {
            let message = format!("Version {} of workflow `{name}` was saved since.", latest.version);
            return Err(outdated(app, message, latest));
        }
    } else if matches!(base, Base::Version(_) | Base::Tag(_)) {
        return Err(Problem::not_found(format!("Workflow `{name}` does not exist.")));
    }
    executable.save(backend)?;
    app.catalogue.invalidate();
    let version = app.find_version(backend, &name, None)?;
    if let Some(notes) = &app.host.version_notes {
        // The version is saved; a note that cannot be written must not say otherwise.
        let _ = notes.add(&VersionNote { hash: version.hash.to_string(), user: author.user, message });
    }
    app.live.publish(
        app,
        NewEvent {
            topics: vec![Topic::Workflows],
            workflow: Some(Arc::clone(&version.name)),
            name: "workflow",
            data: serde_json::json!({"name": &*version.name, "version": version.version}),
        },
    );
    let detail = detail(app, backend, &version)?;
    if !is_new {
        return Ok((StatusCode::OK, etag(&version.hash), Json(detail)).into_response());
    }
    let location = format!("{}/api/v1/workflows/{}", app.settings.base_path, percent_encoded(&name));
    let location = [(header::LOCATION, HeaderValue::from_str(&location).unwrap_or(HeaderValue::from_static("/")))];
    Ok((StatusCode::CREATED, etag(&version.hash), location, Json(detail)).into_response())
}

fn outdated(app: &App, message: String, latest: &Version) -> Problem {
    let note = app.host.version_notes.as_ref().and_then(|notes| notes.find(&latest.hash));
    Problem::new(ProblemKind::Outdated, message)
        .with("version", latest.version)
        .with("hash", &*latest.hash)
        .with("saved_at", rfc3339(latest.saved_ms))
        .with("saved_by", note.map(|note| note.user))
}

/// A text as a segment of a path.
pub(crate) fn percent_encoded(text: &str) -> String {
    use std::fmt::Write as _;
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing into a text cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// What a version of a workflow contains. It never changes.
#[derive(Debug, Default)]
pub(crate) struct VersionFacts {
    description: Option<String>,
    structure: Option<Structure>,
    inputs: Vec<InputDeclaration>,
    callees: Vec<String>,
}

impl App {
    fn facts_of(&self, backend: &dyn Backend, version: &Version) -> Result<Arc<VersionFacts>, Problem> {
        let known =
            self.facts.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get(&version.workflow).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let document = backend.document(version.workflow)?;
        let program = backend.program(version.workflow, "")?;
        let facts = Arc::new(VersionFacts {
            description: description_of(&document.text),
            structure: program.as_ref().map(structure_of),
            inputs: program.as_ref().map(inputs_of).unwrap_or_default(),
            callees: program.as_ref().map(callees_of).unwrap_or_default(),
        });
        let mut known = self.facts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if known.len() >= MAX_FACTS {
            known.clear();
        }
        known.insert(version.workflow, Arc::clone(&facts));
        Ok(facts)
    }
}

/// The maximum number of versions whose facts are in memory.
const MAX_FACTS: usize = 10_000;

/// The facts of versions, by number.
pub(crate) type KnownFacts = std::sync::Mutex<BTreeMap<WorkflowNo, Arc<VersionFacts>>>;

/// The workflows that a program calls by name.
pub(crate) fn callees_of(program: &branchpoint_core::ir::Program) -> Vec<String> {
    use branchpoint_core::effect::{Request, RunRequest};
    let mut callees: Vec<String> = Vec::new();
    for effect in &program.effects {
        if let Ok(Request::Run(RunRequest { workflow: Some(name), .. })) = effect.request()
            && !name.starts_with(AGENT)
            && !callees.iter().any(|callee| **callee == *name)
        {
            callees.push(name.clone());
        }
    }
    callees
}
