//! Serves the workflows of a folder: loads them, and loads them again when they change.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Result, bail};
use branchpoint_backend::{Backend, Workflow};
use branchpoint_dialects::LoadOptions;
use branchpoint_runners::{ReadError, read_regular_text_file};
use branchpoint_server::DefaultScripts;

use crate::check::files::Files;
use crate::check::watch::watch;
use crate::source::{DOCUMENT_BYTES, Source};
use crate::{terminal, time, workflow};

/// The folder, where its workflows are saved, and what was loaded last.
struct Folder {
    path: PathBuf,
    backend: Box<dyn Backend>,
    scripts: DefaultScripts,
    /// The files by their paths. A file is loaded again when it changes, or another file that it may call.
    loaded: BTreeMap<PathBuf, File>,
}

/// A workflow file and the script beside it.
#[derive(PartialEq, Eq)]
struct File {
    source: Source,
    script: Option<String>,
}

/// Loads the workflows of a folder, and then follows its changes on a thread of its own, until the process ends.
pub(super) fn start(path: &Path, backend: Box<dyn Backend>, scripts: DefaultScripts) -> Result<()> {
    let mut folder = Folder { path: path.to_owned(), backend, scripts, loaded: BTreeMap::new() };
    folder.load("")?;
    let follow = move || {
        let paths = [folder.path.clone()];
        let ended = watch(|| Files::find(&paths, None), |time| folder.load(time));
        if let Err(error) = ended {
            terminal::message(&format!("Changes are no longer loaded: {error:#}\n"));
        }
    };
    thread::Builder::new().name("reload".into()).spawn(follow).context("cannot start a thread")?;
    Ok(())
}

impl File {
    fn read(path: &Path) -> Result<Self> {
        let source = Source::file(path)?;
        let script = path.with_extension("script.yaml");
        // A script that exists and cannot be read must not turn into calls that cost money.
        let script = match read_regular_text_file(&script, DOCUMENT_BYTES) {
            Ok(text) => Some(text),
            Err(ReadError::Io(error)) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => bail!("{} cannot be read: {error}", script.display()),
        };
        Ok(Self { source, script })
    }
}

impl Folder {
    /// Loads the files that have changed. One with errors keeps its last valid version.
    fn load(&mut self, time: &str) -> Result<()> {
        let files = Files::find(std::slice::from_ref(&self.path), None)?;
        let mut present = BTreeMap::new();
        for path in files.paths {
            match File::read(&path) {
                Ok(file) => drop(present.insert(path, file)),
                Err(error) => terminal::message(&format!("{time}{error:#}; its last valid version stays\n")),
            }
        }
        let earlier = std::mem::replace(&mut self.loaded, present);
        if earlier == self.loaded {
            return Ok(());
        }
        // A workflow is stored with those that it calls, so a change concerns its callers, too. Equal ones are saved once.
        for (path, file) in &self.loaded {
            let line = self.load_file(path, file).unwrap_or_else(|error| format!("{}: {error:#}", path.display()));
            if earlier.get(path) != Some(file) {
                terminal::message(&format!("{time}{line}\n"));
            }
        }
        Ok(())
    }

    /// Saves the workflow of a file with its script. Returns what to report.
    fn load_file(&self, path: &Path, file: &File) -> Result<String> {
        let callees = Some(workflow::sibling_names(path));
        let loaded = workflow::load(&file.source.text, &LoadOptions { callees, ..LoadOptions::default() }, path);
        terminal::message(&terminal::findings(&loaded.diagnostics, &file.source.text, &file.source.origin));
        let document = workflow::document(&file.source, loaded.dialect);
        let Some(program) = &loaded.program else {
            return Ok(format!("`{}` has errors; its last valid version stays", document.name));
        };
        let saved = Workflow { document: &document, program, children: &loaded.children };
        self.backend.save(saved, time::now_ms())?;
        self.scripts.set(&document.name, file.script.clone());
        let answered = if file.script.is_some() { ", answered by its script" } else { "" };
        Ok(format!("Loaded `{}`{answered}", document.name))
    }
}
