//! From a text to a program and everything that was found on the way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use branchpoint_core::ir::Program;
use branchpoint_expr::{Diagnostic, Dialect, Located, Severity, cap_findings};

use crate::reader::read_what_is_there;
use crate::recognise::recognise;
use crate::{export, flow, graph, machine, read, session, steps};

/// A document as far as it could be understood. A document with an error has no program.
#[derive(Debug)]
pub struct Loaded {
    /// What it was taken for.
    pub dialect: Option<Dialect>,
    /// What runs.
    pub program: Option<Program>,
    /// The programs of the workflows that it calls, by name, those they call included.
    pub children: BTreeMap<Arc<str>, Program>,
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

/// Where the workflows are that a document may call.
pub trait Library {
    /// The text of a workflow.
    fn workflow(&self, name: &str) -> Option<String>;

    /// Why a workflow that exists cannot be read; none if there is no such workflow.
    fn unreadable(&self, _name: &str) -> Option<String> {
        None
    }

    /// The name of the document that is being loaded, if it has one here: a call of it is a circle.
    fn root(&self) -> Option<&str> {
        None
    }
}

/// Loads a document with everything that it calls: what is wrong with a called workflow is wrong with the document.
pub fn load_from(source: &str, dialect: Option<Dialect>, library: &dyn Library) -> Loaded {
    load_all(source, &LoadOptions { dialect, ..LoadOptions::default() }, library)
}

/// Loads a document of a dialect, or of whichever dialect its content shows. The workflows that it calls are not looked for.
pub fn load(source: &str, dialect: Option<Dialect>) -> Loaded {
    load_with(source, &LoadOptions { dialect, ..LoadOptions::default() })
}

/// As [`load`], with everything that can be chosen.
pub fn load_with(source: &str, options: &LoadOptions) -> Loaded {
    read_and_load(source, options, None)
}

/// As [`load_from`], with everything that can be chosen.
pub fn load_all(source: &str, options: &LoadOptions, library: &dyn Library) -> Loaded {
    read_and_load(source, options, Some(library))
}

fn read_and_load(source: &str, options: &LoadOptions, library: Option<&dyn Library>) -> Loaded {
    let (document, found) = read_what_is_there(source);
    if !found.is_empty() {
        return unread(&document, found, options);
    }
    let dialect = match options.dialect.map_or_else(|| recognise(&document), Ok) {
        Ok(dialect) => dialect,
        Err(finding) => {
            let diagnostics = vec![*finding];
            return Loaded { dialect: None, program: None, children: BTreeMap::new(), diagnostics };
        }
    };
    let exported = export::definition(&document).filter(|_| dialect == Dialect::Steps);
    let ignored = exported.as_ref().map(|_| export::ignored(&document)).unwrap_or_default();
    let document = exported.unwrap_or(document);
    let (mut program, diagnostics) = match dialect {
        Dialect::Steps => steps::load(&document, options),
        Dialect::Flow => flow::load(&document),
        Dialect::Machine => machine::load(&document),
        Dialect::Session => session::load(&document),
        Dialect::Graph => graph::load(&document),
    };
    if let Some(program) = &mut program {
        program.locate(source);
    }
    let diagnostics = match dialect {
        Dialect::Steps | Dialect::Flow => diagnostics.into_iter().map(crate::help::with_help).collect(),
        _ => diagnostics,
    };
    let diagnostics = ignored.into_iter().chain(diagnostics).collect();
    let mut loaded = Loaded { dialect: Some(dialect), program, children: BTreeMap::new(), diagnostics };
    if let Some(library) = library {
        let (children, findings) = match dialect {
            Dialect::Machine => machine::children(&document, library),
            Dialect::Steps => steps::children(&document, options, library),
            Dialect::Flow | Dialect::Session | Dialect::Graph => (BTreeMap::new(), Vec::new()),
        };
        loaded.children = children;
        loaded.diagnostics.extend(findings);
    }
    settle(&mut loaded);
    loaded
}

/// The dialect that a text shows; of a text with syntax errors, as far as it can be read.
pub fn recognise_text(source: &str) -> Option<Dialect> {
    recognise(&read_what_is_there(source).0).ok()
}

/// A text that cannot be read. What there is of it may show its dialect, and with it the names of what was found.
fn unread(document: &Located, found: Vec<Diagnostic>, options: &LoadOptions) -> Loaded {
    let shown = options.dialect.or_else(|| recognise(document).ok());
    let diagnostics = if shown == Some(Dialect::Machine) { machine::unread(found) } else { found };
    Loaded { dialect: shown, program: None, children: BTreeMap::new(), diagnostics }
}

/// How many errors, and how many warnings, of a document are reported one by one. Each is rendered with its line.
const FINDINGS: usize = 1_000;

/// Sorts findings in the order of the text and caps their number. A document with an error has no program.
fn settle(loaded: &mut Loaded) {
    loaded.diagnostics.sort_by_key(|finding| finding.span.start);
    loaded.diagnostics = cap_findings(std::mem::take(&mut loaded.diagnostics), FINDINGS);
    if loaded.diagnostics.iter().any(|finding| finding.severity == Severity::Error) {
        loaded.program = None;
    }
}

/// What keeps a graph from being run by an editor, the first finding first. The engine runs some of these graphs: one
/// whose start leads nowhere is complete at once.
pub fn preflight(source: &str) -> Vec<Diagnostic> {
    match read(source) {
        Ok(document) => graph::preflight(&document),
        Err(diagnostics) => diagnostics,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_findings_of_a_document_are_capped() {
        const ERRORS: usize = 3_000;
        let steps = "  - step_type: nope\n".repeat(ERRORS);
        let loaded = load(&format!("name: many\nsteps:\n{steps}"), Some(Dialect::Steps));
        assert_eq!(loaded.diagnostics.len(), FINDINGS + 1);
        assert_eq!(
            loaded.diagnostics[FINDINGS].message,
            format!("and {} more, the first of them here", ERRORS - FINDINGS)
        );
        assert!(loaded.program.is_none());
    }
}
