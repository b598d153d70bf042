//! Agents that use tools. A turn of such an agent is a run of its own, of a program that the front-ends build. Hosts run it like any
//! other child run, so there is no second interpreter.
//!
//! A host that finds [`is_turn`] true for a call runs the program that [`branchpoint_core::ir::Effect::agent_program`] names with [`input`]
//! one level deeper, and settles the call with [`answer`] of the result. [`Notice`]s inform the calling run about agents that another
//! agent called as tools. Their names and payloads are in the program.

mod input;

use std::sync::Arc;

use branchpoint_core::effect::{AGENT, ModelResult, Request, RunRequest};
use branchpoint_core::{AttemptError, Usage};
use branchpoint_expr::{Object, Value};

pub use input::{AgentLimits, input};

use crate::runner::{Answer, Call};

/// Whether a program of this name performs turns of agents.
///
/// ```
/// assert!(branchpoint_runners::agent::is_agent_program(branchpoint_core::effect::AGENT));
/// ```
pub fn is_agent_program(name: &str) -> bool {
    name.starts_with(AGENT)
}

/// Whether a call is a turn of an agent that has tools. An agent without tools gives one answer, which needs no run.
///
/// ```
/// use branchpoint_core::{effect::Kind, ir::builder::effect};
/// use branchpoint_runners::{Call, agent};
///
/// assert!(!agent::is_turn(&Call::first(effect(Kind::Model), branchpoint_expr::Value::Null)));
/// ```
pub fn is_turn(call: &Call) -> bool {
    Request::is_agent_turn(call.kind(), &call.definition.fixed, &call.input)
}

/// The answer of a turn's call, from the result of the turn's run and what that run has used.
///
/// ```
/// use branchpoint_core::Usage;
/// use branchpoint_expr::{Object, Value};
/// use branchpoint_runners::{Answer, agent};
///
/// let result: Object = [("status".into(), "completed".into()), ("output".into(), "Because.".into())].into_iter().collect();
/// let Answer::Model(reply) = agent::answer(&Value::from(result), Usage::default()) else { unreachable!() };
/// assert_eq!(reply.value, "Because.".into());
/// ```
pub fn answer(result: &Value, usage: Usage) -> Answer {
    let text = |key: &str| result.get(key).and_then(Value::as_str);
    if text("status") == Some("completed") {
        let value = Value::from(text("output").unwrap_or_default());
        return Answer::Model(ModelResult { value, usage, input_tokens: None });
    }
    let kind = text("kind").unwrap_or("step_failed");
    // A turn that exceeded a limit would exceed it again, but a busy model may respond to another attempt.
    let again = !["max_turns", "token_budget", "cost_budget", "budget_exceeded", "no_runner", "no_llm"].contains(&kind);
    let message = text("message").unwrap_or("the agent failed without a message");
    Answer::Failed(AttemptError { kind: kind.into(), message: message.into(), retry: again.into(), answered: true })
}

/// A signal about an agent that another agent called as a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// The name of the signal.
    pub signal: Arc<str>,
    /// The state of the called agent: `started`, `completed` or `failed`.
    pub event: &'static str,
    /// The payload of the signal, from the call.
    pub payload: Value,
}

impl Notice {
    /// The notice that a call sends when its run starts, or when the run has ended with a result.
    ///
    /// ```
    /// use branchpoint_core::{effect::Kind, ir::builder::effect};
    /// use branchpoint_runners::{Call, agent::Notice};
    ///
    /// assert_eq!(Notice::of(&Call::first(effect(Kind::Mail), branchpoint_expr::Value::Null), None), None);
    /// ```
    pub fn of(call: &Call, result: Option<&Value>) -> Option<Self> {
        let Ok(Request::Run(RunRequest { workflow, notices, .. })) = call.request() else { return None };
        let (event, message) = match result {
            None => ("started", None),
            Some(result) if result.get("status") == Some(&Value::from("completed")) => ("completed", None),
            Some(result) => ("failed", result.get("message")),
        };
        let mut payload = notices.get(event).filter(|_| workflow.as_deref() == Some(AGENT))?.as_object()?.clone();
        payload.extend(message.map(|message| ("message".into(), message.clone())));
        Some(Self { signal: notices.get("signal")?.as_str()?.into(), event, payload: Value::from(payload) })
    }
}

fn object(fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let present = fields.into_iter().filter(|(_, value)| *value != Value::Null);
    Value::from(present.map(|(key, value)| (key.into(), value)).collect::<Object>())
}
