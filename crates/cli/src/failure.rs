//! The report of a failed run: what happened, the line of the failed step, and the page about it.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_core::ir::{Program, Status};
use branchpoint_expr::{Span, Value};
use branchpoint_runners::Secrets;

use crate::workflow::Workflow;
use crate::{explain, outcome, terminal};

/// The document of a run, in which its steps have places.
pub(crate) struct SourceMap {
    name: String,
    text: String,
    steps: BTreeMap<Arc<str>, Span>,
}

impl SourceMap {
    pub(crate) fn new(program: &Program, name: &str, text: &str) -> Self {
        let span = |(start, end): (u32, u32)| Span { start, end };
        let steps = program.steps.iter().map(|step| (Arc::clone(&step.id), span(step.origin))).collect();
        Self { name: name.to_owned(), text: text.to_owned(), steps }
    }

    pub(crate) fn of(workflow: &Workflow) -> Self {
        Self::new(&workflow.program, &workflow.source.origin, &workflow.source.text)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// File, line and column of a step.
    pub(crate) fn place(&self, step: &str) -> Option<String> {
        let span = self.steps.get(step).filter(|span| span.start < span.end)?;
        let (line, column) = span.line_column(&self.text);
        Some(format!("{}:{line}:{column}", self.name))
    }
}

/// Prints on stderr why a run failed.
pub(crate) fn report(
    status: Status,
    result: &Value,
    origin: Option<&SourceMap>,
    secrets: &Secrets,
    help: Option<&str>,
) {
    let place = outcome::failed_step(result).and_then(|step| origin?.place(&step));
    let place = place.map(|place| format!("\n --> {place}")).unwrap_or_default();
    let help = help.map(|help| format!("\nhelp: {help}")).unwrap_or_default();
    let message = format!("{}{place}{help}", outcome::failure(status, result));
    terminal::error(&secrets.mask(&message));
    if let Some(kind) = outcome::failed_kind(result) {
        explain::print_hint(&kind);
    }
}
