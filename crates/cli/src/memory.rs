//! `branchpoint memory`: the collections of texts that steps have added.

use std::process::ExitCode;

use anyhow::{Result, bail};
use branchpoint_core::effect::MemoryEntry;
use branchpoint_expr::{Value, nearest};
use branchpoint_runners::storage::Storage;

use crate::knowledge::storage_error;
use crate::listing::Listing;
use crate::project::StoreCommand;
use crate::store_access::StoreAccess;
use crate::{backend, excerpt, json, terminal};

/// List and remove memories
#[derive(clap::Args)]
#[command(long_about = terminal::page(include_str!("memory.txt")))]
pub(crate) struct Arguments {
    #[command(flatten)]
    on: StoreCommand,

    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List collections, or the entries of one
    List {
        /// The collection whose entries are listed
        #[arg(long, short, value_name = "NAME")]
        collection: Option<String>,

        /// Start after this key
        #[arg(long, value_name = "KEY", requires = "collection")]
        after: Option<String>,

        /// The number of entries
        #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
    },
    /// Remove entries, or a whole collection
    Remove {
        /// The keys of entries, as `memory list` prints them
        #[arg(value_name = "KEY", required_unless_present = "all")]
        keys: Vec<String>,

        /// Remove all entries of the collection
        #[arg(long, conflicts_with = "keys")]
        all: bool,

        /// The collection
        #[arg(long, short, value_name = "NAME", default_value = "default")]
        collection: String,
    },
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let access = StoreAccess::existing(&arguments.on.store)?;
    let storage = backend::storage(&access.project, &arguments.on.store)?;
    let json = arguments.on.json;
    match &arguments.command {
        Command::List { collection: None, .. } => list(&storage, json),
        Command::List { collection: Some(collection), after, limit } => {
            list_entries(&storage, collection, after.as_deref(), *limit, json)
        }
        Command::Remove { keys, collection, .. } => remove(&storage, collection, keys, json),
    }
}

const COLLECTIONS: Listing<2> = Listing {
    headings: ["COLLECTION", "ENTRIES"],
    empty: "This store has no memories. Steps of the type `add_memory` add them.",
};

fn list(storage: &Storage, json: bool) -> Result<ExitCode> {
    let fields = |(name, entries): &(String, u32)| {
        json::object([("collection", Value::from(name.as_str())), ("entries", json::count(*entries))])
    };
    let row = |(name, entries): &(String, u32)| [name.clone(), entries.to_string()];
    COLLECTIONS.print(&storage.memory().collections().map_err(storage_error)?, json, fields, row)
}

const ENTRIES: Listing<2> = Listing { headings: ["KEY", "CONTENT"], empty: "There are no more entries." };

fn list_entries(storage: &Storage, collection: &str, after: Option<&str>, limit: u32, json: bool) -> Result<ExitCode> {
    // One more than the limit shows whether the list continues.
    let mut entries = storage.memory().entries(collection, after, limit + 1).map_err(storage_error)?;
    if entries.is_empty() && after.is_none() {
        return Err(unknown_collection(storage, collection)?);
    }
    let continues = entries.len() > limit as usize;
    entries.truncate(limit as usize);
    if let Some(last) = entries.last().filter(|_| continues) {
        terminal::message(&format!("There are more entries; list them with --after {:?}.\n", last.key));
    }
    let row = |entry: &MemoryEntry| [entry.key.clone(), excerpt::text(&entry.content)];
    ENTRIES.print(&entries, json, |entry| Value::from(entry.clone()), row)
}

/// Without keys, all entries are removed.
fn remove(storage: &Storage, collection: &str, keys: &[String], json: bool) -> Result<ExitCode> {
    let memory = storage.memory();
    if memory.entries(collection, None, 1).map_err(storage_error)?.is_empty() {
        return Err(unknown_collection(storage, collection)?);
    }
    for key in keys {
        if memory.load_entry(collection, key).map_err(storage_error)?.is_none() {
            bail!(
                "the collection `{collection}` has no entry `{key}`; nothing was removed\n\
                 help: `branchpoint memory list --collection {collection}` lists them"
            );
        }
    }
    let mut removed = 0;
    if keys.is_empty() {
        removed = memory.remove_entries(collection, None).map_err(storage_error)?;
    }
    for key in keys {
        removed += memory.remove_entries(collection, Some(key)).map_err(storage_error)?;
    }
    if json {
        let fields = [("collection", Value::from(collection)), ("removed", json::count(removed))];
        return terminal::print_json(&json::object(fields));
    }
    let entries = if removed == 1 { "entry" } else { "entries" };
    terminal::print(&format!("Removed {removed} {entries} of the collection `{collection}`.\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// The error for a collection without entries.
fn unknown_collection(storage: &Storage, collection: &str) -> Result<anyhow::Error> {
    let collections = storage.memory().collections().map_err(storage_error)?;
    let help = match nearest(collection, collections.iter().map(|(name, _)| name.as_str())) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`branchpoint memory list` lists them".to_owned(),
    };
    Ok(anyhow::anyhow!("there is no collection `{collection}`\nhelp: {help}"))
}
