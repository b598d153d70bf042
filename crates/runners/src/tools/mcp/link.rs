//! A live link to a server: a child process, or an address.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation};
use rmcp::service::{NotificationContext, RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, ServiceExt};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::{Child as Process, ChildStderr, Command};
use tokio::sync::{Mutex as AsyncMutex, watch};
use tokio::time::timeout;

use super::super::lookup::Lookup;
use super::super::settings::McpSettings;
use super::address::{Address, OURS};
use super::listed::Listed;
use super::measure::{Ends, Lines, Measure};
use super::trouble::Trouble;
use crate::network::clients::Clients;
use crate::secrets::Secrets;

/// What a child finds of our environment: enough to start, and nothing that is a secret by its name.
const INHERITED: [&str; 9] = ["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER"];

/// How much of what a child complains about is kept, for errors.
const KEPT_BYTES: usize = 2048;

/// How long the last words of a child are awaited that does not answer any more.
const LAST_WORDS: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Link {
    pub(super) service: RunningService<RoleClient, Us>,
    /// What the server offers, once it has said so. It goes with the link.
    pub(super) tools: AsyncMutex<Option<Known>>,
    child: Option<Child>,
}

/// A list of tools, and what there is to know of its age.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) list: Arc<Listed>,
    /// How often the list had changed when it was asked for.
    pub(super) changes: u64,
    pub(super) since: Instant,
}

/// A child process with everything that it starts. It does not survive this value.
#[derive(Debug)]
struct Child {
    _process: Process,
    group: Option<Pid>,
    complaints: Complaints,
    /// Why nothing more is read of it.
    trouble: Arc<OnceLock<Trouble>>,
}

impl Child {
    fn new(process: Process, complaints: Complaints) -> Self {
        let group = process.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Self { _process: process, group, complaints, trouble: Arc::default() }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            // Nobody may be left in it, and that is what was wanted.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Link {
    pub(super) async fn open(
        name: &Arc<str>,
        settings: &McpSettings,
        lookup: &Lookup,
        secrets: &Secrets,
        clients: &Clients,
    ) -> Result<Self, Trouble> {
        match (&settings.command, &settings.url) {
            (Some(command), _) => Self::start(name, command, settings, lookup, secrets).await,
            (None, Some(url)) => Self::connect(name, url, settings, lookup, secrets, clients).await,
            (None, None) => Err(Trouble::Lasting(format!("[mcp.{name}] in the settings needs either command or url"))),
        }
    }

    pub(super) fn is_dead(&self) -> bool {
        self.service.is_closed() || self.service.peer().is_transport_closed()
    }

    /// How often the server has said that its list of tools has changed.
    pub(super) fn changes(&self) -> u64 {
        self.service.service().changes.load(Ordering::Acquire)
    }

    /// Why the link has ended by itself, if that is known.
    pub(super) fn trouble(&self) -> Option<Trouble> {
        self.child.as_ref()?.trouble.get().cloned()
    }

    /// What the child has complained about, to be put behind an error.
    pub(super) async fn said(&self) -> String {
        match &self.child {
            Some(child) => child.complaints.said().await,
            None => String::new(),
        }
    }

    async fn start(
        name: &Arc<str>,
        program: &str,
        settings: &McpSettings,
        lookup: &Lookup,
        secrets: &Secrets,
    ) -> Result<Self, Trouble> {
        let mut command = Command::new(program);
        command.args(&settings.args).env_clear().kill_on_drop(true).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.envs(INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?)))).envs(&settings.env);
        command.envs(settings.env_from.iter().filter_map(|(name, from)| Some((name, lookup.get(from)?))));
        if let Some(dir) = &settings.dir {
            command.current_dir(dir);
        }
        let mut process = command.spawn().map_err(|error| {
            Trouble::Unheard(format!(
                "the MCP server `{name}` cannot be started; `{program}`, its command in the settings: {error}"
            ))
        })?;
        let complaints = Complaints::follow(process.stderr.take(), secrets.clone());
        let streams = process.stdout.take().zip(process.stdin.take());
        let (stdout, stdin) = streams.ok_or_else(|| {
            Trouble::Unheard(format!("the MCP server `{name}` cannot be started: it has no standard streams"))
        })?;
        let child = Child::new(process, complaints);
        let measure = Measure::new(name, settings.max_response_bytes, Ends::AtLine);
        let transport = AsyncRwTransport::new_client(Lines::new(stdout, measure, &child.trouble), stdin);
        // Lines are measured already, and one that is too long must end the call, not be passed over.
        match Us::default().serve(transport.with_max_line_length(usize::MAX)).await {
            Ok(service) => Ok(Self { service, tools: AsyncMutex::default(), child: Some(child) }),
            Err(error) => {
                let known = child.trouble.get().cloned();
                let trouble = known.unwrap_or_else(|| Trouble::of_start(name, &error));
                Err(trouble.between(&format!("`{program}` was started, but "), &child.complaints.said().await))
            }
        }
    }

    async fn connect(
        name: &Arc<str>,
        url: &str,
        settings: &McpSettings,
        lookup: &Lookup,
        secrets: &Secrets,
        clients: &Clients,
    ) -> Result<Self, Trouble> {
        let mut headers = HashMap::new();
        let plain = settings.headers.iter().map(|(name, value)| (name, value.clone()));
        let secret = settings.headers_from.iter().filter_map(|(name, from)| Some((name, lookup.get(from)?)));
        for (header, value) in plain.chain(secret) {
            let parsed = HeaderName::try_from(header).ok().filter(|header| !OURS.contains(header));
            let (header, mut value) = parsed.zip(HeaderValue::try_from(value).ok()).ok_or_else(|| {
                Trouble::Lasting(format!("the header `{header}` of [mcp.{name}] in the settings cannot be sent"))
            })?;
            value.set_sensitive(true);
            headers.insert(header, value);
        }
        let config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(headers);
        let client = Address::new(name, clients, secrets, settings.max_response_bytes)?;
        let transport = StreamableHttpClientTransport::with_client(client, config);
        let service = Us::default().serve(transport).await.map_err(|error| Trouble::of_start(name, &error))?;
        Ok(Self { service, tools: AsyncMutex::default(), child: None })
    }
}

