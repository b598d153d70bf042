//! `branchpoint man`: the manual pages, generated from the help.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_mangen::Man;

use crate::terminal;

/// Print or write the manual pages
#[derive(clap::Args)]
#[command(long_about = terminal::page(include_str!("man.txt")))]
pub(crate) struct Arguments {
    /// Folder to write the pages into [default: print the main page]
    folder: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let command = crate::Arguments::command();
    let Some(folder) = &arguments.folder else {
        terminal::print(&page(command)?)?;
        return Ok(ExitCode::SUCCESS);
    };
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let cannot = || format!("cannot write into {}", folder.display());
    clap_mangen::generate_to(command, folder).with_context(cannot)?;
    for entry in fs::read_dir(folder).with_context(cannot)? {
        let file = entry.with_context(cannot)?.path();
        if file.extension().is_some_and(|ending| ending == "1") {
            let page = fs::read_to_string(&file).with_context(cannot)?;
            fs::write(&file, plain(&page)).with_context(cannot)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn page(command: clap::Command) -> Result<String> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page).context("the page cannot be made")?;
    Ok(plain(&String::from_utf8(page).context("the page is not text")?))
}

/// Removes terminal styles.
fn plain(page: &str) -> String {
    anstream::adapter::strip_str(page).to_string()
}
