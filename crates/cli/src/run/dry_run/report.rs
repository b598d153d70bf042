//! How a dry run ended, or why it cannot continue.

use std::process::ExitCode;

use anyhow::Result;
use branchpoint_core::ir::Status;
use branchpoint_host::VirtualDriver;
use branchpoint_runners::Secrets;

use super::approvals;
use crate::run::answers::Answers;
use crate::run::report::RunDocument;
use crate::{exit, terminal};

/// Prints the result on stdout, and messages about it on stderr.
pub(crate) fn report(
    host: &VirtualDriver<'_>,
    answers: &Answers,
    (json, quiet): (bool, bool),
    secrets: &Secrets,
    document: &RunDocument,
) -> Result<ExitCode> {
    let status = host.status();
    if let Some(result) = host.result() {
        if json {
            terminal::print_json(&secrets.mask_value(result))?;
        }
        return crate::run::report::report(status, result, secrets, (json, quiet), document);
    }
    report_missing(answers);
    if answers.missing.is_empty() && host.approvals().is_empty() {
        terminal::message(
            "The dry run cannot continue: the answer of a call is `$hang`, and its step has no timeout.\n",
        );
    }
    for approval in host.approvals() {
        terminal::message(&secrets.mask(&format!("\n{}", approvals::pending(&approval))));
    }
    Ok(ExitCode::from(if status == Status::WaitingPeople { exit::WAITING } else { exit::USAGE }))
}

/// Lists the steps whose answers are missing.
fn report_missing(answers: &Answers) {
    if answers.missing.is_empty() {
        return;
    }
    terminal::message("Cannot continue without answers for:\n");
    for (step, kind) in &answers.missing {
        terminal::message(&format!("  {step} ({kind})\n"));
    }
    terminal::message("Write them into the --script file, as `step: [answer, ...]`; --write-script writes examples.\n");
}
