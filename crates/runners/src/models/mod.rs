//! Models: performs `model` calls over HTTP.
//!
//! `model_call` builds a request, and `providers` finds its provider. `exchange` sends it in one of the wire formats of `formats` and reads
//! the response once: bounded bytes, `sse` events, a reply. `retry` repeats it, `fault` explains why a try failed and what to do about it,
//! and `shape` checks the form of replies.

mod attachments;
mod delivery;
mod exchange;
mod fault;
mod formats;
mod json_limit;
mod messages;
mod model_call;
mod price;
mod providers;
mod reply_format;
mod retry;
mod settings;
mod sse;
mod summary;
mod tools;

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_core::RunKinds as _;
use branchpoint_core::Usage;
use branchpoint_core::effect::{ModelReply, ModelRequest, ModelResult, Request, SecretForm, Task, ToolCall};
use branchpoint_core::ir::Effect;
use branchpoint_expr::{Kind, Value};
use serde_json::{Value as Json, json};

pub use delivery::FileKind;
pub use settings::{Price, Provider, Settings};
pub use summary::{KeyStatus, ProviderCheck, ProviderSummary};
use tokio::time::timeout_at;
use tokio_util::sync::CancellationToken;
pub use tools::{ToolCatalogue, ToolDescription, ToolDescriptions};

use crate::documents::TextExtractor;
use crate::local::SecretStore;
use crate::local::agents;
use crate::network::clients::Clients;
use crate::network::{Network, Source};
use crate::runner::{Answer, Call, PreparedCall};
use crate::secrets::SharedSecrets;
use crate::storage::Storage;
use crate::tools::{FilesSettings, HttpSettings};
use formats::Reply;
use model_call::ModelCall;
use providers::Target;
use url::Url;

/// An event of a reply that is being received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'t> {
    /// The next text.
    Text(&'t str),
    /// The reply is complete.
    End,
    /// The call is repeated, and the text so far is invalid.
    Restart,
}

