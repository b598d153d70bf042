//! Checks again whenever a file changes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use anyhow::{Context, Result};
use jiff::Zoned;
use notify::{Event, RecursiveMode, Watcher};

use super::files::{Files, is_candidate};
use crate::terminal;

/// The time without events after which a change is complete. An editor that saves a file causes several events in a row.
const QUIET: Duration = Duration::from_millis(60);

/// Checks now and after every change of the files, until the process is ended. The check gets the time as a mark.
pub(crate) fn watch(find: impl Fn() -> Result<Files>, mut check: impl FnMut(&str) -> Result<()>) -> Result<ExitCode> {
    let (sender, events) = mpsc::channel();
    let mut watcher = notify::recommended_watcher(sender).context("cannot watch files on this system")?;
    let mut watched = BTreeSet::new();
    loop {
        // New directories are watched before the check, so that no change after it is missed.
        let files = find()?;
        for folder in folders(&files) {
            if watched.insert(folder.clone()) {
                watcher
                    .watch(&folder, RecursiveMode::NonRecursive)
                    .with_context(|| format!("cannot watch the folder {}", folder.display()))?;
            }
        }
        watched.retain(|folder| folder.is_dir());
        check(&Zoned::now().strftime("[%H:%M:%S] ").to_string())?;
        terminal::message("Watching for changes; Ctrl-C ends.\n");
        if !changed(&events, &files) {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

/// Waits until a change of the files is complete. Returns false if no more events can come.
fn changed(events: &Receiver<notify::Result<Event>>, files: &Files) -> bool {
    loop {
        let Ok(event) = events.recv() else { return false };
        if event.is_ok_and(|event| concerns(&event, files)) {
            while events.recv_timeout(QUIET).is_ok() {}
            return true;
        }
    }
}

/// Whether an event changes one of the files, or a file or a directory below a watched directory. Reading a file changes nothing.
fn concerns(event: &Event, files: &Files) -> bool {
    let is_file = |path: &Path| files.paths.iter().any(|watched| watched.file_name() == path.file_name());
    let is_below = |path: &Path| {
        let is_inside =
            path.parent().is_some_and(|folder| files.directories.iter().any(|watched| is_same(watched, folder)));
        is_inside
            && (is_candidate(path) || path.is_dir() || files.directories.iter().any(|watched| is_same(watched, path)))
    };
    !event.kind.is_access() && event.paths.iter().any(|path| is_file(path) || is_below(path))
}

/// Whether two paths are the same. Events have absolute paths, also of folders that were given by relative ones.
fn is_same(left: &Path, right: &Path) -> bool {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute(left) == absolute(right)
}

/// The folders to watch: those of the files, because editors replace a file instead of writing to it, and all directories.
fn folders(files: &Files) -> BTreeSet<PathBuf> {
    let folder = |path: &PathBuf| match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    files.paths.iter().map(folder).chain(files.directories.iter().cloned()).collect()
}
