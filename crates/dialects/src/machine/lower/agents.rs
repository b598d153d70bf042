//! Agents with a single request.

use branchpoint_core::effect::{Format, Kind, Response};
use branchpoint_core::ir::{Effect, ExprId, PlaceId};
use branchpoint_expr::Value;

use super::Lower;
use super::commands::{report, written};
use super::state::{CurrentState, Outcomes};
use super::templates::{FROM_FILE, call_text, effect_of, object, plain, secret_texts};
use crate::agent_loop;
use crate::machine::raw::{Agent, Document, Source, StateKind, Text};

/// The session of a state after a reply: the earlier messages, the prompt, and the reply.
pub(super) const SESSION: &str = r#"{"id": answer.session, "messages":
    concat(HISTORY.messages ?? [], [{"role": "user", "content": MESSAGE}, {"role": "assistant", "content": answer.output}]),
    "role": SYSTEM_OF.role, "system_prompt": SYSTEM_OF.system_prompt}"#;

impl<'d> Lower<'d> {
    pub(super) fn agent(&mut self, current: CurrentState<'d>, agent: &'d Agent, outcomes: Outcomes) -> PlaceId {
        let outcomes = self.keep_session(current, agent, outcomes);
        let effect = agent_effect(self.own.document, current, agent);
        let input = self.agent_input(agent, "request.prompt", earlier_session(agent));
        let call = self.call_within(current, effect, input, current.state.timeout_ms, outcomes);
        let call = self.need_session(agent, call, outcomes);
        self.expand_request(current, agent, call, outcomes)
    }

