//! `branchpoint chats`: the chats that steps have stored.

use std::process::ExitCode;

use anyhow::{Result, bail};
use branchpoint_expr::{Value, nearest};
use branchpoint_runners::storage::{Chat, Storage};

use crate::knowledge::storage_error;
use crate::listing::Listing;
use crate::project::StoreCommand;
use crate::store_access::StoreAccess;
use crate::{backend, json, terminal, time};

/// List and remove stored chats
#[derive(clap::Args)]
#[command(long_about = terminal::page(include_str!("chats.txt")))]
pub(crate) struct Arguments {
    #[command(flatten)]
    on: StoreCommand,

    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List chats
    List,
    /// Remove chats with all their turns
    Remove {
        /// The ids of chats, as `chats list` prints them
        #[arg(value_name = "CHAT", required = true)]
        chats: Vec<String>,
    },
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let access = StoreAccess::existing(&arguments.on.store)?;
    let storage = backend::storage(&access.project, &arguments.on.store)?;
    match &arguments.command {
        Command::List => list(&storage, arguments.on.json),
        Command::Remove { chats } => remove(&storage, chats, arguments.on.json),
    }
}

const CHATS: Listing<3> = Listing {
    headings: ["CHAT", "TURNS", "NEWEST TURN"],
    empty: "This store has no chats. Steps of the type `add_chat_turn` add them.",
};

fn list(storage: &Storage, json: bool) -> Result<ExitCode> {
    let fields = |of: &Chat| {
        json::object([
            ("chat", Value::from(of.id.as_str())),
            ("turns", json::count(of.turns)),
            ("newest_at", time::to_iso(of.newest_ms)),
        ])
    };
    let row = |of: &Chat| [of.id.clone(), of.turns.to_string(), time::local(of.newest_ms)];
    CHATS.print(&storage.chats().chats().map_err(storage_error)?, json, fields, row)
}

fn remove(storage: &Storage, chats: &[String], json: bool) -> Result<ExitCode> {
    let existing = storage.chats().chats().map_err(storage_error)?;
    let existing: Vec<&str> = existing.iter().map(|of| of.id.as_str()).collect();
    if let Some(unknown) = chats.iter().find(|chat| !existing.contains(&chat.as_str())) {
        let help = match nearest(unknown, existing.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`branchpoint chats list` lists them".to_owned(),
        };
        bail!("there is no chat `{unknown}`; nothing was removed\nhelp: {help}");
    }
    let mut turns = 0;
    for chat in chats {
        turns += storage.chats().remove_chat(chat).map_err(storage_error)?;
    }
    if json {
        let fields = [("chats", json::count(chats.len())), ("turns", json::count(turns))];
        return terminal::print_json(&json::object(fields));
    }
    terminal::print(&format!("Removed {}.\n", removed_in_words(chats.len(), turns)))?;
    Ok(ExitCode::SUCCESS)
}

fn removed_in_words(chats: usize, turns: u32) -> String {
    let chats = if chats == 1 { "1 chat".to_owned() } else { format!("{chats} chats") };
    let turns = if turns == 1 { "1 turn".to_owned() } else { format!("{turns} turns") };
    format!("{chats} with {turns}")
}
