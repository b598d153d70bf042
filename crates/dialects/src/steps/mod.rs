//! The dialect `steps`: grammar and rules, after `docs/spec/steps.md`.
//!
//! A document is read into a table of steps (`raw`, `tree`), checked (`rules`), and lowered (`lower`). The fields of steps
//! are one table (`types`), from which the requests of effects are built (`request`, `effect`).

mod attachments;
mod budget;
mod calls;
mod condition;
mod cron;
mod effect;
mod guard;
pub(crate) use guard::duration_ms;
mod lower;
mod missing_input;
mod policy;
mod raw;
mod region;
mod request;
mod rules;
mod schema;
mod tree;
mod types;

use std::sync::Arc;

use branchpoint_core::ir::{DefectKind, Program};
use branchpoint_expr::{Diagnostic, Kind, Located, Severity, Span};

pub(crate) use calls::children;
pub use missing_input::missing_input;
pub(crate) use schema::schema;

use crate::DocumentKinds as _;
use crate::fields::Generator;
use crate::load::LoadOptions;
use crate::report::unlowered;

/// Every place of a document that names a step: the id with the span of the reference, or of the text around it.
pub(crate) fn references(document: &Located) -> Vec<(Arc<str>, Span)> {
    rules::references(&raw::read(document, &mut Vec::new()))
}

pub(crate) use raw::is_id;

/// The current name of a type of step; none if there is no such type.
pub(crate) fn current_type(name: &str) -> Option<&'static str> {
    types::find(name).map(|kind| kind.name)
}

/// The types of steps: the name, the description and the JSON Schema of the fields.
pub(crate) fn step_types() -> impl Iterator<Item = (&'static str, &'static str, serde_json::Value)> {
    types::types().map(|kind| (kind.name, kind.about, Generator(kind.style()).object(&kind.tables())))
}

/// Whether the children of a step run one after the other. Those of other steps run side by side.
pub(crate) fn has_chain_below(step_type: &str) -> bool {
    types::find(step_type).is_some_and(types::StepType::has_chain_below)
}

/// Whether a step ends its line, so that it has no children.
pub(crate) fn is_leaf(step_type: &str) -> bool {
    types::find(step_type).is_some_and(types::StepType::is_leaf)
}

/// The program of a document, and the findings.
pub(crate) fn load(document: &Located, options: &LoadOptions) -> (Option<Program>, Vec<Diagnostic>) {
    let mut findings = Vec::new();
    if !document.is_object() {
        let message = format!("a workflow is an object, and this is {}", document.describe());
        let finding = Diagnostic::error(Kind::BadField, document.span, message);
        return (None, vec![finding.with_help("begin with `steps:`")]);
    }
    let document = raw::read(document, &mut findings);
    rules::check(&document, options, &mut findings);
    if findings.iter().any(|finding| finding.severity == Severity::Error) {
        return (None, findings);
    }
    match lower::lower(&document, options) {
        Ok(program) => (Some(program), findings),
        Err(wrong) => {
            let finding = unlowered(&wrong, document.located.span);
            // The rules report merges that wait for each other; this is the fallback.
            let waits = wrong.iter().any(|wrong| wrong.kind == DefectKind::MeetCycle);
            findings.push(Diagnostic { kind: if waits { Kind::JoinOrder } else { finding.kind }, ..finding });
            (None, findings)
        }
    }
}
