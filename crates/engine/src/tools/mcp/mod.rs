//! Tools of other programs, over the Model Context Protocol: by child processes, or over HTTP.

mod link;
mod result;
mod server;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use branchpoint_expr::Value;

use super::asked::Lookup;
use super::failure::{OWN, failed, impossible};
use super::settings::McpSettings;
use super::tasks::Tasks;
use crate::runner::{Answer, Call};
use crate::stop::Stop;
use server::Server;

/// How long a call may take whose step and server have no limit.
const TIMEOUT_MS: u64 = 120_000;

/// A tool that a server offers.
#[derive(Clone, Debug, PartialEq)]
pub struct Offered {
    /// The name of the server in the settings.
    pub server: Arc<str>,
    /// The name of the tool.
    pub name: Arc<str>,
    /// What it is for, in the words of the server.
    pub description: Option<Arc<str>>,
    /// The JSON Schema of its arguments.
    pub schema: Value,
}

/// Performs `mcp` and `tool`.
#[derive(Debug)]
pub(super) struct Mcp {
    tasks: Tasks,
    servers: BTreeMap<String, Server>,
}

impl Mcp {
    pub(super) fn new(settings: &BTreeMap<String, McpSettings>, tasks: &Tasks, lookup: &Lookup) -> Self {
        let server = |(name, settings): (&String, &McpSettings)| {
            (name.clone(), Server::new(name, settings.clone(), lookup.clone()))
        };
        Self { tasks: tasks.clone(), servers: settings.iter().map(server).collect() }
    }

    /// Calls an action of a server that the call names.
    pub(super) fn action(&self, call: &Call, stop: &Stop) -> Answer {
        let text = |key: &str| call.input.get(key).map(ToString::to_string).unwrap_or_default();
        let (name, tool) = (text("server"), text("action"));
        let Some(server) = self.servers.get(&name) else {
            return impossible(match self.lacks() {
                Some(lacks) => lacks,
                None => format!("there is no MCP server `{name}`; the settings have {}", quoted(self.servers.keys())),
            });
        };
        let arguments = call.input.get("params").cloned().unwrap_or_default();
        self.answer(call, stop, server.timeout_ms(), async { server.call(&tool, &arguments).await })
    }

    /// Calls a tool by its name, or by that of its server and its own.
    pub(super) fn tool(&self, name: &str, arguments: &Value, call: &Call, stop: &Stop) -> Answer {
        if let Some(lacks) = self.lacks() {
            return impossible(format!("nothing here is the tool `{name}`; {lacks}"));
        }
        let limit_ms = self.servers.values().filter_map(Server::timeout_ms).max();
        self.answer(call, stop, limit_ms, async {
            let (server, tool) = self.find(name).await?;
            server.call(tool, arguments).await
        })
    }

    /// What all servers offer. A server that does not answer is an error: without its tools nobody knows what is missing.
    pub(super) fn offered(&self, stop: &Stop) -> Result<Vec<Offered>, String> {
        let work = async {
            let mut offered = Vec::new();
            for server in self.servers.values() {
                offered.extend(server.offered().await?);
            }
            Ok(offered)
        };
        match self.tasks.within(stop, Duration::from_millis(TIMEOUT_MS), work) {
            Some(offered) => offered,
            None => Err("the MCP servers have not said in time which tools they offer".to_owned()),
        }
    }

    /// Why there are no tools, if so.
    pub(super) fn lacks(&self) -> Option<String> {
        if self.servers.is_empty() {
            return Some("no MCP server is set; add [mcp.NAME] with command or url to the settings".to_owned());
        }
        self.servers.values().find_map(Server::lacks)
    }

    async fn find<'n>(&self, name: &'n str) -> Result<(&Server, &'n str), Answer> {
        let of = |server: &str| name.strip_prefix(server)?.strip_prefix('.');
        if let Some(found) = self.servers.iter().find_map(|(known, server)| Some((server, of(known)?))) {
            return Ok(found);
        }
        let mut found = Vec::new();
        let mut names = Vec::new();
        let mut silent = None;
        for (known, server) in &self.servers {
            match server.offered().await {
                Ok(offered) if offered.iter().any(|tool| &*tool.name == name) => found.push((known, server)),
                Ok(offered) => names.extend(offered.iter().map(|tool| format!("{known}.{}", tool.name))),
                Err(reason) => silent = Some(reason),
            }
        }
        match (&found[..], silent) {
            ([(_, server)], _) => Ok((server, name)),
            ([], Some(reason)) => Err(failed(OWN, reason)),
            ([], None) => Err(impossible(format!("no MCP server has a tool `{name}`; there are {}", quoted(&names)))),
            (several, _) => {
                let servers = quoted(several.iter().map(|(known, _)| known));
                let first = several[0].0;
                Err(impossible(format!("the tool `{name}` is offered by {servers}; write `{first}.{name}`")))
            }
        }
    }

    fn answer(
        &self,
        call: &Call,
        stop: &Stop,
        limit_ms: Option<u64>,
        work: impl Future<Output = Result<Answer, Answer>>,
    ) -> Answer {
        self.tasks.answer(call, stop, limit_ms.unwrap_or(TIMEOUT_MS), work)
    }
}

/// Names for people.
fn quoted(names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{}`", name.as_ref())).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
