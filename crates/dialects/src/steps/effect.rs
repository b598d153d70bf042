//! The effect of a step: its kind, the fixed fields of its request, and how its answers are read.

use branchpoint_core::effect::{Kind, Response};
use branchpoint_core::ir::Effect;
use branchpoint_expr::{Located, Object, Shape, Value};

use super::request::Request;
use super::tree::Step;
use super::types::Family;
use crate::output::OutputLimit;

pub(super) use branchpoint_expr::instant_ms;

/// The score from which an evaluation passes, unless the step says otherwise.
const PASS_THRESHOLD: f64 = 0.5;

/// The effect of a step, apart from its retries and limits.
pub(super) fn definition(step: &Step<'_>, request: &Request, scripted: bool) -> Effect {
    let kind = match step.kind.family {
        // An answer in the script counts more than the workflow that would be called.
        Family::Effect(_) if scripted && step.is("call_workflow") => Kind::Scripted,
        Family::Effect(kind) => kind,
        Family::Pure | Family::Control => Kind::Scripted,
    };
    let mut fixed = Object::default();
    let mut put = |key: &str, value: Value| fixed.insert(key.into(), value);
    put("step_type", Value::from(step.kind.name));
    // A model that is known from the text is looked for before the run starts.
    if matches!(kind, Kind::Model | Kind::Agent | Kind::Evaluate) {
        let model = step.text("model").map_or("default", |model| &**model);
        if !model.contains("{{") {
            put("model", Value::from(model));
        }
    }
    let uses = step.get("tools").map(tools).filter(|uses| !uses.is_empty());
    if let Some(uses) = uses.filter(|_| matches!(kind, Kind::Model | Kind::Agent)) {
        put("uses", Value::from(uses));
    }
    // So is a path that can never be read.
    if kind == Kind::Extract {
        for (name, _, written) in
            request.fields.iter().filter(|(name, ..)| ["path", "expected_format"].contains(&&**name))
        {
            if let Some(text) = written.text().filter(|text| !text.contains("{{")) {
                put(name, Value::Str(text.clone()));
            }
        }
    }
    if step.is("call_workflow") && kind == Kind::Run {
        put("workflow", step.get("workflow").map(Located::to_value).unwrap_or_default());
    }
    if let Some(condition) = step.get("stop_when") {
        put("stop_when", super::condition::under(condition).to_value());
    }
    Effect { kind, fixed, response: response(step), secrets: request.secrets.clone(), ..Effect::default() }
}

fn response(step: &Step<'_>) -> Response {
    let mut response = Response {
        envelope: true,
        output_schema: step.get("output_schema").map(Located::to_value),
        expected_status: step.get("expect_status").and_then(statuses),
        child: step.is("call_workflow"),
        ..Response::default()
    };
    if step.is("evaluate_step") {
        let threshold = step.get("pass_threshold").and_then(|threshold| match threshold.shape {
            Shape::Int(threshold) => Some(threshold as f64),
            Shape::Float(threshold) => Some(threshold),
            _ => None,
        });
        response.pass_threshold = Some(threshold.unwrap_or(PASS_THRESHOLD));
    }
    if step.is("command") {
        OutputLimit::read(step.get("max_output"), step.get("truncate")).add_to(&mut response);
    }
    response
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

/// Inclusive ranges of statuses, from a status, a range such as `200-299`, or a list of them.
pub(super) fn statuses(expected: &Located) -> Option<Vec<(u16, u16)>> {
    let one = |value: &Located| match &value.shape {
        Shape::Int(status @ 100..=599) => u16::try_from(*status).ok().map(|status| (status, status)),
        Shape::Str { text, .. } => {
            let (low, high) = text.split_once(['-', '–']).unwrap_or((text, text));
            let bound = |text: &str| text.trim().parse().ok().filter(|status| (100..=599).contains(status));
            let (low, high): (u16, u16) = (bound(low)?, bound(high)?);
            (low <= high).then_some((low, high))
        }
        _ => None,
    };
    match &expected.shape {
        Shape::List(items) if !items.is_empty() => items.iter().map(one).collect(),
        Shape::List(_) => None,
        _ => one(expected).map(|range| vec![range]),
    }
}
