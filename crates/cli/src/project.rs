//! The project file `branchpoint.toml`, searched upwards from the working directory, and the path of the store.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use branchpoint_client::ServerAddress;
use branchpoint_core::RunLimits;
use branchpoint_expr::Value;
use branchpoint_host::CallLimits;
use branchpoint_host::host::MAX_OPS;
use branchpoint_runners::agent::AgentLimits;
use branchpoint_runners::{SecretStore, Secrets, read_text_file};
use branchpoint_server::{Pattern, Permission};
use clap::builder::FalseyValueParser;
use serde::Deserialize;

use crate::oidc::OidcSection;
use crate::source::cannot_read;

use crate::backend::NamedSecrets;
use crate::notices::settings::{Notify, WebhookSettings};
use crate::{login, settings_file};

/// The name of the file.
pub(crate) const FILE: &str = "branchpoint.toml";

/// The longest file of settings or secrets that is read, in bytes.
const SETTINGS_BYTES: u64 = 1024 * 1024;

/// Where the store is, for every command that needs one.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct StoreArguments {
    /// Store file [default: `BRANCHPOINT_STORE`, branchpoint.toml, or in the user's data directory]
    #[arg(long, value_name = "PATH", global = true)]
    pub(crate) store: Option<PathBuf>,

    /// Durability on power loss: `full` keeps every acknowledged event, `normal` may lose the latest
    #[arg(long, value_name = "HOW", value_parser = ["full", "normal"], global = true)]
    pub(crate) durability: Option<String>,

    /// The server that is used instead of the file.
    #[arg(skip)]
    pub(crate) server: Option<ServerAddress>,
}

impl StoreArguments {
    /// The file that the command line names, else the one that the environment names.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        let variable = || env::var_os("BRANCHPOINT_STORE").filter(|path| !path.is_empty()).map(PathBuf::from);
        self.store.clone().or_else(variable)
    }
}

/// The options of every command over a store that has subcommands.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct StoreCommand {
    #[command(flatten)]
    pub(crate) store: StoreArguments,

    /// Print JSON
    #[arg(long, short, global = true)]
    pub(crate) json: bool,
}

/// The networks that documents may reach, for every command that drives runs. Each process decides this for itself: a process that
/// starts a run cannot allow it for the process that resumes the run.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct Reach {
    /// Allow requests of workflows to private networks
    #[arg(long, env = "BRANCHPOINT_ALLOW_PRIVATE_NETWORK", hide_env_values = true, global = true, value_parser = FalseyValueParser::new())]
    pub(crate) allow_private_network: bool,
}

/// A project file, every part of which may be absent. Paths in it are relative to its folder.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Project {
    /// The folder of the file.
    #[serde(skip)]
    pub(crate) folder: PathBuf,
    store: Option<PathBuf>,
    pub(crate) durability: Option<String>,
    /// The acting user, unless --as or `BRANCHPOINT_USER` is set.
    pub(crate) user: Option<String>,
    pub(crate) people: People,
    /// The groups that approvals can name, with their members.
    pub(crate) groups: BTreeMap<String, Vec<String>>,
    /// What documents that are saved over the API may use of this machine.
    permissions: Vec<PermissionSettings>,
    limits: LimitSettings,
    pub(crate) notify: Notify,
    pub(crate) webhooks: Vec<WebhookSettings>,
    pub(crate) secrets: SecretFile,
    /// The provider with which people sign in to a server.
    pub(crate) oidc: Option<OidcSection>,
    /// The settings of runners, which they read themselves.
    pub(crate) http: toml::Table,
    pub(crate) search: toml::Table,
    pub(crate) mail: toml::Table,
    pub(crate) files: toml::Table,
    pub(crate) objects: toml::Table,
    pub(crate) embeddings: toml::Table,
    pub(crate) webhook: toml::Table,
    pub(crate) mcp: toml::Table,
    pub(crate) models: toml::Table,
    pub(crate) agents: toml::Table,
}

/// The approvers of workflows that name none.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct People {
    pub(crate) owner: Option<String>,
    pub(crate) admins: Vec<String>,
    pub(crate) members: Vec<String>,
    /// The mail boxes of people, by user name.
    pub(crate) mail: BTreeMap<String, String>,
}

