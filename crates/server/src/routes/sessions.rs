//! Sessions: which tools an agent may use, and turns of a chat.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use branchpoint_backend::{
    Backend, BackendError, RunNo, RunView, Session, SessionAction, SessionOptions, SessionRequest, SessionResponse,
    SessionSummary,
};
use branchpoint_core::ir::Status;
use branchpoint_core::{BranchOutcome, Event, Fold, NoteKind, State as RunState, view};
use branchpoint_dialects::starts_runs;
use branchpoint_expr::{Object, Value};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::runs::start::idempotency_key;
use crate::app::App;
use crate::body::{Body, Path, Query};
use crate::caller::{Action, Caller};
use crate::documents::dialect_named;
use crate::executables::check_live;
use crate::list::{Page, PageRequest};
use crate::live::{NewEvent, Topic};
use crate::problem::{Problem, ProblemKind};
use crate::time::rfc3339;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(message))
        .routes(routes!(tool))
        .routes(routes!(query, reset))
        .routes(routes!(state))
        .routes(routes!(turn))
}

/// A session in a list.
#[derive(Serialize, ToSchema)]
struct SessionRecord {
    document: String,
    id: String,
    /// The active step.
    step: Option<String>,
    /// The number of tools that are offered now.
    tools_offered: usize,
    updated: String,
    /// Whether it has expired. The next request opens a new one.
    expired: bool,
    /// The id of its run.
    run: String,
}

/// Which sessions.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ListRequest {
    /// Only sessions of this document.
    document: Option<String>,
    /// The most items, from 1 to 200.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// The cursor of the page before, from its `next`.
    cursor: Option<String>,
}

/// Lists sessions.
#[utoipa::path(get, path = "/sessions", tag = "sessions", operation_id = "list_sessions", params(ListRequest),
    responses((status = 200, description = "The sessions", body = Page<SessionRecord>)))]
async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(request): Query<ListRequest>,
) -> Result<Json<Page<SessionRecord>>, Problem> {
    let page = PageRequest::new(request.limit, request.cursor);
    page.limit()?;
    caller.may_on_some(Action::Read)?;
    app.call(move |backend| {
        let mut sessions = backend.sessions()?;
        sessions.retain(|session| {
            request.document.as_ref().is_none_or(|document| *document == session.document)
                && caller.may(Action::Read, &session.document).is_ok()
        });
        let page = page.page(sessions)?;
        let items = page.items.iter().map(|session| record(backend, session));
        Ok(Json(Page { items: items.collect::<Result<_, _>>()?, next: page.next }))
    })
    .await
}

fn record(backend: &dyn Backend, session: &SessionSummary) -> Result<SessionRecord, Problem> {
    let row = backend.row(session.run)?;
    let shown = match backend.load(session.run) {
        Ok(look) => look.view("session").unwrap_or_default(),
        Err(error) if error.is_of_one_run() => Value::Null,
        Err(error) => return Err(error.into()),
    };
    let shown = backend.secrets(session.run)?.mask_value(&shown);
    Ok(SessionRecord {
        document: session.document.clone(),
        id: session.name.clone(),
        step: shown.get("activeStep").and_then(Value::as_str).map(str::to_owned),
        tools_offered: shown.get("allowedTools").and_then(Value::as_list).map_or(0, <[Value]>::len),
        updated: rfc3339(row.updated_ms),
        expired: row.status.is_final(),
        run: row.id,
    })
}

/// A session after a request.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SessionView {
    session_id: String,
    active_step: Option<String>,
    allowed_tools: Vec<String>,
    recently_used_tools: Vec<String>,
    sequence_index: i64,
    /// Whether the request changed the step.
    changed: bool,
    /// Why the step is active, in one sentence.
    why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    persona: Option<Value>,
    /// Conditions that failed and so were not true: `{step, kind, message}`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<crate::schemas::StepError>)]
    problems: Vec<Value>,
}

impl SessionView {
    fn of(response: SessionResponse, id: String) -> Self {
        let part = |key: &str| response.state.get(key).filter(|part| **part != Value::Null);
        let texts = |key: &str| {
            let listed = part(key).and_then(Value::as_list).unwrap_or_default();
            listed.iter().map(Value::to_string).collect()
        };
        Self {
            session_id: id,
            active_step: part("activeStep").map(Value::to_string),
            allowed_tools: texts("allowedTools"),
            recently_used_tools: texts("recentlyUsedTools"),
            sequence_index: if let Some(Value::Int(index)) = part("sequenceIndex") { *index } else { 0 },
            changed: part("changed") == Some(&Value::Bool(true)),
            why: part("why").map(Value::to_string),
            persona: part("persona").cloned(),
            problems: response.problems,
        }
    }
}

