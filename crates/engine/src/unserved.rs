//! What a run would ask for and nobody would perform, found before it starts.

use std::collections::BTreeSet;

use branchpoint_core::ir::{Index, Program};
use branchpoint_expr::{Diagnostic, Kind, Span};

/// One finding for each step whose calls nobody performs. `served` tells by kind of effect and id of step.
pub fn unserved(program: &Program, served: impl Fn(&str, &str) -> bool) -> Vec<Diagnostic> {
    let mut told = BTreeSet::new();
    let effects = program.effects.iter().filter_map(|effect| {
        let number = effect.step?;
        let step = &program.steps[number.index()];
        (!served(&effect.kind, &step.id) && told.insert(number)).then_some((effect, step))
    });
    let mut findings: Vec<Diagnostic> = effects
        .map(|(effect, step)| {
            let message = format!("nothing here performs the step `{}`, which calls `{}`", step.id, effect.kind);
            let help = format!("write its answers into the file of --script: `{}: [\"an answer\"]`", step.id);
            let (start, end) = step.origin;
            Diagnostic::error(Kind::NoRunner, Span { start, end }, message).with_help(help)
        })
        .collect();
    findings.sort_by_key(|finding| finding.span.start);
    findings
}
