//! Tools of MCP servers (Model Context Protocol), which are child processes or reached over HTTP.
//!
//! `rmcp` implements the protocol, event streams and sessions. It reads JSON and error responses without a limit, and skips lines of a child
//! process that are too long, so that a request would wait for ever. `http-body-util` and `tokio-util` limit both here.

mod connection;
mod http;
mod server;
mod server_error;
mod tool_list;

use std::collections::BTreeMap;
use std::time::Instant;

use branchpoint_core::effect::McpRequest;
use branchpoint_expr::Value;
use futures_util::future::join_all;

use super::failure::impossible;
use super::lookup::Lookup;
use super::settings::McpSettings;
use crate::models::ToolDescription;
use crate::network::clients::Clients;
use crate::runner::Answer;
use crate::shorten::{by_similarity, shortened};
use server::{Config, Server};
use server_error::ServerError;

const NO_SERVERS: &str = "no MCP server is configured; add [mcp.NAME] with command or url to the settings";

/// Performs `mcp` and `tool`.
#[derive(Debug)]
pub(super) struct Mcp {
    servers: BTreeMap<String, Server>,
}

impl Mcp {
    pub(super) fn new(settings: &BTreeMap<String, McpSettings>, lookup: &Lookup, clients: &Clients) -> Self {
        let server = |(name, settings): (&String, &McpSettings)| {
            let (settings, lookup, clients) = (settings.clone(), lookup.clone(), clients.clone());
            (name.clone(), Server::new(Config { name: name.as_str().into(), settings, lookup, clients }))
        };
        Self { servers: settings.iter().map(server).collect() }
    }

    /// The default time limit of calls: that of their server, or the longest of all if the server is not known yet.
    pub(super) fn limit_ms(&self, server: Option<&str>) -> u64 {
        let named = server.and_then(|name| self.servers.get(name));
        let longest = || self.servers.values().map(Server::timeout_ms).max();
        named.map(Server::timeout_ms).or_else(longest).unwrap_or_default()
    }

    /// The server that the name of a tool begins with.
    pub(super) fn server_of(&self, tool: Option<&str>) -> Option<&str> {
        self.servers.keys().map(String::as_str).find(|known| strip_server(tool.unwrap_or_default(), known).is_some())
    }

    /// Calls an action of a named server.
    pub(super) async fn action(&self, request: &McpRequest) -> Result<Answer, Answer> {
        let name = request.server.as_deref().unwrap_or_default();
        let server = self.servers.get(name).ok_or_else(|| impossible(self.no_server(name)))?;
        server.call(request.action.as_deref().unwrap_or_default(), &request.params).await
    }

    /// Calls a tool by its name, or by `server.tool`.
    pub(super) async fn tool(&self, name: &str, arguments: &Value) -> Result<Answer, Answer> {
        if self.servers.is_empty() {
            return Err(impossible(format!("unknown tool `{}`: {NO_SERVERS}", shortened(name))));
        }
        let (server, tool) = match self.split_server(name) {
            Some(named) => named,
            None => (self.find(name).await.map_err(ServerError::answer)?, name),
        };
        server.call(tool, arguments).await
    }

    /// Describes tools. A server that does not respond is left out; the error is reported when a tool of it is called.
    pub(super) async fn tool_descriptions(&self, names: &[&str]) -> Vec<Option<ToolDescription>> {
        let any = names.iter().any(|name| self.split_server(name).is_none());
        let is_meant = |known: &str| any || names.iter().any(|name| strip_server(name, known).is_some());
        // Every model call describes tools, and must not wait for a silent server each time.
        let meant = self.servers.iter().filter(|(known, server)| is_meant(known) && !server.is_unresponsive());
        let lists = meant.map(|(known, server)| async move { Some((known.as_str(), server.tools(None).await.ok()?)) });
        let lists: Vec<_> = join_all(lists).await.into_iter().flatten().collect();
        let one = |name: &&str| {
            let mut matching = lists.iter().filter_map(|(server, tools)| {
                let tool = if self.split_server(name).is_some() { strip_server(name, server)? } else { *name };
                tools.get(tool)
            });
            matching.next().filter(|_| matching.next().is_none()).cloned()
        };
        names.iter().map(one).collect()
    }

