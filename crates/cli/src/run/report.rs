//! How a run ended, or why it waits: the result on stdout, the rest on stderr.

use std::process::ExitCode;

use anyhow::Result;
use branchpoint_backend::{OpenApproval, RunView};
use branchpoint_core::ir::Status;
use branchpoint_expr::Value;
use branchpoint_runners::{Secrets, SharedSecrets};

use super::declared_inputs;
use crate::approvals::{quoted, shown_with_command, to_value};
use crate::failure::{self, SourceMap};
use crate::foreground::Left;
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

/// Tells how a run was left, and gives the exit status of that.
pub(crate) fn report_left(left: &Left, style: &ReportOptions<'_>) -> Result<ExitCode> {
    let id = style.id;
    match left {
        Left::Ended(look) => end(look, style),
        Left::Waiting(look, open) => {
            if style.json {
                json(style, Some(look), open, exit::WAITING)?;
            }
            if !style.quiet {
                waiting(id, open, &style.masks);
            }
            Ok(ExitCode::from(exit::WAITING))
        }
        Left::Interrupted => {
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

fn end(look: &RunView, style: &ReportOptions<'_>) -> Result<ExitCode> {
    let (status, result) = (look.status(), look.result().unwrap_or_default());
    let code = outcome::code(status, &result);
    if style.json {
        json(style, Some(look), &[], code)?;
    } else if let Some(used) = usage::to_text(look.state.usage()).filter(|_| !style.quiet) {
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

/// One object for programs: the id, status and result of a run.
fn json(style: &ReportOptions<'_>, look: Option<&RunView>, open: &[OpenApproval], code: u8) -> Result<()> {
    let status = look.map_or("interrupted", |look| look.status().as_str());
    let secrets = style.masks.secrets();
    let mut object = json::object([
        ("run", Value::from(style.id)),
        ("status", Value::from(status)),
        ("exit_code", Value::Int(code.into())),
        ("usage", look.map_or(Value::Null, |look| usage::to_json(look.state.usage()))),
        ("result", secrets.mask_value(&look.and_then(RunView::result).unwrap_or_default())),
    ]);
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
