//! The option `--server`: commands speak to a server over HTTP instead of opening a store.

use std::env;

use anyhow::{Context as _, Result, bail};
use branchpoint_client::ServerAddress;

use crate::project::{StoreArguments, StoreCommand};

/// The environment variable of the address.
const VARIABLE: &str = "BRANCHPOINT_SERVER";

/// The server that a command speaks to.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct ServerOption {
    /// Server to use instead of a store [default: `BRANCHPOINT_SERVER`]
    #[arg(long, value_name = "URL", global = true)]
    server: Option<String>,

    /// Allow a server on another machine without encryption
    #[arg(long, global = true)]
    allow_http: bool,
}

/// The same options before the command, as in `branchpoint --server URL runs list`. They reach the command by their names.
#[derive(clap::Args, Debug)]
pub(crate) struct LeadingOption {
    #[arg(long, value_name = "URL", global = true, hide = true)]
    server: Option<String>,

    #[arg(long, global = true, hide = true)]
    allow_http: bool,
}

impl LeadingOption {
    /// The error of a command without these options.
    pub(crate) fn misplaced(&self, command_has_option: bool) -> Option<&'static str> {
        let is_given = self.server.is_some() || self.allow_http;
        (is_given && !command_has_option).then_some(
            "--server is an option of `run`, `runs`, `approvals`, `sessions` and `workflows` only\nhelp: remove it; this command works on this machine",
        )
    }
}

/// The options of every command over a store or a server that has subcommands.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct ServerCommand {
    #[command(flatten)]
    server: ServerOption,

    #[command(flatten)]
    store: StoreArguments,

    /// Print JSON
    #[arg(long, short, global = true)]
    json: bool,
}

impl ServerCommand {
    /// The store or the server that the command works on.
    pub(crate) fn resolve(&self) -> Result<StoreCommand> {
        let server = self.server.address(&self.store)?;
        Ok(StoreCommand { store: StoreArguments { server, ..self.store.clone() }, json: self.json })
    }
}

impl ServerOption {
    /// The address of the server; none if the command works on a store. An option of the command line is used before the environment.
    pub(crate) fn address(&self, store: &StoreArguments) -> Result<Option<ServerAddress>> {
        let has_store = names_a_store(store);
        let (text, origin) = match (&self.server, variable()) {
            (Some(_), _) if has_store => {
                bail!("--server and --store cannot be used together\nhelp: remove one of them")
            }
            (Some(text), _) => (text.clone(), "--server"),
            (None, Some(text)) if !has_store => (text, VARIABLE),
            (None, _) => return Ok(None),
        };
        let address = ServerAddress::parse(&text, self.allow_http);
        address.map(Some).with_context(|| format!("{origin} is not the address of a server"))
    }
}

fn variable() -> Option<String> {
    env::var(VARIABLE).ok().filter(|text| !text.trim().is_empty())
}

/// Whether the command line names a store. The environment, which can name one for all commands, does not count.
fn names_a_store(store: &StoreArguments) -> bool {
    store.store.is_some()
}

/// Rejects a command that works on a store only while the environment names a server, so that no command changes the wrong data.
pub(crate) fn must_mean_a_store(store: &StoreArguments) -> Result<()> {
    if variable().is_some() && !names_a_store(store) {
        bail!(
            "this command is not available over a server, but {VARIABLE} is set\nhelp: name a store with --store, or unset {VARIABLE}"
        );
    }
    Ok(())
}
