//! Tools: performs all calls over the network except those of models, and calls to stored data.
//!
//! [`Tools`] is created from the [`Settings`] of the operator. It returns raw answers, which [`crate::judge`] judges as for every runner.

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
mod index_writes;
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
pub use webhook::signed_headers;

/// The tools of a host. Dropping it ends its MCP servers.
#[derive(Debug)]
pub struct Tools {
    settings: Settings,
    lookup: Lookup,
    wire: Arc<Wire>,
    mcp: Mcp,
    storage: Option<Storage>,
    extractor: Option<TextExtractor>,
    /// Whether the runner check lists the tools of MCP servers.
    lists_server_tools: bool,
}

impl Tools {
    /// Creates tools from settings. `secrets` looks up the secrets that settings refer to.
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
        Self { settings, lookup, wire, mcp, storage: None, extractor: None, lists_server_tools: true }
    }

    /// Sets the stored data of the host.
    #[must_use]
    pub fn with_storage(self, storage: Storage) -> Self {
        Self { storage: Some(storage), ..self }
    }

    /// Makes the runner check report missing settings without starting MCP servers to list their tools.
    #[must_use]
    pub fn without_server_requests(self) -> Self {
        Self { lists_server_tools: false, ..self }
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Performs one attempt; `None` if the request is not for tools.
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

    /// The default time limit of a call.
    fn limit_ms(&self, request: &Request) -> u64 {
        match request {
            Request::Mail(_) => self.settings.mail.as_ref().map_or(0, |mail| mail.timeout_ms),
            Request::Mcp(request) => self.mcp.limit_ms(request.server.as_deref()),
            Request::Tool(request) => self.mcp.limit_ms(self.mcp.server_of(request.tool.as_deref())),
            _ => self.settings.http.timeout_ms,
        }
    }

    /// The secrets of the settings that a request is sent with. Its answer may repeat them.
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

    /// Why calls of an effect cannot be performed: the missing setting. `None` if they can be performed, or are not for tools.
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
                let reranker =
                    storage::unavailable_reason(&request).map(|problem| format!("`reranker_model` {problem}"));
                reranker.or_else(|| self.storage_unavailable_reason()).or_else(|| self.embeddings_unavailable_reason())
            }
            Request::ObjectStore(_) => self.objects_unavailable_reason(),
            // Without a name, the run decides which tool is called.
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

    /// Why a tool that is offered to a model by name cannot be called; `None` if it can. Servers that may have it are queried.
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
            None if self.lists_server_tools => self.mcp.tool_unavailable_reason(name).await,
            None => self.mcp.server_of_unavailable_reason(name),
        }
    }

    /// The descriptions of tools that are offered to a model by name, in the order of the names.
    ///
    /// ```
    /// use branchpoint_runners::{no_secrets, runtime, tools::Tools};
    ///
    /// let tools = Tools::new(Default::default(), no_secrets());
    /// assert_eq!(runtime().block_on(tools.tool_descriptions(&["weather"])), [None]);
    /// ```
    pub async fn tool_descriptions(&self, names: &[&str]) -> Vec<Option<ToolDescription>> {
        let of_servers: Vec<&str> = names.iter().copied().filter(|name| Builtin::named(name).is_none()).collect();
        let mut offered =
            if of_servers.is_empty() { Vec::new() } else { self.mcp.tool_descriptions(&of_servers).await }.into_iter();
        let one = |name: &&str| match Builtin::named(name) {
            Some(Builtin::Search) if self.search_unavailable_reason().is_some() => None,
            Some(tool) => Some(tool.description()),
            None => offered.next().flatten(),
        };
        names.iter().map(one).collect()
    }

    fn storage_unavailable_reason(&self) -> Option<String> {
        self.storage.is_none().then(|| "this host has no storage for memories, chats and knowledge bases".to_owned())
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

    /// Reads or writes stored data. The secrets of the call and of its run are redacted.
    async fn perform_stored(&self, call: &Call, request: Request, named: &Secrets) -> Result<Answer, Answer> {
        let unavailable = || impossible(self.storage_unavailable_reason().unwrap_or_default());
        let (storage, mut secrets, call) = (self.storage.clone().ok_or_else(unavailable)?, named.clone(), call.clone());
        secrets.add(call.sealed.values());
        let vector = match Storage::embedded_text(&request, &secrets) {
            Some(text) => self.embed_text(&text).await?,
            None => None,
        };
        let cancel = CancellationToken::new();
        // A search ends when the caller stops waiting: at the time limit of the call, or when the call is cancelled.
        let _ends = cancel.clone().drop_guard();
        blocking(move || Ok(storage.perform(&call, request, &secrets, vector, &cancel)?)).await
    }

    /// The folder for files of steps, or the missing setting.
    fn folder(&self) -> Result<&FilesSettings, String> {
        let missing = "no folder for files is configured; add [files] with dir to the settings";
        let folder = self.settings.files.as_ref().ok_or(missing)?;
        if folder.dir.is_dir() {
            return Ok(folder);
        }
        Err(format!("{}, the `dir` of [files] in the settings, is not a directory; create it", folder.dir.display()))
    }
}

/// Runs work that computes or blocks on another thread.
async fn blocking(work: impl FnOnce() -> Result<Answer, Answer> + Send + 'static) -> Result<Answer, Answer> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| {
        Err(Answer::failed("runner", "the runner of this call crashed; please report this as a bug"))
    })
}
