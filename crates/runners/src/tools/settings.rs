//! What the operator says about tools: the sections of `branchpoint.toml` that are described in `docs/reference/settings.md`.
//!
//! A secret never stands here, only the name under which the environment has it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;

/// All sections. A tool whose section is missing does not exist, except for those that need no settings.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Requests over HTTP, and whatever goes over HTTP.
    pub http: HttpSettings,
    /// Signed notifications.
    pub webhook: WebhookSettings,
    /// Who searches the web.
    pub search: Option<SearchSettings>,
    /// Who sends mail.
    pub mail: Option<MailSettings>,
    /// The model that computes vectors of texts.
    pub embeddings: Option<EmbeddingsSettings>,
    /// Where files may be written.
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
    /// Whether addresses of documents may lead into private networks.
    pub allow_private_network: bool,
    /// Hosts (`name`, `name:port`) that are reached wherever they are.
    pub trusted_hosts: Vec<String>,
    /// Which redirects are followed.
    pub redirects: Redirects,
    /// How long a call may take whose step has no limit.
    pub timeout_ms: u64,
    /// How much of an answer is read.
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
    /// None: the answer is the redirect.
    None,
    /// Those that stay where they are.
    #[default]
    SameHost,
    /// All; credentials stay behind.
    Any,
}

/// `[webhook]`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WebhookSettings {
    /// Where the key of signatures is found. Without it, nothing is signed.
    pub secret_env: Option<String>,
}

/// `[search]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchSettings {
    /// Who searches.
    pub provider: SearchProvider,
    /// Where, if not at the provider's own address.
    pub url: Option<String>,
    /// Where the key of the account is found.
    pub key_env: Option<String>,
}

/// Who searches.
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
    /// Who the mail is from.
    pub from: String,
    /// Where the password of the user is found.
    pub password_env: Option<String>,
    /// How long sending may take when the step has no limit.
    #[serde(default = "minute_ms")]
    pub timeout_ms: u64,
}

/// `[embeddings]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmbeddingsSettings {
    /// The address before `/embeddings`.
    pub url: String,
    /// The name of the model.
    pub model: String,
    /// The numbers of a vector; without it, as many as the model gives.
    pub dimensions: Option<u32>,
    /// The name of the secret that is the key of the account.
    pub key_env: Option<String>,
    /// The beginning of a text that is embedded, in bytes.
    #[serde(default = "eight_kibibytes")]
    pub max_input_bytes: usize,
}

impl EmbeddingsSettings {
    /// Identifies vectors that can be compared with each other.
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
    /// The largest file.
    #[serde(default = "ten_mebibytes")]
    pub max_bytes: u64,
}

/// `[objects]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectsSettings {
    /// The address of the service; without it, that of AWS in the region.
    pub endpoint: Option<String>,
    /// The region that requests are signed for.
    #[serde(default = "default_region")]
    pub region: String,
    /// The bucket of published contents, and of steps that name none.
    pub bucket: String,
    /// Further buckets that steps may write to.
    #[serde(default)]
    pub buckets: Vec<String>,
    /// The name of the secret that is the ID of the access key.
    #[serde(default = "access_key_variable")]
    pub access_key_env: String,
    /// The name of the secret that is the secret access key.
    #[serde(default = "secret_key_variable")]
    pub secret_key_env: String,
    /// The name of the secret that is the token of a temporary access key, which has one.
    pub session_token_env: Option<String>,
    /// The largest object.
    #[serde(default = "ten_mebibytes")]
    pub max_bytes: u64,
}

/// `[mcp.NAME]`: `command`, or `url`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpSettings {
    /// The program that is the server.
    pub command: Option<String>,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Names and values that it finds in its environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Names that it finds in its environment, and under which name this process has the values.
    #[serde(default)]
    pub env_from: BTreeMap<String, String>,
    /// Where it runs.
    pub dir: Option<PathBuf>,
    /// The address of the server.
    pub url: Option<String>,
    /// Headers of every request.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Headers of every request, and where their values are found.
    #[serde(default)]
    pub headers_from: BTreeMap<String, String>,
    /// How long a call may take when the step has no limit.
    pub timeout_ms: Option<u64>,
    /// How many bytes one response may have.
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
