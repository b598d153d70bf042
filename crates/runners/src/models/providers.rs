//! Which provider serves a model, where it is, and what key it takes.

use std::sync::Arc;

use genai::adapter::AdapterKind;
use genai::chat::ReasoningEffort;
use genai::resolver::{AuthData, Endpoint};
use genai::{ModelIden, ServiceTarget};
use reqwest::header::HeaderValue;
use url::Url;

use super::Models;

/// A provider that is known without any setting.
struct Known {
    name: &'static str,
    protocol: AdapterKind,
    /// The variable that holds its key; empty if it needs none.
    key_env: &'static str,
    /// The variable that says where it is, and where it is otherwise.
    url_env: &'static str,
    url: &'static str,
    /// How names of its models begin.
    begins: &'static [&'static str],
}

const fn known(
    name: &'static str,
    protocol: AdapterKind,
    [key_env, url_env, url]: [&'static str; 3],
    begins: &'static [&'static str],
) -> Known {
    Known { name, protocol, key_env, url_env, url, begins }
}

/// Names the model of steps that name none, where the settings do not.
const DEFAULT_MODEL: &str = "BRANCHPOINT_MODEL";

/// What is asked when nobody names a model: that of the first provider whose key is there.
const DEFAULTS: [(&str, &str); 4] = [
    ("openai", "gpt-5-mini"),
    ("anthropic", "claude-haiku-4-5"),
    ("gemini", "gemini-2.5-flash"),
    ("mistral", "mistral-small-latest"),
];

/// The providers that people use most. The library brings more: settings reach them by `protocol`.
const KNOWN: [Known; 9] = [
    known(
        "openai",
        AdapterKind::OpenAI,
        ["OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com/v1/"],
        &["gpt-", "o1", "o3", "o4", "chatgpt-"],
    ),
    known(
        "anthropic",
        AdapterKind::Anthropic,
        ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "https://api.anthropic.com/v1/"],
        &["claude"],
    ),
    known(
        "gemini",
        AdapterKind::Gemini,
        ["GEMINI_API_KEY", "GEMINI_BASE_URL", "https://generativelanguage.googleapis.com/v1beta/"],
        &["gemini"],
    ),
    known(
        "mistral",
        AdapterKind::Mistral,
        ["MISTRAL_API_KEY", "MISTRAL_BASE_URL", "https://api.mistral.ai/v1/"],
        &["mistral-", "magistral-", "ministral-", "codestral-"],
    ),
    known(
        "deepseek",
        AdapterKind::DeepSeek,
        ["DEEPSEEK_API_KEY", "DEEPSEEK_BASE_URL", "https://api.deepseek.com/v1/"],
        &["deepseek-"],
    ),
    known("xai", AdapterKind::Xai, ["XAI_API_KEY", "XAI_BASE_URL", "https://api.x.ai/v1/"], &["grok-"]),
    known("groq", AdapterKind::Groq, ["GROQ_API_KEY", "GROQ_BASE_URL", "https://api.groq.com/openai/v1/"], &[]),
    known(
        "openrouter",
        AdapterKind::OpenAI,
        ["OPENROUTER_API_KEY", "OPENROUTER_BASE_URL", "https://openrouter.ai/api/v1/"],
        &[],
    ),
    known("ollama", AdapterKind::Ollama, ["", "OLLAMA_HOST", "http://localhost:11434/"], &[]),
];

/// How many tokens the library lets a model of Anthropic think for an effort.
const THINKING: [(ReasoningEffort, u32); 3] =
    [(ReasoningEffort::High, 24_000), (ReasoningEffort::Medium, 8_000), (ReasoningEffort::Low, 1_024)];

/// The provider of documents that say themselves where it is.
pub(super) const COMPATIBLE: &str = "openai_compatible";

/// Where a call goes.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) provider: Arc<str>,
    pub(super) model: Arc<str>,
    pub(super) protocol: AdapterKind,
    pub(super) url: Arc<str>,
    pub(super) key: Option<String>,
    /// Whether somebody other than the operator said where it is.
    pub(super) foreign: bool,
}

impl Target {
    /// The model for the library, which finds the provider at that address.
    pub(super) fn service(&self, url: &str) -> ServiceTarget {
        ServiceTarget {
            endpoint: Endpoint::from_owned(url),
            auth: self.auth(),
            model: ModelIden::new(self.protocol, self.model.to_string()),
        }
    }

