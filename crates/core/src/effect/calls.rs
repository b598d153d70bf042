//! Requests to tools and to other workflows.

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
        /// Arguments that the document sets; those of the call count more.
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
        /// Facts for it, beside those of the host.
        facts: Object,
        /// Notices about this run, for the run that has the outermost agent: the name of the `signal`, and its payloads `started`,
        /// `completed` and `failed`. The last gets the `message` of the error.
        notices: Object,
    }
}

/// A value, and its media type if that is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Content {
    /// The value.
    pub value: Value,
    /// The media type.
    pub content_type: Option<Arc<str>>,
}
