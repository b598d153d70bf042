//! `branchpoint graph`: the control flow of a workflow as a diagram.

use std::process::ExitCode;

use anyhow::Result;
use branchpoint_core::ir::picture::{dot, mermaid};
use branchpoint_dialects::picture;
use clap::ValueEnum;

use crate::{terminal, workflow};

/// Draw the control flow of a workflow
#[derive(clap::Args)]
#[command(
    long_about = terminal::page(include_str!("graph.txt")),
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    workflow: workflow::File,

    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "mermaid")]
    format: Format,
}

/// The language of a picture.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Format {
    /// For Markdown pages: code hosts draw it
    Mermaid,
    /// For Graphviz
    Dot,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let workflow = match arguments.workflow.load()? {
        Ok(workflow) => workflow,
        Err(refused) => return Ok(refused),
    };
    let picture = picture(&workflow.program, &workflow.source.text, workflow.dialect);
    terminal::print(&match arguments.format {
        Format::Mermaid => mermaid(&picture),
        Format::Dot => dot(&picture),
    })?;
    Ok(ExitCode::SUCCESS)
}
