//! The agent of a document: its steps, the tools that they list, and how it greets.

use axum::Json;
use axum::extract::State;
use branchpoint_backend::Backend;
use branchpoint_core::ir::{Program, ViewId};
use branchpoint_core::{State as RunState, view};
use branchpoint_dialects::starts_runs;
use branchpoint_expr::Value;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::body::Path;
use crate::caller::{Action, Caller};
use crate::catalogue::Version;
use crate::documents::dialect_named;
use crate::problem::Problem;

/// The agent of a document.
#[derive(Serialize, ToSchema)]
pub(super) struct AgentRecord {
    document: String,
    /// The name that the document gives the agent.
    name: Option<String>,
    /// Whether it has a chat. The other documents are gates for programs that run their own model and tools.
    pub(super) chats: bool,
    /// The tools with which a session is opened unless the request lists others.
    pub(super) tools: Vec<String>,
    /// The steps in the order of the document.
    pub(super) steps: Vec<AgentStep>,
    /// What the agent says before the first message.
    initial_messages: Vec<String>,
    /// Messages that a person may begin with.
    prompts: Vec<String>,
    placeholder: Option<String>,
}

/// A step of an agent.
#[derive(Serialize, ToSchema)]
pub(super) struct AgentStep {
    pub(super) name: String,
    /// Whether a session begins with this step.
    pub(super) is_default: bool,
    /// The patterns of the tools that it allows; all tools if empty.
    pub(super) allowed: Vec<String>,
    /// The patterns of the tools that it denies.
    pub(super) denied: Vec<String>,
    /// The tools that fit each position of its sequence.
    pub(super) sequence: Vec<Vec<String>>,
}

/// Shows the agent of a document.
#[utoipa::path(get, path = "/agents/{document}", tag = "sessions", operation_id = "get_agent",
    params(("document" = String, Path, description = "The name of the document")),
    responses((status = 200, description = "The agent", body = AgentRecord)))]
pub(super) async fn show(
    State(app): State<App>,
    caller: Caller,
    Path(document): Path<String>,
) -> Result<Json<AgentRecord>, Problem> {
    let shared = app.clone();
    app.call(move |backend| {
        let missing = || Problem::not_found(format!("Workflow `{document}` does not exist."));
        caller.may(Action::Read, &document).map_err(|_| missing())?;
        let version = shared.find_version(backend, &document, None)?;
        Ok(Json(agent_of(backend, &version)?))
    })
    .await
}

/// The agent of a version of a document; a problem if the document starts runs instead.
pub(super) fn agent_of(backend: &dyn Backend, version: &Version) -> Result<AgentRecord, Problem> {
    let document = version.name.to_string();
    if starts_runs(dialect_named(&version.dialect)) {
        return Err(Problem::invalid_input(format!("Workflow `{document}` has no sessions. Start a run of it.")));
    }
    Ok(agent_in(document, backend.program(version.workflow, "")?.as_ref()))
}

/// The agent of a program.
pub(super) fn agent_in(document: String, program: Option<&Program>) -> AgentRecord {
    let described = program.and_then(|program| view_of(program, &RunState::new(), "agent")).unwrap_or_default();
    let text = |key: &str| described.get(key).and_then(Value::as_str).map(str::to_owned);
    let default = text("defaultStep");
    let steps = described.get("steps").and_then(Value::as_list).unwrap_or_default();
    AgentRecord {
        document,
        name: text("name"),
        chats: program.is_some_and(|program| program.views.iter().any(|view| &*view.name == "turn")),
        tools: texts(described.get("tools")),
        steps: steps.iter().map(|step| step_of(step, default.as_deref())).collect(),
        initial_messages: texts(described.get("initialMessages")),
        prompts: texts(described.get("chatPrompts")),
        placeholder: text("placeholderText"),
    }
}

fn step_of(step: &Value, default: Option<&str>) -> AgentStep {
    let name = step.get("name").map(Value::to_string).unwrap_or_default();
    let sequence = step.get("sequence").and_then(Value::as_list).unwrap_or_default();
    AgentStep {
        is_default: default == Some(&name),
        name,
        allowed: texts(step.get("allowed")),
        denied: texts(step.get("denied")),
        sequence: sequence.iter().map(|position| texts(Some(position))).collect(),
    }
}

/// The texts of a list.
pub(super) fn texts(list: Option<&Value>) -> Vec<String> {
    list.and_then(Value::as_list).unwrap_or_default().iter().map(Value::to_string).collect()
}

/// A view of a program in a state.
pub(super) fn view_of(program: &Program, state: &RunState, name: &str) -> Option<Value> {
    let id = program.views.iter().position(|view| &*view.name == name)?;
    view(program, state, ViewId(u32::try_from(id).ok()?)).ok()
}
