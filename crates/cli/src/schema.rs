//! `branchpoint schema`: what an editor needs to help with writing workflows.

use std::process::ExitCode;

use anyhow::Result;
use branchpoint_expr::Dialect;

use crate::{dialect_argument, terminal};

/// Print the JSON Schema of a dialect, for editors
#[derive(clap::Args)]
#[command(
    long_about = terminal::page(include_str!("schema.txt")),
)]
pub(crate) struct Arguments {
    /// Dialect
    #[arg(value_parser = dialect_argument::parser())]
    dialect: Dialect,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    terminal::print(&branchpoint_dialects::schema(arguments.dialect))?;
    Ok(ExitCode::SUCCESS)
}
