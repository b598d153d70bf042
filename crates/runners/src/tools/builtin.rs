//! Built-in tools, `web_search` and `web_fetch`, and their descriptions for models.

use std::sync::Arc;

use branchpoint_core::effect::{FieldError, Kind, Request, ToolRequest};
use branchpoint_expr::Value;

use crate::models::ToolDescription;

/// A tool that needs no server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Builtin {
    Search,
    Fetch,
}

/// The tools by each of their names. Flows use the camel-case names.
const NAMES: [(&str, Builtin); 4] = [
    ("web_search", Builtin::Search),
    ("webSearch", Builtin::Search),
    ("web_fetch", Builtin::Fetch),
    ("webScraping", Builtin::Fetch),
];

impl Builtin {
    pub(super) fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, tool)| *tool)
    }

    /// Its description for a model.
    pub(super) fn description(self) -> ToolDescription {
        let (description, schema) = match self {
            Self::Search => (
                "Searches the web and gives a list of results, each with `title`, `url` and `snippet`. Use web_fetch to read \
                 a page that was found.",
                r#"{"type": "object", "properties": {
                    "query": {"type": "string", "description": "What to search for."},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 20, "description": "How many results; 10 if it is left out."}
                }, "required": ["query"], "additionalProperties": false}"#,
            ),
            Self::Fetch => (
                "Reads a page of the web and gives its text, or the value if the page is JSON.",
                r#"{"type": "object", "properties": {
                    "url": {"type": "string", "description": "The whole address, with https://."},
                    "format": {"type": "string", "enum": ["text", "html"], "description": "`html` gives the page as it is; its text if this is left out."}
                }, "required": ["url"], "additionalProperties": false}"#,
            ),
        };
        ToolDescription { description: Some(Arc::from(description)), parameters: serde_json::from_str(schema).ok() }
    }
}

/// Converts a call of a tool by name: to the request of a built-in tool, with its own arguments, or to a request for the MCP servers.
/// Arguments that the document sets replace missing ones.
pub(super) fn request(request: &ToolRequest) -> Result<Request, FieldError> {
    let ToolRequest { tool, arguments, configuration, .. } = request;
    let mut arguments = arguments.clone();
    if let Some(own) = arguments.as_object().filter(|_| !configuration.is_empty()) {
        let mut all = configuration.clone();
        all.extend(own.iter().map(|(name, value)| (name.clone(), value.clone())));
        arguments = Value::from(all);
    }
    let (kind, names) = match Builtin::named(tool.as_deref().unwrap_or_default()) {
        Some(Builtin::Search) => (Kind::Search, ["query", "limit"]),
        Some(Builtin::Fetch) => (Kind::Fetch, ["url", "format"]),
        None => return Ok(Request::Tool(ToolRequest { arguments, ..request.clone() })),
    };
    let known = names.into_iter().filter_map(|name| Some((name.into(), arguments.get(name)?.clone())));
    Request::parse(kind, &known.collect(), &Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_a_description_and_a_schema() {
        for (name, tool) in NAMES {
            let described = tool.description();
            assert!(described.description.is_some(), "{name}");
            let schema = serde_json::to_value(described.parameters).expect("it is JSON");
            assert!(schema["properties"].is_object() && schema["required"].is_array(), "{name}: {schema}");
            jsonschema::validator_for(&schema).expect("it is a schema");
        }
        assert_eq!(Builtin::named("other"), None);
    }
}
