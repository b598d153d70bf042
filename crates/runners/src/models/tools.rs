//! Descriptions of tools for a model.

use std::pin::Pin;
use std::sync::Arc;

use branchpoint_expr::Value;
use serde_json::{Value as Json, json};

use super::messages::{Names, tool_name};

/// The description of a tool by a host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolDescription {
    /// One or two sentences: what it does and when to use it.
    pub description: Option<Arc<str>>,
    /// A JSON Schema of its arguments.
    pub parameters: Option<Value>,
}

/// The descriptions of tools in the order of their names; `None` for a tool that is not configured.
pub type ToolDescriptions = Pin<Box<dyn Future<Output = Vec<Option<ToolDescription>>> + Send>>;

/// Describes tools that a call gives by name, all in one request.
pub type ToolCatalogue = Arc<dyn Fn(Vec<String>) -> ToolDescriptions + Send + Sync>;

/// A tool that a request offers.
#[derive(Clone, Debug)]
pub(super) struct Tool {
    /// The name on the wire.
    pub(super) name: String,
    pub(super) description: Option<String>,
    /// A JSON Schema of its arguments.
    pub(super) parameters: Json,
}

/// The tools of a request. The catalogue is queried once, for tools that the request does not describe. Optional tools without a
/// description are left out.
pub(super) async fn wire(tools: &[Value], names: &Names, catalogue: &ToolCatalogue, optional: bool) -> Vec<Tool> {
    let is_described = |tool: &Value| ["description", "parameters"].iter().all(|field| own(tool, field).is_some());
    let unknown = tools.iter().filter(|tool| !is_described(tool)).map(|tool| tool_name(tool).to_owned());
    let unknown: Vec<String> = unknown.collect();
    let known = if unknown.is_empty() { Vec::new() } else { catalogue(unknown).await };
    let mut known = known.into_iter();
    let one = |tool: &Value| {
        let known = if is_described(tool) { Some(ToolDescription::default()) } else { known.next().flatten() };
        let known = if optional { known? } else { known.unwrap_or_default() };
        let description = own(tool, "description").and_then(Value::as_str).or(known.description.as_deref());
        let parameters = own(tool, "parameters").or(known.parameters.as_ref());
        // A tool without a schema accepts any arguments.
        let any = || json!({"type": "object", "properties": {}, "additionalProperties": true});
        Some(Tool {
            name: names.wire(tool_name(tool)).to_owned(),
            description: description.map(str::to_owned),
            parameters: parameters.map_or_else(any, |schema| json!(schema)),
        })
    };
    tools.iter().filter_map(one).collect()
}

/// A field of the request's own description of a tool.
fn own<'t>(tool: &'t Value, field: &str) -> Option<&'t Value> {
    tool.get(field).filter(|value| **value != Value::Null)
}
