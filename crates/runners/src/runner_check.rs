//! The runner check: reports steps whose calls have no configured runner, before a run starts.

use std::collections::BTreeSet;

use branchpoint_core::RunKinds as _;
use branchpoint_core::ir::{Effect, Index, Program};
use branchpoint_expr::{Diagnostic, Kind, Span};

/// A requirement of an effect that this host does not meet.
#[derive(Clone, Debug, PartialEq)]
pub enum Unavailable {
    /// The calls fail.
    Runner {
        /// The kind of the finding.
        kind: Kind,
        /// What is missing in the settings; empty if no setting helps.
        reason: String,
    },
    /// The calls leave this tool out.
    OptionalTool {
        /// The name of the tool.
        tool: String,
        /// What is missing in the settings.
        reason: String,
    },
}

/// The findings about a program: an error for each step whose calls would fail, and a warning for each optional tool that a step does
/// without. `unavailable` gets an effect and the id of its step.
///
/// ```
/// use branchpoint_core::ir::builder::Builder;
/// use branchpoint_runners::{runner_check, runtime};
///
/// let program = Builder::sample();
/// let findings = runtime().block_on(runner_check(&program, async |_, _| vec![]));
/// assert!(findings.is_empty());
/// ```
pub async fn runner_check(
    program: &Program,
    unavailable: impl AsyncFn(&Effect, &str) -> Vec<Unavailable>,
) -> Vec<Diagnostic> {
    let mut seen = BTreeSet::new();
    let mut findings = Vec::new();
    for effect in &program.effects {
        let Some(number) = effect.step else { continue };
        let step = &program.steps[number.index()];
        let span = Span { start: step.origin.0, end: step.origin.1 };
        for requirement in unavailable(effect, &step.id).await {
            let tool = match &requirement {
                Unavailable::Runner { .. } => None,
                Unavailable::OptionalTool { tool, .. } => Some(tool.clone()),
            };
            if seen.insert((number, tool)) {
                findings.push(finding(requirement, effect, &step.id, span));
            }
        }
    }
    findings.sort_by_key(|finding| finding.span.start);
    findings
}

fn finding(requirement: Unavailable, effect: &Effect, step: &str, span: Span) -> Diagnostic {
    match requirement {
        Unavailable::Runner { kind, reason } => {
            let message = format!("no runner is configured for step `{step}`, which calls `{}`", effect.kind);
            let answers = format!("write its answers into the --script file: `{step}: [\"an answer\"]`");
            let help = if reason.is_empty() { answers } else { format!("{reason}; or {answers}") };
            Diagnostic::error(kind, span, message).with_help(help)
        }
        Unavailable::OptionalTool { tool, reason } => {
            let message = format!("step `{step}` runs without the tool `{tool}`, which is not configured");
            Diagnostic::warning(Kind::NoRunner, span, message).with_help(reason)
        }
    }
}
