//! From a text to a program and everything that was found on the way.

use std::collections::BTreeSet;

use branchpoint_core::ir::Program;
use branchpoint_expr::{Diagnostic, Dialect, Severity};

use crate::recognise::{not_yet, recognise};
use crate::{flow, read, steps};

/// A document as far as it could be understood. A document with an error has no program.
#[derive(Debug)]
pub struct Loaded {
    /// What it was taken for.
    pub dialect: Option<Dialect>,
    /// What runs.
    pub program: Option<Program>,
    /// What was found, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// How a document is loaded.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// The dialect, if its content is not to be asked.
    pub dialect: Option<Dialect>,
    /// Steps whose answers someone wrote down. A step of `steps` that would make its value itself asks for it instead.
    pub scripted: BTreeSet<String>,
    /// The workflows that can be called, if it is known which there are.
    pub callees: Option<BTreeSet<String>>,
}

/// Loads a document of a dialect, or of whichever dialect its content shows.
pub fn load(source: &str, dialect: Option<Dialect>) -> Loaded {
    load_with(source, &LoadOptions { dialect, ..LoadOptions::default() })
}

/// As [`load`], with everything that can be chosen.
pub fn load_with(source: &str, options: &LoadOptions) -> Loaded {
    let document = match read(source) {
        Ok(document) => document,
        Err(diagnostics) => return Loaded { dialect: options.dialect, program: None, diagnostics },
    };
    let dialect = match options.dialect.map_or_else(|| recognise(&document), Ok) {
        Ok(dialect) => dialect,
        Err(finding) => return Loaded { dialect: None, program: None, diagnostics: vec![*finding] },
    };
    let (program, mut diagnostics) = match dialect {
        Dialect::Steps => steps::load(&document, options),
        Dialect::Flow => flow::load(&document),
        other => (None, vec![not_yet(other)]),
    };
    diagnostics.sort_by_key(|finding| finding.span.start);
    let refused = diagnostics.iter().any(|finding| finding.severity == Severity::Error);
    Loaded { dialect: Some(dialect), program: program.filter(|_| !refused), diagnostics }
}
