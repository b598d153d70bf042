//! Finds the provider of a model, its address and its API key.

use std::sync::Arc;

use branchpoint_core::effect::ModelRequest;
use reqwest::header::HeaderValue;
use url::Url;

use super::Models;
use super::fault::Fault;
use super::formats::{self, Format};
use crate::shorten::shortened;

/// A built-in provider, which needs no settings. Its name selects its wire format.
pub(super) struct BuiltinProvider {
    pub(super) name: &'static str,
    pub(super) url: &'static str,
    /// Prefixes of the names of its models.
    starts: &'static [&'static str],
    /// The default model if only the key of this provider is set; empty if there is none.
    pub(super) model: &'static str,
}

impl BuiltinProvider {
    /// The environment variable of its key; `None` if it needs no key.
    pub(super) fn key_env(&self) -> Option<String> {
        (self.name != "ollama").then(|| format!("{}_API_KEY", self.name.to_uppercase()))
    }

    /// The environment variable that overrides its address.
    pub(super) fn url_env(&self) -> String {
        let end = if self.name == "ollama" { "HOST" } else { "BASE_URL" };
        format!("{}_{end}", self.name.to_uppercase())
    }
}

const fn builtin(
    name: &'static str,
    url: &'static str,
    starts: &'static [&'static str],
    model: &'static str,
) -> BuiltinProvider {
    BuiltinProvider { name, url, starts, model }
}

/// The most common providers. Settings describe any other.
pub(super) const BUILTIN_PROVIDERS: [BuiltinProvider; 9] = [
    builtin("openai", "https://api.openai.com/v1/", &["gpt-", "o1", "o3", "o4", "chatgpt-"], "gpt-5-mini"),
    builtin("anthropic", "https://api.anthropic.com/v1/", &["claude"], "claude-haiku-4-5"),
    builtin("gemini", "https://generativelanguage.googleapis.com/v1beta/", &["gemini"], "gemini-2.5-flash"),
    builtin(
        "mistral",
        "https://api.mistral.ai/v1/",
        &["mistral-", "magistral-", "ministral-", "codestral-"],
        "mistral-small-latest",
    ),
    builtin("deepseek", "https://api.deepseek.com/v1/", &["deepseek-"], ""),
    builtin("xai", "https://api.x.ai/v1/", &["grok-"], ""),
    builtin("groq", "https://api.groq.com/openai/v1/", &[], ""),
    builtin("openrouter", "https://openrouter.ai/api/v1/", &[], ""),
    builtin("ollama", "http://localhost:11434/v1/", &[], ""),
];

/// Providers whose own models have names such as `groq/compound`. With such a provider, the prefix belongs to the name.
const OWN_NAMESPACES: [&str; 2] = ["groq", "openrouter"];

/// The environment variable of the default model, used if the settings have none.
const DEFAULT_MODEL: &str = "BRANCHPOINT_MODEL";

/// The provider for documents that give an address themselves.
pub(super) const COMPATIBLE: &str = "openai_compatible";

/// The provider, the model and the address of a call.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) provider: Arc<str>,
    pub(super) model: Arc<str>,
    pub(super) format: &'static dyn Format,
    /// The address, with a slash at the end of its path, and perhaps a query.
    pub(super) url: Arc<str>,
    pub(super) key: Option<String>,
    /// Whether the address is from a document, and not from the operator.
    pub(super) is_from_document: bool,
}

impl Target {
    /// The URL of a request. It has the query of the provider's address.
    pub(super) fn address(&self, path: &str) -> String {
        let Some((base, query)) = self.url.split_once('?') else { return format!("{}{path}", self.url) };
        let joint = if path.contains('?') { '&' } else { '?' };
        format!("{base}{path}{joint}{query}")
    }

    /// The failure of a connection. The message leaves out the query of the address, which may contain a key.
    pub(super) fn lost(&self, error: reqwest::Error) -> Fault {
        Fault::lost(self.url.split('?').next().unwrap_or_default(), &error.without_url())
    }

    /// Whether the model is a reasoning model, by its name. Such models of OpenAI have an effort and no temperature.
    pub(super) fn reasons(&self) -> bool {
        let name = self.model.rsplit('/').next().unwrap_or_default();
        ["gpt-5", "o1", "o3", "o4"].iter().any(|begins| name.starts_with(begins)) && !name.contains("chat")
    }
}

/// Why a model cannot be called: the missing setting.
#[derive(Debug)]
pub(super) struct Unavailable(pub(super) String);

