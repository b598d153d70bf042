//! Attachment rules in the form of the builtin.

use branchpoint_expr::{Located, Shape, Value};

use super::tree::Step;
use crate::lowering::object;

/// Whether a step chooses attachments by rules: a loop over them, or a call of a model.
pub(super) fn has_rules(step: &Step<'_>) -> bool {
    if step.is("for_each") {
        return step.flag("iterate_attachments", false);
    }
    // Plain text is a selector; a template gives the attachments themselves.
    let is_selector = |text: &str| !text.trim().is_empty() && !text.contains("{{");
    ATTACHING.contains(&step.kind.name)
        && (step.get("attachment_rules").is_some() || step.text("attachments").is_some_and(|text| is_selector(text)))
}

/// The steps whose models get attachments.
pub(super) const ATTACHING: [&str; 4] = ["prompt_call", "agent", "extract_data", "evaluate_step"];

/// The steps whose attachments the rules of a step choose from.
pub(super) fn source_steps<'d>(step: &Step<'d>) -> impl Iterator<Item = &'d str> {
    let rules = ["attachment_rules", "attachments"].into_iter().filter_map(|key| step.get(key)?.items());
    rules.flatten().filter_map(|rule| rule.get("step_id")?.text().map(|id| &**id))
}

/// The rules of a step as a list of `{source, kind, …}`; a step as a source is `step:<id>`.
pub(super) fn rules(step: &Step<'_>) -> Value {
    let written = step.get("attachment_rules").or_else(|| step.get("attachments"));
    let rules: Vec<Value> = match written.map(|written| &written.shape) {
        Some(Shape::List(rules)) if !rules.is_empty() => rules.iter().map(rule).collect(),
        Some(Shape::Str { text, .. }) => vec![selected(text)],
        _ => vec![object([("source", Value::from("input")), ("kind", Value::from("all"))])],
    };
    Value::from(rules)
}

fn rule(rule: &Located) -> Value {
    let text = |key: &str| rule.get(key).and_then(Located::text).map(|text| &**text);
    let source = match text("source") {
        Some("step") => format!("step:{}", text("step_id").unwrap_or_default()),
        source => source.unwrap_or("input").to_owned(),
    };
    let value = |key: &str| rule.get(key).map(Located::to_value).unwrap_or_default();
    object([
        ("source", Value::from(source)),
        ("kind", Value::from(text("kind").unwrap_or("all"))),
        ("pattern", value("pattern")),
        ("name", value("name")),
        ("index", value("index")),
    ])
}

/// The rule of a single selector: a position, a pattern or a name.
pub(super) fn selected(selector: &str) -> Value {
    let bare = selector.trim();
    let bare = bare.strip_prefix("attachments[").and_then(|rest| rest.strip_suffix(']')).unwrap_or(bare);
    let source = ("source", Value::from("input"));
    if let Ok(index) = bare.parse::<i64>() {
        return object([source, ("kind", Value::from("index")), ("index", Value::Int(index))]);
    }
    match bare {
        "" | "all" | "*" => object([source, ("kind", Value::from("all"))]),
        _ if bare.contains(['*', '?', '[']) => {
            object([source, ("kind", Value::from("pattern")), ("pattern", Value::from(bare))])
        }
        _ => object([source, ("kind", Value::from("name")), ("name", Value::from(bare))]),
    }
}
