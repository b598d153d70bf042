//! `branchpoint secrets`: named secrets of the store, which are sealed and never shown.

use std::io::{IsTerminal as _, Read as _, stdin};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use branchpoint_backend::{MAX_SECRET_BYTES, MAX_SECRET_NAME, NewSecret, is_secret_name};
use branchpoint_expr::Value;
use branchpoint_server::{Pattern, log_command};
use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};

use crate::project::{Project, StoreArguments, StoreCommand};
use crate::table::table;
use crate::{backend, json, terminal, time};

/// Manage the named secrets of a store
#[derive(clap::Args)]
#[command(long_about = terminal::page(include_str!("secrets.txt")))]
pub(crate) struct Arguments {
    #[command(flatten)]
    on: StoreCommand,

    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Store a secret; the value comes from a prompt or standard input
    Set {
        /// Name, such as `DEPLOY_TOKEN`
        name: String,

        /// Workflows saved over the API that may use it; can be repeated [default: none]
        #[arg(long = "workflow", value_name = "PATTERN")]
        workflows: Vec<Pattern>,
    },
    /// List names, never values
    List,
    /// Remove a secret
    Remove {
        /// Name, as shown by `secrets list`
        name: String,
    },
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let (project, store) = (Project::find()?, &arguments.on.store);
    match &arguments.command {
        Command::Set { name, workflows } => set(&project, store, name, workflows)?,
        Command::List => list(&project, store, arguments.on.json)?,
        Command::Remove { name } => {
            if !backend::open(&project, store)?.remove_secret(name)? {
                bail!("there is no secret `{name}`\nhelp: `branchpoint secrets list` lists the names");
            }
            log(&project, store, &format!("secrets remove {name}"))?;
            terminal::message(&format!("Removed `{name}`. Calls that need it fail from now on.\n"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn set(project: &Project, store: &StoreArguments, name: &str, workflows: &[Pattern]) -> Result<()> {
    if !is_secret_name(name) {
        bail!(
            "`{name}` cannot be the name of a secret\nhelp: use 1 to {MAX_SECRET_NAME} letters, digits and `_`, not beginning with a digit"
        );
    }
    let value = read_value(name)?;
    if value.is_empty() {
        bail!(
            "the secret is empty\nhelp: type it at the prompt, or pipe it: `some-command | branchpoint secrets set {name}`"
        );
    }
    if value.len() > MAX_SECRET_BYTES {
        bail!(
            "the secret has {} bytes, but at most {MAX_SECRET_BYTES} are allowed\nhelp: store a shorter value",
            value.len()
        );
    }
    if value.contains('\0') {
        bail!("the secret contains a NUL byte\nhelp: encode it, for example with `base64`");
    }
    let workflows = workflows.iter().map(ToString::to_string).collect();
    let secret = NewSecret { name: name.to_owned(), value, workflows, set_by: project.user(None) };
    backend::open(project, store)?.set_secret(&secret, time::now_ms())?;
    log(project, store, &format!("secrets set {name}"))?;
    let hidden = if project.has_own_secret()?(name) {
        "warning: the environment or the secrets file has a secret of this name, which is used instead\n"
    } else {
        ""
    };
    terminal::message(&format!("Stored `{name}`.\n{hidden}"));
    Ok(())
}

fn log(project: &Project, store: &StoreArguments, command: &str) -> Result<()> {
    log_command(&project.store_path(store)?, &project.user(None), command).context("the audit log cannot be written")
}

/// The value from standard input, or from a prompt that does not show it.
fn read_value(name: &str) -> Result<String> {
    let mut value = String::new();
    if stdin().is_terminal() {
        terminal::message(&format!("Value of {name}: "));
        let hidden = HiddenInput::begin()?;
        stdin().read_line(&mut value).context("the value cannot be read")?;
        drop(hidden);
        terminal::message("\n");
    } else {
        let limit = MAX_SECRET_BYTES as u64 + 3;
        stdin().lock().take(limit).read_to_string(&mut value).context("the value on standard input is not text")?;
    }
    // The line end belongs to the command that writes the value, such as `echo`.
    let value = value.strip_suffix('\n').unwrap_or(&value);
    Ok(value.strip_suffix('\r').unwrap_or(value).to_owned())
}

/// A terminal that does not show what is typed, until this is dropped.
struct HiddenInput(Termios);

impl HiddenInput {
    fn begin() -> Result<Self> {
        let before = tcgetattr(stdin()).context("the terminal cannot hide the value; use standard input")?;
        let mut hidden = before.clone();
        hidden.local_flags.remove(LocalFlags::ECHO);
        tcsetattr(stdin(), SetArg::TCSAFLUSH, &hidden)
            .context("the terminal cannot hide the value; use standard input")?;
        Ok(Self(before))
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        // A terminal that is gone needs no restoring.
        let _ = tcsetattr(stdin(), SetArg::TCSAFLUSH, &self.0);
    }
}

fn list(project: &Project, store: &StoreArguments, json: bool) -> Result<()> {
    let (listed, is_hidden) = (backend::open(project, store)?.named_secrets()?, project.has_own_secret()?);
    if json {
        let rows = listed.iter().map(|secret| {
            json::object([
                ("name", Value::from(secret.name.as_str())),
                (
                    "workflows",
                    Value::from(secret.workflows.iter().map(|one| Value::from(one.as_str())).collect::<Vec<_>>()),
                ),
                ("set_by", Value::from(secret.set_by.as_str())),
                ("set", time::to_iso(secret.set_ms)),
                ("hidden", Value::Bool(is_hidden(&secret.name))),
            ])
        });
        return terminal::print_json(&Value::from(rows.collect::<Vec<_>>())).map(drop);
    }
    if listed.is_empty() {
        terminal::message("There are no named secrets. `branchpoint secrets set NAME` stores one.\n");
        return Ok(());
    }
    let rows: Vec<[String; 4]> = listed
        .iter()
        .map(|secret| {
            let hidden = if is_hidden(&secret.name) { " (hidden by the environment)" } else { "" };
            let name = format!("{}{hidden}", secret.name);
            [name, secret.workflows.join(", "), secret.set_by.clone(), time::local(secret.set_ms)]
        })
        .collect();
    terminal::print_styled(&table(["NAME", "WORKFLOWS", "SET BY", "SET"], &rows))
}
