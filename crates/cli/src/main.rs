//! The command line of Branchpoint: reads arguments and files, calls the crates, prints.
//!
//! Data goes to stdout, messages to stderr. What a condition means is decided in `branchpoint-expr`, never here.

mod completions;
mod eval;
mod explain;
mod session;
mod terminal;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The exit status of everything that is neither true nor false; clap gives the same for wrong arguments.
const TROUBLE: u8 = 2;

/// Evaluate and explain the conditions of AI-agent workflows.
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
    Eval(eval::Arguments),
    Explain(explain::Arguments),
    Session(session::Arguments),
    Completions(completions::Arguments),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Eval(arguments) => eval::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Session(arguments) => session::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
    };
    done.unwrap_or_else(|trouble| {
        terminal::complain(&format!("{trouble:#}"));
        ExitCode::from(TROUBLE)
    })
}
