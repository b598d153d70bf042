//! The dialect `machine`: YAML state machines, after `docs/spec/machine.md`.
//!
//! [`raw`] mirrors the document, [`rules`] reports errors and warnings, [`lower`] builds the program, [`calls`] loads
//! the workflows that it calls.

mod calls;
mod graph;
mod help;
mod lower;
mod raw;
mod rules;
mod schema;

use branchpoint_core::ir::Program;
use branchpoint_expr::{Diagnostic, Kind, Located, Severity};

use crate::DocumentKinds as _;

pub(crate) use calls::children;
use raw::{Document, Findings};
pub(crate) use schema::schema;

/// The program of a document, and the findings.
pub(crate) fn load(document: &Located) -> (Option<Program>, Vec<Diagnostic>) {
    let mut findings = Findings::default();
    let program = checked(document, &mut findings);
    (program, findings.0.into_iter().map(help::with_help).collect())
}

/// The findings about a text that cannot be read, with the kinds of this dialect: a duplicate key is not YAML.
pub(crate) fn kinds_for_invalid_text(findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let named = |finding: Diagnostic| match finding.kind {
        Kind::BadField => Diagnostic { kind: Kind::Yaml, ..finding },
        _ => finding,
    };
    findings.into_iter().map(named).collect()
}

fn checked(document: &Located, findings: &mut Findings) -> Option<Program> {
    let read = Document::read(document, findings)?;
    let uses = rules::check(&read, findings);
    if findings.0.iter().any(|finding| finding.severity == Severity::Error) {
        return None;
    }
    match lower::lower(&read, &uses) {
        Ok(program) => Some(program),
        Err(problems) => {
            for problem in problems {
                findings.push(problem);
            }
            None
        }
    }
}
