//! The findings in the checked files.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use branchpoint_dialects::DocumentKinds as _;
use branchpoint_dialects::{LoadOptions, Loaded};
use branchpoint_expr::{
    Diagnostic, Dialect, Kind, Severity, SourceFindings, UnreadableSource, render_json, render_sarif,
};
use serde::Serialize;
use serde_json::Value;

use super::Format;
use super::runner_check::RunnerCheck;
use crate::source::Source;
use crate::{exit, explain, source, terminal, workflow};

/// The findings of every file, in the order in which the files were given.
pub(crate) struct Report {
    files: Vec<Checked>,
    /// How many files of directories are not workflows.
    skipped: usize,
}

/// A checked or unreadable file.
enum Checked {
    Loaded(Source, Box<Loaded>),
    /// The file could not be read, for this reason.
    Unread(PathBuf, anyhow::Error),
}

/// The JSON output. Its keys are in reading order.
#[derive(Serialize)]
struct ReportJson {
    files: Vec<File>,
    errors: usize,
    warnings: usize,
}

#[derive(Serialize)]
struct File {
    file: String,
    dialect: Option<&'static str>,
    /// Why it could not be read.
    error: Option<String>,
    diagnostics: Value,
}

impl Report {
    /// Reads and checks the files. An unreadable file does not prevent the check of the others.
    pub(crate) fn new(paths: &[PathBuf], dialect: Option<Dialect>) -> Self {
        // Documents are checked even if the configuration cannot be read.
        let configured = RunnerCheck::find().unwrap_or_else(|error| {
            terminal::error(&format!("{error:#}\nSteps without a configured runner are not reported."));
            None
        });
        let files = paths.iter().map(|path| match Source::file(path) {
            Ok(source) => {
                let loaded = check_source(&source, dialect, path, configured.as_ref());
                Checked::Loaded(source, Box::new(loaded))
            }
            Err(error) => Checked::Unread(path.clone(), error),
        });
        Self { files: files.collect(), skipped: 0 }
    }

    /// The same for directories with this many files that are not workflows.
    pub(super) fn with_skipped(self, skipped: usize) -> Self {
        Self { skipped, ..self }
    }

    /// Prints the findings on stdout, and a summary after the mark on stderr.
    pub(crate) fn print(&self, format: Format, mark: &str) -> Result<()> {
        match format {
            Format::Text => terminal::print_styled(&self.text())?,
            Format::Json => drop(terminal::print_json(&self.json())?),
            Format::Sarif => drop(terminal::print_json(&self.sarif())?),
        }
        for (_, reason) in self.unread() {
            terminal::error(&reason);
        }
        terminal::message(&format!("{mark}{}\n", self.summary()));
        Ok(())
    }

    pub(crate) fn exit_code(&self, deny_warnings: bool) -> ExitCode {
        let unread = self.unread().next().is_some();
        let refused = self.count(Severity::Error) > 0 || deny_warnings && self.count(Severity::Warning) > 0;
        match (refused, unread) {
            (true, _) => ExitCode::from(exit::REJECTED),
            (_, true) => ExitCode::from(exit::USAGE),
            _ => ExitCode::SUCCESS,
        }
    }

    fn text(&self) -> String {
        let rendered = self
            .loaded()
            .filter(|(_, loaded)| !loaded.diagnostics.is_empty())
            .map(|(source, loaded)| terminal::findings(&loaded.diagnostics, &source.text, &source.origin));
        let mut text = rendered.collect::<Vec<_>>().join("\n");
        if let Some(kind) = self.worst().map(|finding| finding.cause().as_str()) {
            text = format!("{text}\nMore about this: branchpoint explain {kind}\n");
        }
        text
    }