/// The options of a session that a request opens.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct OpenRequest {
    /// All tools of the agent in order, separated by commas, if the request opens the session; those of the document if absent.
    tools: Option<String>,
}

impl OpenRequest {
    fn options(&self) -> SessionOptions {
        let tools = self
            .tools
            .as_ref()
            .map(|tools| tools.split(',').map(str::trim).filter(|tool| !tool.is_empty()).map(str::to_owned).collect());
        SessionOptions { tools, ..SessionOptions::default() }
    }
}

/// A session of a document, opened by its first request.
fn session_of(
    app: &App,
    backend: &dyn Backend,
    (document, id): (&str, &str),
    options: SessionOptions,
) -> Result<Session, Problem> {
    if id.is_empty() || id.len() > 200 || id.chars().any(char::is_control) {
        return Err(Problem::invalid_input(
            "The id of a session has 1 to 200 characters that are not control characters.",
        ));
    }
    let version = app.find_version(backend, document, None)?;
    if starts_runs(dialect_named(&version.dialect)) {
        return Err(Problem::invalid_input(format!("Workflow `{document}` has no sessions. Start a run of it.")));
    }
    Ok(Session { name: id.to_owned(), document: document.to_owned(), workflow: version.workflow, options })
}

/// Sends a request to a session.
async fn send(
    app: &App,
    caller: Caller,
    (document, id): (String, String),
    open: OpenRequest,
    action: SessionAction,
    key: Option<String>,
) -> Result<Json<SessionView>, Problem> {
    let shared = app.clone();
    let needed = if action == SessionAction::Query { Action::Read } else { Action::Operate };
    app.call(move |backend| {
        caller.may(needed, &document)?;
        let session = session_of(&shared, backend, (&document, &id), open.options())?;
        let is_change = action != SessionAction::Query;
        let request = SessionRequest { action, key: key.map(Into::into), explain: false };
        let response = backend.request_session(&session, request)?;
        if is_change {
            publish(&shared, &document, &id);
        }
        Ok(Json(SessionView::of(response, id)))
    })
    .await
}

/// Tells clients that a session has changed.
fn publish(app: &App, document: &str, id: &str) {
    let data = serde_json::json!({"document": document, "id": id});
    let topics = vec![Topic::Sessions, Topic::Session(format!("{document}/{id}"))];
    app.live.publish(app, NewEvent { topics, workflow: Some(document.into()), name: "session", data });
}

/// A message of the user.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct MessageRequest {
    text: String,
    /// A key that makes it safe to repeat the request.
    #[serde(default)]
    key: Option<String>,
}

/// Reports a message of the user. It may change the active step.
#[utoipa::path(post, path = "/agents/{document}/sessions/{session}/messages", tag = "sessions", operation_id = "report_message",
    params(("document" = String, Path, description = "The name of the document"),
        ("session" = String, Path, description = "The id of the session"), OpenRequest),
    request_body = MessageRequest, responses((status = 200, description = "The session", body = SessionView)))]
async fn message(
    State(app): State<App>,
    caller: Caller,
    Path(path): Path<(String, String)>,
    Query(open): Query<OpenRequest>,
    headers: axum::http::HeaderMap,
    Body(request): Body<MessageRequest>,
) -> Result<Json<SessionView>, Problem> {
    let key = idempotency_key(&headers)?.or(request.key);
    send(&app, caller, path, open, SessionAction::Message(request.text.into()), key).await
}

/// A use of a tool.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ToolRequest {
    tool: String,
    /// A key that makes it safe to repeat the request.
    #[serde(default)]
    key: Option<String>,
}

/// Reports the use of a tool. A report is a fact and is never rejected, even if the tool was not offered.
#[utoipa::path(post, path = "/agents/{document}/sessions/{session}/tools", tag = "sessions", operation_id = "report_tool",
    params(("document" = String, Path, description = "The name of the document"),
        ("session" = String, Path, description = "The id of the session"), OpenRequest),
    request_body = ToolRequest, responses((status = 200, description = "The session", body = SessionView)))]
