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

/// Prints the result on stdout, what there is to say about it on stderr.
pub(crate) fn report(
    host: &VirtualDriver<'_>,
    answers: &Answers,
    json: bool,
    secrets: &Secrets,
    document: &RunDocument,
) -> Result<ExitCode> {
    let status = host.status();
    if let Some(result) = host.result() {
        if json {
            terminal::print_json(&secrets.mask_value(result))?;
        }
        return crate::run::report::report(status, result, secrets, (json, false), document);
    }
    lacking(answers);
    for approval in host.approvals() {
        terminal::message(&secrets.mask(&format!("\n{}", approvals::pending(&approval))));
    }
    Ok(ExitCode::from(if status == Status::WaitingPeople { exit::WAITING } else { exit::USAGE }))
}

/// Lists the steps whose answers were needed and are not there.
fn lacking(answers: &Answers) {
    if answers.lacking.is_empty() {
        return;
    }
    terminal::message("Cannot continue without answers for:\n");
    for (step, kind) in &answers.lacking {
        terminal::message(&format!("  {step} ({kind})\n"));
    }
    terminal::message(
        "Write them into the file of --script, as `step: [answer, ...]`; --write-script writes examples.\n",
    );
}
