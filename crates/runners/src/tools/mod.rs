//! Tools: what runs ask of the world that is neither a model nor another run.
//!
//! [`Tools`] is all of them, made from the [`Settings`] of the operator. A runner gives what came back, as it came;
//! [`crate::judge`] tells what it means, as for every runner.

mod body;
mod bucket;
mod builtin;
mod content;
mod deadline;
mod embeddings;
mod extract;
mod failure;
mod fetch;
mod files;
mod http;
mod indexed;
mod lookup;
mod mail;
mod mcp;
mod objects;
mod page;
mod search;
mod settings;
mod webhook;
mod wire;

use std::sync::Arc;

use branchpoint_core::effect::Request;
use branchpoint_core::ir::Effect;
use tokio_util::sync::CancellationToken;

use crate::documents::TextExtractor;
use crate::local::SecretStore;
use crate::models::ToolDescription;
use crate::network::Network;
use crate::network::clients::Clients;
use crate::runner::{Answer, Call, PreparedCall};
use crate::secrets::Secrets;
use crate::storage::{self, Storage};
use builtin::Builtin;
use failure::impossible;
use lookup::Lookup;
use mcp::Mcp;
use wire::Wire;

pub use embeddings::EmbeddingError;
pub(crate) use page::text as page_text;
pub use settings::{
    EmbeddingsSettings, FilesSettings, HttpSettings, MailSettings, McpSettings, ObjectsSettings, Redirects,
    SearchProvider, SearchSettings, Settings, WebhookSettings,
};

/// All tools of a host. Children of it end with it.
#[derive(Debug)]
pub struct Tools {
    settings: Settings,
    lookup: Lookup,
    wire: Arc<Wire>,
    mcp: Mcp,
    storage: Option<Storage>,
    extractor: Option<TextExtractor>,
    /// Whether MCP servers are asked whether they have a tool before a run starts.
    asks_servers: bool,
}

impl Tools {
    /// Tools from settings. `secrets` gives the values of secrets that settings name.
    ///
    /// ```
    /// let tools = branchpoint_runners::tools::Tools::new(Default::default(), branchpoint_runners::no_secrets());
    /// assert_eq!(tools.embedding_model(), None);
    /// ```
    pub fn new(settings: Settings, secrets: SecretStore) -> Self {
        let lookup = Lookup(secrets);
        let clients = Clients::new(Network::new(settings.http.allow_private_network, &settings.http.trusted_hosts));
        let wire = Arc::new(Wire::new(&settings.http, clients.clone()));
        let mcp = Mcp::new(&settings.mcp, &lookup, &clients);
        Self { settings, lookup, wire, mcp, storage: None, extractor: None, asks_servers: true }
    }

    /// The same tools over the stored data of a host.
    #[must_use]
    pub fn with_storage(self, storage: Storage) -> Self {
        Self { storage: Some(storage), ..self }
    }

