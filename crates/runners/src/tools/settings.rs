//! The sections of `branchpoint.toml` for tools. `docs/reference/settings.md` describes them.
//!
//! Settings never contain secrets, only the names of their environment variables.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;

/// All sections for tools. A tool without its section is not available, except for tools that need no settings.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// HTTP requests of all tools.
    pub http: HttpSettings,
    /// Signed notifications.
    pub webhook: WebhookSettings,
    /// The provider of web searches.
    pub search: Option<SearchSettings>,
    /// The mail server.
    pub mail: Option<MailSettings>,
    /// The model that computes vectors of texts.
    pub embeddings: Option<EmbeddingsSettings>,
    /// The folder for files.
    pub files: Option<FilesSettings>,
    /// The S3-compatible service for objects and published contents.
    pub objects: Option<ObjectsSettings>,
    /// Servers that offer tools, by name.
    pub mcp: BTreeMap<String, McpSettings>,
}

/// `[http]`
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpSettings {
    /// Whether workflows may call addresses in private networks.
    pub allow_private_network: bool,
    /// Hosts (`name`, `name:port`) that are allowed at any address.
    pub trusted_hosts: Vec<String>,
    /// Which redirects are followed.
    pub redirects: Redirects,
    /// The time limit of calls whose step has none.
    pub timeout_ms: u64,
    /// The most bytes of a response.
    pub max_response_bytes: u64,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            allow_private_network: false,
            trusted_hosts: Vec::new(),
            redirects: Redirects::SameHost,
            timeout_ms: 60_000,
            max_response_bytes: 10 * 1024 * 1024,
        }
    }
}

/// Which redirects are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Redirects {
    /// None: the redirect is the response.
    None,
    /// Redirects to the same host.
    #[default]
    SameHost,
    /// All, but credentials are not sent to other hosts.
    Any,
}

/// `[webhook]`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WebhookSettings {
    /// The environment variable of the signing key. Without it, webhooks are not signed.
    pub secret_env: Option<String>,
}

/// `[search]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchSettings {
    /// The search provider.
    pub provider: SearchProvider,
    /// Its address, if it is not the provider's usual one.
    pub url: Option<String>,
    /// The environment variable of the API key.
    pub key_env: Option<String>,
}

/// The search provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchProvider {
    /// Brave Search.
    Brave,
    /// Tavily.
    Tavily,
    /// An instance of `SearXNG`.
    Searxng,
}

/// `[mail]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MailSettings {
    /// The server: `smtps://user@host`, or `smtp://user@host:587?tls=required`.
    pub url: String,
    /// The sender.
    pub from: String,
    /// The environment variable of the password.
    pub password_env: Option<String>,
    /// The time limit for steps that have none.
    #[serde(default = "minute_ms")]
    pub timeout_ms: u64,
}

/// `[embeddings]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmbeddingsSettings {
    /// The base URL, without `/embeddings`.
    pub url: String,
    /// The name of the model.
    pub model: String,
    /// The dimensions of vectors; without it, the default of the model.
    pub dimensions: Option<u32>,
    /// The name of the secret with the API key.
    pub key_env: Option<String>,
    /// The most bytes of a text that are embedded.
    #[serde(default = "eight_kibibytes")]
    pub max_input_bytes: usize,
}

impl EmbeddingsSettings {
    /// The name of the model with its dimensions. Only vectors with the same name can be compared.
    pub(crate) fn name(&self) -> Arc<str> {
        match self.dimensions {
            Some(dimensions) => format!("{} ({dimensions})", self.model).into(),
            None => self.model.as_str().into(),
        }
    }
}

/// `[files]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilesSettings {
    /// The folder that steps write to and read from.
    pub dir: PathBuf,
    /// The most bytes of a file.
    #[serde(default = "ten_mebibytes")]
    pub max_bytes: u64,
}

/// `[objects]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectsSettings {
    /// The URL of the service; by default, AWS in the region.
    pub endpoint: Option<String>,
    /// The region that requests are signed for.
    #[serde(default = "default_region")]
    pub region: String,
    /// The default bucket, also used for published contents.
    pub bucket: String,
    /// Further buckets that steps may write to.
    #[serde(default)]
    pub buckets: Vec<String>,
    /// The name of the secret with the access key ID.
    #[serde(default = "access_key_variable")]
    pub access_key_env: String,
    /// The name of the secret with the secret access key.
    #[serde(default = "secret_key_variable")]
    pub secret_key_env: String,
    /// The name of the secret with the session token of a temporary access key.
    pub session_token_env: Option<String>,
    /// The most bytes of an object.
    #[serde(default = "ten_mebibytes")]
    pub max_bytes: u64,
}

/// `[mcp.NAME]`: `command`, or `url`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpSettings {
    /// The program of the server.
    pub command: Option<String>,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Environment variables of the server.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Environment variables of the server, each with the name of the secret or variable that holds its value.
    #[serde(default)]
    pub env_from: BTreeMap<String, String>,
    /// Its working directory.
    pub dir: Option<PathBuf>,
    /// The address of the server.
    pub url: Option<String>,
    /// Headers of every request.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Headers of every request, each with the name of the secret or variable that holds its value.
    #[serde(default)]
    pub headers_from: BTreeMap<String, String>,
    /// The time limit for steps that have none.
    pub timeout_ms: Option<u64>,
    /// The most bytes of a response.
    #[serde(default = "max_mcp_response_bytes")]
    pub max_response_bytes: usize,
}

fn minute_ms() -> u64 {
    60_000
}

fn eight_kibibytes() -> usize {
    8 * 1024
}

fn default_region() -> String {
    "us-east-1".to_owned()
}

fn access_key_variable() -> String {
    "AWS_ACCESS_KEY_ID".to_owned()
}

fn secret_key_variable() -> String {
    "AWS_SECRET_ACCESS_KEY".to_owned()
}

fn ten_mebibytes() -> u64 {
    10 * 1024 * 1024
}

fn max_mcp_response_bytes() -> usize {
    10 * 1024 * 1024
}
