//! Requests to MCP servers, tools and other workflows.

use std::sync::Arc;

use branchpoint_expr::{Object, Value};

use super::fields::request;

request! {
    /// An action of an MCP server.
    McpRequest {
        /// The server, by its name in the settings.
        server: Option<String>,
        /// The action.
        action: Option<String>,
        /// Its arguments.
        params: Value,
    }
}

request! {
    /// A tool by name.
    ToolRequest {
        /// The name of the tool.
        tool: Option<String>,
        /// The id of the call, if a model made it.
        id: Option<String>,
        /// The arguments.
        arguments: Value,
        /// Arguments that the document sets; the arguments of the call override them.
        configuration: Object,
    }
}

request! {
    /// A run of another workflow.
    RunRequest {
        /// The workflow.
        workflow: Option<String>,
        /// Its inputs.
        inputs: Value,
        /// Facts for the called run, in addition to those of the host.
        facts: Object,
        /// Notices about the called run, sent to the run of the outermost agent: the name of the `signal`, and its payloads `started`,
        /// `completed` and `failed`. The payload `failed` gets the `message` of the error.
        notices: Object,
    }
}

/// A value and its media type, if known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Content {
    /// The value.
    pub value: Value,
    /// The media type.
    pub content_type: Option<Arc<str>>,
}