async fn tool(
    State(app): State<App>,
    caller: Caller,
    Path(path): Path<(String, String)>,
    Query(open): Query<OpenRequest>,
    headers: axum::http::HeaderMap,
    Body(request): Body<ToolRequest>,
) -> Result<Json<SessionView>, Problem> {
    let key = idempotency_key(&headers)?.or(request.key);
    send(&app, caller, path, open, SessionAction::Tool(request.tool.into()), key).await
}

/// Shows the tools that a session offers. A new id opens a session.
#[utoipa::path(get, path = "/agents/{document}/sessions/{session}", tag = "sessions", operation_id = "query_session",
    params(("document" = String, Path, description = "The name of the document"),
        ("session" = String, Path, description = "The id of the session"), OpenRequest),
    responses((status = 200, description = "The session", body = SessionView)))]
async fn query(
    State(app): State<App>,
    caller: Caller,
    Path(path): Path<(String, String)>,
    Query(open): Query<OpenRequest>,
) -> Result<Json<SessionView>, Problem> {
    send(&app, caller, path, open, SessionAction::Query, None).await
}

/// Deletes the history of a session.
#[utoipa::path(delete, path = "/agents/{document}/sessions/{session}", tag = "sessions", operation_id = "reset_session",
    params(("document" = String, Path, description = "The name of the document"),
        ("session" = String, Path, description = "The id of the session"), OpenRequest),
    responses((status = 200, description = "The session", body = SessionView)))]
async fn reset(
    State(app): State<App>,
    caller: Caller,
    Path(path): Path<(String, String)>,
    Query(open): Query<OpenRequest>,
) -> Result<Json<SessionView>, Problem> {
    send(&app, caller, path, open, SessionAction::Reset, None).await
}

/// As of which event.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct StateRequest {
    /// The number of the last event to apply; all events if absent.
    at: Option<u64>,
}

/// A tool of an agent.
#[derive(Serialize, ToSchema)]
struct ToolRecord {
    name: String,
    offered: bool,
    /// Why it is offered or not, in a few words.
    reason: String,
}

/// A step with the outcome of its conditions.
#[derive(Serialize, ToSchema)]
struct StepOutcome {
    step: String,
    /// Whether the conditions were true at the event; null if they were not evaluated.
    holds: Option<bool>,
    /// The outcome, one sentence, and every part with its value.
    #[schema(value_type = Option<crate::schemas::Explanation>)]
    explanation: Option<serde_json::Value>,
    active: bool,
}

/// An event of a session.
#[derive(Serialize, ToSchema)]
struct SessionEvent {
    /// The number of the event.
    n: u64,
    at: String,
    /// `message`, `tool`, `reset` or `turn`.
    #[schema(value_type = crate::schemas::SessionEventKind)]
    kind: String,
    /// The text of the message, or the name of the tool.
    value: Value,
    step_before: Option<String>,
    step_after: Option<String>,
}

/// A session as of an event.
#[derive(Serialize, ToSchema)]
struct SessionState {
    document: String,
    id: String,
    /// The tools and the step.
    #[schema(value_type = crate::schemas::Gate)]
    view: Value,
    tools: Vec<ToolRecord>,
    /// The steps that were evaluated at the event, in order.
    steps: Vec<StepOutcome>,
    /// The latest events.
    events: Vec<SessionEvent>,
    /// Whether the session has expired.
    expired: bool,
}

/// Shows a session as of an event, with the reasons for its step. It does not keep the session alive.
#[utoipa::path(get, path = "/agents/{document}/sessions/{session}/state", tag = "sessions", operation_id = "get_session_state",
    params(("document" = String, Path, description = "The name of the document"),
        ("session" = String, Path, description = "The id of the session"), StateRequest),
    responses((status = 200, description = "The session", body = SessionState)))]
async fn state(
    State(app): State<App>,
    caller: Caller,
    Path((document, id)): Path<(String, String)>,
    Query(request): Query<StateRequest>,
) -> Result<Json<SessionState>, Problem> {
    app.call(move |backend| {
        let missing = || Problem::not_found(format!("Document `{document}` has no session `{id}`."));
        caller.may(Action::Read, &document).map_err(|_| missing())?;
        let known = backend.sessions()?.into_iter().find(|known| known.document == document && known.name == id);
        let known = known.ok_or_else(missing)?;
        Ok(Json(history(backend, &known, request.at)?))
    })
    .await
}

