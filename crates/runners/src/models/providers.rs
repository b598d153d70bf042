//! Which provider serves a model, where it is, and what key it takes.

use std::sync::Arc;

use branchpoint_core::effect::ModelRequest;
use reqwest::header::HeaderValue;
use url::Url;

use super::Models;
use super::fault::Fault;
use super::formats::{self, Format};
use crate::shorten::shortened;

/// A provider that needs no settings. Its name is that of its wire format, or of a compatible one.
struct Known {
    name: &'static str,
    url: &'static str,
    /// How names of its models start.
    starts: &'static [&'static str],
    /// The model of steps that name none, if only the key of this provider is set. Empty: there is none.
    model: &'static str,
}

impl Known {
    /// The variable that holds its key; none if it needs none.
    fn key_env(&self) -> Option<String> {
        (self.name != "ollama").then(|| format!("{}_API_KEY", self.name.to_uppercase()))
    }

    /// The variable that holds another address.
    fn url_env(&self) -> String {
        let end = if self.name == "ollama" { "HOST" } else { "BASE_URL" };
        format!("{}_{end}", self.name.to_uppercase())
    }
}

const fn known(name: &'static str, url: &'static str, starts: &'static [&'static str], model: &'static str) -> Known {
    Known { name, url, starts, model }
}

/// The providers that people use most. Settings describe any other.
const KNOWN: [Known; 9] = [
    known("openai", "https://api.openai.com/v1/", &["gpt-", "o1", "o3", "o4", "chatgpt-"], "gpt-5-mini"),
    known("anthropic", "https://api.anthropic.com/v1/", &["claude"], "claude-haiku-4-5"),
    known("gemini", "https://generativelanguage.googleapis.com/v1beta/", &["gemini"], "gemini-2.5-flash"),
    known(
        "mistral",
        "https://api.mistral.ai/v1/",
        &["mistral-", "magistral-", "ministral-", "codestral-"],
        "mistral-small-latest",
    ),
    known("deepseek", "https://api.deepseek.com/v1/", &["deepseek-"], ""),
    known("xai", "https://api.x.ai/v1/", &["grok-"], ""),
    known("groq", "https://api.groq.com/openai/v1/", &[], ""),
    known("openrouter", "https://openrouter.ai/api/v1/", &[], ""),
    known("ollama", "http://localhost:11434/v1/", &[], ""),
];

/// Providers that have models such as `groq/compound`: beside the provider, such a name is the whole name.
const OWN_NAMESPACES: [&str; 2] = ["groq", "openrouter"];

/// Names the model of steps that name none, where the settings do not.
const DEFAULT_MODEL: &str = "BRANCHPOINT_MODEL";

/// The provider of documents that name its address.
pub(super) const COMPATIBLE: &str = "openai_compatible";

/// Where a call goes.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) provider: Arc<str>,
    pub(super) model: Arc<str>,
    pub(super) format: &'static dyn Format,
    /// The address, with a slash at the end of its path, and perhaps a query.
    pub(super) url: Arc<str>,
    pub(super) key: Option<String>,
    /// Whether a document named the address, and not the operator.
    pub(super) foreign: bool,
}

impl Target {
    /// The address of a request. The query of the provider's address goes with every one.
    pub(super) fn address(&self, path: &str) -> String {
        let Some((base, query)) = self.url.split_once('?') else { return format!("{}{path}", self.url) };
        let joint = if path.contains('?') { '&' } else { '?' };
        format!("{base}{path}{joint}{query}")
    }

    /// A connection that failed. The query of the address is left out of the message: it may be a key.
    pub(super) fn lost(&self, error: reqwest::Error) -> Fault {
        Fault::lost(self.url.split('?').next().unwrap_or_default(), &error.without_url())
    }

    /// Whether the model thinks before it answers, by its name; such models of OpenAI take an effort and no temperature.
    pub(super) fn reasons(&self) -> bool {
        let name = self.model.rsplit('/').next().unwrap_or_default();
        ["gpt-5", "o1", "o3", "o4"].iter().any(|begins| name.starts_with(begins)) && !name.contains("chat")
    }
}

/// Why a model cannot be asked: nobody has set what it needs.
#[derive(Debug)]
pub(super) struct Unavailable(pub(super) String);

impl Models {
    /// Where a request goes, as far as it is known.
    pub(super) fn target(&self, request: &ModelRequest) -> Result<Target, Unavailable> {
        let provider = request.provider.as_deref().map(|provider| self.api_of(request, provider));
        let provider = named(provider.as_deref());
        let model = match (named(request.model.as_deref()), named(request.model_variant.as_deref())) {
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
            (None, None) => match self.settings.default.clone().or_else(|| (self.environment)(DEFAULT_MODEL)) {
                Some(default) => split(&default, self),
                None => self.first_with_a_key().unwrap_or_default(),
            },
        };
        let Some(model) = model else {
            let message = "no model is named; set `OPENAI_API_KEY` or another key, `BRANCHPOINT_MODEL`, or `default` in `[models]`";
            return Err(Unavailable(message.to_owned()));
        };
        let provider = provider.or_else(|| starts(&model)).or_else(|| self.settings.provider.clone());
        let provider = provider.or_else(|| self.settings.default.as_deref().and_then(|default| split(default, self).0));
        self.located(&provider.unwrap_or_else(|| "openai".to_owned()), &model, request)
    }

    /// The provider behind the API of one that is a program.
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

