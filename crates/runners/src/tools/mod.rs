//! Tools: what runs ask of the world that is neither a model nor another run.
//!
//! [`Tools`] is all of them, made from the [`Settings`] of the operator. A runner gives what came back, as it came;
//! [`crate::judge`] tells what it means, as for every runner.
//!
//! | kind | asks for |
//! |---|---|
//! | `http` | a request: `method`, `url`, `headers`, `query`, `body`; the spec has `body_type`, `follow_redirects` |
//! | `webhook` | a signed notification: `url`, `method`, `content_type`, `headers`, `payload` |
//! | `fetch` | a page: `url`; `format: html` for the page as it is |
//! | `search` | results of the web: `query`, `limit` |
//! | `extract` | a value out of a text: `expected_format`, `path`, `input` |
//! | `mail` | a mail: `to`, `cc`, `bcc`, `reply_to`, `subject`, `text_body`, `html_body` |
//! | `content` | a file of the folder for files, by `spec.step_type` |
//! | `process` | a program or a command: `argv`, `command`, `args`, `cwd`, `env`, `stdin` |
//! | `mcp` | an action of a server: `server`, `action`, `params` |
//! | `tool` | a tool by name: `spec.tool` with the input as arguments, or `tool`, `arguments` and `configuration` in the input |
//! | `retrieval`, `memory`, `object_store`, `chat` of steps | the tool that has the name of `spec.step_type` |

mod asked;
mod body;
mod builtin;
mod deadline;
mod extract;
mod failure;
mod fetch;
mod files;
mod http;
mod mail;
mod mcp;
mod page;
mod process;
mod search;
mod settings;
mod webhook;
mod wire;

use std::borrow::Cow;
use std::sync::Arc;

use branchpoint_core::effect::Kind;
use branchpoint_core::ir::Effect;
use branchpoint_expr::{Object, Value};
use tokio_util::sync::CancellationToken;

use crate::local::SecretStore;
use crate::models::ToolDescription;
use crate::network::Network;
use crate::network::clients::Clients;
use crate::runner::{Answer, Call};
use asked::{Asked, Lookup};
use builtin::Builtin;

pub use process::Commands;
pub use settings::{
    FilesSettings, HttpSettings, MailSettings, McpSettings, Redirects, SearchProvider, SearchSettings, Settings,
    WebhookSettings,
};

/// All tools of a host. Children of it end with it.
#[derive(Debug)]
pub struct Tools {
    secrets: Lookup,
    http: http::Http,
    webhook: webhook::Webhook,
    fetch: fetch::Fetch,
    search: search::Search,
    mail: mail::Mail,
    files: files::Files,
    commands: Option<Commands>,
    mcp: mcp::Mcp,
}

/// Which runner performs a call.
enum Runner<'c> {
    Http,
    Webhook,
    Fetch,
    Search,
    Extract,
    Mail,
    Files,
    Process,
    Action,
    /// A tool of a server, by its name, with its arguments.
    Tool(&'c str, &'c Value),
}

impl Tools {
    /// Tools from settings. `secrets` gives the values of secrets that documents name.
    pub fn new(settings: Settings, secrets: SecretStore) -> Self {
        let lookup = Lookup(secrets);
        let network = Network::new(settings.http.allow_private_network, &settings.http.trusted_hosts);
        let clients = Clients::new(network);
        let wire = Arc::new(wire::Wire::new(&settings.http, clients.clone()));
        let timeout_ms = settings.http.timeout_ms;
        let http = http::Http { wire: Arc::clone(&wire), timeout_ms };
        let fetch = fetch::Fetch { wire: Arc::clone(&wire), timeout_ms };
        let webhook = webhook::Webhook {
            wire: Arc::clone(&wire),
            timeout_ms,
            settings: settings.webhook,
            lookup: lookup.clone(),
        };
        let search = search::Search { wire, timeout_ms, settings: settings.search, lookup: lookup.clone() };
        let mcp = mcp::Mcp::new(&settings.mcp, &lookup, &clients);
        let mail = mail::Mail { settings: settings.mail, lookup: lookup.clone() };
        let files = files::Files(settings.files);
        Self { secrets: lookup, http, webhook, fetch, search, mail, files, commands: None, mcp }
    }

    /// The same tools, and programs of this machine. Without this, `process` is refused: a server does not run commands
    /// unless its operator says so.
    #[must_use]
    pub fn with_commands(mut self, commands: Commands) -> Self {
        self.commands = Some(commands);
        self
    }

    /// Performs one attempt; none if calls of that kind are not for tools.
    pub async fn perform(&self, call: &Call, cancel: &CancellationToken) -> Option<Answer> {
        let runner = runner(call.kind(), &call.definition.fixed, &call.input)?;
        // Whoever hears a command while it runs must not hear its secrets, so it fills them in itself.
        if let (Runner::Process, Some(commands)) = (&runner, &self.commands) {
            return Some(commands.perform(call, cancel).await);
        }
        Some(match Asked::resolved(call, &self.secrets.0) {
            Ok(asked) => asked.masked(self.performed(&configured(&asked.call), cancel).await),
            Err(answer) => answer,
        })
    }

    /// Why calls of a kind cannot be performed, naming what the settings lack; none if they can, or are not for tools.
    pub async fn lacks(&self, effect: &Effect) -> Option<String> {
        let spec = &effect.fixed;
        match runner(effect.kind, spec, &Value::Null)? {
            // Which tool a call means that names none depends on the run.
            Runner::Http | Runner::Fetch | Runner::Tool("", _) => None,
            Runner::Extract => extract::lacks(spec),
            Runner::Webhook => self.webhook.lacks(),
            Runner::Search => self.search.lacks(),
            Runner::Mail => self.mail.lacks(),
            Runner::Files => self.files.lacks(spec),
            Runner::Process if self.commands.is_some() => None,
            Runner::Process => Some(NO_COMMANDS.to_owned()),
            Runner::Action => self.mcp.lacks_server(spec.get("server").and_then(Value::as_str)),
            Runner::Tool(name, _) => self.mcp.lacks_tool(name).await,
        }
    }

