//! A live connection to an MCP server: a child process, or an address.

use std::collections::HashMap;
use std::future::ready;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use futures_util::{Stream, StreamExt};
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, ServerJsonRpcMessage};
use rmcp::service::{NotificationContext, RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::{JsonRpcMessageCodec, TransportWriter};
use rmcp::transport::sink_stream::SinkStreamTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, ServiceError, ServiceExt};
use tokio::io::AsyncReadExt;
use tokio::process::{Child as Process, ChildStderr, ChildStdout, Command};
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;
use tokio_util::codec::{AnyDelimiterCodec, AnyDelimiterCodecError, FramedRead};

use super::http::{HttpClient, RESERVED, TOO_LONG};
use super::server::Config;
use super::server_error::ServerError;
use super::tool_list::ToolList;
use crate::local::shell::Group;
use crate::secrets::Secrets;

/// The environment variables that a child process inherits: enough to start, and no secrets.
const INHERITED: [&str; 9] = ["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER"];

/// The bytes of a child's standard error that are kept for messages.
const KEPT_BYTES: usize = 2048;

/// How long to wait for the rest of a child's standard error after a failure.
const STDERR_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) server: Arc<str>,
    pub(super) service: RunningService<RoleClient, Client>,
    /// The server's tools, once they were listed.
    pub(super) tools: Mutex<Option<CachedTools>>,
    child: Option<Child>,
}

#[derive(Debug)]
pub(super) struct CachedTools {
    pub(super) list: Arc<ToolList>,
    /// The number of changes that the server had announced when the tools were listed.
    pub(super) changes: u64,
    pub(super) since: Instant,
}

/// A child process and all its descendants. Dropping the value kills them.
#[derive(Debug)]
struct Child {
    _group: Group,
    _process: Process,
    stderr: StderrTail,
    /// Why reading its output has ended.
    server_error: Arc<OnceLock<ServerError>>,
}

impl Child {
    /// The error with what the process has written to standard error. A recorded error replaces it, because it is more specific.
    async fn explain(&self, server_error: ServerError) -> ServerError {
        self.server_error.get().cloned().unwrap_or(server_error).with_context("", &self.stderr.shown().await)
    }
}

impl Connection {
    pub(super) async fn open(config: &Config) -> Result<Self, ServerError> {
        if let Some(reason) = config.unavailable_reason() {
            return Err(ServerError::Permanent(reason));
        }
        let (service, child) = match &config.settings.command {
            Some(command) => {
                let (service, child) = start(config, command).await?;
                (service, Some(child))
            }
            None => (connect(config, config.settings.url.as_deref().unwrap_or_default()).await?, None),
        };
        Ok(Self { server: Arc::clone(&config.name), service, tools: Mutex::default(), child })
    }

    pub(super) fn is_dead(&self) -> bool {
        self.service.is_closed() || self.service.peer().is_transport_closed()
    }

    /// The number of tool changes that the server has announced.
    pub(super) fn changes(&self) -> u64 {
        self.service.service().changes.load(Ordering::Acquire)
    }

    /// Explains the failure of a request, with what the child process has written to its standard error.
    pub(super) async fn explain(&self, error: &ServiceError) -> ServerError {
        let server = &self.server;
        match error {
            ServiceError::McpError(error) if error.code == TOO_LONG => {
                return ServerError::Permanent(error.message.clone().into_owned());
            }
            ServiceError::McpError(error) => {
                let message = format!("the MCP server `{server}` refused to list its tools: {}", error.message);
                return ServerError::Transient(message);
            }
            _ => {}
        }
        let server_error = ServerError::of_call(server, error);
        match &self.child {
            Some(child) => child.explain(server_error).await,
            None => server_error,
        }
    }
}

async fn start(config: &Config, program: &str) -> Result<(RunningService<RoleClient, Client>, Child), ServerError> {
    let Config { name: server, settings, lookup, .. } = config;
    let mut command = Command::new(program);
    command.args(&settings.args).env_clear().kill_on_drop(true).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.envs(INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?)))).envs(&settings.env);
    command.envs(settings.env_from.iter().filter_map(|(name, from)| Some((name, lookup.get(from)?))));
    if let Some(dir) = &settings.dir {
        command.current_dir(dir);
    }
    let mut process = command.spawn().map_err(|error| {
        ServerError::Unanswered(format!(
            "the MCP server `{server}` cannot be started: its command `{program}` failed: {error}; check command in [mcp.{server}]"
        ))
    })?;
    let stderr = StderrTail::follow(process.stderr.take(), config.secrets());
    let streams = process.stdout.take().zip(process.stdin.take());
    let (stdout, stdin) = streams.ok_or_else(|| {
        ServerError::Unanswered(format!("the MCP server `{server}` cannot be started: it has no standard streams"))
    })?;
    let child = Child { _group: Group::of(&process), _process: process, stderr, server_error: Arc::default() };
    let messages = messages(stdout, server, settings.max_response_bytes, &child.server_error);
    let requests = TransportWriter::<RoleClient, _>::new(stdin, JsonRpcMessageCodec::default());
    match Client::default().serve(SinkStreamTransport::new(requests, messages)).await {
        Ok(service) => Ok((service, child)),
        Err(error) => {
            let server_error = child.explain(ServerError::of_start(server, &error)).await;
            Err(server_error.with_context(&format!("`{program}` was started, but "), ""))
        }
    }
}