/// What workflows whose names match a pattern may use, although their documents were saved over the API.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PermissionSettings {
    workflow: Pattern,
    #[serde(default)]
    commands: bool,
    #[serde(default)]
    agents: bool,
    #[serde(default)]
    files: bool,
    #[serde(default)]
    secrets: Vec<Pattern>,
    #[serde(default)]
    environment: Vec<Pattern>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct LimitSettings {
    calls: Option<usize>,
    calls_per_workflow: Option<usize>,
    /// The most ops that a run may execute; 0 means no limit.
    ops: Option<u64>,
    /// The most that an agent may use in one turn.
    agent_turns: Option<u32>,
    agent_tokens: Option<u32>,
    agent_cost_micros: Option<u32>,
    /// Limits on the runs of workflows, by name.
    workflow: BTreeMap<String, Value>,
}

/// Where secrets are that are not in the environment: lines of `NAME=value`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SecretFile {
    pub(crate) file: Option<PathBuf>,
}

impl Project {
    /// What documents that are saved over the API may use of this machine.
    pub(crate) fn permissions(&self) -> Vec<Permission> {
        let permission = |settings: &PermissionSettings| {
            let PermissionSettings { workflow, commands, agents, files, secrets, environment } = settings.clone();
            Permission { workflow, commands, agents, files, secrets, environment }
        };
        self.permissions.iter().map(permission).collect()
    }

    /// The project of the working directory; an empty one if there is no file.
    pub(crate) fn find() -> Result<Self> {
        let here = current_folder()?;
        Ok(Self::configured(&here)?.unwrap_or(Self { folder: here, ..Self::default() }))
    }

    /// The project of the working directory, if there is a file.
    pub(crate) fn find_configured() -> Result<Option<Self>> {
        Self::configured(&current_folder()?)
    }

    fn configured(here: &Path) -> Result<Option<Self>> {
        let file = here.ancestors().map(|folder| folder.join(FILE)).find(|file| file.is_file());
        file.map(|file| Self::read(&file)).transpose()
    }

    fn read(file: &Path) -> Result<Self> {
        let text = settings_text(file)?;
        let project: Self = settings_file::from_text(file, &text)?;
        let folder = file.parent().map(Path::to_path_buf).unwrap_or_default();
        Ok(Self { folder, ..project })
    }

    /// The same project, with what was allowed beyond its file.
    pub(crate) fn reaching(mut self, reach: Reach) -> Self {
        if reach.allow_private_network {
            self.http.insert("allow_private_network".into(), true.into());
        }
        self
    }

    /// The file of the store.
    pub(crate) fn store_path(&self, arguments: &StoreArguments) -> Result<PathBuf> {
        if let Some(path) = &arguments.file() {
            return Ok(path.clone());
        }
        if let Some(path) = &self.store {
            return Ok(self.folder.join(path));
        }
        Ok(data_folder()?.join("store.db"))
    }

    /// The sections that tools read.
    pub(crate) fn tools(&self) -> toml::Table {
        let sections = [
            ("http", &self.http),
            ("search", &self.search),
            ("mail", &self.mail),
            ("files", &self.files),
            ("objects", &self.objects),
            ("embeddings", &self.embeddings),
            ("webhook", &self.webhook),
            ("mcp", &self.mcp),
        ];
        let given = sections.into_iter().filter(|(_, section)| !section.is_empty());
        given.map(|(name, section)| (name.to_owned(), section.clone().into())).collect()
    }

    /// The secrets of the environment: variables with secret names, and those that the settings name for keys and passwords.
    pub(crate) fn private(&self) -> Secrets {
        let mut names = BTreeSet::new();
        let settings = [
            &self.http,
            &self.search,
            &self.mail,
            &self.files,
            &self.objects,
            &self.embeddings,
            &self.webhook,
            &self.mcp,
            &self.models,
            &self.agents,
        ];
        for table in settings {
            named_for_secrets(table, false, &mut names);
        }
        let of_webhook = |webhook: &WebhookSettings| [webhook.url_env.clone(), webhook.secret_env.clone()];
        names.extend(self.webhooks.iter().flat_map(of_webhook).flatten());
        Secrets::of_environment(&names)
    }

    pub(crate) fn limits(&self) -> CallLimits {
        let default = CallLimits::default();
        CallLimits {
            calls: self.limits.calls.unwrap_or(default.calls).max(1),
            calls_per_workflow: self.limits.calls_per_workflow.unwrap_or(default.calls_per_workflow).max(1),
        }
    }

