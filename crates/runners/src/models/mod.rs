//! Models: performs `model` calls by asking a provider over HTTP.
//!
//! The wire formats are those of the library `genai`; this module decides what is asked, how often, and what an answer is
//! worth. The library fits: it takes any address, sends JSON Schemas, tools and efforts, streams calls of tools, lets us see
//! what comes over the wire, and keeps the headers of refusals, of which `Retry-After` is one. What it does not do is try again,
//! count money and bytes, find near names, tell a whole answer from one that is none, and hold answers to a shape; that is here.

mod ask;
mod attached;
mod client;
mod fault;
mod frames;
mod known;
mod messages;
mod price;
mod providers;
mod relay;
mod retry;
mod settings;
mod shape;
mod tools;
mod wire;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use branchpoint_core::Usage;
use branchpoint_core::effect::{self, ModelRequest, Request, SecretForm};
use branchpoint_core::ir::Effect;
use branchpoint_expr::{Kind, Object, Value};

pub use settings::{Price, Provider, Settings};
use tokio::time::timeout_at;
use tokio_util::sync::CancellationToken;
pub use tools::{Catalogue, Descriptions, ToolDescription};

use crate::local::SecretStore;
use crate::local::agents;
use crate::network::Network;
use crate::network::clients::Clients;
use crate::runner::{Answer, Call};
use crate::secrets::SharedSecrets;
use crate::tools::{FilesSettings, HttpSettings};
use ask::Ask;
use wire::Said;

/// A part of an answer while it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'t> {
    /// The next words.
    Text(&'t str),
    /// The answer has come whole.
    End,
    /// What was heard so far is void: the call begins again.
    Again,
}

