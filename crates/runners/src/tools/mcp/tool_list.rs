//! The tools that an MCP server offers.

use std::sync::Arc;

use branchpoint_expr::Value;
use rmcp::model::{
    ClientRequest, CustomResult, ListToolsRequest, ListToolsResult, PaginatedRequestParams, ServerResult,
};
use serde_json::Value as Json;

use super::connection::Connection;
use super::server_error::ServerError;
use crate::models::ToolDescription;

/// The most pages of a list of tools.
const MAX_PAGES: usize = 1000;

/// The tools of a server, in its order.
#[derive(Debug, Default)]
pub(super) struct ToolList(Vec<(Arc<str>, ToolDescription)>);

impl ToolList {
    pub(super) fn get(&self, name: &str) -> Option<&ToolDescription> {
        self.0.iter().find(|(known, _)| **known == *name).map(|(_, description)| description)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| &**name)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Requests the list. The limit of bytes applies to all pages together.
    pub(super) async fn read(connection: &Connection, max_bytes: usize) -> Result<Self, ServerError> {
        let server = &connection.server;
        let mut list = Self::default();
        let mut bytes = 0;
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let (tools, next) = page(connection, cursor).await?;
            for tool in tools {
                bytes += tool.to_string().len();
                if bytes > max_bytes {
                    return Err(ServerError::too_long(server, max_bytes));
                }
                list.0.extend(describe(&tool));
            }
            cursor = next;
            if cursor.is_none() {
                return Ok(list);
            }
        }
        Err(ServerError::Permanent(format!(
            "the MCP server `{server}` lists more than {MAX_PAGES} pages of tools, which is not supported"
        )))
    }
}

/// The tools of one page, and the cursor of the next page. The library rejects a list with one malformed tool; the other tools can be
/// called, so such a list is read as plain JSON.
async fn page(connection: &Connection, cursor: Option<String>) -> Result<(Vec<Json>, Option<String>), ServerError> {
    let server = &connection.server;
    let params = PaginatedRequestParams::default().with_cursor(cursor);
    let request = ListToolsRequest { params: Some(params), ..ListToolsRequest::default() };
    let response = match connection.service.send_request(ClientRequest::ListToolsRequest(request)).await {
        Ok(response) => response,
        Err(error) => return Err(connection.explain(&error).await),
    };
    match response {
        ServerResult::ListToolsResult(ListToolsResult { tools, next_cursor, .. }) => {
            let tools = tools.into_iter().map(|tool| serde_json::to_value(tool).unwrap_or_default()).collect();
            Ok((tools, next_cursor))
        }
        ServerResult::CustomResult(CustomResult(mut page)) if page["tools"].is_array() => {
            let next = page["nextCursor"].as_str().filter(|cursor| !cursor.is_empty()).map(str::to_owned);
            Ok((page["tools"].as_array_mut().map(std::mem::take).unwrap_or_default(), next))
        }
        _ => Err(ServerError::Permanent(format!(
            "the MCP server `{server}` responded to the request for its tools with something that is not a list of tools; check the \
             command or url of [mcp.{server}] in the settings, or use another version of the server"
        ))),
    }
}

/// A tool with its name; `None` without a name. A tool without a valid schema accepts any arguments.
fn describe(tool: &Json) -> Option<(Arc<str>, ToolDescription)> {
    let description = tool["description"].as_str().map(Arc::from);
    let parameters = Some(&tool["inputSchema"]).filter(|schema| schema.is_object()).map(Value::from);
    Some((tool["name"].as_str()?.into(), ToolDescription { description, parameters }))
}
