//! `branchpoint knowledge add`: files and folders become documents of a knowledge base.

use std::fs;
use std::io::{IsTerminal, stderr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use branchpoint_expr::{Object, Value};
use branchpoint_runners::documents::DocumentFormat;
use branchpoint_runners::knowledge::{ChunkSize, DocumentIndex, FoundFiles, IndexError, Indexed, Indexer, find_files};
use branchpoint_runners::runtime;
use branchpoint_runners::storage::MAX_CONTENT_BYTES;
use indicatif::{ProgressBar, ProgressStyle};

use crate::exit::{self, Exit};
use crate::project::{Project, StoreArguments};
use crate::{backend, configured_runners, interrupt, json, terminal, text_extraction};

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The files and folders
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,

    /// The knowledge base
    #[arg(long, short, value_name = "NAME", default_value = "default")]
    base: String,

    /// A fact about all of these documents, which `filter` of a step can name
    #[arg(long, value_name = "KEY=VALUE", value_parser = fact)]
    metadata: Vec<(String, String)>,

    /// Remove documents of these folders whose files are gone
    #[arg(long)]
    delete: bool,

    /// The most bytes of a passage
    #[arg(long, value_name = "BYTES", default_value_t = ChunkSize::default().passage)]
    passage_size: usize,

    /// The bytes that a passage repeats of the one before it
    #[arg(long, value_name = "BYTES", default_value_t = ChunkSize::default().overlap)]
    overlap: usize,

    /// Print errors only
    #[arg(long, short)]
    quiet: bool,
}

fn fact(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or("it must be KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// The files that were handled, with the outcome of each.
#[derive(Default)]
struct Report {
    added: Vec<(String, usize)>,
    updated: Vec<(String, usize)>,
    unchanged: Vec<String>,
    duplicates: Vec<(String, String)>,
    empty: Vec<String>,
    removed: Vec<String>,
    failed: Vec<(String, String)>,
    unsupported: usize,
}

pub(super) fn run(arguments: &Arguments, store: &StoreArguments, json: bool) -> Result<ExitCode> {
    check_size(arguments)?;
    let project = Project::find()?;
    let storage = backend::storage(&project, store)?;
    let tools = configured_runners::tools(&project, &project.secret_store(store)?)?;
    let (extractor, secrets) = (text_extraction::extractor()?, project.all_secrets()?);
    let metadata = arguments.metadata.iter().map(|(key, value)| (key.as_str().into(), Value::from(value.as_str())));
    let indexer = Indexer {
        knowledge: storage.knowledge(),
        knowledge_base: &arguments.base,
        extractor: &extractor,
        tools: &tools,
        secrets: &secrets,
        size: ChunkSize { passage: arguments.passage_size, overlap: arguments.overlap },
        metadata: metadata.collect::<Object>(),
    };
    let files = find_files(&arguments.paths).map_err(anyhow::Error::msg)?;
    let mut add = Adding { project: &project, indexer, report: Report::default(), show: !json && !arguments.quiet };
    let is_done = add.all(arguments, files)?;
    let report = add.report;
    if json {
        terminal::print_json(&report.json(&arguments.base))?;
    } else if !arguments.quiet {
        terminal::print(&report.summary(&arguments.base))?;
    }
    Ok(match (is_done, report.failed.is_empty()) {
        (false, _) => {
            terminal::message("Interrupted; what was added stays, and the same command adds the rest.\n");
            ExitCode::from(exit::INTERRUPTED)
        }
        (true, true) => ExitCode::SUCCESS,
        (true, false) => ExitCode::from(exit::USAGE),
    })
}

fn check_size(arguments: &Arguments) -> Result<()> {
    let Arguments { passage_size, overlap, .. } = arguments;
    if !(64..=MAX_CONTENT_BYTES).contains(passage_size) {
        bail!("--passage-size must be from 64 to {MAX_CONTENT_BYTES} bytes");
    }
    if *overlap > passage_size / 2 {
        bail!("--overlap must be at most half of --passage-size");
    }
    Ok(())
}

struct Adding<'p> {
    project: &'p Project,
    indexer: Indexer<'p>,
    report: Report,
    show: bool,
}

impl Adding<'_> {
    /// Adds all files. False: Ctrl-C has ended it.
    fn all(&mut self, arguments: &Arguments, files: FoundFiles) -> Result<bool> {
        let mut known =
            DocumentIndex::load(self.indexer.knowledge, self.indexer.knowledge_base).map_err(super::storage_error)?;
        self.report.unsupported = files.unsupported;
        for (path, reason) in files.failed {
            self.fail(path.display().to_string(), reason);
        }
        let names: Vec<String> = files.files.iter().map(|(path, _)| self.name(path)).collect();
        if arguments.delete {
            self.delete(&arguments.paths, &names, &mut known)?;
        }
        let bar = self.bar(files.files.len() as u64);
        let cancel = interrupt::cancellation_token()?;
        let mut again = Vec::new();
        let entries: Vec<(&Path, DocumentFormat, &str)> =
            files.files.iter().zip(&names).map(|((path, format), name)| (&**path, *format, &**name)).collect();
        for (path, format, name) in &entries {
            let indexed = runtime().block_on(self.indexer.index((path, *format), name, &mut known, &cancel));
            if cancel.is_cancelled() {
                return Ok(false);
            }
            match indexed {
                Ok(Indexed::Duplicate(of)) => again.push((*path, *format, *name, of)),
                indexed => bar.suspend(|| self.note((*name).to_owned(), indexed))?,
            }
            bar.inc(1);
        }
        // The document that had the same content may have changed since.
        for (path, format, name, _) in again {
            let indexed = runtime().block_on(self.indexer.index((path, format), name, &mut known, &cancel));
            if cancel.is_cancelled() {
                return Ok(false);
            }
            bar.suspend(|| self.note(name.to_owned(), indexed))?;
        }
        bar.finish_and_clear();
        Ok(true)
    }

    /// Removes documents below the named folders that have no file any more.
    fn delete(&mut self, paths: &[PathBuf], names: &[String], known: &mut DocumentIndex) -> Result<()> {
        for folder in paths.iter().filter(|path| path.is_dir()) {
            for name in known.below(&self.name(folder)) {
                if names.binary_search(&name).is_err() && !names.contains(&name) {
                    let base = self.indexer.knowledge_base;
                    self.indexer.knowledge.remove_document(base, &name).map_err(super::storage_error)?;
                    known.forget(&name);
                    self.report.removed.push(name);
                }
            }
        }
        Ok(())
    }

    /// The name of a document: the path of its file, relative to the folder of the project where that is possible.
    fn name(&self, path: &Path) -> String {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let folder = fs::canonicalize(&self.project.folder).unwrap_or_default();
        path.strip_prefix(&folder).unwrap_or(&path).display().to_string()
    }

    fn bar(&self, files: u64) -> ProgressBar {
        if !self.show || !stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let style = ProgressStyle::with_template("{bar:20} {pos}/{len} files {elapsed}");
        ProgressBar::new(files).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
    }

    fn note(&mut self, name: String, indexed: Result<Indexed, IndexError>) -> Result<()> {
        match indexed {
            Ok(Indexed::Added(passages)) => self.report.added.push((name, passages)),
            Ok(Indexed::Updated(passages)) => self.report.updated.push((name, passages)),
            Ok(Indexed::Unchanged) => self.report.unchanged.push(name),
            Ok(Indexed::Duplicate(of)) => self.report.duplicates.push((name, of)),
            Ok(Indexed::Empty) => self.report.empty.push(name),
            Err(IndexError::File(reason)) => self.fail(name, reason),
            Err(IndexError::System(reason)) => return Err(system(format!("cannot add `{name}`: {reason}"))),
        }
        Ok(())
    }

    fn fail(&mut self, name: String, reason: String) {
        terminal::error(&format!("cannot add `{name}`: {reason}"));
        self.report.failed.push((name, reason));
    }
}

