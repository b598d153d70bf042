//! `branchpoint eval`: one condition over one context.

mod context;
mod decision;
mod json;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use branchpoint_expr::{Diagnostic, Dialect};
use clap::builder::TypedValueParser;

use self::decision::Decision;
use self::report::Report;
use crate::source::Source;
use crate::terminal;

/// The exit status of everything that is neither true nor false; wrong arguments too.
pub(crate) const ERROR: u8 = 2;

/// Why there is nothing to evaluate.
enum Stop {
    /// Something is wrong at a place in a text.
    Found { source: Source, findings: Vec<Diagnostic> },
    /// Anything else.
    Other(anyhow::Error),
}

impl From<anyhow::Error> for Stop {
    fn from(error: anyhow::Error) -> Self {
        Self::Other(error)
    }
}

/// Evaluate a condition over a context
#[derive(clap::Args)]
#[command(
    override_usage = "branchpoint eval [OPTIONS] <EXPR>\n       branchpoint eval [OPTIONS] --condition <FILE>",
    long_about = terminal::page(include_str!("about.txt")),
    after_long_help = terminal::page(include_str!("after.txt")),
)]
pub(crate) struct Arguments {
    /// Condition as an expression
    #[arg(value_name = "EXPR", required_unless_present = "condition", conflicts_with = "condition")]
    expression: Option<String>,

    /// A JSON object with the values that the condition can see; `-` is stdin
    ///
    /// Without it, the context is empty.
    #[arg(long, short, value_name = "FILE")]
    context: Option<PathBuf>,

    /// A file with the condition, YAML or JSON, instead of EXPR; `-` is stdin
    ///
    /// A file whose name ends in `.expr` or `.txt` holds the text of an expression.
    #[arg(long, value_name = "FILE")]
    condition: Option<PathBuf>,

    /// Dialect of the condition
    #[arg(long, short, default_value = "machine", value_parser = dialects())]
    dialect: Dialect,

    /// Explain the result: a sentence, and every part with its value
    #[arg(long, short)]
    explain: bool,

    /// Print one JSON object instead of text
    #[arg(long, short)]
    json: bool,
}

fn dialects() -> impl TypedValueParser<Value = Dialect> {
    crate::dialect_argument::value_parser(|dialect| match dialect {
        Dialect::Machine => "state machines: expressions, typed groups",
        Dialect::Flow => "JSON flows: typed groups",
        Dialect::Steps => "step trees: target lists, gates, expressions",
        Dialect::Session => "tool gating: conditions on the history",
        Dialect::Graph => "graphs: text match",
    })
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let report = match evaluate(arguments) {
        Ok(report) => report,
        Err(Stop::Found { source, findings }) => Report::new(source, findings),
        Err(Stop::Other(error)) => {
            // A program that reads JSON also gets the error on stdout.
            if arguments.json {
                json::print_failure(&error)?;
            }
            return Err(error);
        }
    };
    let print = if arguments.json { json::print } else { Report::print };
    print(&report)?;
    Ok(report.exit_code())
}

fn evaluate(arguments: &Arguments) -> Result<Report, Stop> {
    let is_stdin = |path: &Option<PathBuf>| path.as_deref().is_some_and(crate::source::is_stdin);
    if is_stdin(&arguments.condition) && is_stdin(&arguments.context) {
        return Err(anyhow!("the condition and the context cannot both come from stdin").into());
    }
    let source = match (&arguments.expression, &arguments.condition) {
        (_, Some(path)) => Source::file(path)?,
        (expression, None) => Source::expression(expression.as_deref().unwrap_or_default()),
    };
    let context = context::read(arguments.context.as_deref(), arguments.dialect)?;
    match Decision::compile(&source, arguments.dialect) {
        Ok(decision) => Ok(decision.decide(&context, source, arguments.explain)),
        Err(findings) => Err(Stop::Found { source, findings }),
    }
}
