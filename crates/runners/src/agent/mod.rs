//! Agents that use tools. Such a turn is a run of its own, of a program that is built in: hosts run it as they run any other
//! child, and no second interpreter decides what happens next.
//!
//! A host that finds [`is_turn`] true for a call runs [`program`] with [`input`] one level deeper, and settles the call with
//! [`answer`] of the result. The program is called [`NAME`] where it calls itself, for agents that are tools of another; the run
//! around hears of such calls by the signal `subagent`.

mod input;
mod program;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use branchpoint_core::Usage;
use branchpoint_core::effect::{Kind, Request, RunRequest};
use branchpoint_core::ir::{Effect, Program};
use branchpoint_expr::{Object, Problems, Value};

pub use input::{Bounds, input};

use crate::runner::{Answer, Call};

/// What the program is called among the workflows that a run may call. No document can have this name. Runs keep the program that they
/// were started with: once there is a release, a program that is given something else gets another name.
pub const NAME: &str = "branchpoint:agent";

/// The signal by which a run hears of agents that are tools of its own: `{nodeId, event}`.
pub const SUBAGENT: &str = "subagent";

/// How deep agents may be nested as tools, and runs around them.
pub const DEPTH: u32 = 16;

/// The program of every agent whose document does not say when it ends, and names no secret.
static PLAIN: LazyLock<Program> = LazyLock::new(|| {
    program::build(None, &[])
        .unwrap_or_else(|problems| panic!("nothing of a document is in the plain program: {problems}"))
});

/// The program of an agent's turn, which is the same for all of them.
pub fn program() -> &'static Program {
    &PLAIN
}

/// The program for an effect that says when the agent ends (`stop_when`) or where secrets belong; none for any other, which has
/// the plain one.
///
/// # Errors
///
/// The condition cannot be compiled.
pub fn program_for(effect: &Effect) -> Result<Option<Program>, Problems> {
    let stop_when = stop_when(effect);
    if stop_when.is_none() && effect.secrets.is_empty() {
        return Ok(None);
    }
    program::build(stop_when.as_ref(), &effect.secrets).map(Some)
}

/// The programs that the agents of a workflow need, by the names under which a run calls them.
///
/// # Errors
///
/// A condition by which an agent ends cannot be compiled.
pub fn parts<'p>(programs: impl IntoIterator<Item = &'p Program>) -> Result<BTreeMap<Arc<str>, Program>, Problems> {
    let mut parts = BTreeMap::new();
    let effects = programs.into_iter().flat_map(|program| &program.effects);
    for effect in effects.filter(|effect| effect.kind == Kind::Model) {
        parts.entry(NAME.into()).or_insert_with(|| program().clone());
        if let Some(own) = program_for(effect)? {
            parts.insert(part(effect), own);
        }
    }
    Ok(parts)
}

/// The condition by which the turns of an effect end.
fn stop_when(effect: &Effect) -> Option<Value> {
    let Ok(Request::Model(request)) = effect.request() else { return None };
    Some(request.stop_when).filter(|stop| *stop != Value::Null)
}

/// Whether a program of that name is one of an agent's turn.
pub fn is_part(name: &str) -> bool {
    name.starts_with(NAME)
}

/// The name of the program for an effect.
pub fn part(effect: &Effect) -> Arc<str> {
    // Equal conditions and secrets have equal programs, so a name that follows from the text is enough.
    let until = stop_when(effect).map(|stop| format!(" until {stop:?}")).unwrap_or_default();
    let with = effect.secrets.iter().map(|secret| format!(" with {secret}")).collect::<Vec<_>>().concat();
    format!("{NAME}{until}{with}").into()
}

/// Whether a call is a turn of an agent that has tools. Without tools there is one answer, which needs no run.
pub fn is_turn(call: &Call) -> bool {
    Request::is_agent_turn(call.kind(), &call.definition.fixed, &call.input)
}

/// What the run of a turn came to, as the answer of its call, and what it has used up.
pub fn answer(result: &Value, usage: Usage) -> Answer {
    let text = |key: &str| result.get(key).and_then(Value::as_str);
    if text("status") == Some("completed") {
        return Answer::Model { text: text("output").unwrap_or_default().into(), usage };
    }
    let kind = text("kind").unwrap_or("step_failed");
    // A turn that has used up what it may would do so again; a model that was busy is another matter.
    let again = !["max_turns", "token_budget", "cost_budget", "no_runner", "no_llm"].contains(&kind);
    let message = text("message").unwrap_or("the agent gave no answer");
    match Answer::failed(kind, message) {
        Answer::Failed(failed) => {
            Answer::Failed(branchpoint_core::Failed { again: again.into(), answered: true, ..failed })
        }
        other => other,
    }
}

/// What a run hears of an agent that one of its agents has called.
#[derive(Clone, Copy, Debug)]
pub enum Told<'v> {
    /// It begins.
    Start,
    /// It has ended with this result.
    End(&'v Value),
}

impl Told<'_> {
    /// What is told and what it says of a call; none if the call is not for an agent that is a tool.
    pub fn of(self, call: &Call) -> Option<(&'static str, Value)> {
        let Ok(Request::Run(RunRequest { workflow: Some(workflow), told, .. })) = call.request() else { return None };
        if workflow != NAME || told == Value::Null {
            return None;
        }
        let (kind, message) = match self {
            Self::Start => ("subagent_call_start", None),
            Self::End(result) if result.get("status") == Some(&Value::from("completed")) => ("subagent_call_end", None),
            Self::End(result) => ("subagent_call_error", result.get("message").cloned()),
        };
        let mut event: Object = [(Arc::from("type"), Value::from(kind))].into_iter().collect();
        let known = told.get("event").and_then(Value::as_object).into_iter().flatten();
        event
            .extend(known.filter(|(_, value)| **value != Value::Null).map(|(key, value)| (key.clone(), value.clone())));
        event.extend(message.map(|message| (Arc::from("message"), message)));
        let node = told.get("nodeId").cloned().unwrap_or_default();
        Some((kind, object([("nodeId", node), ("event", Value::from(event))])))
    }
}

fn object(fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let there = fields.into_iter().filter(|(_, value)| *value != Value::Null);
    Value::from(there.map(|(key, value)| (key.into(), value)).collect::<Object>())
}
