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
mod tasks;
mod webhook;
mod wire;

use std::borrow::Cow;
use std::sync::Arc;

use branchpoint_core::effect::Kind;
use branchpoint_core::ir::Effect;
use branchpoint_expr::{Object, Value};

use crate::cancel::Stop;
use crate::local::SecretStore;
use crate::models::ToolDescription;
use crate::network::Network;
use crate::network::clients::Clients;
use crate::runner::{Answer, Call};
use asked::{Asked, Lookup};
use builtin::Builtin;
use tasks::Tasks;

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
    ///
    /// # Errors
    ///
    /// If the machine gives us no threads.
    pub fn new(settings: Settings, secrets: SecretStore) -> std::io::Result<Self> {
        let tasks = Tasks::new()?;
        let lookup = Lookup(secrets);
        let network = Network::new(settings.http.allow_private_network, &settings.http.trusted_hosts);
        let clients = Clients::new(network);
        let wire = Arc::new(wire::Wire::new(&settings.http, clients.clone()));
        let timeout_ms = settings.http.timeout_ms;
        let http = http::Http { wire: Arc::clone(&wire), tasks: tasks.clone(), timeout_ms };
        let fetch = fetch::Fetch { wire: Arc::clone(&wire), tasks: tasks.clone(), timeout_ms };
        let webhook = webhook::Webhook {
            wire: Arc::clone(&wire),
            tasks: tasks.clone(),
            timeout_ms,
            settings: settings.webhook,
            lookup: lookup.clone(),
        };
        let search = search::Search {
            wire,
            tasks: tasks.clone(),
            timeout_ms,
            settings: settings.search,
            lookup: lookup.clone(),
        };
        let mcp = mcp::Mcp::new(&settings.mcp, &tasks, &lookup, &clients);
        let mail = mail::Mail { tasks, settings: settings.mail, lookup: lookup.clone() };
        let files = files::Files(settings.files);
        Ok(Self { secrets: lookup, http, webhook, fetch, search, mail, files, commands: None, mcp })
    }

    /// The same tools, and programs of this machine. Without this, `process` is refused: a server does not run commands
    /// unless its operator says so.
    #[must_use]
    pub fn with_commands(mut self, commands: Commands) -> Self {
        self.commands = Some(commands);
        self
    }

    /// Performs one attempt; none if calls of that kind are not for tools.
    pub fn perform(&self, call: &Call, stop: &Stop) -> Option<Answer> {
        let runner = runner(call.kind(), &call.definition.fixed, &call.input)?;
        // Whoever hears a command while it runs must not hear its secrets, so it fills them in itself.
        if let (Runner::Process, Some(commands)) = (&runner, &self.commands) {
            return Some(commands.perform(call, stop));
        }
        Some(match Asked::resolved(call, &self.secrets.0) {
            Ok(asked) => asked.masked(self.performed(&configured(&asked.call), stop)),
            Err(answer) => answer,
        })
    }

    /// Why calls of a kind cannot be performed, naming what the settings lack; none if they can, or are not for tools.
    pub fn lacks(&self, effect: &Effect) -> Option<String> {
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
            Runner::Tool(name, _) => self.mcp.lacks_tool(name),
        }
    }

    /// Why a tool that a model is to be offered by its name cannot be called; none if it can. Servers that may have it are asked.
    pub fn lacks_tool(&self, name: &str) -> Option<String> {
        match Builtin::named(name) {
            Some(Builtin::Search) => self.search.lacks(),
            Some(Builtin::Fetch) => None,
            None => self.mcp.lacks_tool(name),
        }
    }

    /// The word that ends the looking for what is lacking. Once it is said, nobody is asked any more.
    pub fn checks(&self) -> Stop {
        self.mcp.checks.clone()
    }

    /// What is known of tools that a model is to be offered by their names, each where its name stands.
    pub fn described(&self, names: &[&str], stop: &Stop) -> Vec<Option<ToolDescription>> {
        let asked: Vec<&str> = names.iter().copied().filter(|name| Builtin::named(name).is_none()).collect();
        let mut offered = if asked.is_empty() { Vec::new() } else { self.mcp.described(&asked, stop) }.into_iter();
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

    fn performed(&self, call: &Call, stop: &Stop) -> Answer {
        match runner(call.kind(), &call.definition.fixed, &call.input) {
            Some(Runner::Http) => self.http.perform(call, stop),
            Some(Runner::Webhook) => self.webhook.perform(call, stop),
            Some(Runner::Fetch) => self.fetch.perform(&argued(call), stop),
            Some(Runner::Search) => self.search.perform(&argued(call), stop),
            Some(Runner::Extract) => extract::perform(call),
            Some(Runner::Mail) => self.mail.perform(call, stop),
            Some(Runner::Files) => self.files.perform(call),
            Some(Runner::Process) => failure::impossible(NO_COMMANDS),
            Some(Runner::Action) => self.mcp.action(call, stop),
            Some(Runner::Tool(name, arguments)) => self.mcp.tool(name, arguments, call, stop),
            None => failure::impossible(format!("nothing here performs `{}`", call.kind())),
        }
    }
}

const NO_COMMANDS: &str = "this host runs no commands; its operator has to allow that";

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