    /// The provider whose key the environment has, and a model of it that does for most things.
    fn first_with_a_key(&self) -> Option<(Option<String>, Option<String>)> {
        let is_set = |name: String| (self.environment)(&name).is_some_and(|key| !key.trim().is_empty());
        let mut with_models = KNOWN.iter().filter(|known| !known.model.is_empty());
        let found = with_models.find(|known| known.key_env().is_some_and(is_set))?;
        Some((Some(found.name.to_owned()), Some(found.model.to_owned())))
    }

    /// The default model, if it is one of that provider.
    fn default_of(&self, provider: &str) -> Option<String> {
        let (of, model) = split(self.settings.default.as_deref()?, self);
        let of = of.or_else(|| model.as_deref().and_then(starts));
        model.filter(|_| of.as_deref() == Some(provider))
    }

    fn located(&self, provider: &str, model: &str, request: &ModelRequest) -> Result<Target, Unavailable> {
        let set = self.settings.providers.get(provider);
        let known = KNOWN.iter().find(|known| known.name == provider);
        let own_url = set.and_then(|set| set.base_url.clone());
        let from_env =
            known.and_then(|known| (self.environment)(&known.url_env())).filter(|url| !url.trim().is_empty());
        let elsewhere = own_url.or(from_env);
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
        if format.endpoint().path.contains("{model}") && !fits_path(model) {
            return Err(Unavailable(format!(
                "`{}` is not a name of a model of `{provider}`: it is a part of the address, and must be letters, digits and `-._:@`",
                shortened(model)
            )));
        }
        let operators = elsewhere.as_deref().map(|url| slashed(url, format));
        // An address that a document names gets the operator's key only if the operator has named the same address.
        let named = named(request.base_url.as_deref()).map(|url| slashed(url, format));
        let foreign = named.is_some() && named != operators;
        let Some(url) = named.or(operators.clone()).or_else(|| known.map(|known| known.url.to_owned())) else {
            return Err(Unavailable(format!(
                "nothing says where the provider `{provider}` is; set `base_url` in `[models.providers.{provider}]`"
            )));
        };
        if !Url::parse(&url).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host()) {
            let shown = shortened(url.split('?').next().unwrap_or_default());
            return Err(Unavailable(format!(
                "`{shown}` is not an address of a provider: it must begin with `http://` or `https://`"
            )));
        }
        let key = match &request.api_key {
            Some(key) => Some(sendable(key.clone(), "`api_key`")?),
            None if foreign => None,
            None => self.key(provider, known, operators.is_some())?,
        };
        Ok(Target { provider: provider.into(), model: model.into(), format, url: url.into(), key, foreign })
    }

    /// The key of a provider. At an address of the operator's own choice there may be none.
    fn key(&self, provider: &str, known: Option<&Known>, elsewhere: bool) -> Result<Option<String>, Unavailable> {
        let set = self.settings.providers.get(provider).and_then(|set| set.key_env.clone());
        let is_set = set.is_some();
        let name = set.or_else(|| known.and_then(Known::key_env)).filter(|name| !name.is_empty());
        let Some(name) = name else { return Ok(None) };
        match (self.environment)(&name).map(|key| key.trim().to_owned()).filter(|key| !key.is_empty()) {
            Some(key) => sendable(key, &format!("the environment variable {name}")).map(Some),
            None if elsewhere && !is_set => Ok(None),
            None => Err(Unavailable(format!(
                "the provider `{provider}` needs a key; set the environment variable {name}, or name another by `key_env` in \
                 `[models.providers.{provider}]`"
            ))),
        }
    }
}

/// A key, unless it cannot be the value of a header.
fn sendable(key: String, place: &str) -> Result<String, Unavailable> {
    let message = format!("the key in {place} has a character that cannot be sent, such as a line break; remove it");
    if HeaderValue::from_str(&key).is_ok() { Ok(key) } else { Err(Unavailable(message)) }
}

/// Whether a name of a model can be part of a path, where some names would lead to another request.
fn fits_path(model: &str) -> bool {
    let is_word = |part: &str| {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-._:@".contains(letter);
        part.chars().all(plain) && part.chars().any(|letter| letter != '.')
    };
    model.split('/').all(is_word)
}

/// A value that is set, and not to `default`.
fn named(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty() && *text != "default")
}

/// `provider/model` or `provider::model`, if the first part is a provider; model names have slashes too.
fn split(name: &str, models: &Models) -> (Option<String>, Option<String>) {
    let parts = name.split_once("::").or_else(|| name.split_once('/'));
    let is_provider =
        |part: &str| models.settings.providers.contains_key(part) || KNOWN.iter().any(|known| known.name == part);
    match parts {
        Some((provider, model)) if is_provider(provider) && !model.is_empty() => {
            (Some(provider.to_owned()), Some(model.to_owned()))
        }
        _ => (None, Some(name.to_owned())),
    }
}

/// The provider whose models have names that start so.
fn starts(model: &str) -> Option<String> {
    let found = KNOWN.iter().find(|known| known.starts.iter().any(|start| model.starts_with(start)));
    found.map(|known| known.name.to_owned())
}

/// The address with a slash at the end of its path, which ends as the wire format wants it.
fn slashed(url: &str, format: &dyn Format) -> String {
    let url = url.trim();
    let url = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    let (base, query) = url.split_at(url.find('?').unwrap_or(url.len()));
    let base = base.trim_end_matches('/');
    let path = format.endpoint().base_path;
    let path = if base.ends_with(path) { "" } else { path };
    format!("{base}{path}/{query}")
}
