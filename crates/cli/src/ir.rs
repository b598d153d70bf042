//! `branchpoint ir`: the compiled program of a workflow.

use std::process::ExitCode;

use anyhow::Result;
use branchpoint_core::ir::print;

use crate::{terminal, workflow};

/// Print the compiled program of a workflow
#[derive(clap::Args)]
#[command(long_about = terminal::page(include_str!("ir.txt")))]
pub(crate) struct Arguments {
    #[command(flatten)]
    workflow: workflow::File,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    match arguments.workflow.load()? {
        Ok(workflow) => terminal::print(&print(&workflow.program)).map(|()| ExitCode::SUCCESS),
        Err(refused) => Ok(refused),
    }
}
