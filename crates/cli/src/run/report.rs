//! Reports the outcome of a run: the result on stdout, messages on stderr.

use std::process::ExitCode;

use anyhow::Result;
use branchpoint_backend::{OpenApproval, RunView};
use branchpoint_core::Usage;
use branchpoint_core::ir::Status;
use branchpoint_expr::Value;
use branchpoint_runners::{Secrets, SharedSecrets};

use super::declared_inputs;
use crate::approvals::{quoted, shown_with_command, to_value};
use crate::failure::{self, SourceMap};
use crate::foreground::Outcome;
use crate::project::Reach;
use crate::workflow::Workflow;
use crate::{exit, json, outcome, terminal, usage};

/// Options of the report.
pub(crate) struct ReportOptions<'m> {
    /// The id of the run.
    pub(crate) id: &'m str,
    /// Whether one JSON object is printed instead of the result.
    pub(crate) json: bool,
    /// Whether only errors are printed.
    pub(crate) quiet: bool,
    /// Whether documents may lead into private networks, which the process that resumes the run must allow again.
    pub(crate) reach: Reach,
    /// What is masked in messages and in the result. The run itself keeps the values.
    pub(crate) masks: SharedSecrets,
    pub(crate) document: RunDocument,
}

/// What the report of a failed run shows of its document.
pub(crate) struct RunDocument {
    /// The declared inputs, for a run that was given wrong ones.
    inputs: Option<String>,
    origin: SourceMap,
}

impl RunDocument {
    pub(crate) fn of(workflow: &Workflow) -> Self {
        Self { inputs: declared_inputs::help(&workflow.program), origin: SourceMap::of(workflow) }
    }

    /// The file of the document.
    pub(crate) fn origin_name(&self) -> &str {
        self.origin.name()
    }
}

/// Reports why a run is no longer followed, and returns the exit code.
pub(crate) fn report_outcome(outcome: &Outcome, style: &ReportOptions<'_>) -> Result<ExitCode> {
    let id = style.id;
    match outcome {
        Outcome::Ended(view) => end(view, style),
        Outcome::Waiting(view, open) => {
            if style.json {
                json(style, Some(view), open, exit::WAITING)?;
            }
            if !style.quiet {
                waiting(id, open, &style.masks);
            }
            Ok(ExitCode::from(exit::WAITING))
        }
        Outcome::Interrupted => {
            if style.json {
                json(style, None, &[], exit::INTERRUPTED)?;
            }
            let flag = if style.reach.allow_private_network { " --allow-private-network" } else { "" };
            terminal::message(&format!(
                "\nInterrupted. To resume run `{id}`: branchpoint runs resume {}{flag}\n",
                quoted(id)
            ));
            Ok(ExitCode::from(exit::INTERRUPTED))
        }
    }
}

fn end(view: &RunView, style: &ReportOptions<'_>) -> Result<ExitCode> {
    let (status, result) = (view.status(), view.result().unwrap_or_default());
    let code = outcome::code(status, &result);
    if style.json {
        json(style, Some(view), &[], code)?;
    } else if let Some(used) = usage::to_text(view.state.usage()).filter(|_| !style.quiet) {
        terminal::message(&format!("Used {used}.\n"));
    }
    report(status, &result, &style.masks.secrets(), (style.json, style.quiet), &style.document)
}

/// Reports the end of a run: its output on stdout unless JSON was printed; warnings, flags and its failure on stderr.
pub(super) fn report(
    status: Status,
    result: &Value,
    secrets: &Secrets,
    (json, quiet): (bool, bool),
    document: &RunDocument,
) -> Result<ExitCode> {
    if !quiet {
        terminal::message(&secrets.mask(&outcome::warnings(result)));
        terminal::message(&secrets.mask(&outcome::flags(result)));
    }
    if status == Status::Completed {
        if let Some(output) = outcome::output(result).filter(|_| !json) {
            terminal::print(&format!("{}\n", secrets.mask(&output)))?;
        }
    } else {
        failure::report(status, result, Some(&document.origin), secrets, None);
        if let Some(inputs) = document.inputs.as_deref().filter(|_| outcome::is_rejected(result)) {
            terminal::message(inputs);
        }
    }
    Ok(ExitCode::from(outcome::code(status, result)))
}

/// Reports a run that was not started because its inputs are invalid.
pub(crate) fn report_rejected(result: &Value, style: &ReportOptions<'_>) -> Result<ExitCode> {
    let status = Status::Failed;
    if style.json {
        let usage = usage::to_json(Usage::default());
        let object = summary(style, status.as_str(), usage, result, outcome::code(status, result));
        terminal::print_json(&object)?;
    }
    report(status, result, &style.masks.secrets(), (style.json, style.quiet), &style.document)
}

/// One object for programs: the id, status and result of a run.
fn summary(style: &ReportOptions<'_>, status: &str, usage: Value, result: &Value, code: u8) -> Value {
    json::object([
        ("run", Value::from(style.id)),
        ("status", Value::from(status)),
        ("exit_code", Value::Int(code.into())),
        ("usage", usage),
        ("result", style.masks.secrets().mask_value(result)),
    ])
}

/// Prints the summary of a run, with its open approvals.
fn json(style: &ReportOptions<'_>, view: Option<&RunView>, open: &[OpenApproval], code: u8) -> Result<()> {
    let status = view.map_or("interrupted", |view| view.status().as_str());
    let secrets = style.masks.secrets();
    let usage = view.map_or(Value::Null, |view| usage::to_json(view.state.usage()));
    let mut object = summary(style, status, usage, &view.and_then(RunView::result).unwrap_or_default(), code);
    if !open.is_empty() {
        let waiting = Value::from(open.iter().map(|open| to_value(open, &secrets)).collect::<Vec<_>>());
        json::insert(&mut object, "waiting", waiting);
    }
    terminal::print_json(&object).map(drop)
}

/// What the run waits for, and how to answer it.
fn waiting(id: &str, open: &[OpenApproval], masks: &SharedSecrets) {
    for approval in open {
        terminal::message(&masks.mask(&shown_with_command(approval)));
    }
    terminal::message(&format!("\nRun `{id}` is waiting for approvals. It resumes when they are answered.\n"));
}
