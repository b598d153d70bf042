//! The dialect `machine`: YAML state machines, after `docs/spec/machine.md`.
//!
//! [`raw`] mirrors the document, [`rules`] tells what is wrong with it, [`lower`] makes a program of it, [`calls`] looks
//! after the workflows that it calls.

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

/// The program of a document, and what was found in it.
pub(crate) fn load(document: &Located) -> (Option<Program>, Vec<Diagnostic>) {
    let mut found = Findings::default();
    let program = checked(document, &mut found);
    (program, found.0.into_iter().map(help::with_help).collect())
}

/// What was found in a text that cannot be read, by the names of this dialect: a key that stands twice is no YAML.
pub(crate) fn unread(found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let named = |finding: Diagnostic| match finding.kind {
        Kind::BadField => Diagnostic { kind: Kind::Yaml, ..finding },
        _ => finding,
    };
    found.into_iter().map(named).collect()
}

fn checked(document: &Located, found: &mut Findings) -> Option<Program> {
    let read = Document::read(document, found)?;
    let uses = rules::check(&read, found);
    if found.0.iter().any(|finding| finding.severity == Severity::Error) {
        return None;
    }
    match lower::lower(&read, &uses) {
        Ok(program) => Some(program),
        Err(problems) => {
            for problem in problems {
                found.push(problem);
            }
            None
        }
    }
}