    /// The most ops that a run may execute; 0 means no limit.
    pub(crate) fn max_ops(&self) -> u64 {
        self.limits.ops.unwrap_or(MAX_OPS)
    }

    /// Limits on the runs of workflows, by name.
    pub(crate) fn run_limits(&self) -> Result<BTreeMap<String, RunLimits>> {
        let read = |(name, limits): (&String, &Value)| {
            let limits = RunLimits::from_value(limits)
                .with_context(|| format!("`limits.workflow.\"{name}\"` in {FILE} is invalid [bad_limits]"))?;
            Ok((name.clone(), limits))
        };
        self.limits.workflow.iter().map(read).collect()
    }

    /// The limits of agents.
    pub(crate) fn agent_limits(&self) -> AgentLimits {
        let LimitSettings { agent_turns, agent_tokens, agent_cost_micros, .. } = &self.limits;
        AgentLimits {
            turns: agent_turns.map(i64::from),
            tokens: agent_tokens.map(i64::from),
            cost_micros: agent_cost_micros.map(i64::from),
        }
    }

    /// The acting user: the `--as` option, else `BRANCHPOINT_USER`, else `user` of the project file, else the operating system's user.
    pub(crate) fn user(&self, given: Option<&str>) -> String {
        let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let user = given.map(str::to_owned).or_else(|| variable("BRANCHPOINT_USER")).or_else(|| self.user.clone());
        user.unwrap_or_else(login::user_name)
    }

    /// Where the secrets are found that workflows and settings name: the environment, then the secrets file, then the named secrets of the
    /// store.
    pub(crate) fn secret_store(&self, store: &StoreArguments) -> Result<SecretStore> {
        let (file, named) = (self.secrets()?, NamedSecrets::of_store(self.store_path(store)?));
        Ok(Arc::new(move |name| env::var(name).ok().or_else(|| file.get(name).cloned()).or_else(|| named.get(name))))
    }

    /// Whether the environment or the secrets file has a secret, which then hides a named secret of the store.
    pub(crate) fn has_own_secret(&self) -> Result<impl Fn(&str) -> bool + Send + Sync + 'static> {
        let file = self.secrets()?;
        Ok(move |name: &str| env::var_os(name).is_some() || file.contains_key(name))
    }

    /// The values of all secrets of the environment and the secrets file.
    pub(crate) fn all_secrets(&self) -> Result<Secrets> {
        let mut secrets = self.private();
        secrets.add(self.secrets()?.into_values());
        Ok(secrets)
    }

    /// Secrets of the secrets file by name. The environment comes first, and is not read here.
    pub(crate) fn secrets(&self) -> Result<BTreeMap<String, String>> {
        let Some(file) = &self.secrets.file else { return Ok(BTreeMap::new()) };
        let file = self.folder.join(file);
        let text = settings_text(&file).context("cannot read the secrets")?;
        let lines = text.lines().map(str::trim).enumerate();
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let read = |(at, line): (usize, &str)| {
            let missing = || format!("{}:{} has no `=`: write NAME=value", file.display(), at + 1);
            let (name, value) = line.split_once('=').with_context(missing)?;
            Ok((name.trim().to_owned(), value.trim().trim_matches('"').to_owned()))
        };
        lines.map(read).collect()
    }
}

/// The text of a file with settings or secrets.
fn settings_text(file: &Path) -> Result<String> {
    let unread = |error| cannot_read(&file.display().to_string(), error, "keep only settings in this file");
    read_text_file(file, SETTINGS_BYTES).map_err(unread)
}

fn current_folder() -> Result<PathBuf> {
    env::current_dir().context("the working directory cannot be read")
}

/// The user's data folder, by the XDG rules.
fn data_folder() -> Result<PathBuf> {
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = variable("XDG_DATA_HOME").or_else(|| variable("HOME").map(|home| home.join(".local/share")));
    Ok(folder.context("there is no home directory for the store; name a file with --store")?.join("branchpoint"))
}

/// The variables that settings name for keys and passwords: all in a table of headers, else where the key says that it is a variable.
fn named_for_secrets(table: &toml::Table, all: bool, names: &mut BTreeSet<String>) {
    for (key, value) in table {
        match value {
            toml::Value::Table(inner) => named_for_secrets(inner, key == "headers_from", names),
            toml::Value::String(name) if all || key.ends_with("_env") => drop(names.insert(name.clone())),
            _ => {}
        }
    }
}
