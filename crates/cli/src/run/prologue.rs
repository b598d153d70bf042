//! What is told before a run starts: what it would call and nobody performs, and that its trigger is not listened to.

use std::process::ExitCode;

use branchpoint_engine::unserved;
use branchpoint_expr::{Diagnostic, Located, Span, render_terminal};

use super::answers::Answers;
use crate::workflow::Workflow;
use crate::{exit, explain, outside, terminal};

/// Tells it; when the run cannot start, all that is left is to exit. A dry run may start, because it can ask; a script may
/// be for one way only, and a run that leaves that way fails where it does.
pub(crate) fn check(workflow: &Workflow, answers: &Answers, dry_run: bool) -> Option<ExitCode> {
    show(workflow, &branchpoint_dialects::unserved_trigger(&workflow.source.text).into_iter().collect::<Vec<_>>());
    if dry_run {
        return None;
    }
    let served = |kind: &str, step: &str| outside::serves(workflow.dialect, kind) || answers.knows(step);
    let mut findings = unserved(&workflow.program, served);
    if let Ok(document) = branchpoint_dialects::read(&workflow.source.text) {
        for finding in &mut findings {
            finding.span = name(&document, finding.span).unwrap_or(finding.span);
        }
    }
    let first = findings.first()?;
    if !answers.steps.is_empty() {
        let names: Vec<&str> = findings.iter().map(|finding| finding.span.text(&workflow.source.text)).collect();
        terminal::tell(&format!(
            "The script has no answers for: {}. A run that comes there fails.\n",
            names.join(", ")
        ));
        return None;
    }
    show(workflow, &findings);
    explain::refer(first.kind.as_str());
    terminal::tell("Nothing was run. To see which way it would go: --dry-run\n");
    Some(ExitCode::from(exit::REJECTED))
}

/// The place of a step's id, or of its first key: a step may be pages long, and that is enough to find it.
fn name(value: &Located, step: Span) -> Option<Span> {
    if value.span == step {
        let id = value.get("id").map(|id| id.span);
        return id.or_else(|| value.fields().first().map(|field| field.key_span));
    }
    let inside = |value: &&Located| value.span.start <= step.start && step.end <= value.span.end;
    let items = value.items().unwrap_or_default().iter();
    items.chain(value.fields().iter().map(|field| &field.value)).filter(inside).find_map(|value| name(value, step))
}

fn show(workflow: &Workflow, findings: &[Diagnostic]) {
    terminal::tell(&render_terminal(findings, &workflow.source.text, &workflow.source.origin, true));
}
