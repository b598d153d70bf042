//! Loads documents: from a text to a program with findings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use branchpoint_core::ir::Program;
use branchpoint_expr::{Diagnostic, Dialect, Located, Severity, cap_findings};

use crate::reader::read_partially;
use crate::recognise::recognise;
use crate::{export, flow, graph, machine, read, run_limits, session, steps};

/// The result of loading a document. A document with an error has no program.
///
/// ```
/// let loaded = branchpoint_dialects::load("name: hello\nsteps:\n  - {id: a, step_type: txt}\n", None);
/// assert!(loaded.program.is_none());
/// assert_eq!(loaded.diagnostics[0].cause().as_str(), "unknown_step_type");
/// ```
#[derive(Debug)]
pub struct Loaded {
    /// The dialect of the document.
    pub dialect: Option<Dialect>,
    /// The program of the document.
    pub program: Option<Program>,
    /// The programs of all workflows that it calls directly or indirectly, by name.
    pub children: BTreeMap<Arc<str>, Program>,
    /// The findings, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// Options for loading a document.
///
/// ```
/// use branchpoint_dialects::{LoadOptions, load_with};
/// use branchpoint_expr::Dialect;
///
/// let options = LoadOptions { dialect: Some(Dialect::Machine), ..LoadOptions::default() };
/// assert!(load_with("name: hello\n", &options).program.is_none());
/// ```
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// The dialect; detected by the content if absent.
    pub dialect: Option<Dialect>,
    /// Steps with scripted answers. A step of `steps` that would compute its value requests it instead.
    pub scripted: BTreeSet<String>,
    /// The workflows that can be called, if they are known.
    pub callees: Option<BTreeSet<String>>,
}

/// The source of the workflows that a document may call.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use branchpoint_dialects::{Library, load_from};
///
/// struct Texts(BTreeMap<String, String>);
///
/// impl Library for Texts {
///     fn workflow(&self, name: &str) -> Option<String> {
///         self.0.get(name).cloned()
///     }
/// }
///
/// let source = "name: hello\nsteps:\n  - {id: a, step_type: text, template: Hello}\n";
/// assert!(load_from(source, None, &Texts(BTreeMap::new())).children.is_empty());
/// ```
pub trait Library {
    /// The text of a workflow.
    fn workflow(&self, name: &str) -> Option<String>;

    /// The reason why an existing workflow cannot be read; none if the workflow does not exist.
    fn unreadable(&self, _name: &str) -> Option<String> {
        None
    }

    /// Whether the document that is being loaded may call a workflow. The workflows that it calls may call any.
    fn may_call(&self, _name: &str) -> bool {
        true
    }

    /// The name of the document that is being loaded, if it has one in the library: a call of it is circular.
    fn root(&self) -> Option<&str> {
        None
    }
}

/// Loads a document and every workflow that it calls. A defect of a called workflow is a finding about the document.
///
/// ```
/// use branchpoint_dialects::{Library, load_from};
///
/// struct Nothing;
///
/// impl Library for Nothing {
///     fn workflow(&self, _: &str) -> Option<String> {
///         None
///     }
/// }
///
/// let source = "name: hello\nsteps:\n  - {id: a, step_type: text, template: Hello}\n";
/// assert!(load_from(source, None, &Nothing).program.is_some());
/// ```
pub fn load_from(source: &str, dialect: Option<Dialect>, library: &dyn Library) -> Loaded {
    load_all(source, &LoadOptions { dialect, ..LoadOptions::default() }, library)
}

/// Loads a document of a dialect, or of the dialect that its content shows. The workflows that it calls are not loaded.
///
/// ```
/// let source = "name: hello\nsteps:\n  - {id: a, step_type: text, template: Hello}\n";
/// assert!(branchpoint_dialects::load(source, None).program.is_some());
/// ```
pub fn load(source: &str, dialect: Option<Dialect>) -> Loaded {
    load_with(source, &LoadOptions { dialect, ..LoadOptions::default() })
}