impl Models {
    /// Finds the target of a request.
    pub(super) fn target(&self, request: &ModelRequest) -> Result<Target, Unavailable> {
        let (provider, model) = self.provider_and_model(request)?;
        self.target_of(&provider, &model, request)
    }

    /// The names of the provider and of the model of a request.
    pub(super) fn provider_and_model(&self, request: &ModelRequest) -> Result<(String, String), Unavailable> {
        let provider = request.provider.as_deref().map(|provider| self.api_of(request, provider));
        let provider = non_default(provider.as_deref());
        let model = match (non_default(request.model.as_deref()), non_default(request.model_variant.as_deref())) {
            (Some(model), Some(variant)) => Some(format!("{model}-{variant}")),
            (model, variant) => variant.or(model).map(str::to_owned),
        };
        let (provider, model) = match (provider, model) {
            (Some(provider), model) => {
                let model = model.and_then(|model| match split(&model, self) {
                    (Some(named), rest) if named == provider && !OWN_NAMESPACES.contains(&provider) => rest,
                    _ => Some(model),
                });
                let own = self.settings.providers.get(provider).and_then(|set| set.model.clone());
                (Some(provider.to_owned()), model.or(own).or_else(|| self.default_of(provider)))
            }
            (None, Some(model)) => split(&model, self),
            (None, None) => match self.default_model() {
                Some(default) => split(&default, self),
                None => self.first_with_a_key().unwrap_or_default(),
            },
        };
        let Some(model) = model else {
            let message = "no model is configured; set `OPENAI_API_KEY` or another key, `BRANCHPOINT_MODEL`, or `default` in `[models]`";
            return Err(Unavailable(message.to_owned()));
        };
        let provider = provider.or_else(|| provider_by_prefix(&model)).or_else(|| self.settings.provider.clone());
        let provider = provider.or_else(|| self.settings.default.as_deref().and_then(|default| split(default, self).0));
        Ok((provider.unwrap_or_else(|| "openai".to_owned()), model))
    }

    /// The default model of the settings or of the environment.
    pub(super) fn default_model(&self) -> Option<String> {
        self.settings.default.clone().or_else(|| (self.environment)(DEFAULT_MODEL))
    }

    /// The value of an environment variable that is not blank.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        (self.environment)(name).filter(|value| !value.trim().is_empty())
    }

    /// The API provider behind a provider that is a program.
    fn api_of(&self, request: &ModelRequest, provider: &str) -> String {
        let set = self.agents.get(provider).filter(|_| request.program);
        if let Some(named) = set.and_then(|set| set.provider.clone()) {
            return named;
        }
        let api = match provider {
            "claude" => "anthropic",
            "codex" => "openai",
            "mistral_vibe" => "mistral",
            "github_copilot" | "opencode" => "default",
            other => other,
        };
        api.to_owned()
    }

    /// The first built-in provider with a key in the environment, and its default model.
    fn first_with_a_key(&self) -> Option<(Option<String>, Option<String>)> {
        let is_set = |name: String| self.variable(&name).is_some();
        let mut with_models = BUILTIN_PROVIDERS.iter().filter(|known| !known.model.is_empty());
        let known = with_models.find(|known| known.key_env().is_some_and(is_set))?;
        Some((Some(known.name.to_owned()), Some(known.model.to_owned())))
    }

    /// The default model, if it belongs to that provider.
    pub(super) fn default_of(&self, provider: &str) -> Option<String> {
        let (of, model) = split(self.settings.default.as_deref()?, self);
        let of = of.or_else(|| model.as_deref().and_then(provider_by_prefix));
        model.filter(|_| of.as_deref() == Some(provider))
    }

    pub(super) fn target_of(&self, provider: &str, model: &str, request: &ModelRequest) -> Result<Target, Unavailable> {
        let set = self.settings.providers.get(provider);
        let known = BUILTIN_PROVIDERS.iter().find(|known| known.name == provider);
        let own_url = set.and_then(|set| set.base_url.clone());
        let from_env = known.and_then(|known| self.variable(&known.url_env()));
        let configured_url = own_url.or(from_env);
        let protocol = set.and_then(|set| set.protocol.as_deref());
        let name = protocol.or(known.map(|known| known.name)).unwrap_or("openai");
        let Some(format) = formats::named(name) else {
            return Err(Unavailable(format!(
                "`{name}` is not a supported wire format (`protocol` in `[models.providers.{provider}]`); use `openai`, \
                 `anthropic` or `gemini`, and the compatible address of the provider as its `base_url`"
            )));
        };
        if known.is_none() && set.is_none() && provider != COMPATIBLE {
            let provider = shortened(provider);
            return Err(Unavailable(format!(
                "unknown provider `{provider}`; describe it in `[models.providers.{provider}]`"
            )));
        }
        if format.endpoint().path.contains("{model}") && !is_path_safe(model) {
            return Err(Unavailable(format!(
                "`{}` is not a valid model name for `{provider}`: use only letters, digits and `-._:@`, because the name is part of the URL",
                shortened(model)
            )));
        }
        let configured = configured_url.as_deref().map(|url| normalised_url(url, format));
        // The operator's key is sent to an address of a document only if the operator has configured the same address.
        let named = non_default(request.base_url.as_deref()).map(|url| normalised_url(url, format));
        let is_from_document = named.is_some() && named != configured;
        let Some(url) = named.or(configured.clone()).or_else(|| known.map(|known| known.url.to_owned())) else {
            return Err(Unavailable(format!(
                "the provider `{provider}` has no address; set `base_url` in `[models.providers.{provider}]`"
            )));
        };
        if !Url::parse(&url).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host()) {
            let shown = shortened(url.split('?').next().unwrap_or_default());
            return Err(Unavailable(format!(
                "`{shown}` is not a valid address of a provider; it must begin with `http://` or `https://`"
            )));
        }
        let key = match &request.api_key {
            Some(key) => Some(sendable(key.clone(), "`api_key`")?),
            None if is_from_document => None,
            None => self.key(provider, known, configured.is_some())?,
        };
        Ok(Target { provider: provider.into(), model: model.into(), format, url: url.into(), key, is_from_document })
    }

    /// The key of a provider. A provider with a configured address may have none.
    fn key(
        &self,
        provider: &str,
        known: Option<&BuiltinProvider>,
        has_own_address: bool,
    ) -> Result<Option<String>, Unavailable> {
        let set = self.settings.providers.get(provider).and_then(|set| set.key_env.clone());
        let is_set = set.is_some();
        let name = set.or_else(|| known.and_then(BuiltinProvider::key_env)).filter(|name| !name.is_empty());
        let Some(name) = name else { return Ok(None) };
        match (self.environment)(&name).map(|key| key.trim().to_owned()).filter(|key| !key.is_empty()) {
            Some(key) => sendable(key, &format!("the environment variable {name}")).map(Some),
            None if has_own_address && !is_set => Ok(None),
            None => Err(Unavailable(format!(
                "the provider `{provider}` needs a key; set the environment variable {name}, or name another by `key_env` in \
                 `[models.providers.{provider}]`"
            ))),
        }
    }
}

