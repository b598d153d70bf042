//! Starts runs.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRequest, Multipart, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Json, RequestExt as _};
use branchpoint_backend::{Accepted, Backend, BackendError, Priority, RESERVED_RUN_IDS, Run, Start, Tags};
use branchpoint_core::ir::Status;
use branchpoint_dialects::{StartValues, accepts_attachments, input_with_id, requested_by, start_values, starts_runs};
use branchpoint_expr::{Object, Value};
use branchpoint_host::host::new_id;
use branchpoint_runners::Secrets;
use branchpoint_runners::hexadecimal;
use branchpoint_runners::storage::{MAX_UPLOADS, Upload, Uploads};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;
use utoipa::{IntoParams, ToSchema};

use super::dry_run::{self, DryRun};
use super::record::{RunDetail, RunReader, start_of};
use crate::app::App;
use crate::backend_handles::stopped;
use crate::body::{self, Query};
use crate::caller::{Action, Caller};
use crate::guard::MAX_WAIT_S;
use crate::prepared_workflows::{PreparedWorkflow, prepare};
use crate::problem::{Problem, ProblemKind};
use crate::scripts::WrittenScript;
use crate::time::now_ms;

/// The run to start.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = StartRun)]
pub(super) struct StartRequest {
    /// The name of the workflow.
    pub(super) workflow: String,
    /// The version of the workflow; the latest if absent.
    #[serde(default)]
    pub(super) version: Option<u32>,
    /// The inputs by name.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub(super) inputs: Object,
    /// Answers for calls and approvals, as YAML, as JSON text, or as an object. Calls that it answers are not performed.
    #[serde(default)]
    #[schema(value_type = Option<Value>)]
    pub(super) script: Option<WrittenScript>,
    /// Tags of the run.
    #[serde(default)]
    pub(super) tags: Vec<String>,
    /// The priority of the run in queues, from -100 to 100.
    #[serde(default)]
    pub(super) priority: i64,
    /// The id of the run; generated if absent. A second start with the same id changes nothing.
    #[serde(default)]
    pub(super) id: Option<String>,
    /// Shows the path of the run. Nothing is performed or stored.
    #[serde(default)]
    pub(super) dry_run: bool,
    /// Runners perform the calls of an example, which otherwise has a script.
    #[serde(default)]
    pub(super) live: bool,
}

/// How long to wait for the end of the run.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct WaitRequest {
    /// Wait up to this duration, such as `30s`, until the run has ended or waits for people; at most 60 s.
    #[param(pattern = "^([0-9]|[1-5][0-9]|60)s$")]
    wait: Option<String>,
}

impl WaitRequest {
    fn duration(&self) -> Result<Option<Duration>, Problem> {
        let Some(text) = self.wait.as_deref().filter(|text| !text.is_empty()) else { return Ok(None) };
        let seconds = text.parse::<u64>().ok().map(Duration::from_secs);
        let duration = seconds.or_else(|| Duration::try_from(text.parse::<jiff::SignedDuration>().ok()?).ok());
        match duration {
            Some(duration) if duration.as_secs() <= MAX_WAIT_S => Ok(Some(duration)),
            _ => {
                Err(Problem::bad_request(format!("`wait` must be a duration of at most {MAX_WAIT_S} s, such as 30s.")))
            }
        }
    }
}

/// A run, or a dry run.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, clippy::large_enum_variant, reason = "it only describes the response in the OpenAPI document")]
enum Started {
    Run(RunDetail),
    DryRun(DryRun),
}

/// Starts a run. With an `Idempotency-Key` or an `id`, a repeated request changes nothing. Send files as `multipart/form-data` with
/// the request in a part `request` and the files in parts `file`.
#[utoipa::path(post, path = "/runs", tag = "runs", operation_id = "start_run",
    params(WaitRequest,
        ("idempotency-key" = Option<String>, Header, min_length = 1, max_length = 255, pattern = "^[!-~]+$",
            description = "A key that makes it safe to repeat the request")),
    request_body(content = StartRequest, content_type = "application/json"),
    responses(
        (status = 200, description = "The run has ended, waits for people, or is a dry run", body = Started, headers(("Location" = String))),
        (status = 202, description = "The run is stored and continues; without `wait` as it was when it was stored", body = RunDetail, headers(("Location" = String)))))]