/// Our side of a link.
#[derive(Debug, Default)]
pub(super) struct Us {
    /// How often the server has said that its list of tools has changed.
    changes: AtomicU64,
}

impl ClientHandler for Us {
    fn get_info(&self) -> ClientConfig {
        let name = Implementation::new("branchpoint", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), name)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changes.fetch_add(1, Ordering::Release);
    }
}

/// The end of what a child has written to its standard error.
#[derive(Debug)]
struct Complaints {
    written: watch::Receiver<Written>,
    /// What the child was given, and may repeat.
    secrets: Secrets,
}

#[derive(Debug, Default)]
struct Written {
    bytes: Vec<u8>,
    /// Whether nothing more will come.
    is_all: bool,
}

impl Complaints {
    fn follow(stream: Option<ChildStderr>, secrets: Secrets) -> Self {
        let (writes, written) = watch::channel(Written::default());
        // A secret of which only the end is kept would not be known any more, so what is told begins behind it.
        let kept_bytes = KEPT_BYTES + secrets.longest();
        tokio::spawn(async move {
            let mut buffer = [0; 1024];
            if let Some(mut stream) = stream {
                while let Ok(read @ 1..) = stream.read(&mut buffer).await {
                    writes.send_modify(|Written { bytes, .. }| {
                        bytes.extend_from_slice(&buffer[..read]);
                        let over = bytes.len().saturating_sub(kept_bytes);
                        bytes.drain(..over);
                    });
                }
            }
            writes.send_modify(|written| written.is_all = true);
        });
        Self { written, secrets }
    }

    /// What was written up to the end, for which a child that is dying is given a moment: its output and its complaints come by
    /// different ways.
    async fn said(&self) -> String {
        let mut written = self.written.clone();
        // One that goes on living may go on complaining, and what it has said so far is enough.
        let _ = timeout(LAST_WORDS, written.wait_for(|written| written.is_all)).await;
        let written = self.written.borrow();
        let told = last_words(&written.bytes, written.is_all, &self.secrets);
        if told.is_empty() { told } else { format!("; it said: {told}") }
    }
}

/// The end of what was written, with secrets masked before it is cut. If more may come, what may be the beginning of a secret is not
/// told either.
fn last_words(bytes: &[u8], is_all: bool, secrets: &Secrets) -> String {
    let mut from = bytes.len().saturating_sub(KEPT_BYTES);
    // A character is not cut in two.
    while bytes.get(from).is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000) {
        from += 1;
    }
    let before = String::from_utf8_lossy(&bytes[..from]).len();
    let text = String::from_utf8_lossy(bytes);
    let end = if is_all { text.len() } else { secrets.unfinished(&text).hidden_from };
    secrets.mask_from(&text[..end], before.min(end)).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_a_secret_is_among_the_last_words() {
        let secrets = Secrets::from_values(["correct horse battery".to_owned()]);
        let kept = KEPT_BYTES + secrets.longest();
        let text = format!("{}correct horse battery{}!", "x".repeat(100), "ü".repeat(KEPT_BYTES / 2 - 10));
        for length in text.len() - 200..=text.len() {
            let bytes = &text.as_bytes()[..length];
            let bytes = &bytes[bytes.len().saturating_sub(kept)..];
            let told = last_words(bytes, true, &secrets);
            assert!(!told.contains("ery") && !told.contains("cor"), "{told}");
            assert!(told.len() <= KEPT_BYTES + 3, "{}", told.len());
        }
        let encoded = "the url has correct+horse+battery, and then correct ho";
        assert_eq!(last_words(encoded.as_bytes(), false, &secrets), "the url has ***, and then");
        assert_eq!(last_words(b"it is corr", true, &secrets), "it is corr");
    }
}
