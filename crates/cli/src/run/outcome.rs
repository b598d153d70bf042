//! How a run ended, or why it stands still.

use std::process::ExitCode;

use anyhow::Result;
use branchpoint_core::ir::Status;
use branchpoint_engine::Memory;
use branchpoint_expr::Value;

use super::answers::Answers;
use super::people;
use crate::{TROUBLE, terminal};

/// The exit status of a run that waits for people.
const WAITING: u8 = 3;

/// Prints the result on stdout, what there is to say about it on stderr.
pub(crate) fn tell(host: &Memory<'_>, answers: &Answers, json: bool) -> Result<ExitCode> {
    let status = host.status();
    if let Some(result) = host.result() {
        if json || status == Status::Completed {
            print(result, json)?;
        }
        if status == Status::Completed {
            return Ok(ExitCode::SUCCESS);
        }
        terminal::complain(&failure(status, result));
        return Ok(ExitCode::FAILURE);
    }
    lacking(answers);
    for question in host.questions().iter().filter(|question| question.open) {
        terminal::tell(&format!("\n{}", people::pending(question)));
    }
    Ok(ExitCode::from(if status == Status::WaitingPeople { WAITING } else { TROUBLE }))
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

fn failure(status: Status, result: &Value) -> String {
    let error = result.get("error").cloned().unwrap_or_default();
    let part = |key: &str| error.get(key).filter(|part| **part != Value::Null).map(Value::to_string);
    let what = if status == Status::Cancelled { "was cancelled" } else { "failed" };
    let at = part("step").map(|step| format!(" at step `{step}`")).unwrap_or_default();
    let kind = part("kind").map(|kind| format!(" [{kind}]")).unwrap_or_default();
    let message = part("message").map(|message| format!(": {message}")).unwrap_or_default();
    format!("the run {what}{at}{kind}{message}")
}