pub(super) async fn start(
    State(app): State<App>,
    caller: Caller,
    Query(wait): Query<WaitRequest>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Problem> {
    let (wait, key) = (wait.duration()?, idempotency_key(&headers)?);
    let (request, attachments) = read_request(request, &app).await?;
    caller.may(Action::Operate, &request.workflow)?;
    let id = match (&request.id, key) {
        (Some(id), _) => Some(check_id(id).map(|()| id.clone())?),
        (None, Some(key)) => Some(id_of_key(&caller, &key)),
        (None, None) => None,
    };
    if request.dry_run {
        return dry_run::dry_run(&app, request, attachments).await;
    }
    let (shared, user) = (app.clone(), caller.clone());
    let (on_start, stored) = oneshot::channel();
    let existing = app.call(move |backend| begin(&shared, backend, &user, request, attachments, id, on_start)).await?;
    let accepted = match existing {
        Some(accepted) => accepted,
        // No thread and no handle waits for the commit, so that all starts that wait share it.
        None => stored.await.map_err(|_| stopped())??,
    };
    let status = match wait {
        Some(wait) => wait_for(&app, accepted.run, wait).await?,
        None => StatusCode::ACCEPTED,
    };
    let is_fresh = accepted.new && wait.is_none();
    let shared = app.clone();
    let detail = app
        .call(move |backend| {
            let row = backend.row(accepted.run)?;
            let detail = if is_fresh {
                RunReader::accepted(&shared, backend, &row)?
            } else {
                RunReader::new(&shared, backend)?.detail(&row)?
            };
            Ok((location(&shared, &row.id)?, detail))
        })
        .await?;
    let mut response = (status, [(header::LOCATION, detail.0)], Json(detail.1)).into_response();
    if !accepted.new {
        response.headers_mut().insert("idempotency-replayed", HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// The `Idempotency-Key` of a request.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    const LONGEST: usize = 255;
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let key = value.to_str().ok().map(str::trim).filter(|key| !key.is_empty() && key.len() <= LONGEST);
    let key = key.ok_or_else(|| {
        Problem::bad_request(format!("`Idempotency-Key` must have 1 to {LONGEST} visible ASCII characters."))
    })?;
    Ok(Some(key.to_owned()))
}

/// The id of the run that a user starts with a key.
fn id_of_key(caller: &Caller, key: &str) -> String {
    let mut digest = Sha256::new();
    digest.update((caller.user.len() as u64).to_le_bytes());
    digest.update(caller.user.as_bytes());
    digest.update(key.as_bytes());
    format!("k{}", &hexadecimal(&digest.finalize())[..24])
}

/// Checks the id of a run: it can be typed, is part of a path, and is not the id of a called run.
pub(super) fn check_id(id: &str) -> Result<(), Problem> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_:".contains(c);
    if id.is_empty() || id.len() > 128 || !id.chars().all(is_plain) {
        return Err(Problem::invalid_input("The id of a run has 1 to 128 letters, digits, `-`, `_` and `:`."));
    }
    if RESERVED_RUN_IDS.contains(&id) {
        return Err(Problem::invalid_input(format!(
            "The id `{id}` is reserved for a path of the API. Choose another id."
        )));
    }
    Ok(())
}

/// The path of a run.
pub(super) fn location(app: &App, id: &str) -> Result<HeaderValue, Problem> {
    let path = format!("{}/api/v1/runs/{id}", app.settings.base_path);
    HeaderValue::from_str(&path).map_err(|_| Problem::new(ProblemKind::Internal, "The id of the run is not a path."))
}

/// Reads a request as JSON, or with files.
async fn read_request(request: Request, app: &App) -> Result<(StartRequest, Uploads), Problem> {
    if body::media_type(request.headers()).as_deref() == Some("multipart/form-data") {
        let limit = app.settings.upload_bytes;
        let request = request.map(|body| axum::body::Body::new(http_body_util::Limited::new(body, limit)));
        return read_multipart(request.with_limited_body(), app).await;
    }
    let body::Body(parsed) = body::Body::<StartRequest>::from_request(request, app).await?;
    Ok((parsed, Uploads::default()))
}

async fn read_multipart(request: Request, app: &App) -> Result<(StartRequest, Uploads), Problem> {
    let mut parts = Multipart::from_request(request, app)
        .await
        .map_err(|rejection| Problem::bad_request(format!("{}.", rejection.body_text().trim_end_matches('.'))))?;
    let (mut parsed, mut files) = (None, Vec::new());
    while let Some(part) = parts.next_field().await.map_err(|error| broken_part(&error, app))? {
        let (name, file, mime) = (
            part.name().unwrap_or_default().to_owned(),
            part.file_name().map(str::to_owned),
            part.content_type().map(str::to_owned),
        );
        let bytes: Bytes = part.bytes().await.map_err(|error| broken_part(&error, app))?;
        match (name.as_str(), file) {
            ("request", _) if parsed.is_none() => parsed = Some(body::parse::<StartRequest>(&bytes)?),
            ("file", Some(file)) if files.len() < MAX_UPLOADS => {
                let upload = Upload::new(&file, mime.as_deref(), bytes.to_vec());
                files.push(upload.map_err(|error| Problem::invalid_input(format!("Cannot attach a file: {error}.")))?);
            }
            ("file", Some(_)) => {
                return Err(Problem::invalid_input(format!("At most {MAX_UPLOADS} files can be attached.")));
            }
            _ => {
                return Err(Problem::invalid_input(format!(
                    "`{name}` is not a part of this request. Send one part `request`, and files as parts `file`."
                )));
            }
        }
    }
    let parsed = parsed.ok_or_else(|| Problem::invalid_input("The part `request` is missing."))?;
    let uploads =
        Uploads::new(files).map_err(|error| Problem::invalid_input(format!("Cannot attach the files: {error}.")))?;
    Ok((parsed, uploads))
}

fn broken_part(error: &axum::extract::multipart::MultipartError, app: &App) -> Problem {
    if error.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return body::too_large(app.settings.upload_bytes);
    }
    Problem::bad_request(format!("{}.", error.body_text().trim_end_matches('.')))
}

/// What a run starts with.
pub(super) struct Values {
    pub(super) input: Value,
    pub(super) facts: BTreeMap<String, Value>,
}

/// The input and the facts of a request.
pub(super) fn values(
    app: &App,
    (user, caller_may_choose_people): (&str, bool),
    prepared: &PreparedWorkflow,
    inputs: Object,
    attachments: &Uploads,
    id: &str,
) -> Result<Values, Problem> {
    let dialect = prepared.dialect;
    if !starts_runs(dialect) {
        return Err(Problem::invalid_input("A session does not start runs. Send requests to its sessions."));
    }
    if !attachments.files().is_empty() && !accepts_attachments(dialect) {
        return Err(Problem::invalid_input("Runs of this workflow do not start with files."));
    }
    if inputs.contains_key("account") && !caller_may_choose_people {
        let detail = "Only admins choose the possible approvers of a run, with the input `account`.";
        return Err(Problem::new(ProblemKind::Forbidden, detail));
    }
    let started = start_values(dialect, inputs, requested_by(&app.host.account, user));
    let StartValues { input, mut facts } = started.map_err(|wrong| Problem::invalid_input(sentence(&wrong)))?;
    if !attachments.files().is_empty() {
        facts.insert("content_type".into(), Value::from("application/json"));
    }
    let input = input_with_id(dialect, attachments.manifest(input), id);
    Ok(Values { input, facts: facts.into_iter().map(|(name, value)| (name.to_string(), value)).collect() })
}

/// A message with its help on one line.
pub(crate) fn sentence(message: &str) -> String {
    let mut lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut text = lines.next().unwrap_or_default().trim_end_matches('.').to_owned();
    text = text.chars().take(1).flat_map(char::to_uppercase).chain(text.chars().skip(1)).collect();
    for line in lines {
        text = format!("{text}. {}", line.trim_start_matches("help: ").trim_end_matches('.'));
    }
    text + "."
}

/// Where the outcome of a start goes when the run is stored.
type OnStored = oneshot::Sender<Result<Accepted, BackendError>>;

/// Requests the start of a run, whose outcome goes to `on_stored`. Returns the run at once if it already exists.
fn begin(
    app: &App,
    backend: &dyn Backend,
    caller: &Caller,
    request: StartRequest,
    attachments: Uploads,
    id: Option<String>,
    on_stored: OnStored,
) -> Result<Option<Accepted>, Problem> {
    let script = app.script_for(&request.workflow, request.script, request.live)?;
    let version = app.find_version(backend, &request.workflow, request.version)?;
    let prepared = prepare(app, backend, &version, script.as_ref())?;
    prepared.needs.check(app, backend)?;
    let is_repeatable = id.is_some();
    let id = id.map_or_else(|| new_id(now_ms()), Ok)?;
    let may_choose = caller.may(Action::Administer, &request.workflow).is_ok();
    let tags = Tags::new(request.tags).map_err(|error| Problem::invalid_input(sentence(&error.to_string())))?;
    let priority =
        Priority::new(request.priority).map_err(|error| Problem::invalid_input(sentence(&error.to_string())))?;
    let values = values(app, (&caller.user, may_choose), &prepared, request.inputs, &attachments, &id)?;
    let written = script.map(|script| script.written);
    if is_repeatable && let Some(existing) = backend.run(&id)? {
        must_be_equal(
            app,
            backend,
            caller,
            &existing,
            (&request.workflow, request.version),
            &values,
            written.as_ref(),
        )?;
        return Ok(Some(Accepted { run: existing.run, new: false }));
    }
    let mut secrets = Secrets::of(&values.input);
    let facts: Object = values.facts.iter().map(|(name, value)| (name.as_str().into(), value.clone())).collect();
    secrets.add(Secrets::of(&Value::from(facts)).values());
    secrets.add(prepared.secrets.values());
    let start = Start {
        facts: values.facts,
        secrets,
        script: written,
        attachments,
        tags,
        priority,
        ..Start::new(prepared.workflow, id, values.input)
    };
    // The client may have gone.
    backend.start_then(start, Box::new(move |outcome| drop(on_stored.send(outcome))))?;
    Ok(None)
}

/// Facts about who started a run where, which may differ between repeated starts.
const FACTS_OF_HOST: [&str; 2] = ["account", "document_dir"];

/// Rejects a start that differs from the run of its id.
fn must_be_equal(
    app: &App,
    backend: &dyn Backend,
    caller: &Caller,
    run: &Run,
    (workflow, version): (&str, Option<u32>),
    values: &Values,
    script: Option<&Value>,
) -> Result<(), Problem> {
    let other = app.version(backend, run.workflow)?;
    caller.may(Action::Read, &other.name).map_err(|_| differs(&run.id, &["workflow"]))?;
    let mut differences = Vec::new();
    if *other.name != *workflow || version.is_some_and(|version| version != other.version) {
        differences.push("workflow");
    }
    let (input, facts) = start_of(backend, run)?;
    if input != values.input {
        differences.push("inputs");
    }
    let given = values.facts.iter().filter(|(name, _)| !FACTS_OF_HOST.contains(&name.as_str()));
    if given.into_iter().any(|(name, value)| facts.get(&**name).is_some_and(|other| other != value)) {
        differences.push("inputs");
    }
    let bound = backend.script(run.run)?.map(|script| script.script);
    if bound.as_ref() != script && script.is_some() {
        differences.push("script");
    }
    differences.dedup();
    if differences.is_empty() { Ok(()) } else { Err(differs(&run.id, &differences)) }
}

fn differs(id: &str, differences: &[&str]) -> Problem {
    let detail = format!(
        "Run `{id}` already exists, and this start differs from it in: {}. Choose another id or key.",
        differences.join(", ")
    );
    Problem::new(ProblemKind::Conflict, detail).with("run", id).with("differences", differences)
}

/// How often a run is checked while a request waits for it.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Waits until a run has ended or waits for people.
async fn wait_for(app: &App, run: branchpoint_backend::RunNo, wait: Duration) -> Result<StatusCode, Problem> {
    let deadline = tokio::time::Instant::now() + wait;
    loop {
        let status = app.call(move |backend| Ok(backend.status(run)?)).await?;
        if status.is_final() || status == Status::WaitingPeople {
            return Ok(StatusCode::OK);
        }
        let now = tokio::time::Instant::now();
        if now >= deadline {
            return Ok(StatusCode::ACCEPTED);
        }
        tokio::time::sleep(CHECK_INTERVAL.min(deadline - now)).await;
    }
}
