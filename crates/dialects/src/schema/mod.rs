//! JSON Schemas of the dialects, for completion and hints in editors.
//!
//! A schema describes only the structure, so `load` rejects more documents. A schema never rejects a document that loads.

use branchpoint_expr::Dialect;
use serde_json::{Value, json};

use crate::fields::Type::{Any, Entries, Nullable, Ref, Words};
use crate::fields::schema::{is_one_of, print, reference};
use crate::fields::{Generator, Table, field};
use crate::{inputs, run_limits};

/// The JSON Schema (2020-12) of a dialect's documents.
///
/// ```
/// let schema = branchpoint_dialects::schema(branchpoint_expr::Dialect::Steps);
/// assert!(schema.contains("\"step_type\""));
/// ```
pub fn schema(dialect: Dialect) -> String {
    let generated = match dialect {
        Dialect::Machine => crate::machine::schema(),
        Dialect::Flow => crate::flow::schema(),
        Dialect::Steps => crate::steps::schema(),
        Dialect::Session => crate::session::schema(),
        Dialect::Graph => crate::graph::schema(),
    };
    print(&generated, 0) + "\n"
}

const COMBINATOR: Table =
    &[field("combinator", Words(&["and", "or", "not"]), "How the conditions are combined; `not` has one.").or("and")];

const GROUP: Table = &[field("conditions", Entries(&Ref("group_entry")), "Clauses and groups.").required()];

const CLAUSE: Table = &[
    field("variable", Nullable, "What is tested. A template.").required(),
    field("operator", Words(OPERATORS), "How it is tested.").required(),
    field("value", Any, "What it is compared with; not for `is_empty` and `is_not_empty`. A template."),
    field(
        "type",
        Words(&["auto", "string", "number", "boolean", "datetime", "array", "object"]),
        "The type of both sides.",
    )
    .or("auto"),
];

const OPERATORS: &[&str] = &[
    "equals",
    "not_equals",
    "greater_than",
    "less_than",
    "greater_than_or_equal",
    "less_than_or_equal",
    "contains",
    "not_contains",
    "starts_with",
    "ends_with",
    "is_empty",
    "is_not_empty",
];

/// The definition of limits on runs, for every dialect.
pub(crate) fn limits() -> Value {
    let mut limits = Generator(run_limits::STYLE).object(&[run_limits::FIELDS]);
    limits["type"] = json!(["object", "null"]);
    limits["anyOf"] = json!([{"type": "null"}, {"required": ["concurrent"]}, {"required": ["rate"]}]);
    limits["additionalProperties"] = json!(false);
    limits
}

/// The definitions that dialects share: inputs, limits, and conditions as expressions and as typed groups.
pub(crate) fn shared() -> Value {
    let generator = Generator(inputs::STYLE);
    let inputs = json!({"type": ["array", "null"], "items": generator.object(&[inputs::FIELDS])});
    let condition = is_one_of(vec![json!({"type": ["string", "boolean"]}), reference("group")]);
    json!({
        "inputs": inputs,
        "limits": limits(),
        "if": condition,
        "group": generator.object(&[COMBINATOR, GROUP]),
        "group_entry": is_one_of(vec![reference("group"), generator.object(&[CLAUSE])]),
    })
}
