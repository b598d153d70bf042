//! `branchpoint dev`: `serve` over a folder of workflows, which are loaded again when they change.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::project::{Project, Reach, StoreArguments};
use crate::serve::{self, Listen};
use crate::terminal;

/// Serve a folder of workflows and reload changes
#[derive(clap::Args)]
#[command(long_about = terminal::page(include_str!("dev.txt")))]
pub(crate) struct Arguments {
    /// Folder with workflow files
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,

    #[command(flatten)]
    listen: Listen,

    #[command(flatten)]
    reach: Reach,

    #[command(flatten)]
    store: StoreArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    if !arguments.folder.is_dir() {
        bail!("{} is not a folder\nhelp: name the folder with your workflow files", arguments.folder.display());
    }
    let project = Project::find()?.reaching(arguments.reach);
    let place = serve::place(&project, &arguments.store)?;
    serve::serve(&project, &place, &arguments.listen, Some(&arguments.folder))
}
