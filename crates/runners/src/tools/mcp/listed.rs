//! What a server says that it offers.

use std::sync::Arc;

use rmcp::ServiceError;
use rmcp::model::{
    ClientRequest, CustomResult, ListToolsRequest, ListToolsResult, PaginatedRequestParams, ServerResult,
};
use rmcp::service::{Peer, RoleClient};
use serde_json::Value as Json;

use super::measure::Measure;
use super::result::value_of;
use super::trouble::Trouble;
use crate::models::ToolDescription;

/// How many pages a list of tools may have. A server that always has one more would never end.
const MOST_PAGES: usize = 1000;

/// The tools of a server, in its order.
#[derive(Debug, Default)]
pub(super) struct Listed(Vec<(Arc<str>, ToolDescription)>);

impl Listed {
    pub(super) fn get(&self, name: &str) -> Option<&ToolDescription> {
        self.0.iter().find(|(known, _)| **known == *name).map(|(_, description)| description)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| &**name)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Asks a server. All pages of the list together are one answer, so they are not longer than one.
    pub(super) async fn read(server: &str, peer: &Peer<RoleClient>, mut measure: Measure) -> Result<Self, Unread> {
        let mut listed = Self::default();
        let mut cursor = None;
        for _ in 0..MOST_PAGES {
            let page = page(server, peer, cursor).await?;
            for tool in page.tools {
                measure.add(tool.to_string().as_bytes()).map_err(Unread::Trouble)?;
                listed.0.extend(described(&tool));
            }
            cursor = page.next;
            if cursor.is_none() {
                return Ok(listed);
            }
        }
        Err(Unread::Trouble(Trouble::Lasting(format!(
            "the MCP server `{server}` has more than {MOST_PAGES} pages of tools; they are not read"
        ))))
    }
}

/// Why a list could not be read.
pub(super) enum Unread {
    Call(ServiceError),
    Trouble(Trouble),
}

struct Page {
    tools: Vec<Json>,
    next: Option<String>,
}

/// One page. The library knows no list by its form when one of the tools in it has a flaw; the others are none the worse for it, so
/// they are taken as they came.
async fn page(server: &str, peer: &Peer<RoleClient>, cursor: Option<String>) -> Result<Page, Unread> {
    let params = PaginatedRequestParams::default().with_cursor(cursor);
    let request = ListToolsRequest { params: Some(params), ..ListToolsRequest::default() };
    let said = peer.send_request(ClientRequest::ListToolsRequest(request)).await.map_err(Unread::Call)?;
    match said {
        ServerResult::ListToolsResult(ListToolsResult { tools, next_cursor, .. }) => {
            let tools = tools.into_iter().map(|tool| serde_json::to_value(tool).unwrap_or_default()).collect();
            Ok(Page { tools, next: next_cursor })
        }
        ServerResult::CustomResult(CustomResult(mut said)) if said["tools"].is_array() => {
            let next = said["nextCursor"].as_str().filter(|cursor| !cursor.is_empty()).map(str::to_owned);
            let Json::Array(tools) = said["tools"].take() else { return Ok(Page { tools: Vec::new(), next }) };
            Ok(Page { tools, next })
        }
        _ => Err(Unread::Trouble(Trouble::Lasting(format!(
            "the MCP server `{server}` answers to the question which tools it has with something that is no list of tools; check the \
             command or url of [mcp.{server}] in the settings, or use another version of the server"
        )))),
    }
}

/// A tool under its name; one without a name is none that anybody could call. What has no readable schema takes any arguments.
fn described(tool: &Json) -> Option<(Arc<str>, ToolDescription)> {
    let description = tool["description"].as_str().map(Arc::from);
    let parameters = Some(&tool["inputSchema"]).filter(|schema| schema.is_object()).cloned().map(value_of);
    Some((tool["name"].as_str()?.into(), ToolDescription { description, parameters }))
}