/// Receives replies while they arrive.
pub type Listener = Arc<dyn Fn(&Call, Piece<'_>) + Send + Sync>;

/// Calls models over HTTP.
#[derive(Clone)]
pub struct Models {
    /// The table `[models]` of the settings.
    pub settings: Settings,
    /// The table `[agents]` of the settings, by provider. Agents with `runner = "api"` are called here.
    pub agents: BTreeMap<String, agents::Settings>,
    /// The environment, from which keys and addresses are read.
    pub environment: SecretStore,
    /// Describes tools that calls give only by name.
    pub catalogue: ToolCatalogue,
    /// The folder of files that calls attach by their keys.
    pub files: Option<FilesSettings>,
    /// The stored files of runs.
    pub storage: Option<Storage>,
    /// Extracts the text of files that a model does not accept.
    pub extractor: Option<TextExtractor>,
    /// Receives replies while they arrive.
    pub listener: Listener,
    /// Secrets that are masked in what the listener receives.
    pub mask: SharedSecrets,
    clients: Clients,
}

impl Models {
    /// Models with the keys in the environment of this process, without a listener.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// use branchpoint_runners::models::{Models, Settings};
    ///
    /// let models = Models::new(Settings { default: Some("openai/gpt-5".into()), ..Settings::default() }, BTreeMap::new());
    /// assert_eq!(models.settings.default.as_deref(), Some("openai/gpt-5"));
    /// ```
    pub fn new(settings: Settings, agents: BTreeMap<String, agents::Settings>) -> Self {
        Self {
            settings,
            agents,
            environment: Arc::new(|name| std::env::var(name).ok()),
            catalogue: Arc::new(|names| Box::pin(std::future::ready(vec![None; names.len()]))),
            files: None,
            storage: None,
            extractor: None,
            listener: Arc::new(|_, _| {}),
            mask: SharedSecrets::default(),
            clients: Clients::default(),
        }
    }

    /// Sets the addresses of providers that documents may use.
    #[must_use]
    pub fn with_network_settings(self, settings: &HttpSettings) -> Self {
        let network = Network::new(settings.allow_private_network, &settings.trusted_hosts);
        Self { clients: Clients::new(network), ..self }
    }

    /// Performs a request for a model; `None` for other requests.
    pub async fn perform(&self, prepared: &PreparedCall, cancel: &CancellationToken) -> Option<Answer> {
        let Request::Model(request) = &prepared.request else { return None };
        if self.program_of(request).is_some() {
            return None;
        }
        let call = &prepared.call;
        if crate::agent::is_turn(call) {
            let message = "this agent has tools, so the host must start a child run for it";
            return Some(Answer::impossible("no_runner", message));
        }
        let until = retry::deadline(&self.settings, call);
        // Tool servers describe their tools first, which counts towards the time limit.
        let request =
            cancel.run_until_cancelled(timeout_at(until.into(), self.prepare(prepared, request, cancel))).await;
        let request = match request {
            Some(Ok(Ok(request))) => request,
            Some(Ok(Err(answer))) => return Some(answer),
            Some(Err(_)) | None => return Some(Answer::Missing),
        };
        Some(match self.client(&request.target) {
            Ok(client) => retry::perform(self, client, call, request, until, cancel).await,
            Err(answer) => answer,
        })
    }

    /// Why calls of an effect cannot be performed, as far as that is known before a run: the kind of the finding, and the missing setting.
    /// `None` if they can be performed, if it depends on values of the run, or if they are not for a model.
    pub fn unavailable_reason(&self, effect: &Effect) -> Option<(Kind, String)> {
        let Ok(Request::Model(mut request)) = effect.request() else { return None };
        if let Some(provider) = self.program_of(&request) {
            return agents::missing_program(&self.agents, provider).map(|why| (Kind::ProviderNotFound, why));
        }
        let is_known = request.model.is_some() || request.provider.is_some();
        // A secret that is the API key is filled in for the call, so before the run any value will do.
        if effect.secrets.iter().any(|secret| matches!(secret.form, SecretForm::Credential { .. })) {
            request.api_key = Some(String::new());
            if !is_known {
                return None;
            }
        }
        // The run may choose a model, but a missing default is known before the run.
        let below = request.subagent_models.iter();
        let provider = request.provider.clone();
        let below = below.map(|model| ModelRequest {
            model: Some(model.clone()),
            provider: provider.clone(),
            ..ModelRequest::default()
        });
        let unavailable =
            std::iter::once(*request.clone()).chain(below).find_map(|request| self.target(&request).err());
        unavailable.map(|unavailable| (Kind::NoRunner, unavailable.0))
    }

    /// The provider of a request, if it is called by a program on this machine.
    fn program_of<'r>(&self, request: &'r ModelRequest) -> Option<&'r str> {
        let provider = request.provider.as_deref().filter(|_| request.program);
        provider.filter(|provider| agents::program(&self.agents, provider).is_some())
    }

    /// The HTTP client for a target, unless its address is not allowed.
    fn client(&self, target: &Target) -> Result<&reqwest::Client, Answer> {
        let source = if target.is_from_document {
            let url = Url::parse(&target.url).map_err(|error| error.to_string());
            let source = url.and_then(|url| self.clients.admit(&url).map_err(|refused| refused.to_string()));
            let remedy = |why| format!("{why}, or set the address as `base_url` of a provider in the settings");
            source.map_err(|why| Answer::impossible("step_failed", remedy(why)))?
        } else {
            Source::Operator
        };
        self.clients.client(source).map_err(|why| Answer::failed("step_failed", why))
    }

    /// The answer to a call, from its reply and the usage of all tries.
    fn answer(&self, request: &ModelCall, reply: Reply) -> Answer {
        let usage = reply.tokens.usage(&request.target.model, &self.settings.prices);
        let input_tokens = Some(reply.tokens.input).filter(|_| usage.tokens > 0);
        let is_reply = request.request.task == Task::Reply;
        let value = if is_reply { Value::from(model_reply(request, reply, usage)) } else { Value::from(reply.text) };
        Answer::Model(ModelResult { value, usage, input_tokens })
    }
}

fn model_reply(request: &ModelCall, reply: Reply, usage: Usage) -> ModelReply {
    let call = |call: &messages::ToolCall| {
        let arguments = match &call.arguments {
            // Some servers send nothing for a tool without arguments.
            Json::Null => json!({}),
            Json::String(text) if text.trim().is_empty() => json!({}),
            // Arguments that cannot be parsed stay text, and the error is reported to the model.
            Json::String(text) => formats::parsed(text).unwrap_or_else(|| json!(text)),
            value => value.clone(),
        };
        let name = request.names.own(&call.name).to_owned();
        ToolCall { id: call.id.clone(), name, arguments: Value::from(&arguments) }
    };
    ModelReply {
        tool_calls: reply.calls.iter().map(call).collect(),
        usage: reply.tokens.reply_usage(usage),
        stop_reason: reply.truncated().map(str::to_owned),
        thoughts: Value::from(&json!(reply.thoughts(request.target.format))),
        text: reply.text,
    }
}
