//! The dialect `steps`: grammar and rules, after `docs/spec/steps.md`.

use branchpoint_core::ir::Program;
use branchpoint_expr::{Diagnostic, Located};

/// The program of a document, and what was found in it.
pub(crate) fn load(_document: &Located) -> (Option<Program>, Vec<Diagnostic>) {
    (None, Vec::new())
}
