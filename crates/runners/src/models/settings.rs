//! The table `[models]` of the settings file.
//!
//! It contains no keys. A provider names the environment variable of its key.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::delivery::FileKind;

/// The table `[models]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The default model: a name, or a provider and a name as in `anthropic/claude-sonnet-4-5`.
    pub default: Option<String>,
    /// The provider of models whose name does not determine it.
    pub provider: Option<String>,
    /// How often a call is repeated if the provider is overloaded or the reply ended early.
    pub retries: u32,
    /// How often a call is repeated if the reply does not match the schema.
    pub reask: u32,
    /// The time limit of a call whose step sets none, in seconds.
    pub time_limit_s: u64,
    /// Whether replies are streamed.
    pub stream: bool,
    /// The most bytes of a response after decompression. A longer one fails the call.
    pub max_response_bytes: u64,
    /// Providers by name: overrides of built-in providers, and other providers.
    pub providers: BTreeMap<String, Provider>,
    /// Kinds of files that models accept, by the beginning of a model's name. The longest match counts.
    pub takes: BTreeMap<String, Vec<FileKind>>,
    /// Prices by the beginning of a model's name. The longest match counts.
    pub prices: BTreeMap<String, Price>,
}

/// A provider of models.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Provider {
    /// The wire format: `openai` (and compatible servers), `anthropic` or `gemini`; or the name of a compatible provider.
    pub protocol: Option<String>,
    /// Its address.
    pub base_url: Option<String>,
    /// The environment variable of the key; empty if the provider needs no key.
    pub key_env: Option<String>,
    /// The default model of this provider.
    pub model: Option<String>,
    /// Kinds of files that its models accept. Other files are sent as text.
    pub takes: Option<Vec<FileKind>>,
}

/// Dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Input tokens.
    pub input: f64,
    /// Output tokens.
    pub output: f64,
    /// Cached input tokens; the same as `input` if it is not set.
    #[serde(default)]
    pub cached: Option<f64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            default: None,
            provider: None,
            retries: 4,
            reask: 1,
            time_limit_s: 600,
            stream: true,
            max_response_bytes: 64 * 1024 * 1024,
            providers: BTreeMap::new(),
            takes: BTreeMap::new(),
            prices: BTreeMap::new(),
        }
    }
}
