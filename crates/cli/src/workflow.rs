//! Loads a workflow from a file.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind::NotFound;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use branchpoint_backend::Document;
use branchpoint_core::ir::Program;
use branchpoint_dialects::{DocumentKinds as _, Library, LoadOptions, Loaded, load_all, recognise_text};
use branchpoint_expr::{Diagnostic, Dialect, Kind, Located, Severity, Span};
use branchpoint_runners::{ReadError, read_regular_text_file};

use crate::source::{DOCUMENT_BYTES, Source, is_stdin};
use crate::{dialect_argument, exit, explain, terminal};

/// The workflow argument of a command.
#[derive(clap::Args)]
pub(crate) struct File {
    /// Workflow file, YAML or JSON; `-` reads stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Dialect [default: detected from the content]
    #[arg(long, short, value_parser = dialect_argument::parser())]
    dialect: Option<Dialect>,
}

/// A valid workflow.
pub(crate) struct Workflow {
    pub(crate) source: Source,
    pub(crate) program: Program,
    /// The programs of the workflows that it calls, by name.
    pub(crate) children: BTreeMap<Arc<str>, Program>,
    pub(crate) dialect: Option<Dialect>,
}

/// The stored form of a document. All versions of a file have the same name.
pub(crate) fn document(source: &Source, dialect: Option<Dialect>) -> Document {
    let Source { origin, text, .. } = source;
    let name = Path::new(origin).file_stem().map_or(origin.clone(), |stem| stem.to_string_lossy().into_owned());
    let dialect = dialect.map(|dialect| dialect.as_str().to_owned()).unwrap_or_default();
    Document { name, dialect, origin: origin.clone(), text: text.clone() }
}

/// The workflows that a document may call: the files in its folder.
struct Siblings<'f>(&'f Path);

impl Siblings<'_> {
    /// The text of the first file of that name; none if there is no such file.
    fn read(&self, name: &str) -> Option<Result<String, ReadError>> {
        let folder = self.0.parent()?;
        let texts = ["yaml", "yml", "json"].iter().map(|ending| {
            let file = folder.join(format!("{name}.{ending}"));
            read_regular_text_file(&file, DOCUMENT_BYTES)
        });
        let is_missing = |text: &Result<_, _>| matches!(text, Err(ReadError::Io(error)) if error.kind() == NotFound);
        texts.into_iter().find(|text| !is_missing(text))
    }
}

impl Library for Siblings<'_> {
    fn workflow(&self, name: &str) -> Option<String> {
        self.read(name)?.ok()
    }

    fn unreadable(&self, name: &str) -> Option<String> {
        Some(self.read(name)?.err()?.to_string())
    }

    fn root(&self) -> Option<&str> {
        self.0.file_stem()?.to_str()
    }
}

/// Loads a document with the workflows that it calls, which are in its folder.
pub(crate) fn load(text: &str, options: &LoadOptions, path: &Path) -> Loaded {
    let mut loaded = load_all(text, options, &Siblings(path));
    let is_named_json = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
    // A text that cannot be read as YAML either has its error already.
    if is_named_json && !loaded.diagnostics.iter().any(|finding| finding.kind == Kind::Yaml) {
        loaded.diagnostics.extend(branchpoint_dialects::not_json(text));
        loaded.diagnostics.sort_by_key(|finding| finding.span.start);
    }
    loaded
}

/// The remedy for a rejected document that looks like one of another dialect.
pub(crate) fn other_dialect(text: &str, read_as: Option<Dialect>) -> Option<String> {
    let (looks_like, read_as) = (recognise_text(text)?, read_as?);
    let help =
        format!("help: the document looks like `{}`, but it was read as `{}`\n", looks_like.as_str(), read_as.as_str());
    (looks_like != read_as).then_some(help)
}

/// The names of the workflows in the folder of a document.
pub(crate) fn sibling_names(path: &Path) -> BTreeSet<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let workflows = files.filter(|file| {
        file.extension().is_some_and(|ending| ["yaml", "yml", "json"].iter().any(|known| ending == *known))
    });
    workflows.filter_map(|file| Some(file.file_stem()?.to_str()?.to_owned())).collect()
}

impl File {
    /// The file at a path, whose dialect is detected.
    pub(crate) fn at(file: PathBuf) -> Self {
        Self { file, dialect: None }
    }

    pub(crate) fn is_stdin(&self) -> bool {
        is_stdin(&self.file)
    }

    /// The absolute folder of the file; none for stdin.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        let file = Some(&self.file).filter(|file| !is_stdin(file))?;
        Some(std::path::absolute(file).ok()?.parent()?.to_owned())
    }

    /// Loads the workflow. Findings are printed on stderr; a rejected workflow returns the exit code.
    pub(crate) fn load(&self) -> Result<Result<Workflow, ExitCode>> {
        self.load_with(&BTreeSet::new(), None)
    }

    /// Loads the workflow for a run in which a script answers these steps.
    pub(crate) fn load_scripted(&self, steps: &BTreeSet<String>) -> Result<Result<Workflow, ExitCode>> {
        // A run needs the workflows that it calls; a diagram does not.
        self.load_with(steps, (!self.is_stdin()).then(|| sibling_names(&self.file)))
    }

    fn load_with(
        &self,
        steps: &BTreeSet<String>,
        callees: Option<BTreeSet<String>>,
    ) -> Result<Result<Workflow, ExitCode>> {
        let source = Source::file(&self.file)?;
        let options = LoadOptions { dialect: self.dialect, scripted: steps.clone(), callees };
        let loaded = load(&source.text, &options, &self.file);
        terminal::message(&terminal::findings(&loaded.diagnostics, &source.text, &source.origin));
        if let Some(program) = loaded.program {
            return Ok(Ok(Workflow { source, program, children: loaded.children, dialect: loaded.dialect }));
        }
        terminal::message(&other_dialect(&source.text, self.dialect).unwrap_or_default());
        let error = loaded.diagnostics.iter().find(|finding| finding.severity == Severity::Error);
        if let Some(kind) = error.map(|error| error.cause().as_str()) {
            explain::print_hint(kind);
        }
        Ok(Err(ExitCode::from(exit::REJECTED)))
    }
}

/// Moves findings about whole steps to the ids of the steps.
pub(crate) fn point_at_names(findings: &mut [Diagnostic], text: &str) {
    let Ok(document) = branchpoint_dialects::read(text) else { return };
    for finding in findings {
        finding.span = name(&document, finding.span).unwrap_or(finding.span);
    }
}

/// The place of a step's id, or of its first key: a step may be pages long, and that is enough to find it.
fn name(value: &Located, step: Span) -> Option<Span> {
    if value.span == step {
        let id = value.get("id").map(|id| id.span);
        return id.or_else(|| value.fields().first().map(|field| field.key_span));
    }
    let inside = |value: &&Located| value.span.start <= step.start && step.end <= value.span.end;
    let items = value.items().unwrap_or_default().iter();
    items.chain(value.fields().iter().map(|field| &field.value)).filter(inside).find_map(|value| name(value, step))
}
