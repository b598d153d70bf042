//! Tools of other programs, over the Model Context Protocol: by child processes, or over HTTP.

mod address;
mod link;
mod listed;
mod measure;
mod result;
mod server;
mod trouble;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use branchpoint_core::effect::McpRequest;
use branchpoint_expr::Value;
use tokio_util::sync::CancellationToken;

use super::deadline;
use super::failure::impossible;
use super::lookup::Lookup;
use super::settings::McpSettings;
use crate::models::ToolDescription;
use crate::network::clients::Clients;
use crate::runner::{Answer, Call};
use crate::shorten::shortened;
use server::Server;
use trouble::Trouble;

/// How long a call may take whose step and server have no limit.
const TIMEOUT_MS: u64 = 120_000;

const NO_SERVERS: &str = "no MCP server is set; add [mcp.NAME] with command or url to the settings";
const SILENT: &str = "the MCP servers have not said in time which tools they offer";

/// Performs `mcp` and `tool`.
#[derive(Debug)]
pub(super) struct Mcp {
    servers: BTreeMap<String, Server>,
}

impl Mcp {
    pub(super) fn new(settings: &BTreeMap<String, McpSettings>, lookup: &Lookup, clients: &Clients) -> Self {
        let server = |(name, settings): (&String, &McpSettings)| {
            (name.clone(), Server::new(name, settings.clone(), lookup.clone(), clients.clone()))
        };
        let servers = settings.iter().map(server).collect();
        Self { servers }
    }

    /// Calls an action of a server that the call names.
    pub(super) async fn action(&self, call: &Call, request: &McpRequest, cancel: &CancellationToken) -> Answer {
        let name = request.server.as_deref().unwrap_or_default();
        let Some(server) = self.servers.get(name) else { return impossible(self.no_server(name)) };
        let action = request.action.as_deref().unwrap_or_default();
        answer(call, cancel, server.timeout_ms(), server.call(action, &request.params)).await
    }

    /// Calls a tool by its name, or by that of its server and its own.
    pub(super) async fn tool(&self, name: &str, arguments: &Value, call: &Call, cancel: &CancellationToken) -> Answer {
        if self.servers.is_empty() {
            return impossible(format!("there is no tool `{}`; {NO_SERVERS}", shortened(name)));
        }
        let limit_ms = self.servers.values().filter_map(Server::timeout_ms).max();
        answer(call, cancel, limit_ms, async {
            let (server, tool) = match self.of_server(name) {
                Some(found) => found,
                None => (self.find(name).await.map_err(Trouble::answer)?, name),
            };
            server.call(tool, arguments).await
        })
        .await
    }

    /// What servers say about tools. A server that does not answer says nothing, and does not keep the others from answering; what is
    /// wrong with it is told when it is called.
    pub(super) async fn described(&self, names: &[&str]) -> Vec<Option<ToolDescription>> {
        let any = names.iter().any(|name| self.of_server(name).is_none());
        let is_meant = |known: &str| any || names.iter().any(|name| starts_with(name, known).is_some());
        // Models are told about tools again and again, and not each time is a silence waited out.
        let meant = self.servers.iter().filter(|(known, server)| is_meant(known) && !server.was_silent());
        let asked = meant.map(|(known, server)| async move { Some((known.as_str(), server.offered().await.ok()?)) });
        let asked = in_time(futures_util::future::join_all(asked)).await.unwrap_or_default();
        let offered: Vec<_> = asked.into_iter().flatten().collect();
        let one = |name: &&str| {
            let mut found = offered.iter().filter_map(|(server, offered)| {
                let tool = if self.of_server(name).is_some() { starts_with(name, server)? } else { *name };
                offered.get(tool)
            });
            found.next().filter(|_| found.next().is_none()).cloned()
        };
        names.iter().map(one).collect()
    }

    /// Why a server cannot be called, as far as that is known without starting it; which one it is may not be known yet.
    pub(super) fn lacks_server(&self, name: Option<&str>) -> Option<String> {
        if let Some(name) = name {
            return self.servers.get(name).map_or_else(|| Some(self.no_server(name)), Server::lacks);
        }
        if self.servers.is_empty() {
            return Some(NO_SERVERS.to_owned());
        }
        // One that can be called may be the one that is meant.
        let lacks: Option<Vec<String>> = self.servers.values().map(Server::lacks).collect();
        lacks?.into_iter().next()
    }

