//! One server: its link is made when it is first needed, kept, and made again when it is dead.

use std::sync::{Arc, Mutex as SyncMutex, PoisonError};
use std::time::{Duration, Instant};

use branchpoint_expr::Value;
use rmcp::ServiceError;
use rmcp::model::CallToolRequestParams;
use tokio::sync::Mutex;

use super::super::failure::{denied, impossible, refused};
use super::super::lookup::Lookup;
use super::super::settings::McpSettings;
use super::address::TOO_LONG;
use super::link::{Known, Link};
use super::listed::{Listed, Unread};
use super::measure::{Ends, Measure};
use super::near;
use super::result::answer;
use super::trouble::Trouble;
use crate::network::clients::Clients;
use crate::runner::Answer;
use crate::secrets::Secrets;

/// How long a server has to say what it offers: runs wait for it before they begin.
const LISTING_MS: u64 = 20_000;

/// How long a list is believed. A server says when its list changes, but not every server does, and not always can it be heard.
const FRESH: Duration = Duration::from_mins(5);

/// For how long a server that has not answered is not waited for again, where its tools are only to be described.
const SILENCE: Duration = Duration::from_mins(1);

/// A server of the settings.
#[derive(Debug)]
pub(super) struct Server {
    name: Arc<str>,
    settings: McpSettings,
    lookup: Lookup,
    clients: Clients,
    link: Mutex<Option<Arc<Link>>>,
    /// When it was asked in vain what it offers.
    silent: SyncMutex<Option<Instant>>,
}

impl Server {
    pub(super) fn new(name: &str, settings: McpSettings, lookup: Lookup, clients: Clients) -> Self {
        Self { name: name.into(), settings, lookup, clients, link: Mutex::default(), silent: SyncMutex::default() }
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

    fn secrets(&self) -> Secrets {
        self.lookup.secrets(self.wanted())
    }

    /// Calls a tool and reads what it gives, without the secrets that the server was given.
    pub(super) async fn call(&self, tool: &str, arguments: &Value) -> Result<Answer, Answer> {
        let secrets = self.secrets();
        let called = self.called(tool, arguments).await;
        called.map(|answer| secrets.mask_answer(answer)).map_err(|answer| secrets.mask_answer(answer))
    }

    async fn called(&self, tool: &str, arguments: &Value) -> Result<Answer, Answer> {
        let link = self.link().await.map_err(Trouble::answer)?;
        let mut params = CallToolRequestParams::new(tool.to_owned());
        match serde_json::to_value(arguments) {
            Ok(serde_json::Value::Object(arguments)) => params = params.with_arguments(arguments),
            Ok(serde_json::Value::Null) => {}
            _ => return Err(impossible(format!("the arguments of the tool `{tool}` must be an object"))),
        }
        match Box::pin(link.service.call_tool(params)).await {
            Ok(result) => answer(result),
            Err(error) => Err(self.failure(&link, tool, error).await),
        }
    }

    /// Forgets what it offered before a moment, because not every server tells when it has more. False: nothing was known then.
    pub(super) async fn forget_list_before(&self, moment: Instant) -> bool {
        let Some(link) = self.link.lock().await.clone() else { return false };
        let mut kept = link.tools.lock().await;
        kept.take_if(|known| known.since < moment).is_some()
    }

    /// Whether it was asked not long ago what it offers, and has not answered, or not in time.
    pub(super) fn was_silent(&self) -> bool {
        let silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        silent.is_some_and(|since| since.elapsed() < SILENCE)
    }

    /// What it offers, as far as that is not known yet.
    pub(super) async fn offered(&self) -> Result<Arc<Listed>, Trouble> {
        let asked_at = Instant::now();
        let secrets = self.secrets();
        let limit_ms = self.settings.timeout_ms.map_or(LISTING_MS, |own| own.min(LISTING_MS));
        let listed = tokio::time::timeout(Duration::from_millis(limit_ms), self.listed()).await;
        let silent = |_| {
            Trouble::Unheard(format!(
                "the MCP server `{}` has not said within {limit_ms} ms which tools it offers",
                self.name
            ))
        };
        let silence = (!matches!(listed, Ok(Ok(_)))).then_some(asked_at);
        *self.silent.lock().unwrap_or_else(PoisonError::into_inner) = silence;
        listed.map_err(silent).flatten().map_err(|trouble| trouble.masked(&secrets))
    }

    async fn listed(&self) -> Result<Arc<Listed>, Trouble> {
        let link = self.link().await?;
        let mut kept = link.tools.lock().await;
        let changes = link.changes();
        if let Some(known) = kept.as_ref().filter(|known| known.changes == changes && known.since.elapsed() < FRESH) {
            return Ok(Arc::clone(&known.list));
        }
        let measure = Measure::new(&self.name, self.settings.max_response_bytes, Ends::Never);
        match Box::pin(Listed::read(&self.name, link.service.peer(), measure)).await {
            Ok(list) => {
                let known = kept.insert(Known { list: Arc::new(list), changes, since: Instant::now() });
                Ok(Arc::clone(&known.list))
            }
            Err(Unread::Call(error)) => Err(self.trouble(&link, &error).await),
            Err(Unread::Trouble(trouble)) => Err(trouble),
        }
    }

    /// That it has no such tool.
    pub(super) fn has_none(&self, tool: &str, offered: &Listed) -> Trouble {
        let names = near(tool, offered.names());
        Trouble::Lasting(format!("the MCP server `{}` has no tool `{tool}`; it has {names}", self.name))
    }

    async fn failure(&self, link: &Link, tool: &str, error: ServiceError) -> Answer {
        let name = &self.name;
        match error {
            ServiceError::McpError(error) if error.code == TOO_LONG => refused(error.message),
            // The protocol has this code for tools that do not exist, and some servers have it for bad arguments.
            ServiceError::McpError(error) => {
                let offered = self.offered().await.unwrap_or_default();
                if offered.is_empty() || offered.get(tool).is_some() {
                    return denied(format!("the MCP server `{name}` refused the call of `{tool}`: {}", error.message));
                }
                self.has_none(tool, &offered).answer()
            }
            error => self.trouble(link, &error).await.between(&format!("the call of `{tool}` broke: "), "").answer(),
        }
    }

    async fn trouble(&self, link: &Link, error: &ServiceError) -> Trouble {
        match error {
            ServiceError::McpError(error) => {
                let message =
                    format!("the MCP server `{}` refuses to say which tools it has: {}", self.name, error.message);
                Trouble::Passing(message)
            }
            error => {
                let trouble = link.trouble().unwrap_or_else(|| Trouble::of_call(&self.name, error));
                trouble.between("", &link.said().await)
            }
        }
    }

    async fn link(&self) -> Result<Arc<Link>, Trouble> {
        let mut kept = self.link.lock().await;
        if let Some(link) = kept.as_ref().filter(|link| !link.is_dead()) {
            return Ok(Arc::clone(link));
        }
        // What is dead goes first: a server may hold something that the next one needs.
        drop(kept.take());
        if let Some(lacks) = self.lacks() {
            return Err(Trouble::Lasting(lacks));
        }
        let link =
            Box::pin(Link::open(&self.name, &self.settings, &self.lookup, &self.secrets(), &self.clients)).await?;
        Ok(Arc::clone(kept.insert(Arc::new(link))))
    }
}
