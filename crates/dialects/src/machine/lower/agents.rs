//! Agents that are asked once.

use std::fmt::Write as _;

use branchpoint_core::effect::{FilesOperation, Format, Kind, Response};
use branchpoint_core::ir::{Effect, ExprId, PlaceId, Write};
use branchpoint_expr::{Object, Value};

use super::Lower;
use super::commands::{report, written};
use super::slots::quoted;
use super::state::{Here, Outcomes};
use super::templates::{FROM_FILE, call_text, effect_of, object, plain, secret_texts};
use crate::machine::raw::{Agent, Skill, Source, Text};

/// The options of an agent, by the names that requests have for them.
const OPTIONS: [(&str, &str); 11] = [
    ("model", "model"),
    ("base_url", "base_url"),
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("top_p", "topP"),
    ("max_tokens", "max_tokens"),
    ("max_tokens", "maxTokens"),
    ("seed", "seed"),
    ("stop", "stop"),
    ("reasoning_effort", "reasoning_effort"),
    ("reasoning_effort", "reasoningEffort"),
];

/// The session of a state after an answer: what was said before, the message, and the reply.
pub(super) const SESSION: &str = r#"{"id": answer.session, "messages":
    concat(HISTORY.messages ?? [], [{"role": "user", "content": MESSAGE}, {"role": "assistant", "content": answer.output}])}"#;

impl<'d> Lower<'d> {
    pub(super) fn agent(&mut self, here: Here<'d>, agent: &'d Agent, outcomes: Outcomes) -> PlaceId {
        let outcomes = self.keep_session(here, agent, outcomes);
        let effect = agent_effect(here, agent);
        let history = continued(agent).map_or_else(|| "nil".to_owned(), |from| format!("sessions[{}]", quoted(from)));
        let input = self.agent_input(agent, "request.prompt", &history, &[]);
        let call = self.call_outside(here, effect, input, outcomes);
        let call = self.need_session(agent, call, outcomes);
        self.asked(here, agent, call, outcomes)
    }

    /// What an agent is asked with.
    pub(super) fn agent_input(
        &mut self,
        agent: &Agent,
        message: &str,
        history: &str,
        more: &[(&str, branchpoint_core::ir::SlotId)],
    ) -> ExprId {
        let mut options = String::new();
        for (name, own) in OPTIONS {
            if let Some(value) = agent.options.get(own).filter(|value| **value != Value::Null) {
                let _ = write!(options, ", {}: {value:?}", quoted(name));
            }
        }
        let text = format!(
            r#"{{"provider": request.provider, "prompt": {message}, "before": before, "system": request.system_prompt,
                "role": request.role, "dir": request.dir, "history": ({history} ?? {{}}).messages{options}}}"#
        );
        self.formula(&text, more)
    }

    /// Expands the texts of an agent into the slot `request`, and reads what goes before its prompt.
    pub(super) fn asked(&mut self, here: Here<'d>, agent: &'d Agent, next: PlaceId, outcomes: Outcomes) -> PlaceId {
        let (prompt, file) = match &agent.prompt {
            Some(Source::Text(text)) => (call_text(Some(text)), None),
            Some(Source::File(file)) => (None, Some(file)),
            None => (None, None),
        };
        let next = self.skills(&agent.skills, next, outcomes);
        let next = match file {
            Some(file) => {
                let prompt =
                    self.put(self.slots.request, &format!(r#"putPath(request, ["prompt"], request.{FROM_FILE})"#), &[]);
                let next = self.then(vec![prompt], next);
                self.file_text(here, file, next, outcomes)
            }
            None => next,
        };
        let template = object([
            ("provider", plain(agent.provider.as_ref())),
            ("prompt", prompt),
            ("system_prompt", call_text(agent.system_prompt.as_ref())),
            ("role", plain(agent.role.as_ref())),
            ("dir", plain(here.state.dir.as_ref())),
        ]);
        self.expand(self.scope(here.context), &template, self.slots.request, next, outcomes.unexpanded)
    }

    fn skills(&mut self, skills: &[Skill], next: PlaceId, outcomes: Outcomes) -> PlaceId {
        let mut place = next;
        for skill in skills.iter().rev() {
            let file = self.b.read(self.slots.file);
            let kept = self.b.set([Write::Push(self.slots.before, file)], place, None);
            let (operation, key, name) = match skill {
                Skill::Name(name) => (FilesOperation::Skill, "skill", name.text().to_string()),
                Skill::Path(folder) => (FilesOperation::Read, "path", format!("{}/SKILL.md", folder.text())),
            };
            let asked: Object = [(key.into(), Value::from(name))].into_iter().collect();
            let asked = self.b.value(Value::from(asked));
            place = self.read(operation, asked, self.slots.file, kept, outcomes.unexpanded);
        }
        self.clear(self.slots.before, place)
    }

    /// A state that goes on with a session fails when there is none.
    pub(super) fn need_session(&mut self, agent: &Agent, next: PlaceId, outcomes: Outcomes) -> PlaceId {
        let Some(from) = continued(agent) else { return next };
        let message = quoted(&format!("`{from}` has no session to go on with"));
        let answer = format!(r#"{{"error": {{"kind": "agent", "message": {message}}}}}"#);
        let answer = self.put(self.slots.answer, &answer, &[]);
        let failed = self.then(vec![answer], outcomes.bad);
        let missing = self.test(&format!("sessions[{}] == nil", quoted(from)), &[]);
        self.b.decide([(missing, failed)], next, None)
    }

    /// After an answer, what was said is kept for whoever goes on with it.
    fn keep_session(&mut self, here: Here<'d>, agent: &Agent, outcomes: Outcomes) -> Outcomes {
        if agent.conversation.is_none() {
            return outcomes;
        }
        let history = continued(agent).map_or_else(|| "{}".to_owned(), |from| format!("sessions[{}]", quoted(from)));
        let session = SESSION.replace("HISTORY", &format!("({history})")).replace("MESSAGE", "request.prompt");
        let text = format!("putPath(sessions, [{}], {session})", quoted(&here.state.name));
        let kept = self.put(self.slots.sessions, &text, &[]);
        Outcomes { ok: self.then(vec![kept], outcomes.ok), ..outcomes }
    }
}

pub(super) fn agent_effect(here: Here<'_>, agent: &Agent) -> Effect {
    let format = if agent.json { Format::JsonBlock } else { Format::Text };
    let response = Response { format, ..report(here.state, "agent") };
    // A provider that is known from the text is looked for before the run starts.
    let provider = agent.provider.as_ref().map(Text::text).filter(|provider| !provider.contains("{{"));
    let provider = provider.map(|provider| ("provider".into(), Value::Str(provider.clone())));
    // So is a model.
    let model = agent.options.get("model").filter(|model| model.as_str().is_some());
    let model = model.map(|model| ("model".into(), model.clone()));
    let texts = [("prompt", written(agent.prompt.as_ref())), ("system", agent.system_prompt.as_ref())];
    Effect {
        fixed: [("program".into(), Value::Bool(true))].into_iter().chain(provider).chain(model).collect(),
        secrets: secret_texts(texts),
        ..effect_of(here, Kind::Model, response)
    }
}

pub(super) fn continued(agent: &Agent) -> Option<&str> {
    agent.conversation.as_ref().and_then(|conversation| conversation.continue_from.as_ref()).map(name_of)
}

fn name_of(state: &Text) -> &str {
    state.text()
}