/// The events of a session that are shown.
const MAX_EVENTS: usize = 200;

/// Folds the journal of a session.
fn history(backend: &dyn Backend, session: &SessionSummary, at: Option<u64>) -> Result<SessionState, Problem> {
    let (look, secrets) = (backend.load(session.run)?, backend.secrets(session.run)?);
    let program = &look.program;
    let shown = |state: &RunState| -> Value {
        let id = program.views.iter().position(|view| &*view.name == "session");
        let id = id.and_then(|id| u32::try_from(id).ok()).map(branchpoint_core::ir::ViewId);
        id.and_then(|id| view(program, state, id).ok()).unwrap_or_default()
    };
    let step_of = |shown: &Value| shown.get("activeStep").and_then(Value::as_str).map(str::to_owned);
    let (mut events, mut notes, mut steps) = (Vec::new(), Vec::new(), Vec::new());
    let mut fold = Fold::new(program, RunState::new(), backend.journal(session.run)?);
    let (mut view, mut step) = (Value::Null, None);
    while let Some(folded) = fold.replay_next(&mut |note| notes.push(note)) {
        let folded = folded.map_err(|error| BackendError::Damaged(error.to_string()))?;
        if at.is_some_and(|at| folded.seq > at) {
            break;
        }
        view = shown(fold.state());
        let after = step_of(&view);
        let decided: Vec<StepOutcome> = notes.drain(..).flat_map(outcomes).collect();
        if !decided.is_empty() {
            steps = decided;
        }
        if let Event::Signal { name, payload, .. } = &folded.event
            && &**name != "ask"
        {
            let value = payload.get("text").or_else(|| payload.get("tool")).cloned().unwrap_or_default();
            events.push(SessionEvent {
                n: folded.seq,
                at: rfc3339(folded.stamp.now_ms),
                kind: name.to_string(),
                value: secrets.mask_value(&value),
                step_before: step.clone(),
                step_after: after.clone(),
            });
        }
        step = after;
    }
    events.drain(..events.len().saturating_sub(MAX_EVENTS));
    for outcome in &mut steps {
        outcome.active = step.as_deref() == Some(&outcome.step);
    }
    let tools = tools_of(&look, &view, step.as_deref());
    Ok(SessionState {
        document: session.document.clone(),
        id: session.name.clone(),
        view: secrets.mask_value(&view),
        tools,
        steps,
        events,
        expired: look.row.status.is_final(),
    })
}

/// The evaluated conditions of a decision.
fn outcomes(note: branchpoint_core::Note) -> Vec<StepOutcome> {
    let NoteKind::Decided(decided) = note.kind else { return Vec::new() };
    let outcome = |branch: branchpoint_core::BranchRecord| StepOutcome {
        step: branch.name.to_string(),
        holds: match branch.outcome {
            BranchOutcome::True => Some(true),
            BranchOutcome::False => Some(false),
            BranchOutcome::Error | BranchOutcome::NotEvaluated => None,
        },
        explanation: branch.explanation.and_then(|explained| serde_json::from_str(&explained.to_json()).ok()),
        active: false,
    };
    decided.branches.into_iter().map(outcome).collect()
}

/// All tools that the session has been seen to know, with whether they are offered.
fn tools_of(look: &RunView, shown: &Value, step: Option<&str>) -> Vec<ToolRecord> {
    let texts = |list: Option<&Value>| -> Vec<String> {
        list.and_then(Value::as_list).unwrap_or_default().iter().map(Value::to_string).collect()
    };
    let offered = texts(shown.get("allowedTools"));
    let mut names = texts(look.view("agent").as_ref().and_then(|agent| agent.get("tools")));
    for name in offered.iter().chain(&texts(shown.get("recentlyUsedTools"))) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    let place = step.map_or_else(|| "without an active step".into(), |step| format!("by step {step}"));
    let tool = |name: String| {
        let offered = offered.contains(&name);
        let reason = if offered { format!("offered {place}") } else { format!("not offered {place}") };
        ToolRecord { name, offered, reason }
    };
    names.into_iter().map(tool).collect()
}

/// A line of a chat.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TurnRequest {
    /// What the user says.
    text: String,
}

