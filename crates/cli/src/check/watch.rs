//! Doing something again whenever a file changes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use anyhow::{Context, Result};
use jiff::Zoned;
use notify::{Event, RecursiveMode, Watcher};

use crate::terminal;

/// An editor that saves makes several events in a row; this long nothing must come before we look.
const QUIET: Duration = Duration::from_millis(60);

/// Does it now and after every change of one of the files, with the time as a mark, until the process is ended.
pub(crate) fn watch(paths: &[PathBuf], mut check: impl FnMut(&str) -> Result<()>) -> Result<ExitCode> {
    let (sender, events) = mpsc::channel();
    let mut watcher = notify::recommended_watcher(sender).context("cannot watch files on this system")?;
    // Editors replace a file instead of writing into it, and the new one is not the one that was watched. The folder stays.
    for folder in folders(paths) {
        watcher
            .watch(&folder, RecursiveMode::NonRecursive)
            .with_context(|| format!("cannot watch the folder {}", folder.display()))?;
    }
    loop {
        check(&Zoned::now().strftime("[%H:%M:%S] ").to_string())?;
        terminal::message("Watching for changes; Ctrl-C ends.\n");
        if !changed(&events, paths) {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

/// Waits for a change of one of the files, and until it is over. False when nothing can come any more.
fn changed(events: &Receiver<notify::Result<Event>>, paths: &[PathBuf]) -> bool {
    loop {
        let Ok(event) = events.recv() else { return false };
        if event.is_ok_and(|event| concerns(&event, paths)) {
            while events.recv_timeout(QUIET).is_ok() {}
            return true;
        }
    }
}

/// Whether an event changes one of the files. That someone reads it, as we do ourselves, changes nothing.
fn concerns(event: &Event, paths: &[PathBuf]) -> bool {
    let names = |path: &Path| paths.iter().any(|watched| watched.file_name() == path.file_name());
    !event.kind.is_access() && event.paths.iter().any(|path| names(path))
}

fn folders(paths: &[PathBuf]) -> BTreeSet<PathBuf> {
    let folder = |path: &PathBuf| match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    paths.iter().map(folder).collect()
}
