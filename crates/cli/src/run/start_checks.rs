//! Checks before a run starts: steps with no configured runner, and unsupported triggers.

use std::process::{self, ExitCode};

use anyhow::Result;
use branchpoint_core::effect::{Request, RunRequest};
use branchpoint_core::ir::Effect;
use branchpoint_expr::{Diagnostic, Severity};
use branchpoint_runners::{runner_check, runtime};

use super::answers::Answers;
use crate::local_runner::{LocalRunner, OutputListeners};
use crate::project::{Project, StoreArguments};
use crate::workflow::Workflow;
use crate::{exit, explain, interrupt, terminal, workflow};

/// Reports steps with no configured runner. Returns an exit code if the run cannot start. A dry run may start, because it can prompt; with
/// a script the run may start, because the script may answer only the branches that are followed.
pub(crate) fn check(
    workflow: &Workflow,
    answers: &Answers,
    (project, store): (&Project, &StoreArguments),
    dry_run: bool,
) -> Result<Option<ExitCode>> {
    show(workflow, branchpoint_dialects::unserved_trigger(&workflow.source.text).as_slice());
    // A recorded script answers everything.
    if dry_run || answers.is_recorded() {
        return Ok(None);
    }
    let here = LocalRunner::new(project, store, OutputListeners::of(|_| {}))?;
    // A server that lists missing tools is a child process, and must be stopped.
    let interrupted = interrupt::cancellation_token()?;
    let lacks = async |effect: &Effect, step: &str| {
        if answers.knows(step) || calls_known(workflow, effect) { Vec::new() } else { here.unavailable(effect).await }
    };
    let findings = runtime().block_on(interrupted.run_until_cancelled(runner_check(&workflow.program, lacks)));
    drop(here);
    interrupt::on_interrupt(|| process::exit(exit::INTERRUPTED.into()))?;
    let Some(mut findings) = findings else { return Ok(Some(ExitCode::from(exit::INTERRUPTED))) };
    workflow::point_at_names(&mut findings, &workflow.source.text);
    let (errors, warnings): (Vec<_>, Vec<_>) =
        findings.into_iter().partition(|finding| finding.severity == Severity::Error);
    if !answers.has_answers() {
        show(workflow, &warnings);
    }
    let Some(first) = errors.first() else { return Ok(None) };
    if answers.has_answers() {
        let names: Vec<&str> = errors.iter().map(|finding| finding.span.text(&workflow.source.text)).collect();
        terminal::message(&format!(
            "The script has no answers for: {}. The run fails if it reaches one of them.\n",
            names.join(", ")
        ));
        return Ok(None);
    }
    show(workflow, &errors);
    explain::print_hint(first.kind.as_str());
    Ok(Some(ExitCode::from(exit::REJECTED)))
}

/// Whether an effect is a run of a workflow that was found.
fn calls_known(workflow: &Workflow, effect: &Effect) -> bool {
    let Ok(Request::Run(RunRequest { workflow: Some(name), .. })) = effect.request() else { return false };
    workflow.children.contains_key(&*name)
}

/// Prints findings about the document on stderr.
pub(super) fn show(workflow: &Workflow, findings: &[Diagnostic]) {
    terminal::message(&terminal::findings(findings, &workflow.source.text, &workflow.source.origin));
}
