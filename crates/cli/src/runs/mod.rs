//! `branchpoint runs`: lists, shows and controls the runs of a store.

mod bulk;
mod cancel;
mod changed_workflow;
mod explain;
mod list;
mod migrate;
mod resume_retry_fork;
mod show;
mod tag;
mod trace;
mod trace_tree;
mod transfer;
mod watch;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use branchpoint_core::ir::Status;

use crate::server_option::ServerCommand;
use crate::store_access::StoreAccess;
use crate::terminal;
pub(crate) use show::{pending, start as start_of};
pub(crate) use watch::Follower;

/// Inspect, cancel, resume, retry and fork runs
#[derive(clap::Args)]
#[command(
    long_about = terminal::page(include_str!("about.txt")),
    after_long_help = terminal::page(include_str!("after.txt")),
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    on: ServerCommand,

    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List runs, newest first
    List(list::Arguments),
    /// Show the status, input and result of a run
    Show(Named),
    /// Print the steps of a run
    Trace(trace::Arguments),
    /// Explain the decisions of a step
    Explain(explain::Arguments),
    /// Follow a run until it ends or waits
    Watch(watch::Watch),
    /// Cancel a run
    Cancel(cancel::Arguments),
    /// Resume an abandoned run
    Resume(resume_retry_fork::Resume),
    /// Retry the call that failed the run, in a new run
    Retry(resume_retry_fork::Retry),
    /// Start a new run from a step of another run
    Fork(resume_retry_fork::Fork),
    /// Move waiting runs to a changed workflow
    Migrate(migrate::Arguments),
    /// Add or remove tags of a run
    Tag(tag::Arguments),
    /// Write runs as JSON lines to stdout
    Export {
        /// Runs to export [default: all]
        #[arg(value_name = "RUN")]
        runs: Vec<String>,
    },
    /// Read runs from JSON lines
    Import {
        /// The file; `-` is stdin
        file: PathBuf,
    },
}

/// Which run is meant.
#[derive(clap::Args)]
struct Named {
    /// The id of the run, or a unique beginning or end of it
    run: String,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let on = arguments.on.resolve()?;
    let (store, json) = (&on.store, on.json);
    if let Command::Import { file } = &arguments.command {
        return transfer::import(store, file, json);
    }
    let opened = StoreAccess::existing(store)?;
    match &arguments.command {
        Command::List(which) => list::run(&opened, which, json),
        Command::Show(named) => show::run(&opened, &named.run, json),
        Command::Trace(which) => trace::run(&opened, which, json),
        Command::Explain(which) => explain::run(&opened, which, json),
        Command::Watch(which) => watch::run(&opened, which, json),
        Command::Cancel(which) => cancel::run(opened, store, which, json),
        Command::Resume(which) => resume_retry_fork::resume(opened, store, which, json),
        Command::Retry(which) => resume_retry_fork::retry(opened, store, which, json),
        Command::Fork(which) => resume_retry_fork::fork(opened, store, which, json),
        Command::Migrate(which) => migrate::run(opened, store, which, json),
        Command::Tag(which) => tag::run(&opened, which, json),
        Command::Export { runs } => transfer::export(&opened, runs),
        Command::Import { .. } => unreachable!("it was answered above"),
    }
}

/// Reads the word for a status.
pub(crate) fn status(word: &str) -> Result<Status, String> {
    let known = Status::ALL.map(Status::as_str);
    let status = Status::ALL.into_iter().find(|status| status.as_str() == word);
    status.ok_or_else(|| format!("unknown status `{word}`; the statuses are {}", known.join(", ")))
}
