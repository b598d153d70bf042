//! The command line of Branchpoint: reads arguments and files, calls the crates, prints.
//!
//! Data goes to stdout, messages to stderr. What a condition means is decided in `branchpoint-expr`, never here.

mod approvals;
mod backend;
mod chat;
mod chats;
mod check;
mod completions;
mod configured_runners;
mod dev;
mod dialect_argument;
mod diff;
mod doctor;
mod eval;
mod excerpt;
mod exit;
mod explain;
mod failure;
mod fmt;
mod foreground;
mod graph;
mod interrupt;
mod ir;
mod json;
mod knowledge;
mod listing;
mod local_runner;
mod login;
mod man;
mod memory;
mod new;
mod notices;
mod numbers;
mod oidc;
mod outcome;
mod project;
mod prune;
mod run;
mod run_driver;
mod runs;
mod schema;
mod secrets;
mod serve;
mod server_option;
mod session;
mod sessions;
mod settings_file;
mod source;
mod step_line;
mod store;
mod store_access;
mod table;
mod terminal;
mod text_extraction;
mod time;
mod token;
mod usage;
mod work;
mod workflow;
mod workflows;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Check, draw, run and explain AI-agent workflows.
#[derive(Parser)]
#[command(
    name = "branchpoint",
    version,
    long_about = terminal::page(include_str!("about.txt")),
    after_long_help = terminal::page(include_str!("after.txt")),
)]
struct Arguments {
    /// Written before a command, these options are those of the command.
    #[command(flatten)]
    server: server_option::LeadingOption,

    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    New(new::Arguments),
    Check(check::Arguments),
    Fmt(fmt::Arguments),
    Run(run::Arguments),
    Work(work::Arguments),
    Serve(serve::Arguments),
    Dev(dev::Arguments),
    Secrets(secrets::Arguments),
    Token(token::Arguments),
    Graph(graph::Arguments),
    Diff(diff::Arguments),
    Ir(ir::Arguments),
    Eval(eval::Arguments),
    Explain(explain::Arguments),
    Schema(schema::Arguments),
    Chat(chat::Arguments),
    Session(session::Arguments),
    Runs(runs::Arguments),
    Approvals(approvals::Arguments),
    Sessions(sessions::Arguments),
    Workflows(workflows::Arguments),
    Knowledge(knowledge::Arguments),
    Memory(memory::Arguments),
    Chats(chats::Arguments),
    Prune(prune::Arguments),
    Store(store::Arguments),
    Doctor(doctor::Arguments),
    Man(man::Arguments),
    Completions(completions::Arguments),
}

impl Command {
    /// Whether the command can speak to a server.
    fn has_server_option(&self) -> bool {
        matches!(self, Self::Run(_) | Self::Runs(_) | Self::Approvals(_) | Self::Sessions(_) | Self::Workflows(_))
    }
}

fn main() -> ExitCode {
    if let Some(code) = text_extraction::run_child() {
        return code;
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(wrong) => return usage_error(&wrong),
    };
    if let Some(message) = arguments.server.misplaced(arguments.command.has_server_option()) {
        terminal::message(&format!("error: {message}\n"));
        return ExitCode::from(exit::USAGE);
    }
    branchpoint_runners::allow_many_open_files();
    // These commands answer with their exit status, so their errors have one of their own.
    let error_status = match arguments.command {
        Command::Eval(_) => Some(eval::ERROR),
        Command::Diff(_) => Some(diff::ERROR),
        _ => None,
    };
    let done = match arguments.command {
        Command::New(arguments) => new::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Fmt(arguments) => fmt::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Work(arguments) => work::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Dev(arguments) => dev::run(&arguments),
        Command::Secrets(arguments) => secrets::run(&arguments),
        Command::Token(arguments) => token::run(&arguments),
        Command::Graph(arguments) => graph::run(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Ir(arguments) => ir::run(&arguments),
        Command::Eval(arguments) => eval::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Schema(arguments) => schema::run(&arguments),
        Command::Chat(arguments) => chat::run(&arguments),
        Command::Session(arguments) => session::run(&arguments),
        Command::Runs(arguments) => runs::run(&arguments),
        Command::Approvals(arguments) => approvals::run(&arguments),
        Command::Sessions(arguments) => sessions::run(&arguments),
        Command::Workflows(arguments) => workflows::run(&arguments),
        Command::Knowledge(arguments) => knowledge::run(&arguments),
        Command::Memory(arguments) => memory::run(&arguments),
        Command::Chats(arguments) => chats::run(&arguments),
        Command::Prune(arguments) => prune::run(&arguments),
        Command::Store(arguments) => store::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Man(arguments) => man::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
    };
    done.unwrap_or_else(|error| {
        terminal::error(&format!("{error:#}"));
        ExitCode::from(error_status.unwrap_or_else(|| exit::status_of(&error)))
    })
}

/// Prints an error of the arguments, or the requested help.
fn usage_error(wrong: &clap::Error) -> ExitCode {
    // If stderr is closed, the error cannot be reported.
    let _ = wrong.print();
    let error_status = match std::env::args_os().nth(1) {
        Some(command) if command == "eval" => eval::ERROR,
        Some(command) if command == "diff" => diff::ERROR,
        _ => exit::USAGE,
    };
    if wrong.exit_code() == 0 { ExitCode::SUCCESS } else { ExitCode::from(error_status) }
}
