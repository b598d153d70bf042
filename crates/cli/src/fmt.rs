//! `branchpoint fmt`: workflows written one way.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use branchpoint_expr::Dialect;

use crate::source::{Source, is_stdin};
use crate::{dialect_argument, exit, terminal};

/// Format workflows in the house style
#[derive(clap::Args)]
#[command(
    long_about = terminal::page(include_str!("fmt.txt")),
)]
pub(crate) struct Arguments {
    /// Workflow files, YAML or JSON; `-` formats stdin to stdout
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// List files that would change, exit with 2 if there are any
    #[arg(long)]
    check: bool,

    /// Dialect of all files [default: detected from the content]
    #[arg(long, short, value_parser = dialect_argument::parser())]
    dialect: Option<Dialect>,
}

/// What became of a file.
#[derive(PartialEq, Eq)]
enum Done {
    /// It is written the house way.
    Fine,
    /// It was not, and with `--check` it still is not.
    Changed,
    /// The file cannot be read or written; the error was printed.
    Rejection,
}

#[expect(clippy::unnecessary_wraps, reason = "every command has this form")]
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let mut done = Vec::new();
    for path in &arguments.files {
        // One that cannot be read or written does not keep the others from being formatted.
        done.push(format(path, arguments).unwrap_or_else(|error| {
            terminal::error(&format!("{error:#}"));
            Done::Rejection
        }));
    }
    let count = |what: &Done| done.iter().filter(|done| *done == what).count();
    let (changed, refused) = (count(&Done::Changed), count(&Done::Rejection));
    if !arguments.files.iter().any(|path| is_stdin(path)) {
        let verb = if arguments.check { "would change" } else { "changed" };
        terminal::message(&format!("{changed} of {} files {verb}\n", done.len()));
    }
    let trouble = refused > 0 || arguments.check && changed > 0;
    Ok(if trouble { ExitCode::from(exit::REJECTED) } else { ExitCode::SUCCESS })
}

fn format(path: &Path, arguments: &Arguments) -> Result<Done> {
    let source = Source::file(path)?;
    let formatted = match branchpoint_dialects::format(&source.text, arguments.dialect) {
        Ok(formatted) => formatted,
        Err(findings) => {
            terminal::message(&terminal::findings(&findings, &source.text, &source.origin));
            return Ok(Done::Rejection);
        }
    };
    let changed = formatted != source.text;
    if arguments.check {
        if changed {
            terminal::print(&format!("{}\n", source.origin))?;
        }
    } else if is_stdin(path) {
        terminal::print(&formatted)?;
    } else if changed {
        fs::write(path, formatted).with_context(|| format!("cannot write {}", source.origin))?;
        terminal::print(&format!("{}\n", source.origin))?;
    }
    Ok(if changed { Done::Changed } else { Done::Fine })
}
