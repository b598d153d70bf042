//! Requests to tools and to other workflows.

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
        /// What the calling run is told of an agent that it runs as a tool.
        told: Value,
    }
}