/// Hears answers while they come.
pub type Listener = Arc<dyn Fn(&Call, Piece<'_>) + Send + Sync>;

/// Asks models.
#[derive(Clone)]
pub struct Models {
    /// What the operator has set.
    pub settings: Settings,
    /// The agents that are programs, by provider: those with `runner = "api"` are asked here.
    pub agents: BTreeMap<String, agents::Settings>,
    /// The environment, where keys and addresses stand by name.
    pub environment: SecretStore,
    /// Secrets that calls name.
    pub secrets: SecretStore,
    /// Describes tools that calls only name.
    pub catalogue: Catalogue,
    /// Where files are that calls attach by their keys.
    pub files: Option<FilesSettings>,
    /// Hears answers while they come.
    pub listener: Listener,
    /// What whoever listens must not hear.
    pub mask: SharedSecrets,
    clients: Clients,
}

impl Models {
    /// With the environment of this process, and nobody listening.
    pub fn new(settings: Settings, agents: BTreeMap<String, agents::Settings>) -> Self {
        Self {
            settings,
            agents,
            environment: Arc::new(|name| std::env::var(name).ok()),
            secrets: Arc::new(|_| None),
            catalogue: Arc::new(|names| Box::pin(std::future::ready(vec![None; names.len()]))),
            files: None,
            listener: Arc::new(|_, _| {}),
            mask: SharedSecrets::default(),
            clients: Clients::default(),
        }
    }

    /// The same models; documents may name the addresses of providers that these settings allow.
    #[must_use]
    pub fn reaching(self, settings: &HttpSettings) -> Self {
        let network = Network::new(settings.allow_private_network, &settings.trusted_hosts);
        Self { clients: Clients::new(network), ..self }
    }

    /// Performs a call for a model. None: it is not for a model.
    pub async fn perform(&self, call: &Call, cancel: &CancellationToken) -> Option<Answer> {
        if !Self::serves(&call.definition) || self.is_program(call) {
            return None;
        }
        if crate::agent::is_turn(call) {
            let message = "this agent has tools, and whoever runs it must run it as a run of its own";
            return Some(Answer::impossible("no_runner", message));
        }
        let until = retry::until(&self.settings, call);
        // Tool servers are asked for descriptions first; that counts towards the limit, too.
        let ask = cancel.run_until_cancelled(timeout_at(until.into(), self.ask(call))).await;
        Some(match ask {
            Some(Ok(Ok(ask))) => self.answered(call, ask, until, cancel).await,
            Some(Ok(Err(answer))) => answer,
            Some(Err(_)) | None => Answer::Never,
        })
    }

    /// Why calls of an effect cannot be performed, as far as that is known before a run: the kind of finding, and what is to
    /// be set. None: they can, or it depends on what the run computes, or they are not for a model.
    pub fn lacks(&self, effect: &Effect) -> Option<(Kind, String)> {
        let Ok(Request::Model(mut request)) = effect.request() else { return None };
        let provider = request.provider.as_deref().filter(|_| request.program);
        if let Some(provider) = provider.filter(|provider| agents::program(&self.agents, provider).is_some()) {
            return agents::missing(&self.agents, provider).map(|why| (Kind::ProviderNotFound, why));
        }
        let is_known = request.model.is_some() || request.provider.is_some();
        // A secret that is the key is put in when the call is made; that there will be one is enough before it.
        if effect.secrets.iter().any(|secret| matches!(secret.form, SecretForm::Credential { .. })) {
            request.api_key = Some(String::new());
            if !is_known {
                return None;
            }
        }
        // The run may name a model; that there is none at all is known before it.
        let below = request.subagent_models.iter();
        let below = below.map(|model| ModelRequest { model: Some(model.clone()), ..ModelRequest::default() });
        let lack = std::iter::once(*request.clone()).chain(below).find_map(|request| self.target_of(&request).err());
        lack.map(|lack| (Kind::NoRunner, lack.0))
    }

    /// Whether calls of an effect are for a model.
    pub fn serves(effect: &Effect) -> bool {
        effect.kind == effect::Kind::Model
    }

    /// Whether a program of this machine answers.
    fn is_program(&self, call: &Call) -> bool {
        let Ok(Request::Model(request)) = call.request() else { return false };
        let provider = request.provider.as_deref().filter(|_| request.program);
        provider.is_some_and(|provider| agents::program(&self.agents, provider).is_some())
    }

    async fn answered(&self, call: &Call, ask: Ask, until: Instant, cancel: &CancellationToken) -> Answer {
        let source = match client::source(&self.clients, &ask.target) {
            Ok(source) => source,
            Err(why) => {
                let message = format!("{why}; or set it as the `base_url` of a provider");
                return Answer::impossible("step_failed", message);
            }
        };
        match self.clients.client(source) {
            Ok(client) => retry::attended(self, client, call, ask, until, cancel).await,
            Err(why) => Answer::failed("step_failed", why),
        }
    }

    /// What was said, as an answer. `tokens` counts everything that led to it.
    fn answer(&self, ask: &Ask, said: Said) -> Answer {
        let usage = said.tokens.usage(&ask.target.model, &self.settings.prices);
        if ask.reply { reply(ask, &said, usage) } else { Answer::Model { text: said.text.into(), usage } }
    }
}

/// `{text, toolCalls, usage}`, with `thoughts` where the provider wants them back, and `stopReason` if its tokens were used up.
fn reply(ask: &Ask, said: &Said, usage: Usage) -> Answer {
    let calls = said.calls.iter().map(|call| {
        let arguments = match &call.fn_arguments {
            // Some servers have nothing to say to a tool that takes nothing.
            serde_json::Value::String(text) if text.trim().is_empty() => Value::from(Object::default()),
            serde_json::Value::Null => Value::from(Object::default()),
            // Some providers stream arguments as text; what is no JSON stays one, and the model is told so.
            serde_json::Value::String(text) => {
                serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str()))
            }
            value => Value::from(value),
        };
        object([
            ("id", Value::from(call.call_id.as_str())),
            ("name", Value::from(ask.names.own(&call.fn_name))),
            ("arguments", arguments),
        ])
    });
    let mut value = vec![
        ("text", Value::from(said.text.as_str())),
        ("toolCalls", Value::from(calls.collect::<Vec<_>>())),
        ("usage", said.tokens.value(usage)),
    ];
    value.extend(said.cut.as_deref().map(|reason| ("stopReason", Value::from(reason))));
    value.extend(said.thoughts.as_ref().map(|thoughts| ("thoughts", Value::from(thoughts))));
    Answer::Reply {
        value: Value::from(value.into_iter().map(|(key, value)| (key.into(), value)).collect::<Object>()),
        usage,
    }
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::from(fields.into_iter().map(|(key, value)| (key.into(), value)).collect::<Object>())
}
