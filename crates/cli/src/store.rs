//! `branchpoint store`: backs up and checks the store.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use branchpoint_backend::KeyState;
use branchpoint_expr::Value;

use crate::project::StoreCommand;
use crate::store_access::StoreAccess;
use crate::{exit, json, terminal, time};

/// Back up and check the store of runs
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    on: StoreCommand,

    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Copy the store into a new file, while it is in use
    Backup {
        /// The new file
        file: PathBuf,
    },
    /// Check the file, its programs, events and key for damage
    Check,
    /// Print the path of the store
    Path,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let opened = StoreAccess::existing(&arguments.on.store)?;
    match &arguments.command {
        Command::Backup { file } => {
            let copied = opened.store.backup(file);
            let needs_key = copied.with_context(|| format!("the store cannot be copied to {}", file.display()))?;
            let bytes = std::fs::metadata(file).map_or(0, |file| file.len());
            if arguments.on.json {
                let path = Value::from(file.display().to_string());
                let summary = json::object([("file", path), ("bytes", json::count(bytes))]);
                terminal::print_json(&summary)?;
            } else {
                terminal::message(&format!("Copied the store to {} ({bytes} bytes).\n", file.display()));
            }
            if needs_key {
                terminal::message(
                    "Encrypted secrets need the key file next to the store, which is not copied. Keep it in a separate place.\n",
                );
            }
            Ok(ExitCode::SUCCESS)
        }
        Command::Check => check(&opened, arguments.on.json),
        Command::Path => {
            let path = opened.project.store_path(&arguments.on.store)?;
            terminal::print(&format!("{}\n", path.display()))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn check(opened: &StoreAccess, json: bool) -> Result<ExitCode> {
    let health = opened.store.check(time::now_ms(), 60_000)?;
    if json {
        let damage = health.damage.iter().map(|line| Value::from(line.as_str())).collect::<Vec<_>>();
        let key = match &health.key {
            KeyState::None => Value::Null,
            KeyState::Fits => Value::from("fits"),
            KeyState::Unusable(why) => Value::from(why.as_str()),
        };
        let summary = json::object([
            ("version", json::count(health.version)),
            ("damage", Value::from(damage)),
            ("key", key),
            ("file_bytes", json::count(health.file_bytes)),
            ("log_bytes", json::count(health.log_bytes)),
        ]);
        terminal::print_json(&summary)?;
    } else {
        for line in &health.damage {
            terminal::error(line);
        }
        if let KeyState::Unusable(why) = &health.key {
            terminal::error(&format!("sealed secrets cannot be opened: {why}"));
        }
        let verdict = if health.damage.is_empty() { "intact" } else { "damaged; restore a backup" };
        terminal::print(&format!("The store is {verdict}.\n"))?;
    }
    let is_sound = health.damage.is_empty() && !matches!(health.key, KeyState::Unusable(_));
    Ok(if is_sound { ExitCode::SUCCESS } else { ExitCode::from(exit::SYSTEM) })
}
