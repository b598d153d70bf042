//! What a program consists of: its steps, decisions, loops and approvals, and its declared inputs.

use std::collections::BTreeSet;

use branchpoint_core::ir::{DecisionKind, Index as _, Program};
use branchpoint_expr::Value;
use branchpoint_runners::Secrets;
use serde::Serialize;
use utoipa::ToSchema;

/// The number of steps of a workflow by what they do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Structure {
    steps: usize,
    /// Steps that choose a branch.
    decisions: usize,
    /// Steps that repeat other steps.
    loops: usize,
    /// Steps that wait for people.
    approvals: usize,
}

/// The structure of a program.
pub(crate) fn structure_of(program: &Program) -> Structure {
    let count = |kinds: &[DecisionKind]| {
        let decisions = program.decisions.iter().filter(|decision| kinds.contains(&decision.kind));
        decisions.map(|decision| decision.step).collect::<BTreeSet<_>>().len()
    };
    Structure {
        steps: program.steps.len(),
        decisions: count(&[DecisionKind::Branch, DecisionKind::Switch, DecisionKind::Gate, DecisionKind::Transition]),
        loops: count(&[DecisionKind::Loop]),
        approvals: count(&[DecisionKind::Approval]),
    }
}

/// An input that a workflow declares.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct InputDeclaration {
    name: String,
    r#type: Option<String>,
    required: bool,
    default: Value,
    description: Option<String>,
    /// The possible values; null if any value of the type is possible.
    r#enum: Value,
    /// Whether the name says that the value is secret.
    secret: bool,
}

/// The inputs that a program declares.
pub(crate) fn inputs_of(program: &Program) -> Vec<InputDeclaration> {
    let view = program.views.iter().find(|view| &*view.name == "inputs");
    let declared = view.and_then(|view| program.exprs[view.value.index()].literal());
    let declared = declared.as_ref().and_then(|declared| declared.as_list()).unwrap_or_default();
    // The default of an input may be secret by its name.
    let secrets = Secrets::in_program(program);
    let input = |input: &Value| {
        let part = |key: &str| input.get(key).filter(|part| **part != Value::Null);
        let name = part("name")?.to_string();
        Some(InputDeclaration {
            secret: is_secret(&name),
            r#type: part("type").map(Value::to_string),
            required: part("required") == Some(&Value::Bool(true)) && part("default").is_none(),
            default: part("default").map(|default| secrets.mask_value(default)).unwrap_or_default(),
            description: part("description").map(Value::to_string),
            r#enum: part("enum").cloned().unwrap_or_default(),
            name,
        })
    };
    declared.iter().filter_map(input).collect()
}

/// The declared inputs as a JSON Schema.
pub(crate) fn input_schema(inputs: &[InputDeclaration]) -> serde_json::Value {
    let types = ["string", "number", "integer", "boolean", "array", "object"];
    let property = |input: &InputDeclaration| {
        let mut schema = serde_json::Map::new();
        // Other types are those of the dialect, which a form shows as text.
        if let Some(name) = input.r#type.as_deref().filter(|name| types.contains(name)) {
            schema.insert("type".into(), name.into());
        }
        let parts = [("default", &input.default), ("enum", &input.r#enum)];
        for (key, part) in parts.into_iter().filter(|(_, part)| **part != Value::Null) {
            schema.insert(key.into(), serde_json::to_value(part).unwrap_or_default());
        }
        if let Some(description) = &input.description {
            schema.insert("description".into(), description.as_str().into());
        }
        if input.secret {
            schema.insert("writeOnly".into(), true.into());
        }
        (input.name.clone(), serde_json::Value::from(schema))
    };
    let required = inputs.iter().filter(|input| input.required).map(|input| input.name.as_str());
    serde_json::json!({
        "type": "object",
        "properties": inputs.iter().map(property).collect::<serde_json::Map<_, _>>(),
        "required": required.collect::<Vec<_>>(),
    })
}

/// Whether the name of an input says that its value is secret.
fn is_secret(name: &str) -> bool {
    let probe = [(name.into(), Value::from("secret text"))].into_iter().collect::<branchpoint_expr::Object>();
    !Secrets::of(&Value::from(probe)).values().is_empty()
}
