//! One MCP server: connected when it is first needed, and again when the connection is dead.

use std::sync::{Arc, Mutex as SyncMutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use branchpoint_expr::Value;
use rmcp::ServiceError;
use rmcp::model::{CallToolRequestParams, CallToolResult};
use tokio::sync::Mutex;

use super::super::failure::{denied, impossible};
use super::super::lookup::Lookup;
use super::super::settings::McpSettings;
use super::connection::{CachedTools, Connection};
use super::http::TOO_LONG;
use super::near;
use super::tool_list::ToolList;
use super::trouble::StoreError;
use crate::network::clients::Clients;
use crate::runner::Answer;
use crate::secrets::Secrets;
use crate::shorten::shortened;

/// The time limit of calls whose step and server have none.
const TIMEOUT_MS: u64 = 120_000;

/// The time limit of listing tools: runs wait for it before they start.
const LISTING_MS: u64 = 20_000;

/// How long a list is used. Not every server announces changes, and an announcement may get lost.
const FRESH: Duration = Duration::from_mins(5);

/// How long a server that did not answer is left out where tools are only described.
const SILENCE: Duration = Duration::from_mins(1);

/// A server of the settings.
#[derive(Debug)]
pub(super) struct Server {
    config: Config,
    connection: Mutex<Option<Arc<Connection>>>,
    /// When the last attempt to list its tools began and why it failed, if it failed.
    unlisted: SyncMutex<Option<(Instant, StoreError)>>,
}

/// How a server is reached.
#[derive(Debug)]
pub(super) struct Config {
    pub(super) name: Arc<str>,
    pub(super) settings: McpSettings,
    pub(super) lookup: Lookup,
    pub(super) clients: Clients,
}

impl Config {
    /// What is wrong with the settings, if something is.
    pub(super) fn unavailable_reason(&self) -> Option<String> {
        let name = &self.name;
        if self.settings.command.is_some() == self.settings.url.is_some() {
            return Some(format!("[mcp.{name}] in the settings needs either command or url"));
        }
        let missing = self.secret_names().find(|secret| self.lookup.get(secret).is_none())?;
        Some(format!("the MCP server `{name}` needs {missing}, and the environment has none; set {missing}"))
    }

    fn secret_names(&self) -> impl Iterator<Item = &String> {
        self.settings.env_from.values().chain(self.settings.headers_from.values())
    }

    /// The secrets that the server is given and may repeat.
    pub(super) fn secrets(&self) -> Secrets {
        self.lookup.secrets(self.secret_names())
    }
}

impl Server {
    pub(super) fn new(config: Config) -> Self {
        Self { config, connection: Mutex::default(), unlisted: SyncMutex::default() }
    }

    pub(super) fn timeout_ms(&self) -> u64 {
        self.config.settings.timeout_ms.unwrap_or(TIMEOUT_MS)
    }

    pub(super) fn unavailable_reason(&self) -> Option<String> {
        self.config.unavailable_reason()
    }

    /// Calls a tool. Secrets that the server was given are masked in its answer.
    pub(super) async fn call(&self, tool: &str, arguments: &Value) -> Result<Answer, Answer> {
        let secrets = self.config.secrets();
        let answer = self.call_unmasked(tool, arguments).await;
        answer.map(|answer| secrets.mask_answer(answer)).map_err(|answer| secrets.mask_answer(answer))
    }

    async fn call_unmasked(&self, tool: &str, arguments: &Value) -> Result<Answer, Answer> {
        let connection = self.connection().await.map_err(StoreError::answer)?;
        let mut params = CallToolRequestParams::new(tool.to_owned());
        match serde_json::to_value(arguments) {
            Ok(serde_json::Value::Object(arguments)) => params = params.with_arguments(arguments),
            Ok(serde_json::Value::Null) => {}
            _ => return Err(impossible(format!("the arguments of the tool `{}` must be an object", shortened(tool)))),
        }
        match Box::pin(connection.service.call_tool(params)).await {
            Ok(result) => answer(&result),
            Err(error) => Err(self.failure(&connection, tool, error).await),
        }
    }

    /// Whether it failed to list its tools not long ago.
    pub(super) fn was_silent(&self) -> bool {
        self.unlisted().as_ref().is_some_and(|(since, _)| since.elapsed() < SILENCE)
    }

    fn unlisted(&self) -> MutexGuard<'_, Option<(Instant, StoreError)>> {
        self.unlisted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tools that it offers. What was known before `newer_than` is requested again.
    pub(super) async fn tools(&self, newer_than: Option<Instant>) -> Result<Arc<ToolList>, StoreError> {
        let began = Instant::now();
        if let Some((since, trouble)) = &*self.unlisted()
            && newer_than.is_some_and(|moment| *since >= moment)
        {
            return Err(trouble.clone());
        }
        let limit_ms = self.timeout_ms().min(LISTING_MS);
        let listed = tokio::time::timeout(Duration::from_millis(limit_ms), self.cached_tools(newer_than)).await;
        let timeout = |_| {
            StoreError::Unanswered(format!(
                "the MCP server `{}` has not said within {limit_ms} ms which tools it offers",
                self.config.name
            ))
        };
        let listed = listed.map_err(timeout).flatten().map_err(|trouble| trouble.masked(&self.config.secrets()));
        *self.unlisted() = listed.as_ref().err().map(|trouble| (began, trouble.clone()));
        listed
    }

    async fn cached_tools(&self, newer_than: Option<Instant>) -> Result<Arc<ToolList>, StoreError> {
        let connection = self.connection().await?;
        let mut cached = connection.tools.lock().await;
        let changes = connection.changes();
        let is_fresh = |tools: &&CachedTools| {
            tools.changes == changes && tools.since.elapsed() < FRESH && Some(tools.since) >= newer_than
        };
        if let Some(tools) = cached.as_ref().filter(is_fresh) {
            return Ok(Arc::clone(&tools.list));
        }
        let list = ToolList::read(&connection, self.config.settings.max_response_bytes);
        let list = Arc::new(Box::pin(list).await?);
        *cached = Some(CachedTools { list: Arc::clone(&list), changes, since: Instant::now() });
        Ok(list)
    }

    /// Explains that it does not have a tool.
    pub(super) fn has_none(&self, tool: &str, tools: &ToolList) -> StoreError {
        let (names, tool) = (near(tool, tools.names()), shortened(tool));
        StoreError::Permanent(format!("the MCP server `{}` has no tool `{tool}`; it has {names}", self.config.name))
    }

    async fn failure(&self, connection: &Connection, tool: &str, error: ServiceError) -> Answer {
        let name = &self.config.name;
        match error {
            // Servers use one code for tools that do not exist and for bad arguments.
            ServiceError::McpError(error) if error.code != TOO_LONG => {
                let tools = self.tools(None).await.unwrap_or_default();
                if tools.is_empty() || tools.get(tool).is_some() {
                    return denied(format!("the MCP server `{name}` refused the call of `{tool}`: {}", error.message));
                }
                self.has_none(tool, &tools).answer()
            }
            error => connection.explain(&error).await.between(&format!("the call of `{tool}` broke: "), "").answer(),
        }
    }

    async fn connection(&self) -> Result<Arc<Connection>, StoreError> {
        let mut kept = self.connection.lock().await;
        if let Some(connection) = kept.as_ref().filter(|connection| !connection.is_dead()) {
            return Ok(Arc::clone(connection));
        }
        // The dead one ends first: it may hold something that the next one needs.
        drop(kept.take());
        Ok(Arc::clone(kept.insert(Arc::new(Box::pin(Connection::open(&self.config)).await?))))
    }
}

/// The value of a tool's result: its structured content if it has some; else its text, read as JSON if it is an object or a list; else
/// the list of its parts.
fn answer(result: &CallToolResult) -> Result<Answer, Answer> {
    let texts: Option<Vec<&str>> = result.content.iter().map(|part| Some(part.as_text()?.text.as_str())).collect();
    if result.is_error == Some(true) {
        let why = texts.unwrap_or_default().join("\n");
        return Err(denied(if why.is_empty() { "the tool failed and did not say why".to_owned() } else { why }));
    }
    if let Some(value) = &result.structured_content {
        return Ok(Answer::data(Value::from(value)));
    }
    Ok(Answer::data(match texts {
        Some(texts) => read(&texts.join("\n")),
        None => Value::from(&serde_json::to_value(&result.content).unwrap_or_default()),
    }))
}

fn read(text: &str) -> Value {
    let looks_like_json = text.trim_start().starts_with(['{', '[']);
    let value = if looks_like_json { serde_json::from_str(text).ok() } else { None };
    value.unwrap_or_else(|| Value::from(text))
}
