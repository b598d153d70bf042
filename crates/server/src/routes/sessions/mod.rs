//! Sessions: which tools an agent may use, and chats with agents.

mod agent;
mod chat;
mod state;

use axum::Json;
use axum::extract::State;
use branchpoint_backend::{
    Backend, Session, SessionAction, SessionOptions, SessionRequest, SessionResponse, SessionSummary,
};
use branchpoint_expr::Value;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::agent::{agent_of, texts};
use super::runs::start::idempotency_key;
use crate::app::App;
use crate::body::{Body, Path, Query};
use crate::caller::{Action, Caller};
use crate::list::{Page, PageRequest};
use crate::live::{NewEvent, Topic};
use crate::problem::Problem;
use crate::time::rfc3339;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(message))
        .routes(routes!(tool))
        .routes(routes!(query, reset))
        .routes(routes!(agent::show))
        .routes(routes!(state::state))
        .routes(routes!(chat::chat))
        .routes(routes!(chat::turn))
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
    /// The number of tools of the agent.
    tools_total: usize,
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
    #[param(pattern = "^[0-9]{1,15}$")]
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
    let (shown, tools) = match backend.load(session.run) {
        Ok(look) => (look.view("session").unwrap_or_default(), look.view("tools").unwrap_or_default()),
        Err(error) if error.is_of_one_run() => (Value::Null, Value::Null),
        Err(error) => return Err(error.into()),
    };
    let shown = backend.secrets(session.run)?.mask_value(&shown);
    Ok(SessionRecord {
        document: session.document.clone(),
        id: session.name.clone(),
        step: shown.get("activeStep").and_then(Value::as_str).map(str::to_owned),
        tools_offered: texts(shown.get("allowedTools")).len(),
        tools_total: tools.as_list().map_or(0, <[Value]>::len),
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
    /// All tools of the agent in order, separated by commas, if the request opens the session; those that the document lists if absent.
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
    let agent = agent_of(backend, &version)?;
    // A template brings its own tools. Of any other document, the tools that its steps list are known.
    let tools = options.tools.or((!agent.chats).then_some(agent.tools));
    let options = SessionOptions { tools, ..options };
    Ok(Session { name: id.to_owned(), document: document.to_owned(), workflow: version.workflow, options })
}

/// Reports a fact to a session. The key of the header makes it safe to repeat, else that of the body.
async fn report(
    app: &App,
    caller: Caller,
    path: (String, String),
    (open, headers): (OpenRequest, &axum::http::HeaderMap),
    action: SessionAction,
    body_key: Option<String>,
) -> Result<Json<SessionView>, Problem> {
    send(app, caller, path, open, action, idempotency_key(headers)?.or(body_key)).await
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
    let action = SessionAction::Message(request.text.into());
    report(&app, caller, path, (open, &headers), action, request.key).await
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
    let action = SessionAction::Tool(request.tool.into());
    report(&app, caller, path, (open, &headers), action, request.key).await
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