/// A turn of a chat.
#[derive(Serialize, ToSchema)]
struct TurnRecord {
    /// The reply of the agent: `{text, …}`, or `{error}`; null while the turn continues.
    #[schema(value_type = Option<crate::schemas::Reply>)]
    turn: Value,
    /// The tools and the step after the turn.
    #[schema(value_type = Option<crate::schemas::Gate>)]
    view: Value,
    /// The id of the run of the session, whose trace shows the turn.
    run: String,
}

/// How long a turn is waited for. A turn that takes longer continues.
const TURN_WAIT: Duration = Duration::from_secs(25);

/// How often a turn is checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Says something to the agent of a template, and waits for its reply.
#[utoipa::path(post, path = "/agents/{document}/sessions/{session}/turns", tag = "sessions", operation_id = "chat",
    params(("document" = String, Path, description = "The name of the document"),
        ("session" = String, Path, description = "The id of the session")),
    request_body = TurnRequest,
    responses(
        (status = 200, description = "The reply", body = TurnRecord),
        (status = 202, description = "The turn continues", body = TurnRecord)))]
async fn turn(
    State(app): State<App>,
    caller: Caller,
    Path((document, id)): Path<(String, String)>,
    Body(request): Body<TurnRequest>,
) -> Result<Response, Problem> {
    caller.may(Action::Operate, &document)?;
    let (shared, name) = (app.clone(), document.clone());
    let session_id = id.clone();
    let run = app
        .call(move |backend| {
            let session = session_of(&shared, backend, (&name, &session_id), SessionOptions::default())?;
            check_live(&shared, backend, &*shared.find_version(backend, &name, None)?)?;
            begin_turn(backend, &session, &request.text)
        })
        .await?;
    let deadline = tokio::time::Instant::now() + TURN_WAIT;
    loop {
        let (record, is_over) = app.call(move |backend| turn_record(backend, run)).await?;
        if is_over {
            publish(&app, &document, &id);
            return Ok(Json(record).into_response());
        }
        if tokio::time::Instant::now() >= deadline {
            return Ok((StatusCode::ACCEPTED, Json(record)).into_response());
        }
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
}

fn begin_turn(backend: &dyn Backend, session: &Session, text: &str) -> Result<RunNo, Problem> {
    let run = backend.open_session(session)?;
    let look = backend.load(run)?;
    if !look.program.views.iter().any(|view| &*view.name == "turn") {
        let detail = format!("Document `{}` is not a template of an agent, so it cannot chat.", session.document);
        return Err(Problem::invalid_input(detail));
    }
    if is_in_turn(&look) {
        return Err(
            Problem::new(ProblemKind::Conflict, "The agent has not replied to the last line yet.").retry_after(1)
        );
    }
    let payload: Object = [(Arc::from("text"), Value::from(text))].into_iter().collect();
    let event = Event::Signal { name: "turn".into(), payload: payload.into(), sender: None, key: None };
    backend.send(run, &event)?;
    Ok(run)
}

fn turn_record(backend: &dyn Backend, run: RunNo) -> Result<(TurnRecord, bool), Problem> {
    let (look, secrets) = (backend.load(run)?, backend.secrets(run)?);
    let is_over = !is_in_turn(&look);
    let turn = match (is_over, look.failure()) {
        (false, _) => Value::Null,
        (true, Some(failure)) => {
            let error: Object =
                [(Arc::from("kind"), Value::from(failure.kind)), (Arc::from("message"), Value::from(failure.message))]
                    .into_iter()
                    .collect();
            Value::from([(Arc::from("error"), Value::from(error))].into_iter().collect::<Object>())
        }
        (true, None) => look.view("turn").unwrap_or_default(),
    };
    let record = TurnRecord {
        turn: secrets.mask_value(&turn),
        view: secrets.mask_value(&look.view("session").unwrap_or_default()),
        run: look.row.id,
    };
    Ok((record, is_over))
}

/// Whether the agent has not replied to the last line yet.
fn is_in_turn(look: &RunView) -> bool {
    let has_chat = look.view("chat").is_some_and(|chat| chat.as_list().is_some_and(|said| !said.is_empty()));
    let has_reply = look.view("turn").is_some_and(|turn| turn != Value::Null);
    let rests = look.status() == Status::WaitingPeople;
    !look.status().is_final() && has_chat && !(has_reply && rests)
}
