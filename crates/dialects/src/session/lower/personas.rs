//! Personas of steps: the changes of model calls while a step is active, and their view for hosts of a gate.

use std::collections::BTreeSet;
use std::sync::Arc;

use branchpoint_expr::{Object, Value};

use super::super::raw::{Agent, Persona};
use crate::agent_loop;

/// Whether a step has a persona.
pub(super) fn any(agent: &Agent<'_>) -> bool {
    agent.steps.iter().any(|step| step.persona.is_some())
}

/// `{prompt, model, options}` by step, each field only where the document has it.
pub(super) fn all(agent: &Agent<'_>) -> Value {
    by_step(agent, |persona| {
        let fields = [
            ("prompt", persona.prompt.clone().map(Value::from)),
            ("model", persona.model.clone().map(Value::Str)),
            ("options", persona.options.clone()),
        ];
        let fields = fields.into_iter().filter_map(|(name, value)| Some((Arc::from(name), value?)));
        Some(Value::from(fields.collect::<Object>()))
    })
}

/// The models by step.
pub(super) fn models_by_step(agent: &Agent<'_>) -> Value {
    by_step(agent, |persona| persona.model.clone().map(Value::Str))
}

/// The sampling options by step, by the names of requests.
pub(super) fn options_by_step(agent: &Agent<'_>) -> Value {
    by_step(agent, |persona| Some(Value::from(sampling(persona))))
}

/// The models of all steps, each once, for the check before a run; none if there is none.
pub(super) fn models(agent: &Agent<'_>) -> Option<Value> {
    let models = agent.steps.iter().filter_map(|step| step.persona.as_ref()?.model.clone());
    let models: BTreeSet<Arc<str>> = models.collect();
    (!models.is_empty()).then(|| Value::from(models.into_iter().map(Value::Str).collect::<Vec<_>>()))
}

/// The fields of a model call that a persona may change, as a part of a formula over `models`, `options` and the agent's own `sampling`.
pub(super) fn model_fields(agent: &Agent<'_>, own: &Object) -> String {
    let mut names: BTreeSet<&str> = own.keys().map(|name| &**name).collect();
    let options: Vec<Object> = agent.steps.iter().filter_map(|step| step.persona.as_ref()).map(sampling).collect();
    let of_personas: BTreeSet<&str> = options.iter().flat_map(Object::keys).map(|name| &**name).collect();
    names.extend(&of_personas);
    let field = |name: &str| {
        let own = format!("sampling.{name}");
        let persona = format!("get(options, active)?.{name} ?? ");
        format!(", {name}: {}{own}", if of_personas.contains(name) { &*persona } else { "" })
    };
    let fields: String = names.into_iter().map(field).collect();
    let model = if models(agent).is_some() { ", model: get(models, active)" } else { "" };
    format!("{fields}{model}")
}

fn sampling(persona: &Persona) -> Object {
    agent_loop::sampling(|name| persona.options.as_ref()?.get(name).cloned())
}

fn by_step(agent: &Agent<'_>, value: impl Fn(&Persona) -> Option<Value>) -> Value {
    let steps = agent.steps.iter().filter_map(|step| Some((step.name.clone(), value(step.persona.as_ref()?)?)));
    Value::from(steps.collect::<Object>())
}
