//! Tools as they are described to a model.

use std::pin::Pin;
use std::sync::Arc;

use branchpoint_expr::Value;
use serde_json::{Value as Json, json};

use super::messages::{Names, tool_name};

/// What a host knows of a tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolDescription {
    /// One or two sentences: what it does and when to use it.
    pub description: Option<Arc<str>>,
    /// A JSON Schema of its arguments.
    pub parameters: Option<Value>,
}

/// The descriptions of some tools, each where its name stands.
pub type Descriptions = Pin<Box<dyn Future<Output = Vec<Option<ToolDescription>>> + Send>>;

/// Describes tools that a call only names, all of them at once.
pub type Catalogue = Arc<dyn Fn(Vec<String>) -> Descriptions + Send + Sync>;

/// A tool that a request offers.
#[derive(Clone, Debug)]
pub(super) struct Tool {
    /// The name on the wire.
    pub(super) name: String,
    pub(super) description: Option<String>,
    /// A JSON Schema of its arguments.
    pub(super) parameters: Json,
}

pub(super) async fn wire(tools: &[Value], names: &Names, catalogue: &Catalogue) -> Vec<Tool> {
    let only_named = |tool: &&Value| own_description(tool).is_none() || own_parameters(tool).is_none();
    let wanted: Vec<String> = tools.iter().filter(only_named).map(|tool| tool_name(tool).to_owned()).collect();
    let known = if wanted.is_empty() { Vec::new() } else { catalogue(wanted).await };
    let mut known = known.into_iter();
    let known_of = |tool: &Value| if only_named(&tool) { known.next().flatten() } else { None };
    let known: Vec<_> = tools.iter().map(known_of).collect();
    tools.iter().zip(known).map(|(tool, known)| one(tool, names, known.unwrap_or_default())).collect()
}

fn own_description(tool: &Value) -> Option<&Value> {
    tool.get("description").filter(|value| **value != Value::Null)
}

fn own_parameters(tool: &Value) -> Option<&Value> {
    let keys = ["parameters", "input_schema", "inputSchema"];
    keys.iter().find_map(|key| tool.get(key).filter(|value| **value != Value::Null))
}

fn one(tool: &Value, names: &Names, known: ToolDescription) -> Tool {
    let (name, parameters) = (tool_name(tool), own_parameters(tool));
    let description = own_description(tool).and_then(Value::as_str).map(str::to_owned);
    let parameters = parameters.cloned().or(known.parameters).and_then(|schema| serde_json::to_value(schema).ok());
    // Whatever is not described takes any arguments.
    let parameters =
        parameters.unwrap_or_else(|| json!({"type": "object", "properties": {}, "additionalProperties": true}));
    let description = description.or_else(|| known.description.map(|text| text.to_string()));
    Tool { name: names.wire(name).to_owned(), description, parameters }
}
