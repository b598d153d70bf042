//! `branchpoint check`: what is wrong with workflows, reported before anything runs.

pub(crate) mod files;
mod report;
mod runner_check;
pub(crate) mod watch;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use branchpoint_expr::Dialect;
use clap::ValueEnum;

use self::files::Files;
use self::report::Report;
pub(crate) use self::runner_check::RunnerCheck;
use crate::{dialect_argument, source, terminal};

/// Check workflows for errors before they run
#[derive(clap::Args)]
#[command(
    long_about = terminal::page(include_str!("about.txt")),
    after_long_help = terminal::page(include_str!("after.txt")),
)]
pub(crate) struct Arguments {
    /// Workflow files (YAML or JSON) or directories; `-` reads stdin
    #[arg(value_name = "PATH", required = true)]
    files: Vec<PathBuf>,

    /// Dialect of all files [default: detected from the content]
    #[arg(long, short, value_parser = dialect_argument::parser())]
    dialect: Option<Dialect>,

    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "text")]
    format: Format,

    /// Exit with an error when there are warnings
    #[arg(long)]
    deny_warnings: bool,

    /// Check again when a file changes, until Ctrl-C
    #[arg(long, short)]
    watch: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people: the line, a marker under the location, and the remedy
    Text,
    /// One JSON object
    Json,
    /// SARIF 2.1.0, for code hosts and editors
    Sarif,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let stdins = arguments.files.iter().filter(|path| source::is_stdin(path)).count();
    if stdins > 1 {
        bail!("stdin can be read only once, but `-` is given {stdins} times");
    }
    if !arguments.watch {
        let report = arguments.report()?;
        report.print(arguments.format, "")?;
        let exit_code = report.exit_code(arguments.deny_warnings);
        // The process ends here, so the memory need not be freed: dropping a large program would only take time.
        std::mem::forget(report);
        return Ok(exit_code);
    }
    if stdins > 0 {
        bail!("stdin cannot be watched\nhelp: give the name of a file");
    }
    if arguments.format != Format::Text {
        bail!("--watch supports only --format text\nhelp: leave out --format or --watch");
    }
    watch::watch(
        || Files::find(&arguments.files, arguments.dialect),
        |time| arguments.report()?.print(Format::Text, time),
    )
}

impl Arguments {
    /// Reads and checks the files.
    fn report(&self) -> Result<Report> {
        let files = Files::find(&self.files, self.dialect)?;
        if files.paths.is_empty() {
            let names: Vec<String> = self.files.iter().map(|path| path.display().to_string()).collect();
            let others = match files.skipped {
                0 => "it has no YAML or JSON files".to_owned(),
                1 => "its only YAML or JSON file is not a workflow".to_owned(),
                other => format!("its {other} YAML and JSON files are not workflows"),
            };
            bail!("no workflow found in {}: {others}\nhelp: name a file to check it anyway", names.join(", "));
        }
        Ok(Report::new(&files.paths, self.dialect).with_skipped(files.skipped))
    }
}
