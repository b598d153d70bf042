//! The command line of Branchpoint: reads arguments and files, calls the crates, prints.
//!
//! Data goes to stdout, messages to stderr. What a condition means is decided in `branchpoint-expr`, never here.

mod approvals;
mod check;
mod completions;
mod dialects;
mod doctor;
mod drive;
mod eval;
mod exit;
mod explain;
mod fmt;
mod graph;
mod ir;
mod man;
mod masked;
mod moment;
mod new;
mod opened;
mod project;
mod prune;
mod run;
mod runs;
mod schema;
mod session;
mod sessions;
mod source;
mod store;
mod table;
mod terminal;
mod workflow;
mod workflows;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// The exit status of everything that is neither true nor false; clap gives the same for wrong arguments.
const TROUBLE: u8 = 2;

/// Check, draw, run and explain AI-agent workflows.
#[derive(Parser)]
#[command(
    name = "branchpoint",
    version,
    long_about = terminal::page(include_str!("about.txt")),
    after_long_help = terminal::page(include_str!("after.txt")),
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    New(new::Arguments),
    Check(check::Arguments),
    Fmt(fmt::Arguments),
    Run(run::Arguments),
    Graph(graph::Arguments),
    Ir(ir::Arguments),
    Eval(eval::Arguments),
    Explain(explain::Arguments),
    Schema(schema::Arguments),
    Session(session::Arguments),
    Runs(runs::Arguments),
    Approvals(approvals::Arguments),
    Sessions(sessions::Arguments),
    Workflows(workflows::Arguments),
    Prune(prune::Arguments),
    Store(store::Arguments),
    Doctor(doctor::Arguments),
    Man(man::Arguments),
    Completions(completions::Arguments),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::New(arguments) => new::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Fmt(arguments) => fmt::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Graph(arguments) => graph::run(&arguments),
        Command::Ir(arguments) => ir::run(&arguments),
        Command::Eval(arguments) => eval::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Schema(arguments) => schema::run(&arguments),
        Command::Session(arguments) => session::run(&arguments),
        Command::Runs(arguments) => Ok(kept(runs::run(&arguments))),
        Command::Approvals(arguments) => Ok(kept(approvals::run(&arguments))),
        Command::Sessions(arguments) => Ok(kept(sessions::run(&arguments))),
        Command::Workflows(arguments) => Ok(kept(workflows::run(&arguments))),
        Command::Prune(arguments) => Ok(kept(prune::run(&arguments))),
        Command::Store(arguments) => Ok(kept(store::run(&arguments))),
        Command::Doctor(arguments) => Ok(kept(doctor::run(&arguments))),
        Command::Man(arguments) => man::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
    };
    done.unwrap_or_else(|trouble| {
        terminal::complain(&format!("{trouble:#}"));
        ExitCode::from(TROUBLE)
    })
}

/// Commands over a store tell wrong arguments from a store that cannot be used.
fn kept(done: Result<ExitCode>) -> ExitCode {
    done.unwrap_or_else(|trouble| {
        terminal::complain(&format!("{trouble:#}"));
        ExitCode::from(exit::of(&trouble))
    })
}
