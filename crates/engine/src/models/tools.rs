//! Tools as a model is told about them.

use std::sync::Arc;

use branchpoint_expr::Value;
use genai::chat::Tool;
use serde_json::json;

use super::messages::{Names, tool_name};

/// What a host knows of a tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolDescription {
    /// One or two sentences: what it does and when to use it.
    pub description: Option<Arc<str>>,
    /// A JSON Schema of its arguments.
    pub parameters: Option<Value>,
}

/// Describes tools that a call only names.
pub type Catalogue = Arc<dyn Fn(&str) -> Option<ToolDescription> + Send + Sync>;

pub(super) fn wire(tools: &[Value], names: &Names, catalogue: &Catalogue) -> Vec<Tool> {
    tools.iter().map(|tool| one(tool, names, catalogue)).collect()
}

fn one(tool: &Value, names: &Names, catalogue: &Catalogue) -> Tool {
    let name = tool_name(tool);
    let own = |keys: &[&str]| keys.iter().find_map(|key| tool.get(key).filter(|value| **value != Value::Null));
    let (description, parameters) = (own(&["description"]), own(&["parameters", "input_schema", "inputSchema"]));
    let known = match (description, parameters) {
        (Some(_), Some(_)) => ToolDescription::default(),
        _ => catalogue(name).unwrap_or_default(),
    };
    let description = description.and_then(Value::as_str).map(str::to_owned);
    let parameters = parameters.cloned().or(known.parameters).and_then(|schema| serde_json::to_value(schema).ok());
    // Whatever is not described takes any arguments.
    let parameters =
        parameters.unwrap_or_else(|| json!({"type": "object", "properties": {}, "additionalProperties": true}));
    let wire = Tool::new(names.wire(name).to_owned()).with_schema(parameters);
    match description.or_else(|| known.description.map(|text| text.to_string())) {
        Some(description) => wire.with_description(description),
        None => wire,
    }
}
