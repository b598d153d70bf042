//! How a run that was only tried ended, or why it stands still.

use std::process::ExitCode;

use anyhow::Result;
use branchpoint_core::ir::{Program, Status};
use branchpoint_expr::Value;
use branchpoint_host::VirtualDriver;
use branchpoint_runners::Secrets;

use super::answers::Answers;
use super::{declared, people};
use crate::{ended, exit, terminal};

/// Prints the result on stdout, what there is to say about it on stderr.
pub(crate) fn tell(
    program: &Program,
    host: &VirtualDriver<'_>,
    answers: &Answers,
    json: bool,
    secrets: &Secrets,
) -> Result<ExitCode> {
    let status = host.status();
    if let Some(result) = host.result() {
        if json || status == Status::Completed {
            print(result, json, secrets)?;
        }
        terminal::tell(&secrets.mask(&ended::warnings(result)));
        if status == Status::Completed {
            return Ok(ExitCode::SUCCESS);
        }
        terminal::complain(&secrets.mask(&ended::failure(status, result)));
        if let Some(inputs) = declared::help(program).filter(|_| ended::is_rejected(result)) {
            terminal::tell(&inputs);
        }
        return Ok(ExitCode::from(ended::code(status, result)));
    }
    lacking(answers);
    for approval in host.approvals() {
        terminal::tell(&secrets.mask(&format!("\n{}", people::pending(&approval))));
    }
    Ok(ExitCode::from(if status == Status::WaitingPeople { exit::WAITING } else { exit::USAGE }))
}

/// Lists the steps whose answers were needed and are not there.
fn lacking(answers: &Answers) {
    if answers.lacking.is_empty() {
        return;
    }
    terminal::tell("It cannot be told how it goes on without answers for:\n");
    for (step, kind) in &answers.lacking {
        terminal::tell(&format!("  {step} ({kind})\n"));
    }
    terminal::tell("Write them into the file of --script, as `step: [answer, ...]`.\n");
}

fn print(result: &Value, json: bool, secrets: &Secrets) -> Result<()> {
    if json {
        return terminal::print_json(&secrets.mask_value(result)).map(drop);
    }
    ended::output(result).map_or(Ok(()), |output| terminal::print(&format!("{}\n", secrets.mask(&output))))
}
