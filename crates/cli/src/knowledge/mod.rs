//! `branchpoint knowledge`: knowledge bases, filled from files.

mod add;

use std::process::ExitCode;

use anyhow::{Result, bail};
use branchpoint_core::effect::Passage;
use branchpoint_expr::{Value, nearest};
use branchpoint_runners::storage::{CANDIDATES, DocumentSummary, KnowledgeBase, PassageSearch, Storage, StorageError};
use branchpoint_runners::{CancellationToken, runtime};

use crate::configured_runners;
use crate::exit::Exit;
use crate::listing::Listing;
use crate::project::{StoreArguments, StoreCommand};
use crate::store_access::StoreAccess;
use crate::{backend, excerpt, json, terminal, time};

/// The longest text of a passage that is printed, in characters.
const LONGEST: usize = 300;

/// Fill, list and search knowledge bases
#[derive(clap::Args)]
#[command(long_about = terminal::page(include_str!("about.txt")))]
pub(crate) struct Arguments {
    #[command(flatten)]
    on: StoreCommand,

    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Add files, and folders with all files in them
    Add(add::Arguments),
    /// List knowledge bases, or the documents of one
    List {
        /// The knowledge base whose documents are listed
        #[arg(long, short, value_name = "NAME")]
        base: Option<String>,
    },
    /// Remove documents, or a whole knowledge base
    Remove {
        /// The names of documents, as `knowledge list` prints them
        #[arg(value_name = "DOCUMENT", required_unless_present = "all")]
        documents: Vec<String>,

        /// Remove all documents of the knowledge base
        #[arg(long, conflicts_with = "documents")]
        all: bool,

        /// The knowledge base
        #[arg(long, short, value_name = "NAME", default_value = "default")]
        base: String,
    },
    /// Search as a `retrieval` step does
    Search {
        /// The words to search for
        #[arg(required = true)]
        words: Vec<String>,

        /// The number of passages
        #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
        limit: u32,

        /// The knowledge base
        #[arg(long, short, value_name = "NAME", default_value = "default")]
        base: String,
    },
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let json = arguments.on.json;
    if let Command::Add(added) = &arguments.command {
        return add::run(added, &arguments.on.store, json);
    }
    let access = StoreAccess::existing(&arguments.on.store)?;
    let storage = backend::storage(&access.project, &arguments.on.store)?;
    match &arguments.command {
        Command::Add(_) => Ok(ExitCode::SUCCESS),
        Command::List { base: None } => list(&storage, json),
        Command::List { base: Some(base) } => list_documents(&storage, base, json),
        Command::Remove { documents, all, base } => remove(&storage, base, documents, *all, json),
        Command::Search { words, limit, base } => {
            search((&access, &arguments.on.store), &storage, base, &words.join(" "), *limit, json)
        }
    }
}

/// An error of stored data: a limit is the caller's, anything else the system's.
pub(crate) fn storage_error(error: StorageError) -> anyhow::Error {
    match error {
        StorageError::Unavailable(message) => Exit::system(message).into(),
        error => error.into(),
    }
}

const BASES: Listing<4> = Listing {
    headings: ["KNOWLEDGE BASE", "DOCUMENTS", "PASSAGES", "WITH VECTORS"],
    empty: "This store has no knowledge bases. `branchpoint knowledge add PATH` creates one.",
};

fn list(storage: &Storage, json: bool) -> Result<ExitCode> {
    let fields = |of: &KnowledgeBase| {
        json::object([
            ("knowledge_base", Value::from(of.name.as_str())),
            ("documents", json::count(of.documents)),
            ("passages", json::count(of.passages)),
            ("embedded_documents", json::count(of.embedded_documents)),
        ])
    };
    let row = |of: &KnowledgeBase| {
        [of.name.clone(), of.documents.to_string(), of.passages.to_string(), of.embedded_documents.to_string()]
    };
    BASES.print(&storage.knowledge().knowledge_bases().map_err(storage_error)?, json, fields, row)
}

const DOCUMENTS: Listing<4> = Listing {
    headings: ["DOCUMENT", "PASSAGES", "EMBEDDING MODEL", "ADDED"],
    empty: "The knowledge base has no documents.",
};