/// The messages that a child process writes, one per line. They end at a line that is too long, because it is unknown which request it
/// belongs to. The transport of `rmcp` would skip it, and the request would wait for ever.
fn messages(
    stdout: ChildStdout,
    server: &Arc<str>,
    max_bytes: usize,
    server_error: &Arc<OnceLock<ServerError>>,
) -> impl Stream<Item = ServerJsonRpcMessage> + Send + Unpin + use<> {
    let (server, server_error) = (Arc::clone(server), Arc::clone(server_error));
    let lines = AnyDelimiterCodec::new_with_max_length(b"\n".to_vec(), Vec::new(), max_bytes);
    let lines = FramedRead::new(stdout, lines).scan((), move |(), line| {
        ready(match line {
            Ok(line) => Some(line),
            Err(AnyDelimiterCodecError::MaxChunkLengthExceeded) => {
                // Only the first error explains the end.
                let _ = server_error.set(ServerError::too_long(&server, max_bytes));
                None
            }
            Err(AnyDelimiterCodecError::Io(_)) => None,
        })
    });
    // Some programs write a byte order mark first, and lines that are not messages.
    lines.filter_map(|line| {
        ready(serde_json::from_slice(line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&line)).ok())
    })
}

async fn connect(config: &Config, url: &str) -> Result<RunningService<RoleClient, Client>, ServerError> {
    let Config { name: server, settings, lookup, .. } = config;
    let mut headers = HashMap::new();
    let plain = settings.headers.iter().map(|(name, value)| (name, value.clone()));
    let secret = settings.headers_from.iter().filter_map(|(name, from)| Some((name, lookup.get(from)?)));
    for (header, value) in plain.chain(secret) {
        let parsed = HeaderName::try_from(header).ok().filter(|header| !RESERVED.contains(header));
        let (header, mut value) = parsed.zip(HeaderValue::try_from(value).ok()).ok_or_else(|| {
            ServerError::Permanent(format!(
                "the header `{header}` of [mcp.{server}] in the settings is invalid or reserved; correct or remove it"
            ))
        })?;
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    let transport_config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(headers);
    let transport = StreamableHttpClientTransport::with_client(HttpClient::new(config)?, transport_config);
    Client::default().serve(transport).await.map_err(|error| ServerError::of_start(server, &error))
}

/// The client side of a connection.
#[derive(Debug, Default)]
pub(super) struct Client {
    /// The number of tool changes that the server has announced.
    changes: AtomicU64,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let name = Implementation::new("branchpoint", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), name)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changes.fetch_add(1, Ordering::Release);
    }
}

/// The end of what a child process has written to its standard error.
#[derive(Debug)]
struct StderrTail {
    /// Closed at the end of the stream.
    bytes: watch::Receiver<Vec<u8>>,
    /// Secrets of the child, which it may print.
    secrets: Secrets,
}

impl StderrTail {
    fn follow(stream: Option<ChildStderr>, secrets: Secrets) -> Self {
        let (sender, bytes) = watch::channel(Vec::new());
        // A secret without its beginning would not be recognised, so more bytes are kept than shown.
        let kept_bytes = KEPT_BYTES + secrets.longest();
        tokio::spawn(async move {
            let mut buffer = [0; 1024];
            let Some(mut stream) = stream else { return };
            while let Ok(read @ 1..) = stream.read(&mut buffer).await {
                sender.send_modify(|bytes| {
                    bytes.extend_from_slice(&buffer[..read]);
                    let over = bytes.len().saturating_sub(kept_bytes);
                    bytes.drain(..over);
                });
            }
        });
        Self { bytes, secrets }
    }

    /// The text for the end of a message. It waits a moment, because the output of a child that has ended may not be read completely yet.
    async fn shown(&self) -> String {
        let mut bytes = self.bytes.clone();
        let is_whole = timeout(STDERR_TIMEOUT, bytes.wait_for(|_| false)).await.is_ok();
        let text = tail(&self.bytes.borrow(), is_whole, &self.secrets);
        if text.is_empty() { text } else { format!("; it printed: {text}") }
    }
}

/// The last bytes as text, with secrets masked before it is truncated. If more output may follow, a possible beginning of a secret is left
/// out.
fn tail(bytes: &[u8], is_whole: bool, secrets: &Secrets) -> String {
    let mut from = bytes.len().saturating_sub(KEPT_BYTES);
    // A character is not split.
    while bytes.get(from).is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000) {
        from += 1;
    }
    let before = String::from_utf8_lossy(&bytes[..from]).len();
    let text = String::from_utf8_lossy(bytes);
    let end = if is_whole { text.len() } else { secrets.partial_secret(&text).hidden_from };
    secrets.mask_from(&text[..end], before.min(end)).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_shows_no_part_of_a_secret() {
        let secrets = Secrets::from_values(["correct horse battery".to_owned()]);
        let kept_bytes = KEPT_BYTES + secrets.longest();
        let text = format!("{}correct horse battery{}!", "x".repeat(100), "ü".repeat(KEPT_BYTES / 2 - 10));
        for length in text.len() - 200..=text.len() {
            let bytes = &text.as_bytes()[..length];
            let bytes = &bytes[bytes.len().saturating_sub(kept_bytes)..];
            let shown = tail(bytes, true, &secrets);
            assert!(!shown.contains("ery") && !shown.contains("cor"), "{shown}");
            assert!(shown.len() <= KEPT_BYTES + 3, "{}", shown.len());
        }
        let encoded = "the url has correct+horse+battery, and then correct ho";
        assert_eq!(tail(encoded.as_bytes(), false, &secrets), "the url has ***, and then");
        assert_eq!(tail(b"it is corr", true, &secrets), "it is corr");
    }
}
