//! Agents that use tools. Such a turn is a run of its own, of a program that the front-ends build: hosts run it as they run any other
//! child, and no second interpreter decides what happens next.
//!
//! A host that finds [`is_turn`] true for a call runs the program that [`branchpoint_core::ir::Effect::agent_program`] names with [`input`]
//! one level deeper, and settles the call with [`answer`] of the result. The run around is notified of agents that are tools of another by the
//! signal [`SUBAGENT`].

mod input;

use std::sync::Arc;

use branchpoint_core::Usage;
use branchpoint_core::effect::{AGENT, Request, RunRequest};
use branchpoint_expr::{Object, Value};

pub use input::{Bounds, input};

use crate::runner::{Answer, Call};

/// The signal by which a run hears of agents that are tools of its own: `{nodeId, event}`.
pub const SUBAGENT: &str = "subagent";

/// Whether a program of that name is one of an agent's turn.
pub fn is_part(name: &str) -> bool {
    name.starts_with(AGENT)
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
        if workflow != AGENT || told == Value::Null {
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
