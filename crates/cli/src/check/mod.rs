//! `branchpoint check`: what is wrong with workflows, told before anything runs.

mod report;
mod watch;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use branchpoint_expr::Dialect;
use clap::ValueEnum;

use self::report::Report;
use crate::{dialects, source, terminal};

/// Check workflows and tell what is wrong with them
#[derive(clap::Args)]
#[command(
    long_about = terminal::page(include_str!("about.txt")),
    after_long_help = terminal::page(include_str!("after.txt")),
)]
pub(crate) struct Arguments {
    /// The workflows, YAML or JSON; `-` is stdin
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// The dialect of all files; without it, each file shows its own
    #[arg(long, short, value_parser = dialects::parser())]
    dialect: Option<Dialect>,

    /// How the findings are printed
    #[arg(long, short, value_name = "FORMAT", default_value = "text")]
    format: Format,

    /// Warnings count as errors for the exit status
    #[arg(long)]
    deny_warnings: bool,

    /// Check again whenever a file changes, until Ctrl-C
    #[arg(long, short)]
    watch: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people: the line, a caret under the place, the way out
    Text,
    /// One JSON object
    Json,
    /// SARIF 2.1.0, for code hosts and editors
    Sarif,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let stdins = arguments.files.iter().filter(|path| source::is_stdin(path)).count();
    if stdins > 1 {
        bail!("stdin can be read only once, and `-` is given {stdins} times");
    }
    if !arguments.watch {
        let report = Report::new(&arguments.files, arguments.dialect);
        report.print(arguments.format, "")?;
        let exit_code = report.exit_code(arguments.deny_warnings);
        // The process ends here, so nobody needs the memory: taking a large program apart would only take time.
        std::mem::forget(report);
        return Ok(exit_code);
    }
    if stdins > 0 {
        bail!("stdin cannot be watched\nhelp: give the name of a file");
    }
    if arguments.format != Format::Text {
        bail!("--watch prints for people, so --format must be text\nhelp: leave out --format, or --watch");
    }
    watch::watch(&arguments.files, |time| Report::new(&arguments.files, arguments.dialect).print(Format::Text, time))
}
