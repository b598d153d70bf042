//! Tools: what runs ask of the world that is neither a model nor another run.
//!
//! [`Tools`] is all of them, made from the [`Settings`] of the operator. A runner gives what came back, as it came;
//! [`crate::judge`] tells what it means, as for every runner.

mod body;
mod builtin;
mod deadline;
mod extract;
mod failure;
mod fetch;
mod files;
mod http;
mod lookup;
mod mail;
mod mcp;
mod page;
mod search;
mod settings;
mod webhook;
mod wire;

use std::sync::Arc;

use branchpoint_core::effect::{FilesOperation, Kind, Request, ToolRequest};
use branchpoint_core::ir::Effect;
use branchpoint_expr::Value;
use tokio_util::sync::CancellationToken;

use crate::local::{Local, SecretStore};
use crate::models::ToolDescription;
use crate::network::Network;
use crate::network::clients::Clients;
use crate::runner::{Answer, Call};
use crate::secrets::Secrets;
use crate::storage::{self, Storage};
use builtin::Builtin;
use lookup::Lookup;

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
    mcp: mcp::Mcp,
    storage: Option<Storage>,
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
        Self { secrets: lookup, http, webhook, fetch, search, mail, files, mcp, storage: None }
    }

    /// The same tools over the stored data of a host.
    #[must_use]
    pub fn with_storage(self, storage: Storage) -> Self {
        Self { storage: Some(storage), ..self }
    }

    /// Performs one attempt; none if calls of that kind are not for tools.
    pub async fn perform(&self, call: &Call, cancel: &CancellationToken) -> Option<Answer> {
        if !Self::serves(&call.definition) {
            return None;
        }
        let (call, known) = match call.resolved(&self.secrets.0) {
            Ok(resolved) => resolved,
            Err(why) => return Some(failure::impossible(why)),
        };
        let named = Secrets::from_values(known);
        let answer = match call.request() {
            Ok(request) => self.performed(&call, request, &named, cancel).await,
            Err(error) => failure::impossible(error.to_string()),
        };
        Some(named.mask_answer(answer))
    }

    /// Why calls of an effect cannot be performed, naming what the settings lack; none if they can, or are not for tools.
    pub async fn lacks(&self, effect: &Effect) -> Option<String> {
        match effect.request().ok()? {
            Request::Extract(request) => extract::lacks(&request),
            Request::Webhook(_) => self.webhook.lacks(),
            Request::Search(_) => self.search.lacks(),
            Request::Mail(_) => self.mail.lacks(),
            Request::Files(request) if !request.operation.is_local() => self.files.lacks(request.operation),
            Request::Mcp(request) => self.mcp.lacks_server(request.server.as_deref()),
            Request::Memory(_) | Request::ChatHistory(_) => self.lacks_storage(),
            Request::Retrieval(request) => {
                let lack = storage::lacks(&request).map(|lack| format!("`reranker_model` {lack}"));
                lack.or_else(|| self.lacks_storage())
            }
            Request::ObjectStore(_) => self.files.lacks(FilesOperation::Write),
            // Which tool a call means that names none depends on the run.
            Request::Tool(request) => self.lacks_tool(&request.tool?).await,
            Request::Http(_)
            | Request::Fetch(_)
            | Request::Files(_)
            | Request::Model(_)
            | Request::Process(_)
            | Request::Run(_)
            | Request::Notify(_)
            | Request::Scripted(_) => None,
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

    /// Whether calls of an effect are for tools.
    pub fn serves(effect: &Effect) -> bool {
        match effect.kind {
            Kind::Http
            | Kind::Webhook
            | Kind::Mail
            | Kind::Mcp
            | Kind::Tool
            | Kind::Search
            | Kind::Fetch
            | Kind::Extract
            | Kind::Memory
            | Kind::ChatHistory
            | Kind::Retrieval
            | Kind::ObjectStore => true,
            Kind::Files => !Local::serves(effect),
            Kind::Model | Kind::Process | Kind::Run | Kind::Notify | Kind::Scripted => false,
        }
    }

    fn lacks_storage(&self) -> Option<String> {
        self.storage.is_none().then(|| "this host stores no memories, chats and knowledge bases".to_owned())
    }

    async fn performed(&self, call: &Call, request: Request, named: &Secrets, cancel: &CancellationToken) -> Answer {
        match request {
            Request::Http(request) => self.http.perform(call, &request, cancel).await,
            Request::Webhook(request) => self.webhook.perform(call, &request, cancel).await,
            Request::Fetch(request) => self.fetch.perform(call, &request, cancel).await,
            Request::Search(request) => self.search.perform(call, &request, cancel).await,
            Request::Extract(request) => blocking(move || extract::perform(&request)).await,
            Request::Mail(request) => self.mail.perform(call, &request, cancel).await,
            Request::Files(request) => {
                let files = self.files.clone();
                blocking(move || files.perform(&request)).await
            }
            Request::ObjectStore(request) => {
                let files = self.files.clone();
                blocking(move || files.write_object(&request)).await
            }
            Request::Memory(_) | Request::ChatHistory(_) | Request::Retrieval(_) => {
                self.stored(call, request, named).await
            }
            Request::Mcp(request) => self.mcp.action(call, &request, cancel).await,
            Request::Tool(request) => self.tool(call, request, cancel).await,
            Request::Model(_) | Request::Process(_) | Request::Run(_) | Request::Notify(_) | Request::Scripted(_) => {
                failure::impossible(format!("no tool performs `{}`", call.kind()))
            }
        }
    }

    /// Reads or writes stored data. Neither secrets that the call names nor those of its run are stored.
    async fn stored(&self, call: &Call, request: Request, named: &Secrets) -> Answer {
        let Some(storage) = self.storage.clone() else {
            return failure::impossible(self.lacks_storage().unwrap_or_default());
        };
        let mut secrets = named.clone();
        secrets.add(call.sealed.values());
        let (call, message) = (call.clone(), format!("no tool performs `{}`", call.kind()));
        let work = move || storage.perform(&call, request, &secrets).unwrap_or_else(|| failure::impossible(message));
        blocking(work).await
    }

    /// A tool by name, built in or of a server. Arguments that the document sets stand in for those that the caller left out.
    async fn tool(&self, call: &Call, request: ToolRequest, cancel: &CancellationToken) -> Answer {
        let mut arguments = request.arguments;
        if let Some(own) = arguments.as_object().filter(|_| !request.configuration.is_empty()) {
            let mut all = request.configuration.clone();
            all.extend(own.iter().map(|(name, value)| (name.clone(), value.clone())));
            arguments = Value::from(all);
        }
        let name = request.tool.unwrap_or_default();
        match Builtin::named(&name).map(|tool| tool.request(&arguments)) {
            Some(Ok(Request::Search(request))) => self.search.perform(call, &request, cancel).await,
            Some(Ok(Request::Fetch(request))) => self.fetch.perform(call, &request, cancel).await,
            Some(Ok(_)) => failure::impossible(format!("no tool performs `{name}`")),
            Some(Err(error)) => failure::impossible(error.to_string()),
            None => self.mcp.tool(&name, &arguments, call, cancel).await,
        }
    }
}

/// Work that computes or reads files, off the threads of the runtime.
async fn blocking(work: impl FnOnce() -> Answer + Send + 'static) -> Answer {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Answer::failed("runner", "the runner of this call broke down"))
}
