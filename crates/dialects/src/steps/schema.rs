//! The JSON Schema of step trees.

use branchpoint_expr::Dialect;
use serde_json::{Value, json};

use super::types::{COMMON, DOCUMENT, STYLE, StepType, deprecated_names, types};
use crate::approvals::form_schema;
use crate::fields::Type::{Any, Duration, Either, Nullable, Placeholder, Text, Words};
use crate::fields::schema::{add_variants, document, has_word, is_one_of, reference};
use crate::fields::{Generator, Table, field};
use crate::schema::shared;

/// A condition of a target list; lists of conditions are compiled, not read.
const TARGET: Table = &[
    field("target", Text, "What is tested: `input`, `input_length`, `input_content_type` or `metadata.` and a path.")
        .or("input"),
    field("operator", Words(OPERATORS), "How it is tested.").required(),
    field("value", Any, "What it is compared with; templates allowed."),
    field("value_type", Words(VALUE_TYPES), "The type of both sides."),
    field("comment", Text, "For people."),
];

const OPERATORS: &[&str] = &[
    "$eq",
    "$ne",
    "$lt",
    "$lte",
    "$gt",
    "$gte",
    "$in",
    "$nin",
    "$regex",
    "$not_regex",
    "$empty",
    "$not_empty",
    "equals",
];
const VALUE_TYPES: &[&str] = &["string", "number", "boolean", "date", "datetime", "relative_time"];

/// A rule of `regex_replace`.
const RULE: Table = &[
    field("pattern", Text, "A regular expression."),
    field("substitution", Text, r"What replaces it; `\1` is its first group."),
];

/// A condition in an object of its own.
const STOP: Table = &[field("conditions", Nullable, ""), field("match", Nullable, ""), field("if", Nullable, "")];

pub(crate) fn schema() -> Value {
    let generator = Generator(STYLE);
    let mut definitions = shared();
    let mut step = generator.object(&[COMMON]);
    let names = |kind: &StepType| {
        let older = deprecated_names().filter(|(_, newer)| *newer == kind.name).map(|(older, _)| older);
        std::iter::once(kind.name).chain(older).collect::<Vec<_>>()
    };
    add_variants(&mut step, types().map(|kind| (has_word("step_type", &names(kind)), reference(kind.name))));
    definitions["step"] = step;
    let older: Vec<&str> = deprecated_names().map(|(older, _)| older).collect();
    let current: Vec<&str> = types().map(|kind| kind.name).collect();
    definitions["step_type"] = is_one_of(vec![json!({"enum": current}), json!({"enum": older, "deprecated": true})]);
    for kind in types() {
        let mut fields = Generator(kind.style()).object(kind.fields);
        fields["description"] = kind.about.into();
        for guard in kind.guards().iter().flat_map(|table| table.iter()) {
            fields["properties"][guard.name] = reference(&format!("guard_{}", guard.name));
            definitions[format!("guard_{}", guard.name)] = generator.field(guard);
        }
        if kind.is_leaf() {
            fields["properties"]["child_steps"] =
                json!({"maxItems": 0, "description": "Not here: it has no children."});
        }
        definitions[kind.name] = fields;
    }
    definitions["group"]["required"] = json!(["combinator"]);
    let own = json!({
        "conditions": {"type": "array", "minItems": 1, "items": reference("condition")},
        "condition": is_one_of(vec![json!({"type": "string"}), reference("group"), generator.object(&[TARGET])]),
        "values": {"not": {"anyOf": [{"type": "null"}, {"type": "array", "maxItems": 0}]}},
        "stop_when": is_one_of(vec![reference("if"), reference("conditions"), generator.object(&[STOP])]),
        "rules": {"type": "array", "items": generator.object(&[RULE])},
        "json_schema": {"type": ["object", "boolean"]},
        "choices": {"type": "array", "minItems": 1, "uniqueItems": true, "items": reference("choice")},
        "choice": {"type": "string", "pattern": r"\S", "not": {"enum": ["timeout", "no_quorum", "cancelled"]}},
        "approval_form": form_schema(),
        "wait_duration": generator.value(Either(&[Duration, Placeholder])),
    });
    if let (Value::Object(all), Value::Object(own)) = (&mut definitions, own) {
        all.extend(own);
    }
    let about = "A tree of steps. Unknown fields are allowed; `branchpoint check` warns of them.";
    definitions["workflow"] = generator.object(&[DOCUMENT]);
    definitions["exported_agent"] = json!({
        "description": "An exported agent; its definition is the workflow.",
        "type": "object",
        "required": ["agent"],
        "properties": {"agent": {"type": "object", "description": "The agent.", "required": ["definition"], "properties": {
            "name": {"type": "string", "description": "The name of the workflow, unless the definition has one."},
            "description": {"type": "string", "description": "Its description, unless the definition has one."},
            "definition": reference("workflow"),
        }}},
    });
    let is_exported = json!({"required": ["export_version", "agent"]});
    let root = json!({"if": is_exported, "then": reference("exported_agent"), "else": reference("workflow")});
    document(Dialect::Steps, about, root, definitions)
}
