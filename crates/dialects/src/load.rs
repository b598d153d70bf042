//! From a text to a program and everything that was found on the way.

use branchpoint_core::ir::Program;
use branchpoint_expr::{Diagnostic, Dialect, Severity};

use crate::recognise::{not_yet, recognise};
use crate::{flow, graph, read, session, steps};

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

/// Loads a document of a dialect, or of whichever dialect its content shows.
pub fn load(source: &str, dialect: Option<Dialect>) -> Loaded {
    let document = match read(source) {
        Ok(document) => document,
        Err(diagnostics) => return Loaded { dialect, program: None, diagnostics },
    };
    let dialect = match dialect.map_or_else(|| recognise(&document), Ok) {
        Ok(dialect) => dialect,
        Err(finding) => return Loaded { dialect: None, program: None, diagnostics: vec![*finding] },
    };
    let (program, mut diagnostics) = match dialect {
        Dialect::Steps => steps::load(&document),
        Dialect::Flow => flow::load(&document),
        Dialect::Session => session::load(&document),
        Dialect::Graph => graph::load(&document),
        other @ Dialect::Machine => (None, vec![not_yet(other)]),
    };
    diagnostics.sort_by_key(|finding| finding.span.start);
    let refused = diagnostics.iter().any(|finding| finding.severity == Severity::Error);
    Loaded { dialect: Some(dialect), program: program.filter(|_| !refused), diagnostics }
}

/// What keeps a graph from being run by an editor, the first finding first. The engine runs some of these graphs: one
/// whose start leads nowhere is complete at once.
pub fn preflight(source: &str) -> Vec<Diagnostic> {
    match read(source) {
        Ok(document) => graph::preflight(&document),
        Err(diagnostics) => diagnostics,
    }
}