/// Returns the key if it can be the value of a header.
fn sendable(key: String, place: &str) -> Result<String, Unavailable> {
    let message =
        format!("the key in {place} has a character that a header cannot contain, such as a line break; remove it");
    if HeaderValue::from_str(&key).is_ok() { Ok(key) } else { Err(Unavailable(message)) }
}

/// Whether a model name can be part of a URL path without changing the path.
fn is_path_safe(model: &str) -> bool {
    let is_word = |part: &str| {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-._:@".contains(letter);
        part.chars().all(plain) && part.chars().any(|letter| letter != '.')
    };
    model.split('/').all(is_word)
}

/// A value that is neither empty nor `default`.
fn non_default(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty() && *text != "default")
}

/// Splits `provider/model` or `provider::model` if the first part is a provider. Names of models may also contain slashes.
pub(super) fn split(name: &str, models: &Models) -> (Option<String>, Option<String>) {
    let parts = name.split_once("::").or_else(|| name.split_once('/'));
    let is_provider = |part: &str| {
        models.settings.providers.contains_key(part) || BUILTIN_PROVIDERS.iter().any(|known| known.name == part)
    };
    match parts {
        Some((provider, model)) if is_provider(provider) && !model.is_empty() => {
            (Some(provider.to_owned()), Some(model.to_owned()))
        }
        _ => (None, Some(name.to_owned())),
    }
}

/// The built-in provider of a model, by the prefix of its name.
fn provider_by_prefix(model: &str) -> Option<String> {
    let builtin = BUILTIN_PROVIDERS.iter().find(|known| known.starts.iter().any(|start| model.starts_with(start)));
    builtin.map(|known| known.name.to_owned())
}

/// Normalises an address: adds a missing scheme, the base path of the wire format and a slash at the end of the path.
fn normalised_url(url: &str, format: &dyn Format) -> String {
    let url = url.trim();
    let url = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    let (base, query) = url.split_at(url.find('?').unwrap_or(url.len()));
    let base = base.trim_end_matches('/');
    let path = format.endpoint().base_path;
    let path = if base.ends_with(path) { "" } else { path };
    format!("{base}{path}/{query}")
}
