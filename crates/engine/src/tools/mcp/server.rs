//! One server: its link is made when it is first needed, kept, and made again when it is dead.

use std::sync::Arc;

use branchpoint_expr::Value;
use rmcp::ServiceError;
use rmcp::model::{CallToolRequestParams, Tool};
use tokio::sync::Mutex;

use super::super::asked::Lookup;
use super::super::failure::{OWN, denied, failed, impossible};
use super::super::settings::McpSettings;
use super::link::Link;
use super::result::{answer, value_of};
use super::{Offered, quoted};
use crate::runner::Answer;

/// A server of the settings.
#[derive(Debug)]
pub(super) struct Server {
    name: Arc<str>,
    settings: McpSettings,
    lookup: Lookup,
    link: Mutex<Option<Arc<Link>>>,
}

impl Server {
    pub(super) fn new(name: &str, settings: McpSettings, lookup: Lookup) -> Self {
        Self { name: name.into(), settings, lookup, link: Mutex::default() }
    }

    pub(super) fn timeout_ms(&self) -> Option<u64> {
        self.settings.timeout_ms
    }

    /// What is wrong with its settings, if something is.
    pub(super) fn lacks(&self) -> Option<String> {
        let name = &self.name;
        if self.settings.command.is_some() == self.settings.url.is_some() {
            return Some(format!("[mcp.{name}] in the settings needs either command or url"));
        }
        let missing = self.wanted().find(|wanted| self.lookup.get(wanted).is_none())?;
        Some(format!("the MCP server `{name}` needs {missing}, and the environment has none; set {missing}"))
    }

    /// The names of the secrets that it is given.
    fn wanted(&self) -> impl Iterator<Item = &String> {
        self.settings.env_from.values().chain(self.settings.headers_from.values())
    }

    /// Calls a tool and reads what it gives, without the secrets that the server was given.
    pub(super) async fn call(&self, tool: &str, arguments: &Value) -> Result<Answer, Answer> {
        let secrets = self.lookup.secrets(self.wanted());
        let called = self.called(tool, arguments).await;
        called.map(|answer| secrets.mask_answer(answer)).map_err(|answer| secrets.mask_answer(answer))
    }

    async fn called(&self, tool: &str, arguments: &Value) -> Result<Answer, Answer> {
        let link = self.link().await.map_err(|reason| failed(OWN, reason))?;
        let mut params = CallToolRequestParams::new(tool.to_owned());
        match serde_json::to_value(arguments) {
            Ok(serde_json::Value::Object(arguments)) => params = params.with_arguments(arguments),
            Ok(serde_json::Value::Null) => {}
            _ => return Err(impossible(format!("the arguments of the tool `{tool}` must be an object"))),
        }
        match link.service.call_tool(params).await {
            Ok(result) => answer(result),
            Err(error) => Err(self.failure(&link, tool, error).await),
        }
    }

    /// What it offers.
    pub(super) async fn offered(&self) -> Result<Vec<Offered>, String> {
        let link = self.link().await?;
        let tools = link.service.list_all_tools().await.map_err(|error| {
            format!("the MCP server `{}` does not say which tools it offers: {error}{}", self.name, link.said())
        })?;
        Ok(tools.into_iter().map(|tool| self.described(tool)).collect())
    }

    fn described(&self, tool: Tool) -> Offered {
        Offered {
            server: self.name.clone(),
            name: (*tool.name).into(),
            description: tool.description.map(|text| (*text).into()),
            schema: value_of(serde_json::Value::Object((*tool.input_schema).clone())),
        }
    }

    async fn failure(&self, link: &Link, tool: &str, error: ServiceError) -> Answer {
        let name = &self.name;
        match error {
            // The protocol has this code for tools that do not exist, and some servers have it for bad arguments.
            ServiceError::McpError(error) => {
                let offered = self.offered().await.unwrap_or_default();
                if offered.is_empty() || offered.iter().any(|known| &*known.name == tool) {
                    return denied(format!("the MCP server `{name}` refused the call of `{tool}`: {}", error.message));
                }
                let names = quoted(offered.iter().map(|tool| &*tool.name));
                impossible(format!("the MCP server `{name}` has no tool `{tool}`; it has {names}"))
            }
            error => {
                failed(OWN, format!("the call of `{tool}` at the MCP server `{name}` broke: {error}{}", link.said()))
            }
        }
    }

    async fn link(&self) -> Result<Arc<Link>, String> {
        let mut kept = self.link.lock().await;
        if let Some(link) = kept.as_ref().filter(|link| !link.is_dead()) {
            return Ok(Arc::clone(link));
        }
        // What is dead goes first: a server may hold something that the next one needs.
        drop(kept.take());
        if let Some(lacks) = self.lacks() {
            return Err(lacks);
        }
        let link = Link::open(&self.name, &self.settings, &self.lookup).await?;
        Ok(Arc::clone(kept.insert(Arc::new(link))))
    }
}