fn list_documents(storage: &Storage, base: &str, json: bool) -> Result<ExitCode> {
    let documents = storage.knowledge().documents(base).map_err(storage_error)?;
    if documents.is_empty() {
        return Err(unknown_base(storage, base)?);
    }
    let fields = |of: &DocumentSummary| {
        json::object([
            ("document", Value::from(of.name.as_str())),
            ("passages", json::count(of.passages)),
            ("embedding_model", of.embedding_model.as_deref().map_or(Value::Null, Value::from)),
            ("added_at", time::to_iso(of.added_ms)),
        ])
    };
    let row = |of: &DocumentSummary| {
        let model = of.embedding_model.as_deref().unwrap_or("-").to_owned();
        [of.name.clone(), of.passages.to_string(), model, time::local(of.added_ms)]
    };
    DOCUMENTS.print(&documents, json, fields, row)
}

/// The error for a knowledge base without documents.
fn unknown_base(storage: &Storage, base: &str) -> Result<anyhow::Error> {
    let bases = storage.knowledge().knowledge_bases().map_err(storage_error)?;
    let help = match nearest(base, bases.iter().map(|of| of.name.as_str())) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`branchpoint knowledge list` lists them; `branchpoint knowledge add PATH` creates one".to_owned(),
    };
    Ok(anyhow::anyhow!("there is no knowledge base `{base}`\nhelp: {help}"))
}

fn remove(storage: &Storage, base: &str, documents: &[String], all: bool, json: bool) -> Result<ExitCode> {
    let existing = storage.knowledge().documents(base).map_err(storage_error)?;
    if existing.is_empty() {
        return Err(unknown_base(storage, base)?);
    }
    let existing: Vec<&str> = existing.iter().map(|of| of.name.as_str()).collect();
    if let Some(unknown) = documents.iter().find(|name| !existing.contains(&name.as_str())) {
        let near = nearest(unknown, existing.iter().copied());
        let help = near.map_or_else(
            || format!("`branchpoint knowledge list --base {base}` lists them"),
            |near| format!("did you mean `{near}`?"),
        );
        bail!("the knowledge base `{base}` has no document `{unknown}`; nothing was removed\nhelp: {help}");
    }
    let names = if all { existing } else { documents.iter().map(String::as_str).collect() };
    let mut removed = 0;
    for name in names {
        removed += u32::from(storage.knowledge().remove_document(base, name).map_err(storage_error)?);
    }
    if json {
        let fields = [("knowledge_base", Value::from(base)), ("removed", json::count(removed))];
        return terminal::print_json(&json::object(fields));
    }
    terminal::print(&format!("Removed {removed} documents of the knowledge base `{base}`.\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn search(
    (access, store): (&StoreAccess, &StoreArguments),
    storage: &Storage,
    base: &str,
    words: &str,
    limit: u32,
    json: bool,
) -> Result<ExitCode> {
    if storage.knowledge().documents(base).map_err(storage_error)?.is_empty() {
        return Err(unknown_base(storage, base)?);
    }
    let tools = configured_runners::tools(&access.project, &access.project.secret_store(store)?)?;
    let cancel = CancellationToken::new();
    let query = access.project.all_secrets()?.mask(words).into_owned();
    let vector = runtime().block_on(tools.embed_query(&query, &cancel));
    let vector = vector.map_err(|error| Exit::system(error.to_string()))?;
    let search =
        PassageSearch { query: words.to_owned(), vector, limit, candidates: CANDIDATES, ..PassageSearch::default() };
    let passages = storage.knowledge().search_passages(base, &search, &cancel).map_err(storage_error)?;
    if json {
        return terminal::print_json(&Value::from(passages.into_iter().map(Value::from).collect::<Vec<_>>()));
    }
    if passages.is_empty() {
        terminal::message("Nothing was found.\n");
    }
    let shown = |Passage { document, content, score, .. }: &Passage| {
        format!("{document}  {score:.3}\n  {}\n", excerpt::text_up_to(content, LONGEST))
    };
    terminal::print(&passages.iter().map(shown).collect::<Vec<_>>().join("\n"))?;
    Ok(ExitCode::SUCCESS)
}