fn system(message: String) -> anyhow::Error {
    Exit::system(message).into()
}

impl Report {
    fn summary(&self, base: &str) -> String {
        let counts = [
            (self.added.len(), "added"),
            (self.updated.len(), "updated"),
            (self.unchanged.len(), "unchanged"),
            (self.duplicates.len(), "duplicate"),
            (self.empty.len(), "without text"),
            (self.removed.len(), "removed"),
            (self.unsupported, "skipped (unsupported format)"),
            (self.failed.len(), "failed"),
        ];
        let counts: Vec<String> =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        let counts = if counts.is_empty() { "no files".to_owned() } else { counts.join(", ") };
        format!("Knowledge base `{base}`: {counts}.\n")
    }

    fn json(&self, base: &str) -> Value {
        let text = |text: &String| Value::from(text.as_str());
        let counted = |files: &[(String, usize)]| {
            let file = |(name, passages): &(String, usize)| {
                json::object([("document", text(name)), ("passages", json::count(*passages))])
            };
            Value::from(files.iter().map(file).collect::<Vec<_>>())
        };
        let paired = |files: &[(String, String)], key: &str| {
            let file = |(name, of): &(String, String)| json::object([("document", text(name)), (key, text(of))]);
            Value::from(files.iter().map(file).collect::<Vec<_>>())
        };
        json::object([
            ("knowledge_base", Value::from(base)),
            ("added", counted(&self.added)),
            ("updated", counted(&self.updated)),
            ("unchanged", json::count(self.unchanged.len())),
            ("duplicates", paired(&self.duplicates, "same_as")),
            ("empty", Value::from(self.empty.iter().map(text).collect::<Vec<_>>())),
            ("removed", Value::from(self.removed.iter().map(text).collect::<Vec<_>>())),
            ("unsupported", json::count(self.unsupported)),
            ("failed", paired(&self.failed, "error")),
        ])
    }
}
