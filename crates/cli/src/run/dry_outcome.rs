//! How a run that was only tried ended, or why it stands still.

use std::process::ExitCode;

use anyhow::Result;
use branchpoint_core::ir::Status;
use branchpoint_engine::{Memory, Secrets};
use branchpoint_expr::Value;

use super::answers::Answers;
use super::people;
use crate::{ended, exit, terminal};

/// Prints the result on stdout, what there is to say about it on stderr.
pub(crate) fn tell(host: &Memory<'_>, answers: &Answers, json: bool, secrets: &Secrets) -> Result<ExitCode> {
    let status = host.status();
    if let Some(result) = host.result() {
        if json || status == Status::Completed {
            print(result, json)?;
        }
        if status == Status::Completed {
            return Ok(ExitCode::SUCCESS);
        }
        terminal::complain(&secrets.mask(&ended::failure(status, result)));
        return Ok(ExitCode::from(ended::code(status, result)));
    }
    lacking(answers);
    for question in host.questions().iter().filter(|question| question.open) {
        terminal::tell(&secrets.mask(&format!("\n{}", people::pending(question))));
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

fn print(result: &Value, json: bool) -> Result<()> {
    if json {
        return terminal::print(&(serde_json::to_string_pretty(result)? + "\n"));
    }
    match result.get("output").filter(|output| **output != Value::Null) {
        Some(output) => terminal::print(&format!("{output}\n")),
        // A run may leave nothing but its variables behind.
        None => match result.get("variables") {
            Some(variables) => terminal::print(&(serde_json::to_string_pretty(variables)? + "\n")),
            None => Ok(()),
        },
    }
}
