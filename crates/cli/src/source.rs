//! The texts that come in: a workflow, a condition or a context, with a name to show in messages.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, Result};

/// A text and where it comes from.
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

    /// A file; `-` is stdin.
    pub(crate) fn file(path: &Path) -> Result<Self> {
        if is_stdin(path) {
            let text = io::read_to_string(io::stdin().lock()).context("cannot read stdin")?;
            return Ok(Self { origin: "stdin".to_owned(), text, form: Form::Document });
        }
        let origin = path.display().to_string();
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {origin}"))?;
        let is_text = path.extension().is_some_and(|extension| extension == "expr" || extension == "txt");
        Ok(Self { origin, text, form: if is_text { Form::Expression } else { Form::Document } })
    }
}

/// Whether a path stands for stdin.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}
