//! Chats with agents: what was said, and turns.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use branchpoint_backend::{Backend, BackendError, RunNo, RunView, Session, SessionOptions};
use branchpoint_core::ir::Status;
use branchpoint_core::{Event, Fold, State as RunState};
use branchpoint_expr::{Object, Value};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::agent::{agent_of, view_of};
use super::state::find;
use super::{publish, session_of};
use crate::app::App;
use crate::body::{Body, Path};
use crate::caller::{Action, Caller};
use crate::prepared_workflows::check_live;
use crate::problem::{Problem, ProblemKind};
use crate::time::rfc3339;

/// What a person says in a chat.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TurnRequest {
    /// What the user says.
    text: String,
}

/// A turn of a chat.
#[derive(Serialize, ToSchema)]
pub(super) struct TurnRecord {
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
pub(super) async fn turn(
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
    publish(&app, &document, &id);
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

/// A chat so far.
#[derive(Default, Serialize, ToSchema)]
pub(super) struct Chat {
    /// The id of the run of the session; none before the first message.
    run: Option<String>,
    /// Whether the agent has not replied to the last line yet.
    in_turn: bool,
    lines: Vec<ChatLine>,
}

/// A line of a chat.
#[derive(Serialize, ToSchema)]
struct ChatLine {
    /// `user`, `agent` or `tool`.
    #[schema(value_type = crate::schemas::Speaker)]
    role: &'static str,
    /// What was said; null for a tool call.
    text: Option<String>,
    at: String,
    /// The name of the called tool.
    tool: Option<String>,
    /// The arguments of the tool call.
    arguments: Value,
    /// The result of the tool call; null while it runs.
    result: Value,
    /// Why the turn or the tool call failed.
    #[schema(value_type = Option<crate::schemas::StepError>)]
    error: Value,
    /// The active step after the line.
    step: Option<String>,
}

/// Shows what was said in a chat. It opens no session.
#[utoipa::path(get, path = "/agents/{document}/sessions/{session}/chat", tag = "sessions", operation_id = "get_chat",
    params(("document" = String, Path, description = "The name of the document"),
        ("session" = String, Path, description = "The id of the session")),
    responses((status = 200, description = "The chat", body = Chat)))]
pub(super) async fn chat(
    State(app): State<App>,
    caller: Caller,
    Path((document, id)): Path<(String, String)>,
) -> Result<Json<Chat>, Problem> {
    let shared = app.clone();
    app.call(move |backend| {
        let missing = || Problem::not_found(format!("Workflow `{document}` does not exist."));
        caller.may(Action::Read, &document).map_err(|_| missing())?;
        if !agent_of(backend, &*shared.find_version(backend, &document, None)?)?.chats {
            return Err(no_chat(&document));
        }
        find(backend, &document, &id)?
            .map_or_else(|| Ok(Json(Chat::default())), |session| Ok(Json(transcript(backend, session.run)?)))
    })
    .await
}

/// Folds the journal of a session into the lines of its chat: each line appeared at an event.
fn transcript(backend: &dyn Backend, run: RunNo) -> Result<Chat, Problem> {
    let (look, secrets) = (backend.load(run)?, backend.secrets(run)?);
    let program = &look.program;
    let mut fold = Fold::new(program, RunState::new(), backend.journal(run)?);
    let (mut lines, mut count, mut failed) = (Vec::new(), 0, Value::Null);
    while let Some(folded) = fold.replay_next(&mut |_| {}) {
        let at = rfc3339(folded.map_err(|error| BackendError::Damaged(error.to_string()))?.stamp.now_ms);
        let view = |name: &str| view_of(program, fold.state(), name).unwrap_or_default();
        let messages = view("chat");
        let messages = messages.as_list().unwrap_or_default();
        let step = view("session").get("activeStep").and_then(Value::as_str).map(str::to_owned);
        if messages.len() < count {
            // A reset forgets the chat.
            (lines, count) = (Vec::new(), 0);
        }
        for message in &messages[count..] {
            add_lines(&mut lines, &secrets.mask_value(message), &at, step.as_deref());
        }
        count = messages.len();
        let error = view("turn").get("error").cloned().unwrap_or_default();
        if error != failed && error != Value::Null {
            lines.push(ChatLine { error: secrets.mask_value(&error), ..ChatLine::new("agent", &at, step.as_deref()) });
        }
        failed = error;
    }
    Ok(Chat { in_turn: is_in_turn(&look), run: Some(look.row.id), lines })
}

impl ChatLine {
    fn new(role: &'static str, at: &str, step: Option<&str>) -> Self {
        let (at, step) = (at.to_owned(), step.map(str::to_owned));
        Self { role, text: None, at, tool: None, arguments: Value::Null, result: Value::Null, error: Value::Null, step }
    }
}

/// Adds a message of the chat. A reply with tool calls is a line for its text, and one for each call; the result of a call is added to its
/// line.
fn add_lines(lines: &mut Vec<ChatLine>, message: &Value, at: &str, step: Option<&str>) {
    let text = message.get("content").map(Value::to_string).filter(|text| !text.is_empty());
    match message.get("role").and_then(Value::as_str) {
        Some("user") => lines.push(ChatLine { text, ..ChatLine::new("user", at, step) }),
        Some("assistant") => {
            if text.is_some() {
                lines.push(ChatLine { text, ..ChatLine::new("agent", at, step) });
            }
            for call in message.get("toolCalls").and_then(Value::as_list).unwrap_or_default() {
                let part = |key: &str| call.get(key).cloned().unwrap_or_default();
                let tool = Some(part("name").to_string());
                lines.push(ChatLine { tool, arguments: part("arguments"), ..ChatLine::new("tool", at, step) });
            }
        }
        _ => {
            let name = message.get("name").map(Value::to_string);
            let is_open =
                |line: &&mut ChatLine| line.tool == name && line.result == Value::Null && line.error == Value::Null;
            if let Some(line) = lines.iter_mut().find(is_open) {
                let part = |key: &str| message.get(key).cloned().unwrap_or_default();
                (line.result, line.error) = (part("content"), part("error"));
                line.step = step.map(str::to_owned);
            }
        }
    }
}

fn no_chat(document: &str) -> Problem {
    Problem::invalid_input(format!("Document `{document}` is not a template of an agent, so it cannot chat."))
}

fn begin_turn(backend: &dyn Backend, session: &Session, text: &str) -> Result<RunNo, Problem> {
    let run = backend.open_session(session)?;
    let look = backend.load(run)?;
    if !look.program.views.iter().any(|view| &*view.name == "turn") {
        return Err(no_chat(&session.document));
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
