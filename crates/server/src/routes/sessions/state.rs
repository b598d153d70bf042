//! The state of a session as of an event, with the reasons for its step and its tools.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use axum::Json;
use axum::extract::State;
use branchpoint_backend::{Backend, BackendError, SessionSummary};
use branchpoint_core::{BranchOutcome, Event, Fold, NoteKind, State as RunState};
use branchpoint_expr::Value;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::agent::{AgentStep, agent_in, view_of};
use crate::app::App;
use crate::body::{Path, Query};
use crate::caller::{Action, Caller};
use crate::problem::Problem;
use crate::time::rfc3339;

/// As of which event.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct StateRequest {
    /// The number of the last event to apply, counted from 1; all events if absent.
    #[param(value_type = Option<u64>, minimum = 1)]
    at: Option<NonZeroU64>,
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
    /// Whether a session begins with this step.
    is_default: bool,
    /// The patterns of the tools that it allows; all tools if empty.
    allowed: Vec<String>,
    /// The patterns of the tools that it denies.
    denied: Vec<String>,
    /// The tools that fit each position of its sequence.
    sequence: Vec<Vec<String>>,
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
pub(super) struct SessionState {
    document: String,
    id: String,
    /// The tools and the step.
    #[schema(value_type = crate::schemas::Gate)]
    view: Value,
    tools: Vec<ToolRecord>,
    /// The steps in the order of the document, with the outcomes of their latest evaluation.
    steps: Vec<StepOutcome>,
    /// The latest events.
    events: Vec<SessionEvent>,
    /// Whether the session has expired.
    expired: bool,
    /// Whether the agent has a chat.
    chats: bool,
    /// The id of its run.
    run: String,
}

/// Shows a session as of an event, with the reasons for its step. It does not keep the session alive.
#[utoipa::path(get, path = "/agents/{document}/sessions/{session}/state", tag = "sessions", operation_id = "get_session_state",
    params(("document" = String, Path, description = "The name of the document"),
        ("session" = String, Path, description = "The id of the session"), StateRequest),
    responses((status = 200, description = "The session", body = SessionState)))]
pub(super) async fn state(
    State(app): State<App>,
    caller: Caller,
    Path((document, id)): Path<(String, String)>,
    Query(request): Query<StateRequest>,
) -> Result<Json<SessionState>, Problem> {
    app.call(move |backend| {
        let missing = || Problem::not_found(format!("Document `{document}` has no session `{id}`."));
        caller.may(Action::Read, &document).map_err(|_| missing())?;
        let session = find(backend, &document, &id)?.ok_or_else(missing)?;
        Ok(Json(history(backend, &session, request.at.map(NonZeroU64::get))?))
    })
    .await
}

/// A session that is stored.
pub(super) fn find(backend: &dyn Backend, document: &str, id: &str) -> Result<Option<SessionSummary>, Problem> {
    Ok(backend.sessions()?.into_iter().find(|session| session.document == document && session.name == id))
}

/// The events of a session that are shown.
const MAX_EVENTS: usize = 200;

/// Folds the journal of a session.
fn history(backend: &dyn Backend, session: &SessionSummary, at: Option<u64>) -> Result<SessionState, Problem> {
    let (look, secrets) = (backend.load(session.run)?, backend.secrets(session.run)?);
    let program = &look.program;
    let step_of = |shown: &Value| shown.get("activeStep").and_then(Value::as_str).map(str::to_owned);
    let (mut events, mut notes, mut decided) = (Vec::new(), Vec::new(), BTreeMap::new());
    let mut fold = Fold::new(program, RunState::new(), backend.journal(session.run)?);
    let (mut shown, mut tools, mut step) = (Value::Null, Value::Null, None);
    while let Some(folded) = fold.replay_next(&mut |note| notes.push(note)) {
        let folded = folded.map_err(|error| BackendError::Damaged(error.to_string()))?;
        if at.is_some_and(|at| folded.seq > at) {
            break;
        }
        shown = view_of(program, fold.state(), "session").unwrap_or_default();
        tools = view_of(program, fold.state(), "tools").unwrap_or_default();
        let after = step_of(&shown);
        let evaluated: BTreeMap<String, Evaluation> = notes.drain(..).flat_map(evaluations).collect();
        if !evaluated.is_empty() {
            decided = evaluated;
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
    let outcome = |of: AgentStep| {
        let (holds, explanation) = decided.remove(&of.name).unwrap_or_default();
        let AgentStep { name, is_default, allowed, denied, sequence } = of;
        let active = step.as_deref() == Some(&name);
        StepOutcome { step: name, holds, explanation, active, is_default, allowed, denied, sequence }
    };
    let agent = agent_in(session.document.clone(), Some(program));
    Ok(SessionState {
        document: session.document.clone(),
        id: session.name.clone(),
        view: secrets.mask_value(&shown),
        tools: tools.as_list().unwrap_or_default().iter().map(tool_state).collect(),
        steps: agent.steps.into_iter().map(outcome).collect(),
        events,
        expired: look.row.status.is_final(),
        chats: agent.chats,
        run: look.row.id.clone(),
    })
}

/// Whether the conditions of a step were true, and why.
type Evaluation = (Option<bool>, Option<serde_json::Value>);

/// The evaluated conditions of a decision, by step.
fn evaluations(note: branchpoint_core::Note) -> Vec<(String, Evaluation)> {
    let NoteKind::Decided(decided) = note.kind else { return Vec::new() };
    let evaluation = |branch: branchpoint_core::BranchRecord| {
        let holds = match branch.outcome {
            BranchOutcome::True => Some(true),
            BranchOutcome::False => Some(false),
            BranchOutcome::Error | BranchOutcome::NotEvaluated => None,
        };
        let explanation = branch.explanation.and_then(|explained| serde_json::from_str(&explained.to_json()).ok());
        (branch.name.to_string(), (holds, explanation))
    };
    decided.branches.into_iter().map(evaluation).collect()
}

fn tool_state(state: &Value) -> ToolRecord {
    let text = |key: &str| state.get(key).map(Value::to_string).unwrap_or_default();
    ToolRecord { name: text("name"), offered: state.get("offered") == Some(&Value::Bool(true)), reason: text("reason") }
}
