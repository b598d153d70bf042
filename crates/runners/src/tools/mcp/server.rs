//! An MCP server: connected when it is first needed, and reconnected when the connection is lost.

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
use super::server_error::ServerError;
use super::tool_list::ToolList;
use crate::network::clients::Clients;
use crate::runner::Answer;
use crate::secrets::Secrets;
use crate::shorten::shortened;

/// The default time limit of calls.
const TIMEOUT_MS: u64 = 120_000;

/// The time limit for listing tools, for which runs wait before they start.
const LISTING_MS: u64 = 20_000;

/// How long a list is cached. Not every server announces changes, and an announcement may be lost.
const CACHE_TIME: Duration = Duration::from_mins(5);

/// How long an unresponsive server is skipped when tools are described.
const SKIP_TIME: Duration = Duration::from_mins(1);

/// A configured server.
#[derive(Debug)]
pub(super) struct Server {
    config: Config,
    connection: Mutex<Option<Arc<Connection>>>,
    /// The last attempt to list its tools, if it failed: when it began, and the error.
    listing_failure: SyncMutex<Option<(Instant, ServerError)>>,
}

/// The configuration of a server.
#[derive(Debug)]
pub(super) struct Config {
    pub(super) name: Arc<str>,
    pub(super) settings: McpSettings,
    pub(super) lookup: Lookup,
    pub(super) clients: Clients,
}

impl Config {
    /// The problem of the settings, if there is one.
    pub(super) fn unavailable_reason(&self) -> Option<String> {
        let name = &self.name;
        if self.settings.command.is_some() == self.settings.url.is_some() {
            return Some(format!("[mcp.{name}] in the settings needs either command or url"));
        }
        let missing = self.secret_names().find(|secret| self.lookup.get(secret).is_none())?;
        Some(format!("the MCP server `{name}` needs the environment variable {missing}, which is not set"))
    }

    fn secret_names(&self) -> impl Iterator<Item = &String> {
        self.settings.env_from.values().chain(self.settings.headers_from.values())
    }

    /// The secrets of the server, which it may repeat.
    pub(super) fn secrets(&self) -> Secrets {
        self.lookup.secrets(self.secret_names())
    }
}

impl Server {
    pub(super) fn new(config: Config) -> Self {
        Self { config, connection: Mutex::default(), listing_failure: SyncMutex::default() }
    }

    pub(super) fn timeout_ms(&self) -> u64 {
        self.config.settings.timeout_ms.unwrap_or(TIMEOUT_MS)
    }

    pub(super) fn unavailable_reason(&self) -> Option<String> {
        self.config.unavailable_reason()
    }

    /// Calls a tool. The secrets of the server are masked in the answer.
    pub(super) async fn call(&self, tool: &str, arguments: &Value) -> Result<Answer, Answer> {
        let secrets = self.config.secrets();
        let answer = self.call_unmasked(tool, arguments).await;
        answer.map(|answer| secrets.mask_answer(answer)).map_err(|answer| secrets.mask_answer(answer))
    }

    async fn call_unmasked(&self, tool: &str, arguments: &Value) -> Result<Answer, Answer> {
        let connection = self.connection().await.map_err(ServerError::answer)?;
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

    /// Whether it recently failed to list its tools.
    pub(super) fn is_unresponsive(&self) -> bool {
        self.listing_failure().as_ref().is_some_and(|(since, _)| since.elapsed() < SKIP_TIME)
    }

    fn listing_failure(&self) -> MutexGuard<'_, Option<(Instant, ServerError)>> {
        self.listing_failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its tools. A list that was requested before `newer_than` is requested again.
    pub(super) async fn tools(&self, newer_than: Option<Instant>) -> Result<Arc<ToolList>, ServerError> {
        let began = Instant::now();
        if let Some((since, server_error)) = &*self.listing_failure()
            && newer_than.is_some_and(|moment| *since >= moment)
        {
            return Err(server_error.clone());
        }
        let limit_ms = self.timeout_ms().min(LISTING_MS);
        let listed = tokio::time::timeout(Duration::from_millis(limit_ms), self.cached_tools(newer_than)).await;
        let timeout = |_| {
            ServerError::Unanswered(format!(
                "the MCP server `{}` did not list its tools within {limit_ms} ms",
                self.config.name
            ))
        };
        let listed =
            listed.map_err(timeout).flatten().map_err(|server_error| server_error.masked(&self.config.secrets()));
        *self.listing_failure() = listed.as_ref().err().map(|server_error| (began, server_error.clone()));
        listed
    }

    async fn cached_tools(&self, newer_than: Option<Instant>) -> Result<Arc<ToolList>, ServerError> {
        let connection = self.connection().await?;
        let mut cached = connection.tools.lock().await;
        let changes = connection.changes();
        let is_fresh = |tools: &&CachedTools| {
            tools.changes == changes && tools.since.elapsed() < CACHE_TIME && Some(tools.since) >= newer_than
        };
        if let Some(tools) = cached.as_ref().filter(is_fresh) {
            return Ok(Arc::clone(&tools.list));
        }
        let list = ToolList::read(&connection, self.config.settings.max_response_bytes);
        let list = Arc::new(Box::pin(list).await?);
        *cached = Some(CachedTools { list: Arc::clone(&list), changes, since: Instant::now() });
        Ok(list)
    }

    /// The error for a tool that it does not have.
    pub(super) fn missing_tool(&self, tool: &str, tools: &ToolList) -> ServerError {
        let (names, tool) = (near(tool, tools.names()), shortened(tool));
        ServerError::Permanent(format!(
            "the MCP server `{}` has no tool `{tool}`; available tools: {names}",
            self.config.name
        ))
    }

    async fn failure(&self, connection: &Connection, tool: &str, error: ServiceError) -> Answer {
        let name = &self.config.name;
        match error {
            // Servers use the same code for unknown tools and for invalid arguments.
            ServiceError::McpError(error) if error.code != TOO_LONG => {
                let tools = self.tools(None).await.unwrap_or_default();
                if tools.is_empty() || tools.get(tool).is_some() {
                    return denied(format!("the MCP server `{name}` rejected the call of `{tool}`: {}", error.message));
                }
                self.missing_tool(tool, &tools).answer()
            }
            error => {
                connection.explain(&error).await.with_context(&format!("the call of `{tool}` failed: "), "").answer()
            }
        }
    }

    async fn connection(&self) -> Result<Arc<Connection>, ServerError> {
        let mut current = self.connection.lock().await;
        if let Some(connection) = current.as_ref().filter(|connection| !connection.is_dead()) {
            return Ok(Arc::clone(connection));
        }
        // The lost connection is closed first: its process may hold a resource that the next one needs.
        drop(current.take());
        Ok(Arc::clone(current.insert(Arc::new(Box::pin(Connection::open(&self.config)).await?))))
    }
}

/// The value of a tool's result: its structured content if it has some; else its text, parsed if it is a JSON object or list; else the list
/// of its parts.
fn answer(result: &CallToolResult) -> Result<Answer, Answer> {
    let texts: Option<Vec<&str>> = result.content.iter().map(|part| Some(part.as_text()?.text.as_str())).collect();
    if result.is_error == Some(true) {
        let why = texts.unwrap_or_default().join("\n");
        return Err(denied(if why.is_empty() { "the tool failed without a message".to_owned() } else { why }));
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
