//! What an operator may set about models: the table `[models]` of the settings file.
//!
//! Keys are never written there. A provider names the environment variable that holds its key.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::delivery::FileKind;

/// The table `[models]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The model of calls that name none, or `default`: a name, or a provider and a name as in `anthropic/claude-sonnet-4-5`.
    pub default: Option<String>,
    /// The provider of models whose name does not tell.
    pub provider: Option<String>,
    /// How often a call is repeated that the provider refused for the moment, or whose answer broke off.
    pub retries: u32,
    /// How often a model is asked again whose answer has not the shape it must have.
    pub reask: u32,
    /// How long one call may take when its step does not say, in seconds.
    pub time_limit_s: u64,
    /// Whether answers are requested as a stream.
    pub stream: bool,
    /// The most bytes of a response, after decompression; a longer one fails the call.
    pub max_response_bytes: u64,
    /// Providers by name. A known one is changed, any other is added.
    pub providers: BTreeMap<String, Provider>,
    /// Kinds of files that models take as they are, by the beginning of a model's name; the longest beginning counts.
    pub takes: BTreeMap<String, Vec<FileKind>>,
    /// Prices by the beginning of a model's name; the longest beginning counts.
    pub prices: BTreeMap<String, Price>,
}

/// One provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Provider {
    /// The wire format: `openai` (and compatible servers), `anthropic` or `gemini`; or the name of a compatible provider.
    pub protocol: Option<String>,
    /// Where it is.
    pub base_url: Option<String>,
    /// The environment variable that holds the key. An empty name: it needs none.
    pub key_env: Option<String>,
    /// The model of calls that name this provider and no model.
    pub model: Option<String>,
    /// Kinds of files that its models take as they are; others reach them as text.
    pub takes: Option<Vec<FileKind>>,
}

/// What a million tokens cost, in dollars.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Read.
    pub input: f64,
    /// Written.
    pub output: f64,
    /// Read from the provider's cache; without it, as `input`.
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
