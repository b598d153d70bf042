//! The outcome of a run: its exit status, its output, and why it failed. Each dialect names the parts of its results in
//! its own way.

use std::fmt::Write as _;

use branchpoint_core::ir::Status;
use branchpoint_expr::Value;

use crate::exit;

/// The exit code of an ended run. A state machine may set the code of its failure; rejected inputs are a usage error.
pub(crate) fn code(status: Status, result: &Value) -> u8 {
    if status == Status::Completed {
        return 0;
    }
    let own_code = match result.get("exit_code") {
        Some(Value::Int(code)) => u8::try_from(*code).ok().filter(|code| *code != 0),
        _ => None,
    };
    if is_rejected(result) { exit::USAGE } else { own_code.unwrap_or(exit::FAILED) }
}

/// What [`output`] shows, as a value.
pub(crate) fn output_value(result: &Value) -> Option<&Value> {
    let filled = |part: &&Value| **part != Value::Null;
    let part = |key: &str| result.get(key).filter(filled);
    let message = part("message").filter(|message| message.as_str().is_some_and(|text| !text.is_empty()));
    let last = || part("state").and_then(|state| state.get("previous_output")).filter(filled);
    part("output").or(message).or_else(last).or_else(|| part("variables"))
}

/// The output of a run: its own output, else the message of its end, else the last output of its steps, else its variables.
pub(crate) fn output(result: &Value) -> Option<String> {
    let output = output_value(result)?;
    let is_variables = result.get("variables").is_some_and(|variables| std::ptr::eq(variables, output));
    if is_variables { serde_json::to_string_pretty(output).ok() } else { Some(output.to_string()) }
}

/// Where and why a run failed.
pub(crate) fn failure(status: Status, result: &Value) -> String {
    let what = match status {
        _ if is_rejected(result) => "was not started",
        Status::Cancelled => "was cancelled",
        _ => "failed",
    };
    let at = failed_step(result).map(|step| format!(" at step `{step}`")).unwrap_or_default();
    let kind = failed_kind(result).map(|kind| format!(" [{kind}]")).unwrap_or_default();
    let message = of_error(result, "message").map(|message| format!(": {message}")).unwrap_or_default();
    format!("the run {what}{at}{kind}{message}")
}

/// The step that a result names as the one that failed.
pub(crate) fn failed_step(result: &Value) -> Option<String> {
    of_error(result, "step")
}

/// The kind of the error that ended the run.
pub(crate) fn failed_kind(result: &Value) -> Option<String> {
    of_error(result, "kind")
}

/// A part of the error that ended the run: from the result's `failure`, else its `error`, else the result itself.
fn of_error(result: &Value, name: &str) -> Option<String> {
    let within = [result.get("failure"), result.get("error"), Some(result)].into_iter().flatten();
    let parts = within.filter_map(|within| within.get(name));
    parts.filter(|part| **part != Value::Null).map(Value::to_string).find(|part| !part.is_empty())
}

/// Whether a run ended before its first step, because of its inputs.
pub(crate) fn is_rejected(result: &Value) -> bool {
    result.get("status").and_then(Value::as_str).is_some_and(|status| status.eq_ignore_ascii_case("rejected"))
}

/// The warnings in a result, one line each.
pub(crate) fn warnings(result: &Value) -> String {
    const MOST: usize = 10;
    let all = result.get("warnings").and_then(Value::as_list).unwrap_or_default();
    let line = |warning: &Value| {
        let part = |key: &str| warning.get(key).map(Value::to_string).unwrap_or_default();
        format!("warning[{}]: {}\n", part("kind"), part("message"))
    };
    let mut lines: String = all.iter().take(MOST).map(line).collect();
    if let Some(more) = all.len().checked_sub(MOST).filter(|more| *more > 0) {
        // Writing into a text cannot fail.
        let _ = writeln!(lines, "warning: {more} more warnings are in the result");
    }
    lines
}

/// A flag that a policy has set, on one line.
pub(crate) fn flag_line(flag: &Value) -> String {
    let part = |key: &str| flag.get(key).and_then(Value::as_str).unwrap_or_default();
    let message = if part("message").is_empty() { String::new() } else { format!(": {}", part("message")) };
    format!("{} by the policy {} ({}){message}", part("step"), part("policy"), part("on"))
}

/// The flags in a result, one line each.
pub(crate) fn flags(result: &Value) -> String {
    const MOST: usize = 10;
    let all = result.get("flags").and_then(Value::as_list).unwrap_or_default();
    let line = |flag: &Value| format!("Flagged: {}\n", flag_line(flag));
    let mut lines: String = all.iter().take(MOST).map(line).collect();
    if let Some(more) = all.len().checked_sub(MOST).filter(|more| *more > 0) {
        // Writing into a text cannot fail.
        let _ = writeln!(lines, "Flagged {more} more times; all flags are in the result");
    }
    lines
}
