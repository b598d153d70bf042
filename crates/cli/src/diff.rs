//! `branchpoint diff`: what two versions of a workflow do differently.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};
use branchpoint_backend::{Backend, Document};
use branchpoint_core::ir::picture::{Picture, dot_compared, mermaid_compared};
use branchpoint_dialects::{ChangesError, changes, load, picture};
use branchpoint_expr::{Diagnostic, Dialect};

use crate::graph::Format;
use crate::project::{Project, StoreArguments};
use crate::source::{Source, is_stdin};
use crate::{backend, dialect_argument, exit, terminal};

/// The documents differ in meaning.
const CHANGED: u8 = 1;

/// An error: no comparison was made.
pub(crate) const ERROR: u8 = 2;

/// Compare two versions of a workflow by meaning
#[derive(clap::Args)]
#[command(
    long_about = terminal::page(include_str!("diff.txt")),
    after_long_help = terminal::page(include_str!("diff-after.txt")),
)]
pub(crate) struct Arguments {
    /// Old version: a file, `-` for stdin, or NAME or NAME@HASH of a stored workflow
    #[arg(value_name = "OLD")]
    old: String,

    /// New version
    #[arg(value_name = "NEW")]
    new: String,

    /// Dialect of both [default: detected from the content]
    #[arg(long, short, value_parser = dialect_argument::parser())]
    dialect: Option<Dialect>,

    /// Print a JSON object
    #[arg(long)]
    json: bool,

    /// Draw both versions as one picture with marked changes
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, default_missing_value = "mermaid", conflicts_with = "json")]
    graph: Option<Format>,

    #[command(flatten)]
    store: StoreArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    if arguments.old == "-" && arguments.new == "-" {
        bail!("stdin can be read only once, but `-` is given 2 times");
    }
    let old = version(&arguments.old, &arguments.store)?;
    let new = version(&arguments.new, &arguments.store)?;
    let difference = match changes(&old.text, &new.text, arguments.dialect) {
        Ok(difference) => difference,
        Err(ChangesError::OldInvalid(findings)) => return Ok(print_findings(&findings, &old)),
        Err(ChangesError::NewInvalid(findings)) => return Ok(print_findings(&findings, &new)),
        Err(error @ ChangesError::OtherDialect(..)) => bail!("{error}"),
    };
    if let Some(format) = arguments.graph {
        let (Some(old), Some(new)) = (picture_of(&old, arguments.dialect), picture_of(&new, arguments.dialect)) else {
            bail!("the workflow cannot be drawn");
        };
        let compared = difference.picture(&old, &new);
        terminal::print(&match format {
            Format::Mermaid => mermaid_compared(&compared),
            Format::Dot => dot_compared(&compared),
        })?;
    } else if arguments.json {
        terminal::print_json(&difference.to_json())?;
    } else {
        terminal::print(&difference.to_text())?;
    }
    Ok(if difference.list.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(CHANGED) })
}

fn picture_of(document: &Document, dialect: Option<Dialect>) -> Option<Picture> {
    let loaded = load(&document.text, dialect);
    Some(picture(&loaded.program?, &document.text, loaded.dialect))
}

fn print_findings(findings: &[Diagnostic], document: &Document) -> ExitCode {
    terminal::message(&terminal::findings(findings, &document.text, &document.origin));
    ExitCode::from(exit::REJECTED)
}

/// Reads a version of a workflow: a file, stdin, or a stored workflow.
fn version(name: &str, arguments: &StoreArguments) -> Result<Document> {
    let path = Path::new(name);
    if is_stdin(path) || path.is_file() {
        let Source { origin, text, .. } = Source::file(path)?;
        return Ok(Document { origin, text, ..Document::default() });
    }
    let project = Project::find()?;
    if !project.store_path(arguments)?.is_file() {
        bail!("there is no file `{name}`, and no store that could have a workflow of that name");
    }
    let store = backend::open(&project, arguments)?;
    match stored_version(&*store, name)? {
        Some(workflow) => Ok(Document { origin: name.to_owned(), ..store.document(workflow)? }),
        None => bail!(
            "there is no file `{name}`, and no stored workflow of that name\nhelp: `branchpoint workflows list` lists those of the store"
        ),
    }
}

/// The stored workflow of a name: the newest of it, or the one whose hash begins as the part after `@` says.
pub(crate) fn stored_version(store: &dyn Backend, name: &str) -> Result<Option<branchpoint_backend::WorkflowNo>> {
    let Some((workflow, hash)) = name.rsplit_once('@').filter(|(_, hash)| !hash.is_empty()) else {
        return Ok(store.workflow(name)?);
    };
    let is_version = |listed: &&branchpoint_backend::WorkflowSummary| {
        (listed.name == workflow || workflow.is_empty()) && listed.hash.starts_with(hash)
    };
    let listed = store.workflows()?;
    let versions: Vec<_> = listed.iter().filter(is_version).collect();
    match versions[..] {
        [] => Ok(None),
        [version] => Ok(Some(version.workflow)),
        _ => bail!("several versions of `{workflow}` begin with `{hash}`\nhelp: write more of the hash"),
    }
}
