//! Source texts: a workflow, a condition or a context, with a name for messages.

use std::io;
use std::path::Path;

use anyhow::{Result, anyhow};
use branchpoint_dialects::limits;
use branchpoint_runners::{ReadError, read_text, read_text_file};

/// The longest document that is read, in bytes.
pub(crate) const DOCUMENT_BYTES: u64 = limits::DOCUMENT_BYTES as u64;

/// The longest file of values that is read, in bytes: inputs of a run, the context of a condition.
const VALUES_BYTES: u64 = 2 * DOCUMENT_BYTES;

/// A text and where it comes from.
#[derive(PartialEq, Eq)]
pub(crate) struct Source {
    /// The name that messages give it.
    pub(crate) origin: String,
    pub(crate) text: String,
    pub(crate) form: Form,
}

/// How a text is to be read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The text of an expression.
    Expression,
    /// YAML or JSON.
    Document,
}

impl Source {
    /// An expression from the command line.
    pub(crate) fn expression(text: &str) -> Self {
        Self { origin: "expression".to_owned(), text: text.to_owned(), form: Form::Expression }
    }

    /// A document or a script; `-` is stdin.
    pub(crate) fn file(path: &Path) -> Result<Self> {
        Self::read(path, DOCUMENT_BYTES, "split the document into workflows that call each other")
    }

    /// A file of values; `-` is stdin.
    pub(crate) fn values(path: &Path) -> Result<Self> {
        Self::read(path, VALUES_BYTES, "keep large values in files of their own, and hand over their paths")
    }

    fn read(path: &Path, limit: u64, remedy: &str) -> Result<Self> {
        if is_stdin(path) {
            let text = read_text(io::stdin().lock(), limit).map_err(|error| cannot_read("stdin", error, remedy))?;
            return Ok(Self { origin: "stdin".to_owned(), text, form: Form::Document });
        }
        let origin = path.display().to_string();
        let text = read_text_file(path, limit).map_err(|error| cannot_read(&origin, error, remedy))?;
        let is_text = path.extension().is_some_and(|extension| extension == "expr" || extension == "txt");
        Ok(Self { origin, text, form: if is_text { Form::Expression } else { Form::Document } })
    }
}

/// Why a text cannot be read, and what to do about one that is too long.
pub(crate) fn cannot_read(origin: &str, error: ReadError, remedy: &str) -> anyhow::Error {
    match error {
        ReadError::TooLong { .. } => anyhow!("cannot read {origin}: {error}\nhelp: {remedy}"),
        ReadError::Io(error) if error.kind() == io::ErrorKind::IsADirectory => {
            anyhow!("cannot read {origin}: it is a folder\nhelp: name a file in it")
        }
        error => anyhow::Error::from(error).context(format!("cannot read {origin}")),
    }
}

/// Whether a path stands for stdin.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}