    /// Why a tool that a model is to be offered by its name cannot be called; none if it can. Servers that may have it are asked.
    pub async fn lacks_tool(&self, name: &str) -> Option<String> {
        match Builtin::named(name) {
            Some(Builtin::Search) => self.search.lacks(),
            Some(Builtin::Fetch) => None,
            None => self.mcp.lacks_tool(name).await,
        }
    }

    /// What is known of tools that a model is to be offered by their names, each where its name stands.
    pub async fn described(&self, names: &[&str]) -> Vec<Option<ToolDescription>> {
        let asked: Vec<&str> = names.iter().copied().filter(|name| Builtin::named(name).is_none()).collect();
        let mut offered = if asked.is_empty() { Vec::new() } else { self.mcp.described(&asked).await }.into_iter();
        let one = |name: &&str| match Builtin::named(name) {
            Some(tool) => Some(tool.described()),
            None => offered.next().flatten(),
        };
        names.iter().map(one).collect()
    }

    /// Whether calls of that kind are for tools.
    pub fn serves(effect: &Effect) -> bool {
        runner(effect.kind, &effect.fixed, &Value::Null).is_some()
    }

    async fn performed(&self, call: &Call, cancel: &CancellationToken) -> Answer {
        match runner(call.kind(), &call.definition.fixed, &call.input) {
            Some(Runner::Http) => self.http.perform(call, cancel).await,
            Some(Runner::Webhook) => self.webhook.perform(call, cancel).await,
            Some(Runner::Fetch) => self.fetch.perform(&argued(call), cancel).await,
            Some(Runner::Search) => self.search.perform(&argued(call), cancel).await,
            Some(Runner::Extract) => blocking(call, extract::perform).await,
            Some(Runner::Mail) => self.mail.perform(call, cancel).await,
            Some(Runner::Files) => {
                let files = self.files.clone();
                blocking(call, move |call| files.perform(call)).await
            }
            Some(Runner::Process) => failure::impossible(NO_COMMANDS),
            Some(Runner::Action) => self.mcp.action(call, cancel).await,
            Some(Runner::Tool(name, arguments)) => self.mcp.tool(name, arguments, call, cancel).await,
            None => failure::impossible(format!("nothing here performs `{}`", call.kind())),
        }
    }
}

const NO_COMMANDS: &str = "this host runs no commands; its operator has to allow that";

/// Work that computes or reads files, off the threads of the runtime.
async fn blocking(call: &Call, work: impl FnOnce(&Call) -> Answer + Send + 'static) -> Answer {
    let call = call.clone();
    let done = tokio::task::spawn_blocking(move || work(&call)).await;
    done.unwrap_or_else(|_| Answer::failed("runner", "the runner of this call broke down"))
}

/// Which runner a call is for; none if it is for no tool.
fn runner<'c>(kind: Kind, spec: &'c Object, input: &'c Value) -> Option<Runner<'c>> {
    let step = spec.get("step_type").and_then(Value::as_str);
    Some(match kind {
        Kind::Http => Runner::Http,
        Kind::Webhook => Runner::Webhook,
        Kind::Fetch => Runner::Fetch,
        Kind::Search => Runner::Search,
        Kind::Extract => Runner::Extract,
        Kind::Mail => Runner::Mail,
        Kind::Content => Runner::Files,
        Kind::Process => Runner::Process,
        Kind::Mcp => Runner::Action,
        Kind::Tool => {
            let fixed = spec.get("tool").and_then(Value::as_str);
            let name = fixed.or_else(|| input.get("tool").and_then(Value::as_str)).unwrap_or_default();
            match Builtin::named(name) {
                Some(Builtin::Search) => Runner::Search,
                Some(Builtin::Fetch) => Runner::Fetch,
                None if fixed.is_some() => Runner::Tool(name, input),
                None => Runner::Tool(name, input.get("arguments").unwrap_or(&Value::Null)),
            }
        }
        Kind::Retrieval | Kind::Memory | Kind::ObjectStore | Kind::ChatHistory => {
            Runner::Tool(step.unwrap_or(kind.as_str()), input)
        }
        _ => return None,
    })
}

/// A call of a tool by name. What the document has set for the tool stands in for arguments that whoever calls it has left out.
fn configured(call: &Call) -> Cow<'_, Call> {
    let part = |key: &str| call.input.get(key).and_then(Value::as_object);
    let (Some(set), Some(arguments)) = (part("configuration"), part("arguments")) else { return Cow::Borrowed(call) };
    if call.kind() != Kind::Tool || call.definition.fixed.get("tool").is_some() {
        return Cow::Borrowed(call);
    }
    let mut whole = Object::clone(set);
    whole.extend(arguments.iter().map(|(name, value)| (name.clone(), value.clone())));
    let mut input = call.input.as_object().cloned().unwrap_or_default();
    input.insert("arguments".into(), Value::from(whole));
    Cow::Owned(Call { input: Value::from(input), ..call.clone() })
}

/// A call of a tool by name, with its arguments as what it asks with.
fn argued(call: &Call) -> Call {
    let named = call.kind() == Kind::Tool && call.definition.fixed.get("tool").is_none();
    let input = if named { call.input.get("arguments").cloned().unwrap_or_default() } else { call.input.clone() };
    Call { input, ..call.clone() }
}