    /// Why a server cannot be called, as far as that is known without starting it. Without a name, any server may be called.
    pub(super) fn server_unavailable_reason(&self, name: Option<&str>) -> Option<String> {
        if let Some(name) = name {
            return self.servers.get(name).map_or_else(|| Some(self.no_server(name)), Server::unavailable_reason);
        }
        if self.servers.is_empty() {
            return Some(NO_SERVERS.to_owned());
        }
        // One usable server is enough, because the run may call that one.
        let reasons: Option<Vec<String>> = self.servers.values().map(Server::unavailable_reason).collect();
        reasons?.into_iter().next()
    }

    /// Why a tool cannot be called, as far as that is known without listing the tools of servers.
    pub(super) fn server_of_unavailable_reason(&self, tool: &str) -> Option<String> {
        self.split_server(tool)
            .map_or_else(|| self.server_unavailable_reason(None), |(server, _)| server.unavailable_reason())
    }

    /// Why a tool cannot be called. It lists the tools of the servers that may have it.
    pub(super) async fn tool_unavailable_reason(&self, name: &str) -> Option<String> {
        if self.servers.is_empty() {
            return Some(format!("unknown tool `{}`: {NO_SERVERS}", shortened(name)));
        }
        let server_error = match self.split_server(name) {
            None => self.find(name).await.err(),
            Some((server, tool)) => match server.tools(None).await {
                Ok(tools) if tools.get(tool).is_some() => None,
                Ok(tools) => Some(server.missing_tool(tool, &tools)),
                Err(server_error) => Some(server_error),
            },
        };
        server_error.map(|server_error| server_error.to_string())
    }

    fn no_server(&self, name: &str) -> String {
        if self.servers.is_empty() {
            return NO_SERVERS.to_owned();
        }
        format!("unknown MCP server `{}`; the settings have {}", shortened(name), near(name, self.servers.keys()))
    }

    /// Splits `server.tool` if the name begins with a configured server.
    fn split_server<'n>(&self, name: &'n str) -> Option<(&Server, &'n str)> {
        self.servers.iter().find_map(|(known, server)| Some((server, strip_server(name, known)?)))
    }

    /// The only server that has a tool. Cached lists are refreshed before a tool is reported as missing.
    async fn find(&self, name: &str) -> Result<&Server, ServerError> {
        let began = Instant::now();
        match self.find_in_lists(name, None).await {
            Err(ServerError::Permanent(_)) => self.find_in_lists(name, Some(began)).await,
            found => found,
        }
    }

    /// The only server whose list has a tool. A server that does not respond is ignored if another has the tool.
    async fn find_in_lists(&self, name: &str, newer_than: Option<Instant>) -> Result<&Server, ServerError> {
        let servers = self.servers.iter();
        let lists = servers.map(|(known, server)| async move { (known, server, server.tools(newer_than).await) });
        let mut offering = Vec::new();
        let mut names = Vec::new();
        let mut silent = None;
        for (known, server, tools) in join_all(lists).await {
            match tools {
                Ok(tools) => {
                    names.extend(tools.names().map(|tool| format!("{known}.{tool}")));
                    offering.extend(tools.get(name).map(|_| (known, server)));
                }
                Err(server_error) => silent = Some(server_error),
            }
        }
        if let [(_, server)] = *offering {
            return Ok(server);
        }
        let Some((first, _)) = offering.first() else {
            let (name, near) = (shortened(name), near(name, &names));
            let server_error =
                ServerError::Permanent(format!("no MCP server has a tool `{name}`; available tools: {near}"));
            let unknown = format!("no MCP server that responds has a tool `{name}`, and ");
            return Err(silent.map_or(server_error, |silent| silent.with_context(&unknown, "")));
        };
        let servers = quoted(offering.iter().map(|(known, _)| known));
        let message = format!("the tool `{name}` is offered by {servers}; write `{first}.{name}`");
        Err(ServerError::Permanent(message))
    }
}

/// The name of the tool after the name of a server.
fn strip_server<'n>(name: &'n str, server: &str) -> Option<&'n str> {
    name.strip_prefix(server)?.strip_prefix('.')
}

/// Names for a message: all if they are few, else those most similar to the given name.
fn near(written: &str, names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    const FEW: usize = 12;
    let names = by_similarity(written, names, |name| name.rsplit('.').next().unwrap_or_default());
    let more = names.len().saturating_sub(FEW);
    let shown = quoted(names.iter().take(FEW).map(|(_, name)| name));
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

fn quoted(names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{}`", name.as_ref())).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
