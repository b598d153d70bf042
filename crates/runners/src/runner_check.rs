//! What a run would ask for and nobody would perform, found before it starts.

use std::collections::BTreeSet;

use branchpoint_core::ir::{Effect, Index, Program};
use branchpoint_expr::{Diagnostic, Kind, Span};

/// One finding for each step whose calls nobody performs. `lacks` tells by the effect and the id of its step why it cannot be
/// performed and what kind of finding that is; an empty reason means that nobody here does such work at all.
pub async fn runner_check(
    program: &Program,
    lacks: impl AsyncFn(&Effect, &str) -> Option<(Kind, String)>,
) -> Vec<Diagnostic> {
    let mut told = BTreeSet::new();
    let mut findings = Vec::new();
    for effect in &program.effects {
        let Some(number) = effect.step else { continue };
        let step = &program.steps[number.index()];
        let Some((kind, why)) = lacks(effect, &step.id).await.filter(|_| told.insert(number)) else { continue };
        let message = format!("nothing here performs the step `{}`, which calls `{}`", step.id, effect.kind);
        let answers = format!("write its answers into the file of --script: `{}: [\"an answer\"]`", step.id);
        let help = if why.is_empty() { answers } else { format!("{why}; or {answers}") };
        let (start, end) = step.origin;
        findings.push(Diagnostic::error(kind, Span { start, end }, message).with_help(help));
    }
    findings.sort_by_key(|finding| finding.span.start);
    findings
}
