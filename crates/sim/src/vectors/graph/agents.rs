//! The scripted agents of graph vectors: their answers, durations and events of subagents.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_core::{AttemptError, RetryHint};
use branchpoint_expr::{Object, Value};
use branchpoint_host::SimulatedAnswer;
use branchpoint_runners::{Answer, Call};

use super::super::object;

/// The default duration of a call.
const DURATION_MS: u64 = 10;

/// The scripts of the agents, and the calls so far.
pub(super) struct Agents {
    script: Value,
    delays: Value,
    events: Value,
    /// Whether a model is configured.
    backend: bool,
    calls: BTreeMap<Arc<str>, Vec<Value>>,
}

impl Agents {
    pub(super) fn read(vector: &Value) -> Self {
        let part = |key: &str| vector.get(key).cloned().unwrap_or_default();
        let backend = part("llm").as_str() != Some("none");
        let (script, delays, events) = (part("agent_script"), part("agent_delay_ms"), part("agent_events"));
        Self { script, delays, events, backend, calls: BTreeMap::new() }
    }

    /// The prompts of each agent's calls.
    pub(super) fn prompts(&self) -> Value {
        self.by_agent(|call| call.get("userContent").cloned().unwrap_or_default())
    }

    /// The requests of each agent's calls.
    pub(super) fn invocations(&self) -> Value {
        self.by_agent(Clone::clone)
    }

    fn by_agent(&self, part: impl Fn(&Value) -> Value) -> Value {
        let calls = self.calls.iter();
        let calls =
            calls.map(|(agent, calls)| (agent.clone(), Value::from(calls.iter().map(&part).collect::<Vec<_>>())));
        Value::from(calls.collect::<Object>())
    }
}

impl Agents {
    /// The answer of a call, its duration, and the events of subagents that it reports.
    pub(super) fn simulate(&mut self, call: &Call) -> SimulatedAnswer {
        let (duration_ms, reports) = (self.duration_ms(call), self.reports(call));
        SimulatedAnswer { duration_ms, reports, ..self.answer(call).into() }
    }

    fn answer(&mut self, call: &Call) -> Answer {
        let failed = |kind: &str, message: &Value| {
            let message = message.to_string().into();
            Answer::Failed(AttemptError { kind: kind.into(), message, retry: RetryHint::Never, answered: true })
        };
        if !self.backend {
            return failed("no_llm", &Value::from("no model is configured"));
        }
        let agent = call.step.clone().unwrap_or_default();
        let calls = self.calls.entry(agent.clone()).or_default();
        let number = calls.len();
        calls.push(request_fields(&call.input));
        let script = self.script.get(&agent).cloned().unwrap_or_default();
        let entry = match script.as_list() {
            Some(entries) => entries.get(number).or(entries.last()).cloned().unwrap_or_default(),
            None => script,
        };
        match entry.get("error") {
            Some(message) => failed("step_failed", message),
            None => Answer::data(entry),
        }
    }

    fn duration_ms(&self, call: &Call) -> u64 {
        let agent = call.step.clone().unwrap_or_default();
        match self.delays.get(&agent) {
            Some(Value::Int(delay)) => u64::try_from(*delay).unwrap_or_default(),
            _ => DURATION_MS,
        }
    }

    fn reports(&self, call: &Call) -> Vec<(Arc<str>, Value)> {
        let agent = call.step.clone().unwrap_or_default();
        let events = self.events.get(&agent).and_then(Value::as_list).unwrap_or_default();
        let report = |event: &Value| object([("nodeId", Value::Str(agent.clone())), ("event", event.clone())]);
        events.iter().map(|event| (Arc::from("subagent"), report(event))).collect()
    }
}

/// A request in the format of the vectors.
fn request_fields(request: &Value) -> Value {
    let names = [
        ("system", "systemPrompt"),
        ("prompt", "userContent"),
        ("reasoning_effort", "reasoningEffort"),
        ("id", "nodeId"),
        ("name", "agentName"),
    ];
    let field = |(name, value): (&Arc<str>, &Value)| match &**name {
        "tool" => None,
        "subagents" => {
            let agents = value.as_list().unwrap_or_default().iter().map(request_fields).collect::<Vec<_>>();
            Some((name.clone(), Value::from(agents)))
        }
        own => {
            let request_fields =
                names.iter().find(|(known, _)| *known == own).map_or(own, |(_, request_fields)| request_fields);
            Some((Arc::from(request_fields), value.clone()))
        }
    };
    Value::from(request.as_object().into_iter().flatten().filter_map(field).collect::<Object>())
}