    /// The same tools, which report what is missing without asking MCP servers for their tools.
    #[must_use]
    pub fn without_server_requests(self) -> Self {
        Self { asks_servers: false, ..self }
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Performs one attempt; none if the request is not for tools.
    pub async fn perform(&self, prepared: &PreparedCall, cancel: &CancellationToken) -> Option<Answer> {
        let (call, secrets) = (&prepared.call, &prepared.secrets);
        let request = match &prepared.request {
            Request::Files(request) if request.operation.is_local() => return None,
            Request::Model(_) | Request::Process(_) | Request::Run(_) | Request::Notify(_) | Request::Scripted(_) => {
                return None;
            }
            Request::Tool(request) => builtin::request(request),
            request => Ok(request.clone()),
        };
        let answer = match request {
            Ok(request) => {
                let (limit_ms, settings_secrets) = (self.limit_ms(&request), self.secrets_for(&request));
                let work = self.dispatch(call, request, secrets);
                settings_secrets.mask_answer(deadline::answer(call, cancel, limit_ms, work).await)
            }
            Err(error) => impossible(error.to_string()),
        };
        Some(secrets.mask_answer(answer))
    }

    /// The time limit of calls whose step has none.
    fn limit_ms(&self, request: &Request) -> u64 {
        match request {
            Request::Mail(_) => self.settings.mail.as_ref().map_or(0, |mail| mail.timeout_ms),
            Request::Mcp(request) => self.mcp.limit_ms(request.server.as_deref()),
            Request::Tool(request) => self.mcp.limit_ms(self.mcp.server_of(request.tool.as_deref())),
            _ => self.settings.http.timeout_ms,
        }
    }

    /// The secrets of the settings that a request is sent with, and that its answer may repeat.
    fn secrets_for(&self, request: &Request) -> Secrets {
        let Settings { webhook, search, mail, embeddings, objects, .. } = &self.settings;
        let is_object = match request {
            Request::ObjectStore(_) => true,
            Request::Files(request) => objects::uses_objects(request),
            _ => false,
        };
        if let Some(objects) = objects.as_ref().filter(|_| is_object) {
            return self.lookup.secrets(objects.secret_names());
        }
        self.lookup.secrets(match request {
            Request::Webhook(_) => webhook.secret_env.as_ref(),
            Request::Search(_) => search.as_ref().and_then(|search| search.key_env.as_ref()),
            Request::Mail(_) => mail.as_ref().and_then(|mail| mail.password_env.as_ref()),
            Request::Files(request) if !request.indexed => None,
            Request::Memory(_) | Request::Retrieval(_) | Request::Files(_) => {
                embeddings.as_ref().and_then(|embeddings| embeddings.key_env.as_ref())
            }
            _ => None,
        })
    }

    /// Why calls of an effect cannot be performed, naming what the settings lack; none if they can, or are not for tools.
    ///
    /// ```
    /// use branchpoint_core::{effect::Kind, ir::builder::effect};
    /// use branchpoint_runners::{no_secrets, runtime, tools::Tools};
    ///
    /// let tools = Tools::new(Default::default(), no_secrets());
    /// let lack = runtime().block_on(tools.unavailable_reason(&effect(Kind::Mail)));
    /// assert!(lack.is_some(), "no mail server is configured");
    /// ```
    pub async fn unavailable_reason(&self, effect: &Effect) -> Option<String> {
        match effect.request().ok()? {
            Request::Extract(request) => extract::unavailable_reason(&request),
            Request::Webhook(_) => self.webhook_unavailable_reason(),
            Request::Search(_) => self.search_unavailable_reason(),
            Request::Mail(_) => self.mail_server().err(),
            Request::Files(request) if !request.operation.is_local() => self.content_unavailable_reason(&request),
            Request::Mcp(request) => self.mcp.server_unavailable_reason(request.server.as_deref()),
            Request::Memory(_) => self.storage_unavailable_reason().or_else(|| self.embeddings_unavailable_reason()),
            Request::ChatHistory(_) => self.storage_unavailable_reason(),
            Request::Retrieval(request) => {
                let lack = storage::unavailable_reason(&request).map(|lack| format!("`reranker_model` {lack}"));
                lack.or_else(|| self.storage_unavailable_reason()).or_else(|| self.embeddings_unavailable_reason())
            }
            Request::ObjectStore(_) => self.objects_unavailable_reason(),
            // Which tool a call means that names none depends on the run.
            Request::Tool(request) => self.tool_unavailable_reason(&request.tool?).await,
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

    /// Why a tool that a model is offered by its name cannot be called; `None` if it can. Servers that may have it are queried.
    ///
    /// ```
    /// use branchpoint_runners::{no_secrets, runtime, tools::Tools};
    ///
    /// let tools = Tools::new(Default::default(), no_secrets());
    /// assert!(runtime().block_on(tools.tool_unavailable_reason("weather")).is_some());
    /// ```
    pub async fn tool_unavailable_reason(&self, name: &str) -> Option<String> {
        match Builtin::named(name) {
            Some(Builtin::Search) => self.search_unavailable_reason(),
            Some(Builtin::Fetch) => None,
            None if self.asks_servers => self.mcp.tool_unavailable_reason(name).await,
            None => self.mcp.server_of_unavailable_reason(name),
        }
    }

    /// The descriptions of tools that a model is offered by their names, in the order of the names.
    ///
    /// ```
    /// use branchpoint_runners::{no_secrets, runtime, tools::Tools};
    ///
    /// let tools = Tools::new(Default::default(), no_secrets());
    /// assert_eq!(runtime().block_on(tools.described(&["weather"])), [None]);
    /// ```
    pub async fn tool_descriptions(&self, names: &[&str]) -> Vec<Option<ToolDescription>> {
        let asked: Vec<&str> = names.iter().copied().filter(|name| Builtin::named(name).is_none()).collect();
        let mut offered = if asked.is_empty() { Vec::new() } else { self.mcp.described(&asked).await }.into_iter();
        let one = |name: &&str| match Builtin::named(name) {
            Some(Builtin::Search) if self.search_unavailable_reason().is_some() => None,
            Some(tool) => Some(tool.described()),
            None => offered.next().flatten(),
        };
        names.iter().map(one).collect()
    }

    fn storage_unavailable_reason(&self) -> Option<String> {
        self.storage.is_none().then(|| "this host stores no memories, chats and knowledge bases".to_owned())
    }

    async fn dispatch(&self, call: &Call, request: Request, secrets: &Secrets) -> Result<Answer, Answer> {
        match request {
            Request::Http(request) => self.http(call, &request).await,
            Request::Webhook(request) => self.webhook(call, &request).await,
            Request::Fetch(request) => self.fetch(&request).await,
            Request::Search(request) => self.search(&request).await,
            Request::Extract(request) => blocking(move || extract::perform(&request)).await,
            Request::Mail(request) => self.mail(call, &request).await,
            Request::Files(request) => self.content(call, request, secrets).await,
            Request::ObjectStore(request) => self.write_object(request).await,
            Request::Mcp(request) => self.mcp.action(&request).await,
            Request::Tool(request) => self.mcp.tool(&request.tool.unwrap_or_default(), &request.arguments).await,
            request => self.perform_stored(call, request, secrets).await,
        }
    }

    /// Reads or writes stored data. Neither secrets that the call names nor those of its run are stored.
    async fn perform_stored(&self, call: &Call, request: Request, named: &Secrets) -> Result<Answer, Answer> {
        let lack = || impossible(self.storage_unavailable_reason().unwrap_or_default());
        let (storage, mut secrets, call) = (self.storage.clone().ok_or_else(lack)?, named.clone(), call.clone());
        secrets.add(call.sealed.values());
        let vector = match Storage::embedded_text(&request, &secrets) {
            Some(text) => self.embed_text(&text).await?,
            None => None,
        };
        let cancel = CancellationToken::new();
        // A search ends with the wait for it, at the time limit of the call or when the call is cancelled.
        let _ends = cancel.clone().drop_guard();
        blocking(move || Ok(storage.perform(&call, request, &secrets, vector, &cancel)?)).await
    }

    /// The folder for files of steps, or what the settings lack.
    fn folder(&self) -> Result<&FilesSettings, String> {
        let lack = "no folder is set for files of steps; add [files] with dir to the settings";
        let folder = self.settings.files.as_ref().ok_or(lack)?;
        if folder.dir.is_dir() {
            return Ok(folder);
        }
        Err(format!("{}, which is dir of [files] in the settings, is not a directory; create it", folder.dir.display()))
    }
}

/// Work that computes or reads files, off the threads of the runtime.
async fn blocking(work: impl FnOnce() -> Result<Answer, Answer> + Send + 'static) -> Result<Answer, Answer> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| {
        Err(Answer::failed("runner", "the runner of this call crashed; please report this as a bug"))
    })
}