    /// A server that needs no key takes any; the library wants one.
    pub(super) fn auth(&self) -> AuthData {
        AuthData::Key(self.key.clone().unwrap_or_else(|| "none".to_owned()))
    }

    /// What keeps a name such as `qwen-max` whole. Where no effort is set, the library takes the last word of a name for one and
    /// cuts it off, so it is given one that the wire format does not send.
    pub(super) fn keeps_name(&self) -> Option<ReasoningEffort> {
        ReasoningEffort::from_model_name(&self.model).0?;
        match self.protocol {
            // It takes names as they are, and would send any effort.
            AdapterKind::Ollama => None,
            AdapterKind::Anthropic | AdapterKind::Gemini => Some(ReasoningEffort::Zero),
            _ => Some(ReasoningEffort::Budget(0)),
        }
    }

    /// An effort that fits into the tokens of an answer. Most models of Anthropic are told how many tokens they may think, which
    /// must be fewer than those of the answer; an effort that takes more is lowered, and without room for any it is none.
    pub(super) fn within(&self, effort: ReasoningEffort, max_tokens: Option<u32>) -> ReasoningEffort {
        let Some(most) = max_tokens.filter(|_| self.protocol == AdapterKind::Anthropic && !self.takes_efforts()) else {
            return effort;
        };
        let wanted = match effort {
            ReasoningEffort::Zero => 0,
            ReasoningEffort::Minimal | ReasoningEffort::Low => THINKING[2].1,
            ReasoningEffort::Medium => THINKING[1].1,
            _ => THINKING[0].1,
        };
        if wanted < most {
            return effort;
        }
        let lower = THINKING.into_iter().find(|(_, tokens)| *tokens < most);
        lower.map_or(ReasoningEffort::Zero, |(effort, _)| effort)
    }

    /// Whether a model of Anthropic takes an effort as a word, and sees by itself how many tokens that is.
    fn takes_efforts(&self) -> bool {
        const NAMES: [&str; 9] =
            ["opus-4-5", "opus-4-6", "opus-4-7", "opus-4-8", "opus-5", "sonnet-4-6", "sonnet-5", "haiku-5", "mythos"];
        NAMES.iter().any(|name| self.model.contains(name))
    }

    /// Whether the model thinks before it answers, by its name; such models of OpenAI take an effort and no temperature.
    pub(super) fn reasons(&self) -> bool {
        let name = self.model.rsplit('/').next().unwrap_or_default();
        ["gpt-5", "o1", "o3", "o4"].iter().any(|begins| name.starts_with(begins)) && !name.contains("chat")
    }
}

/// Why a model cannot be asked: nobody has set what it needs.
#[derive(Debug)]
pub(super) struct Lack(pub(super) String);

