//! The effect of a step: its kind, the fixed fields of its request, and the rules for its responses.

use branchpoint_core::effect::{ChatOperation, FilesOperation, Kind, MemoryOperation, Response, Task};
use branchpoint_core::ir::Effect;
use branchpoint_expr::{Located, Object, Shape, Value};

use super::request::Request;
use super::tree::Step;
use super::types::Family;
use crate::output_limit::OutputLimit;

pub(super) use branchpoint_expr::instant_ms;

/// The score from which an evaluation passes, unless the step says otherwise.
const PASS_THRESHOLD: f64 = 0.5;

/// The kind of a step's effect.
pub(super) fn kind(step: &Step<'_>, scripted: bool) -> Kind {
    match step.kind.family {
        // A scripted answer takes precedence over the called workflow.
        Family::Effect(Kind::Run) if scripted => Kind::Scripted,
        // Without a path, data is extracted by a model.
        Family::Effect(Kind::Extract)
            if step.is("extract_data") && step.get("output_schema").is_some() && step.get("path").is_none() =>
        {
            Kind::Model
        }
        Family::Effect(kind) => kind,
        Family::Pure | Family::Control => Kind::Scripted,
    }
}

/// The effect of a step, apart from its retries and limits.
pub(super) fn definition(step: &Step<'_>, kind: Kind, request: &Request) -> Effect {
    let mut fixed = Object::default();
    let mut store = |key: &str, value: Value| fixed.insert(key.into(), value);
    match kind {
        Kind::Model => {
            match step.kind.name {
                "evaluate_step" => _ = store("task", Task::Score.into()),
                "extract_data" => _ = store("task", Task::Extract.into()),
                _ => {}
            }
            // A model and tools that the document names are checked before the run starts.
            let model = step.text("model").map_or("default", |model| &**model);
            if !model.contains("{{") {
                store("model", Value::from(model));
            }
            let uses = step.get("tools").map(tools).filter(|uses| !uses.is_empty());
            uses.map(|uses| store("uses", Value::from(uses)));
            step.get("stop_when").map(|stop| store("stop_when", super::condition::at_key(stop).to_value()));
        }
        // An unreadable path and an unsupported model are reported before the run starts.
        Kind::Extract | Kind::Retrieval => {
            let is_checked = |name: &str| ["path", "format", "reranker_model"].contains(&name);
            for (name, _, written) in request.fields.iter().filter(|(name, ..)| is_checked(name)) {
                if let Some(text) = written.text().filter(|text| !text.contains("{{")) {
                    store(name, Value::Str(text.clone()));
                }
            }
        }
        Kind::Run => {
            let callee = step.callee().map(|(name, _)| Value::Str(name));
            store("workflow", callee.unwrap_or_default());
        }
        Kind::Files => {
            store("operation", operation(step).into());
            // An index needs more than the folder, so it is checked before the run starts.
            if step.flag("indexed", false) {
                store("indexed", Value::Bool(true));
            }
        }
        Kind::Memory => {
            let operation = match step.kind.name {
                "add_memory" => MemoryOperation::Add,
                "load_memory" => MemoryOperation::Load,
                _ => MemoryOperation::Search,
            };
            store("operation", operation.into());
        }
        Kind::ChatHistory => {
            let adds = step.is("add_chat_turn");
            store("operation", if adds { ChatOperation::Add } else { ChatOperation::Load }.into());
        }
        _ => {}
    }
    Effect { kind, fixed, response: response(step), secrets: request.secrets.clone(), ..Effect::default() }
}

fn operation(step: &Step<'_>) -> FilesOperation {
    match step.kind.name {
        "write_content_attachment" => FilesOperation::Write,
        "write_metadata" => FilesOperation::WriteMetadata,
        "publish_content" => FilesOperation::Publish,
        _ => FilesOperation::Load,
    }
}

fn response(step: &Step<'_>) -> Response {
    let mut response = Response {
        envelope: true,
        output_schema: step.get("output_schema").map(Located::to_value),
        expected_status: step.get("expect_status").and_then(statuses),
        child: step.kind.family == Family::Effect(Kind::Run),
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
        OutputLimit::read(step.located).add_to(&mut response);
    }
    response
}

/// The names of tools in the document, which are checked before the run starts.
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
