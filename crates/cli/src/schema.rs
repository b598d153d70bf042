//! `branchpoint schema`: what an editor needs to help with writing workflows.

use std::process::ExitCode;

use anyhow::{Result, bail};
use branchpoint_expr::Dialect;

use crate::{dialects, terminal};

/// Print the JSON Schema of a dialect, for editors
#[derive(clap::Args)]
#[command(
    long_about = terminal::page(include_str!("schema.txt")),
)]
pub(crate) struct Arguments {
    /// The dialect
    #[arg(value_parser = dialects::with_schema())]
    dialect: Dialect,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let dialect = arguments.dialect;
    let Some(schema) = branchpoint_dialects::schema(dialect) else {
        bail!("there is no schema for `{}` yet", dialect.as_str());
    };
    terminal::print(schema)?;
    Ok(ExitCode::SUCCESS)
}
