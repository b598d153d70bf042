//! `branchpoint fmt`: formats workflows.

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

/// The outcome of formatting a file.
#[derive(PartialEq, Eq)]
enum Formatted {
    /// It is unchanged.
    Unchanged,
    /// It is changed or, with `--check`, would change.
    Changed,
    /// The file cannot be read or written; the error was printed.
    Failed,
}

#[expect(clippy::unnecessary_wraps, reason = "every command has this form")]
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let mut done = Vec::new();
    for path in &arguments.files {
        // An error does not prevent the formatting of the other files.
        done.push(format(path, arguments).unwrap_or_else(|error| {
            terminal::error(&format!("{error:#}"));
            Formatted::Failed
        }));
    }
    let count = |what: &Formatted| done.iter().filter(|done| *done == what).count();
    let (changed, refused) = (count(&Formatted::Changed), count(&Formatted::Failed));
    if !arguments.files.iter().any(|path| is_stdin(path)) {
        let verb = if arguments.check { "would change" } else { "changed" };
        terminal::message(&format!("{changed} of {} files {verb}\n", done.len()));
    }
    let trouble = refused > 0 || arguments.check && changed > 0;
    Ok(if trouble { ExitCode::from(exit::REJECTED) } else { ExitCode::SUCCESS })
}

fn format(path: &Path, arguments: &Arguments) -> Result<Formatted> {
    let source = Source::file(path)?;
    let formatted = match branchpoint_dialects::format(&source.text, arguments.dialect) {
        Ok(formatted) => formatted,
        Err(findings) => {
            terminal::message(&terminal::findings(&findings, &source.text, &source.origin));
            return Ok(Formatted::Failed);
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
    Ok(if changed { Formatted::Changed } else { Formatted::Unchanged })
}