    fn json(&self) -> ReportJson {
        let files = self.files.iter().map(|file| match file {
            Checked::Loaded(source, loaded) => File {
                file: source.origin.clone(),
                dialect: loaded.dialect.map(Dialect::as_str),
                error: None,
                diagnostics: render_json(&loaded.diagnostics, &source.text, &source.origin),
            },
            Checked::Unread(path, error) => File {
                file: path.display().to_string(),
                dialect: None,
                error: Some(format!("{error:#}")),
                diagnostics: Value::Array(Vec::new()),
            },
        });
        ReportJson {
            files: files.collect(),
            errors: self.count(Severity::Error),
            warnings: self.count(Severity::Warning),
        }
    }

    fn sarif(&self) -> Value {
        let texts = self.loaded().map(|(source, loaded)| SourceFindings {
            origin: &source.origin,
            source: &source.text,
            diagnostics: &loaded.diagnostics,
        });
        let texts: Vec<_> = texts.collect();
        let unread: Vec<(String, String)> = self.unread().collect();
        let unread: Vec<_> = unread.iter().map(|(origin, reason)| UnreadableSource { origin, reason }).collect();
        render_sarif(&texts, &unread, env!("CARGO_PKG_VERSION"), |kind| explain::summary(kind.as_str()))
    }

    /// The number of files and of findings, on one line.
    fn summary(&self) -> String {
        let files = count_of(self.files.len(), "file");
        let unread = self.unread().count();
        let parts = [
            (self.count(Severity::Error), "error"),
            (self.count(Severity::Warning), "warning"),
            (unread, "unreadable file"),
        ];
        let counts: Vec<String> =
            parts.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| count_of(count, what)).collect();
        let skipped = match self.skipped {
            0 => String::new(),
            1 => " (1 other file skipped: not a workflow)".to_owned(),
            count => format!(" ({count} other files skipped: not workflows)"),
        };
        if counts.is_empty() {
            format!("{files} checked: all good{skipped}")
        } else {
            format!("{files} checked: {}{skipped}", counts.join(", "))
        }
    }

    fn loaded(&self) -> impl Iterator<Item = (&Source, &Loaded)> {
        self.files.iter().filter_map(|file| match file {
            Checked::Loaded(source, loaded) => Some((source, &**loaded)),
            Checked::Unread(..) => None,
        })
    }

    /// The files that could not be read, each with the reason.
    fn unread(&self) -> impl Iterator<Item = (String, String)> {
        self.files.iter().filter_map(|file| match file {
            Checked::Loaded(..) => None,
            Checked::Unread(path, error) => Some((path.display().to_string(), format!("{error:#}"))),
        })
    }

    fn findings(&self) -> impl Iterator<Item = &Diagnostic> {
        self.loaded().flat_map(|(_, loaded)| &loaded.diagnostics)
    }

    fn count(&self, severity: Severity) -> usize {
        self.findings().filter(|finding| finding.severity == severity).count()
    }

    /// The first error, else the first warning.
    fn worst(&self) -> Option<&Diagnostic> {
        let error = self.findings().find(|finding| finding.severity == Severity::Error);
        error.or_else(|| self.findings().next())
    }
}

fn count_of(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Loads a document with the workflows that it calls. A missing workflow is a warning, because the process that runs the document may
/// have it.
fn check_source(source: &Source, dialect: Option<Dialect>, path: &Path, configured: Option<&RunnerCheck>) -> Loaded {
    let callees = (!source::is_stdin(path)).then(|| workflow::sibling_names(path));
    let mut loaded = workflow::load(&source.text, &LoadOptions { dialect, callees, ..LoadOptions::default() }, path);
    for finding in &mut loaded.diagnostics {
        if matches!(finding.kind, Kind::UnknownWorkflow | Kind::WorkflowNotFound) {
            finding.severity = Severity::Warning;
        }
    }
    // The document is read again only if it can have a trigger.
    if loaded.dialect == Some(Dialect::Steps) && source.text.contains("trigger") {
        loaded.diagnostics.extend(branchpoint_dialects::unserved_trigger(&source.text));
    }
    if let (Some(configured), Some(program)) = (configured, &loaded.program) {
        loaded.diagnostics.extend(configured.findings(program, &source.text));
    }
    loaded.diagnostics.sort_by_key(|finding| finding.span.start);
    loaded
}
