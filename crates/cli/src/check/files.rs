//! The workflows in a directory: its YAML and JSON files, those in directories below it included, without what `.gitignore` names.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use branchpoint_dialects::recognise_text;
use branchpoint_expr::Dialect;
use ignore::WalkBuilder;

use crate::source::Source;

/// How many files a directory may have that look like workflows by their names.
const MAX_FILES: usize = 20_000;

/// The files to check, and how many of a directory are not workflows.
#[derive(Default)]
pub(crate) struct Files {
    pub(crate) paths: Vec<PathBuf>,
    /// The directories among the given paths, and those below them.
    pub(crate) directories: Vec<PathBuf>,
    pub(crate) skipped: usize,
}

impl Files {
    /// The files among the paths, and the workflows in the directories among them. With a dialect, only workflows of it are taken from
    /// directories.
    pub(crate) fn find(paths: &[PathBuf], dialect: Option<Dialect>) -> Result<Self> {
        let mut files = Self::default();
        for path in paths {
            if path.is_dir() {
                files.add_directory(path, dialect)?;
            } else {
                files.paths.push(path.clone());
            }
        }
        Ok(files)
    }

    fn add_directory(&mut self, directory: &Path, dialect: Option<Dialect>) -> Result<()> {
        let mut candidates = Vec::new();
        // A directory that is not a repository may have a `.gitignore`, too.
        for entry in WalkBuilder::new(directory).require_git(false).build() {
            let entry = entry.with_context(|| format!("cannot read the directory {}", directory.display()))?;
            let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
            if entry.file_type().is_some_and(|kind| kind.is_dir()) {
                self.directories.push(entry.path().to_owned());
            }
            if is_file && is_candidate(entry.path()) {
                candidates.push(entry.into_path());
            }
            if candidates.len() > MAX_FILES {
                bail!(
                    "{} has more than {MAX_FILES} YAML and JSON files\nhelp: check a directory inside it, or exclude some in `.gitignore`",
                    directory.display()
                );
            }
        }
        candidates.sort();
        for path in candidates {
            let path = path.strip_prefix("./").map_or_else(|_| path.clone(), Path::to_owned);
            // A file that cannot be read is reported with the others.
            let is_workflow = Source::file(&path).map_or(true, |source| {
                let detected = recognise_text(&source.text);
                detected.is_some() && (dialect.is_none() || dialect == detected)
            });
            if is_workflow {
                self.paths.push(path);
            } else {
                self.skipped += 1;
            }
        }
        Ok(())
    }
}

pub(crate) fn is_candidate(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ["yaml", "yml", "json"].iter().any(|known| ending == *known))
}