    /// Why a tool cannot be called. The servers that may have it are asked, and no others.
    pub(super) async fn lacks_tool(&self, name: &str) -> Option<String> {
        if self.servers.is_empty() {
            return Some(format!("there is no tool `{}`; {NO_SERVERS}", shortened(name)));
        }
        let work = async {
            let Some((server, tool)) = self.of_server(name) else { return self.find(name).await.err() };
            match server.offered().await {
                Ok(offered) if offered.get(tool).is_some() => None,
                Ok(offered) => Some(server.has_none(tool, &offered)),
                Err(trouble) => Some(trouble),
            }
        };
        match in_time(work).await {
            Some(trouble) => trouble.map(|trouble| trouble.to_string()),
            None => Some(SILENT.to_owned()),
        }
    }

    fn no_server(&self, name: &str) -> String {
        if self.servers.is_empty() {
            return NO_SERVERS.to_owned();
        }
        format!("there is no MCP server `{}`; the settings have {}", shortened(name), near(name, self.servers.keys()))
    }

    /// The server that a name begins with, and its tool.
    fn of_server<'n>(&self, name: &'n str) -> Option<(&Server, &'n str)> {
        self.servers.iter().find_map(|(known, server)| Some((server, starts_with(name, known)?)))
    }

    /// The one server that has a tool. What is known may be old, so they are asked once more before nobody has it.
    async fn find(&self, name: &str) -> Result<&Server, Trouble> {
        let began = Instant::now();
        let found = self.find_known(name).await;
        if !matches!(found, Err(Trouble::Lasting(_))) {
            return found;
        }
        let forgotten = self.servers.values().map(|server| server.forget_list_before(began));
        let is_old = futures_util::future::join_all(forgotten).await.contains(&true);
        if is_old { self.find_known(name).await } else { found }
    }

    /// The same, as far as it is known. A server that does not answer keeps none of the others from having it.
    async fn find_known(&self, name: &str) -> Result<&Server, Trouble> {
        let asked = self.servers.iter().map(|(known, server)| async move { (known, server, server.offered().await) });
        let mut found = Vec::new();
        let mut names = Vec::new();
        let mut silent = None;
        for (known, server, offered) in futures_util::future::join_all(asked).await {
            match offered {
                Ok(offered) => {
                    names.extend(offered.names().map(|tool| format!("{known}.{tool}")));
                    found.extend(offered.get(name).map(|_| (known, server)));
                }
                Err(trouble) => silent = Some(trouble),
            }
        }
        if let [(_, server)] = *found {
            return Ok(server);
        }
        let Some((first, _)) = found.first() else {
            let (name, near) = (shortened(name), near(name, &names));
            let trouble = Trouble::Lasting(format!("no MCP server has a tool `{name}`; there are {near}"));
            let unknown = format!("nobody who answers has a tool `{name}`, and ");
            return Err(silent.map_or(trouble, |silent| silent.between(&unknown, "")));
        };
        let servers = quoted(found.iter().map(|(known, _)| known));
        let message = format!("the tool `{name}` is offered by {servers}; write `{first}.{name}`");
        Err(Trouble::Lasting(message))
    }
}

/// What servers say when they are asked what they have; none if that takes too long.
async fn in_time<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(Duration::from_millis(TIMEOUT_MS), work).await.ok()
}

async fn answer(
    call: &Call,
    cancel: &CancellationToken,
    limit_ms: Option<u64>,
    work: impl Future<Output = Result<Answer, Answer>>,
) -> Answer {
    deadline::answer(call, cancel, limit_ms.unwrap_or(TIMEOUT_MS), work).await
}

/// What a name says behind that of a server.
fn starts_with<'n>(name: &'n str, server: &str) -> Option<&'n str> {
    name.strip_prefix(server)?.strip_prefix('.')
}

/// Names for people: all if they are few, else those that are near to what was written.
fn near(written: &str, names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    const FEW: usize = 12;
    let own = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let likeness = |name: &str| strsim::jaro_winkler(&own(written), &own(name));
    let mut names: Vec<(f64, String)> =
        names.into_iter().map(|name| (likeness(name.as_ref()), name.as_ref().to_owned())).collect();
    names.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let more = names.len().saturating_sub(FEW);
    let told = quoted(names.iter().take(FEW).map(|(_, name)| name));
    if more == 0 { told } else { format!("{told} and {more} more") }
}

fn quoted(names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{}`", name.as_ref())).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