impl Models {
    /// Where a call goes that names a provider, a model, an address and a key, each of which may be absent.
    pub(super) fn target(
        &self,
        provider: Option<&str>,
        model: Option<&str>,
        url: Option<&str>,
        key: Option<String>,
    ) -> Result<Target, Lack> {
        let (provider, model, url) = (said(provider), said(model).map(str::to_owned), said(url));
        let (provider, model) = match (provider, model) {
            (Some(provider), model) => {
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
            return Err(Lack(message.to_owned()));
        };
        let provider = provider.or_else(|| begins(&model)).or_else(|| self.settings.provider.clone());
        let provider = provider.or_else(|| self.settings.default.as_deref().and_then(|default| split(default, self).0));
        self.located(&provider.unwrap_or_else(|| "openai".to_owned()), &model, url, key)
    }

    /// The provider whose key the environment has, and a model of it that does for most things.
    fn first_with_a_key(&self) -> Option<(Option<String>, Option<String>)> {
        let has_key = |provider: &str| {
            let known = KNOWN.iter().find(|known| known.name == provider)?;
            (self.environment)(known.key_env).filter(|key| !key.trim().is_empty())
        };
        let (provider, model) = DEFAULTS.iter().find(|(provider, _)| has_key(provider).is_some())?;
        Some((Some((*provider).to_owned()), Some((*model).to_owned())))
    }

    /// The default model, if it is one of that provider.
    fn default_of(&self, provider: &str) -> Option<String> {
        let (of, model) = split(self.settings.default.as_deref()?, self);
        let of = of.or_else(|| model.as_deref().and_then(begins));
        model.filter(|_| of.as_deref() == Some(provider))
    }

    fn located(&self, provider: &str, model: &str, url: Option<&str>, own_key: Option<String>) -> Result<Target, Lack> {
        let set = self.settings.providers.get(provider);
        let known = KNOWN.iter().find(|known| known.name == provider);
        let own_url = set.and_then(|set| set.base_url.clone());
        let from_env = known.and_then(|known| (self.environment)(known.url_env)).filter(|url| !url.trim().is_empty());
        let elsewhere = own_url.or(from_env);
        let protocol = match set.and_then(|set| set.protocol.as_deref()) {
            Some(named) => AdapterKind::from_lower_str(named).ok_or_else(|| {
                Lack(format!("`{named}` is no wire format (`protocol` of `models.providers.{provider}`)"))
            })?,
            None => known.map_or(AdapterKind::OpenAI, |known| known.protocol),
        };
        if known.is_none() && set.is_none() && provider != COMPATIBLE {
            let message =
                format!("the provider `{provider}` is not known; describe it in `[models.providers.{provider}]`");
            return Err(Lack(message));
        }
        if !fits(model, protocol) {
            return Err(Lack(format!(
                "`{model}` is no name of a model of `{provider}`: it is a part of the address, and must be letters, digits and `-._:@`"
            )));
        }
        let operators = elsewhere.as_deref().map(|url| slashed(url, protocol));
        // An address that a document names gets the operator's key only if the operator has named the same address.
        let named = url.map(|url| slashed(url, protocol));
        let foreign = named.is_some() && named != operators;
        let Some(url) = named.or(operators.clone()).or_else(|| known.map(|known| known.url.to_owned())) else {
            return Err(Lack(format!(
                "nothing says where the provider `{provider}` is; set `base_url` in `[models.providers.{provider}]`"
            )));
        };
        if !Url::parse(&url).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host()) {
            let shown = url.split('?').next().unwrap_or_default();
            return Err(Lack(format!(
                "`{shown}` is no address of a provider: it must begin with `http://` or `https://`"
            )));
        }
        let key = match own_key {
            Some(key) => Some(key),
            None if foreign => None,
            None => self.key(provider, known, operators.is_some())?,
        };
        Ok(Target { provider: provider.into(), model: model.into(), protocol, url: url.into(), key, foreign })
    }

    /// The key of a provider. At an address of the operator's own choice there may be none.
    fn key(&self, provider: &str, known: Option<&Known>, elsewhere: bool) -> Result<Option<String>, Lack> {
        let set = self.settings.providers.get(provider).and_then(|set| set.key_env.as_deref());
        let Some(name) = set.or(known.map(|known| known.key_env)).filter(|name| !name.is_empty()) else {
            return Ok(None);
        };
        match (self.environment)(name).map(|key| key.trim().to_owned()).filter(|key| !key.is_empty()) {
            Some(key) if HeaderValue::from_str(&key).is_err() => Err(Lack(format!(
                "the key in the environment variable {name} has a character that cannot be sent, such as a line break"
            ))),
            Some(key) => Ok(Some(key)),
            None if elsewhere && set.is_none() => Ok(None),
            None => Err(Lack(format!(
                "the provider `{provider}` needs a key; set the environment variable {name}, or name another by `key_env` in \
                 `[models.providers.{provider}]`"
            ))),
        }
    }
}

/// Whether a name stays the name of a model on the wire. Google's formats write it into the address, where some names would lead to
/// another call.
fn fits(model: &str, protocol: AdapterKind) -> bool {
    let is_word = |part: &str| {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-._:@".contains(letter);
        part.chars().all(plain) && part.chars().any(|letter| letter != '.')
    };
    !matches!(protocol, AdapterKind::Gemini | AdapterKind::Vertex) || model.split('/').all(is_word)
}

/// What somebody said and meant: not nothing, and not the word for what the host has.
fn said(text: Option<&str>) -> Option<&str> {
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

/// The provider whose models have names that begin so.
fn begins(model: &str) -> Option<String> {
    let found = KNOWN.iter().find(|known| known.begins.iter().any(|begins| model.starts_with(begins)));
    found.map(|known| known.name.to_owned())
}

/// The address as the relay wants it: with a slash where the path ends, and with the version that Anthropic's has by custom not.
fn slashed(url: &str, protocol: AdapterKind) -> String {
    let url = url.trim();
    let url = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    let (place, query) = url.split_at(url.find('?').unwrap_or(url.len()));
    let place = place.trim_end_matches('/');
    match protocol {
        AdapterKind::Anthropic if !place.ends_with("/v1") => format!("{place}/v1/{query}"),
        _ => format!("{place}/{query}"),
    }
}
