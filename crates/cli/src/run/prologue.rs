//! What is told before a run starts: what it would call and nobody performs, and that its trigger is not listened to.

use std::process::ExitCode;

use branchpoint_engine::unserved;
use branchpoint_expr::{Diagnostic, Span, render_terminal};

use super::answers::Answers;
use crate::workflow::Workflow;
use crate::{TROUBLE, explain, terminal};

/// Tells it; when the run cannot start, all that is left is to exit. A dry run may start, because it can ask.
pub(crate) fn check(workflow: &Workflow, answers: &Answers, dry_run: bool) -> Option<ExitCode> {
    show(workflow, &branchpoint_dialects::unserved_trigger(&workflow.source.text).into_iter().collect::<Vec<_>>());
    if dry_run {
        return None;
    }
    let mut findings = unserved(&workflow.program, |_, step| answers.knows(step));
    findings.iter_mut().for_each(|finding| finding.span = first_line(finding.span, &workflow.source.text));
    let first = findings.first()?;
    show(workflow, &findings);
    explain::refer(first.kind.as_str());
    terminal::tell("Nothing was run. To see which way it would go: --dry-run\n");
    Some(ExitCode::from(TROUBLE))
}

/// A step may be pages long; its first line is enough to find it.
fn first_line(span: Span, source: &str) -> Span {
    let line = span.text(source).lines().next().unwrap_or_default();
    Span { end: span.start + u32::try_from(line.len()).unwrap_or_default(), ..span }
}

fn show(workflow: &Workflow, findings: &[Diagnostic]) {
    terminal::tell(&render_terminal(findings, &workflow.source.text, &workflow.source.origin, true));
}