    /// The input of an agent's request.
    pub(super) fn agent_input(&mut self, agent: &Agent, message: &str, history: &str) -> ExprId {
        let given = |own: &str| agent.options.get(own).filter(|value| **value != Value::Null).cloned();
        let mut options = agent_loop::sampling(given);
        options.extend(["model", "base_url"].into_iter().filter_map(|name| Some((name.into(), given(name)?))));
        let system = system_of(agent, history);
        let text = format!(
            r#"fromPairs(concat(toPairs(OPTIONS), toPairs({{"provider": request.provider, "prompt": {message}, "before": before,
                "system": {system}.system_prompt, "role": {system}.role, "dir": request.dir,
                "history": ({history} ?? {{}}).messages}})))"#
        );
        let tools: Vec<Value> = agent.tools.iter().map(|tool| Value::from(tool.as_str())).collect();
        if !tools.is_empty() {
            options.insert("tools".into(), Value::from(tools));
        }
        self.formula_with(&text, &[], &[("OPTIONS", Value::from(options)), continued_from(agent)])
    }

    /// Expands the texts of an agent into the slot `request`, and reads the skills before its prompt.
    pub(super) fn expand_request(
        &mut self,
        current: CurrentState<'d>,
        agent: &'d Agent,
        next: PlaceId,
        outcomes: Outcomes,
    ) -> PlaceId {
        let (prompt, file) = match &agent.prompt {
            Some(Source::Text(text)) => (call_text(Some(text)), None),
            Some(Source::File(file)) => (None, Some(file)),
            None => (None, None),
        };
        let next = self.skills(&agent.skills, next, outcomes);
        let next = match file {
            Some(file) => {
                let prompt = self.store("request", &format!(r#"putPath(request, ["prompt"], request.{FROM_FILE})"#));
                let next = self.b.set([prompt], next, None);
                self.file_text(current, file, next, outcomes)
            }
            None => next,
        };
        let next = if agent.role.is_some() { self.role(next, outcomes) } else { next };
        let template = object([
            ("provider", plain(agent.provider.as_ref())),
            ("prompt", prompt),
            ("system_prompt", call_text(agent.system_prompt.as_ref())),
            ("role", plain(agent.role.as_ref())),
            ("dir", plain(current.state.dir.as_ref())),
        ]);
        self.expand(self.scope(current.context), &template, self.slots["request"], next, outcomes.unexpanded)
    }

    /// A state that continues a session fails if there is none.
    pub(super) fn need_session(&mut self, agent: &Agent, next: PlaceId, outcomes: Outcomes) -> PlaceId {
        let Some(from) = continued(agent) else { return next };
        let constants = [("FROM", Value::from(from))];
        let answer = r#"{"error": {"kind": "agent", "message": "`" + FROM + "` has no session to continue"}}"#;
        let failed = self.assign_with("answer", answer, &[], &constants, outcomes.bad);
        let missing = self.test_with("sessions[FROM] == nil", &[], &constants);
        self.b.decide([(missing, failed)], next, None)
    }

    /// Stores the messages after a reply, for states that continue the session.
    fn keep_session(&mut self, current: CurrentState<'d>, agent: &Agent, outcomes: Outcomes) -> Outcomes {
        if agent.conversation.is_none() {
            return outcomes;
        }
        let history = earlier_session(agent);
        let session = SESSION
            .replace("SYSTEM_OF", &system_of(agent, history))
            .replace("HISTORY", &format!("({history} ?? {{}})"))
            .replace("MESSAGE", "request.prompt");
        let text = format!("putPath(sessions, [STATE], {session})");
        let stored = self.store_with("sessions", &text, &[], &[current.name(), continued_from(agent)]);
        Outcomes { ok: self.b.set([stored], outcomes.ok, None), ..outcomes }
    }
}

/// The formula of the object with the role and the system prompt of an agent: its own, or those of the session that it continues.
pub(super) fn system_of(agent: &Agent, history: &str) -> String {
    if has_system(agent) { "request".to_owned() } else { format!("({history} ?? {{}})") }
}

fn has_system(agent: &Agent) -> bool {
    agent.role.is_some() || agent.system_prompt.is_some()
}

/// The system prompt that an agent is called with: its own, or that of the state whose session it continues.
fn system_prompt<'d>(document: &'d Document, agent: &'d Agent) -> Option<&'d Text> {
    let mut agent = agent;
    // The number of states bounds a circle of sessions.
    for _ in &document.states {
        if has_system(agent) {
            break;
        }
        let from = continued(agent).and_then(|from| document.state(from));
        match from.map(|from| &document.states[from].kind) {
            Some(StateKind::Agent(earlier)) => agent = earlier,
            _ => break,
        }
    }
    agent.system_prompt.as_ref()
}

pub(super) fn agent_effect(document: &Document, current: CurrentState<'_>, agent: &Agent) -> Effect {
    let format = if agent.json { Format::JsonBlock } else { Format::Text };
    let response = Response { format, ..report(current.state, "agent") };
    // A provider that the document names is checked before the run starts.
    let provider = agent.provider.as_ref().map(Text::text).filter(|provider| !provider.contains("{{"));
    let provider = provider.map(|provider| ("provider".into(), Value::Str(provider.clone())));
    // A model and an address are checked, too.
    let option =
        |name: &str| Some((name.into(), agent.options.get(name).filter(|text| text.as_str().is_some())?.clone()));
    let options = ["model", "base_url"].into_iter().filter_map(option);
    let texts = [("prompt", written(agent.prompt.as_ref())), ("system", system_prompt(document, agent))];
    // Tools are checked, too.
    let uses = (!agent.tools.is_empty())
        .then(|| ("uses".into(), agent.tools.iter().map(|tool| Value::from(&**tool)).collect::<Vec<_>>().into()));
    Effect {
        fixed: [("program".into(), Value::Bool(true))].into_iter().chain(provider).chain(options).chain(uses).collect(),
        secrets: secret_texts(texts),
        ..effect_of(current, Kind::Model, response)
    }
}

pub(super) fn continued(agent: &Agent) -> Option<&str> {
    agent.conversation.as_ref()?.continue_from.as_ref().map(|state| &**state.text())
}

/// The session that an agent continues, as a formula in which `FROM` is the name of its state.
pub(super) fn earlier_session(agent: &Agent) -> &'static str {
    if continued(agent).is_some() { "sessions[FROM]" } else { "nil" }
}

pub(super) fn continued_from(agent: &Agent) -> (&'static str, Value) {
    ("FROM", continued(agent).map_or(Value::Null, Value::from))
}