/// As [`load`], with options.
///
/// ```
/// use branchpoint_dialects::{LoadOptions, load_with};
///
/// let source = "name: hello\nsteps:\n  - {id: a, step_type: text, template: Hello}\n";
/// let options = LoadOptions { scripted: ["a".to_owned()].into(), ..LoadOptions::default() };
/// assert_eq!(load_with(source, &options).program.unwrap().effects.len(), 1, "the script answers the step");
/// ```
pub fn load_with(source: &str, options: &LoadOptions) -> Loaded {
    read_and_load(source, options, None)
}

/// As [`load_from`], with options.
///
/// ```
/// use branchpoint_dialects::{Library, LoadOptions, load_all};
///
/// fn is_valid(source: &str, library: &dyn Library) -> bool {
///     load_all(source, &LoadOptions::default(), library).program.is_some()
/// }
/// ```
pub fn load_all(source: &str, options: &LoadOptions, library: &dyn Library) -> Loaded {
    read_and_load(source, options, Some(library))
}

fn read_and_load(source: &str, options: &LoadOptions, library: Option<&dyn Library>) -> Loaded {
    let (document, findings) = read_partially(source);
    if !findings.is_empty() {
        return invalid_text(&document, findings, options);
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
    let (mut program, mut diagnostics) = lower(&document, dialect, options);
    // The steps of a session without its template have no limits.
    let has_limits = dialect != Dialect::Session || document.get("nodes").is_some();
    let limits = if has_limits { run_limits::read(&document, &mut diagnostics) } else { None };
    if let Some(program) = &mut program {
        program.locate(source);
        if let Some(limits) = &limits {
            run_limits::add_view(program, limits);
        }
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
    finish(&mut loaded);
    loaded
}

/// The program of a document that has been read, and the findings.
pub(crate) fn lower(document: &Located, dialect: Dialect, options: &LoadOptions) -> (Option<Program>, Vec<Diagnostic>) {
    match dialect {
        Dialect::Steps => steps::load(document, options),
        Dialect::Flow => flow::load(document),
        Dialect::Machine => machine::load(document),
        Dialect::Session => session::load(document),
        Dialect::Graph => graph::load(document),
    }
}

/// The dialect that a text shows, even if the text has syntax errors.
///
/// ```
/// use branchpoint_dialects::recognise_text;
/// use branchpoint_expr::Dialect;
///
/// assert_eq!(recognise_text("name: hello\nstates: {}\n"), Some(Dialect::Machine));
/// ```
pub fn recognise_text(source: &str) -> Option<Dialect> {
    recognise(&read_partially(source).0).ok()
}

/// The result for a text that cannot be read. The readable part may show its dialect, which decides the kinds of the findings.
fn invalid_text(document: &Located, findings: Vec<Diagnostic>, options: &LoadOptions) -> Loaded {
    let dialect = options.dialect.or_else(|| recognise(document).ok());
    let diagnostics =
        if dialect == Some(Dialect::Machine) { machine::kinds_for_invalid_text(findings) } else { findings };
    Loaded { dialect, program: None, children: BTreeMap::new(), diagnostics }
}

/// The largest number of errors, and of warnings, that are reported individually. Each is rendered with its line.
const FINDINGS: usize = 1_000;

/// Sorts findings in the order of the text and caps their number. A document with an error has no program.
fn finish(loaded: &mut Loaded) {
    loaded.diagnostics.sort_by_key(|finding| finding.span.start);
    loaded.diagnostics = cap_findings(std::mem::take(&mut loaded.diagnostics), FINDINGS);
    if loaded.diagnostics.iter().any(|finding| finding.severity == Severity::Error) {
        loaded.program = None;
    }
}

/// What keeps an editor from running a graph, the first finding first. The engine runs some of these graphs: one whose start leads
/// nowhere completes at once.
///
/// ```
/// let findings = branchpoint_dialects::preflight(r#"{"nodes": [], "connections": []}"#);
/// assert_eq!(findings[0].cause().as_str(), "missing_start");
/// ```
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
