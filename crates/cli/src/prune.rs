//! `branchpoint prune`: deletes runs that ended long ago.

use std::process::ExitCode;

use anyhow::{Result, bail};
use branchpoint_backend::Prune;
use branchpoint_core::ir::Status;
use branchpoint_expr::Value;

use crate::project::StoreArguments;
use crate::store_access::StoreAccess;
use crate::{json, runs, terminal, time};

/// Delete runs that ended long ago
#[derive(clap::Args)]
#[command(long_about = terminal::page(include_str!("prune.txt")))]
pub(crate) struct Arguments {
    #[command(flatten)]
    store: StoreArguments,

    /// Minimum age of the last event, such as 12h or 30d
    #[arg(long, value_name = "TIME", value_parser = time::parse_duration_ms)]
    older_than: i64,

    /// Status filter: completed, failed, cancelled
    #[arg(long, value_name = "STATUS", value_parser = runs::status, value_delimiter = ',')]
    status: Vec<Status>,

    /// Report what would be deleted, delete nothing
    #[arg(long)]
    dry_run: bool,

    /// Shrink the file; blocks other writers meanwhile
    #[arg(long, conflicts_with = "dry_run")]
    vacuum: bool,

    /// Print JSON
    #[arg(long, short)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    if let Some(status) = arguments.status.iter().find(|status| !status.is_final()) {
        bail!(
            "runs with the status {} have not ended, and only ended runs can be deleted\n\
             help: end one with `branchpoint runs cancel RUN` first",
            status.as_str()
        );
    }
    let store = StoreAccess::existing(&arguments.store)?.store;
    let which = Prune {
        before_ms: time::now_ms() - arguments.older_than,
        statuses: arguments.status.clone(),
        dry_run: arguments.dry_run,
    };
    let pruned = store.prune(&which)?;
    let moved = arguments.dry_run || store.compact(arguments.vacuum)?;
    if arguments.json {
        let summary = json::object([
            ("runs", json::count(pruned.runs)),
            ("events", json::count(pruned.events)),
            ("large_values", json::count(pruned.blobs)),
            ("kept", json::count(pruned.skipped)),
            ("dry_run", Value::Bool(arguments.dry_run)),
        ]);
        return terminal::print_json(&summary);
    }
    let what = if arguments.dry_run { "would be deleted" } else { "were deleted" };
    terminal::print(&format!("{} runs with {} events {what}.\n", pruned.runs, pruned.events))?;
    if pruned.skipped > 0 {
        terminal::message(&format!(
            "{} runs were kept, because a run that they called has not ended.\n",
            pruned.skipped
        ));
    }
    if !moved {
        terminal::message("Another process reads the log, so the file shrinks later.\n");
    }
    Ok(ExitCode::SUCCESS)
}
