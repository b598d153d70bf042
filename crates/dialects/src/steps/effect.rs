//! What the runner of an effect and the judge of its answers go by: the constants of an effect.

use std::sync::Arc;

use branchpoint_expr::{Located, Object, Shape, Value};

use super::request::Request;
use super::tree::Step;
use super::types::Family;
use crate::output::OutputLimit;
use crate::secrets;

pub(super) use branchpoint_expr::instant_ms;

/// The score from which an evaluation passes, unless the step says otherwise.
const PASS_THRESHOLD: f64 = 0.5;

/// The kind of runner, and what is the same for every call.
pub(super) fn constants(step: &Step<'_>, request: &Request, streamed: bool, scripted: bool) -> (Arc<str>, Value) {
    let kind = match step.kind.family {
        // What someone wrote down comes before the workflow that would be called.
        Family::Effect(_) if scripted && step.is("call_workflow") => "scripted",
        Family::Effect(kind) => kind,
        Family::Pure | Family::Control => "scripted",
    };
    let mut spec = Object::default();
    let mut put = |key: &str, value: Value| spec.insert(key.into(), value);
    put("step_type", Value::from(step.kind.name));
    put("envelope", Value::Bool(true));
    // A model that is known from the text is looked for before the run starts.
    if ["model", "agent", "evaluate"].contains(&kind) {
        let model = step.text("model").map_or("default", |model| &**model);
        if !model.contains("{{") {
            put("model", Value::from(model));
        }
    }
    let uses = step.get("tools").map(tools).filter(|uses| !uses.is_empty());
    if let Some(uses) = uses.filter(|_| ["model", "agent"].contains(&kind)) {
        put("uses", Value::from(uses));
    }
    // So is a path that can never be read.
    if kind == "extract" {
        for (name, _, written) in
            request.fields.iter().filter(|(name, ..)| ["path", "expected_format"].contains(&&**name))
        {
            if let Some(text) = written.text().filter(|text| !text.contains("{{")) {
                put(name, Value::Str(text.clone()));
            }
        }
    }
    if let Some(schema) = step.get("output_schema") {
        put("output_schema", schema.to_value());
    }
    if let Some(expected) = step.get("expect_status").and_then(statuses) {
        put("expect_status", expected);
    }
    if step.is("evaluate_step") {
        let threshold = step.get("pass_threshold").map(Located::to_value);
        put("pass_threshold", threshold.unwrap_or(Value::Float(PASS_THRESHOLD)));
    }
    if step.is("call_workflow") {
        put("workflow", step.get("workflow").map(Located::to_value).unwrap_or_default());
        put("child", Value::Bool(true));
    }
    if let Some(condition) = step.get("stop_when") {
        put("stop_when", super::condition::under(condition).to_value());
    }
    if streamed {
        put("stream", Value::Bool(true));
    }
    if step.is("command") {
        OutputLimit::read(step.get("max_output"), step.get("truncate")).add_to(&mut spec);
    }
    (kind.into(), secrets::mark(Value::from(spec), request.secrets.iter().cloned()))
}

/// The names of tools that are known from the text; they are looked for before the run starts.
fn tools(written: &Located) -> Vec<Value> {
    let name = |tool: &Located| tool.text().or_else(|| tool.get("name")?.text()).cloned();
    let names: Vec<_> = match &written.shape {
        Shape::List(tools) => tools.iter().filter_map(name).collect(),
        Shape::Object(flags) => {
            let offered = flags.iter().filter(|flag| flag.value.to_value() == Value::Bool(true));
            offered.map(|flag| flag.key.clone()).collect()
        }
        _ => Vec::new(),
    };
    names.into_iter().filter(|name| !name.contains("{{")).map(Value::Str).collect()
}

/// Statuses and ranges `[low, high]`, from a status, a range such as `200-299`, or a list of them.
pub(super) fn statuses(expected: &Located) -> Option<Value> {
    let one = |value: &Located| match &value.shape {
        Shape::Int(status @ 100..=599) => Some(Value::Int(*status)),
        Shape::Str { text, .. } => {
            let (low, high) = text.split_once(['-', '–']).unwrap_or((text, text));
            let bound = |text: &str| text.trim().parse().ok().filter(|status| (100..=599).contains(status));
            let (low, high): (i64, i64) = (bound(low)?, bound(high)?);
            (low <= high).then(|| Value::from(vec![Value::Int(low), Value::Int(high)]))
        }
        _ => None,
    };
    match &expected.shape {
        Shape::List(items) if !items.is_empty() => items.iter().map(one).collect::<Option<Vec<_>>>().map(Value::from),
        Shape::List(_) => None,
        _ => one(expected).map(|status| Value::from(vec![status])),
    }
}
