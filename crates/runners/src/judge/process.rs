//! Judges processes that have ended.

use branchpoint_core::RunKinds as _;
use branchpoint_core::effect::{Format, ProcessResult, Stream};
use branchpoint_core::{AttemptError, RetryHint};
use branchpoint_expr::{Kind, Value};

use super::{Judged, json, refused, timeout};
use crate::local::shell::max_output;
use crate::runner::Call;

const OPEN: &str = "<output>";
const CLOSE: &str = "</output>";

pub(super) fn judge(call: &Call, result: ProcessResult) -> Result<Judged, AttemptError> {
    let ProcessResult { exit_code, stdout, stderr, cut } = result;
    let Some(exit) = exit_code else { return Err(timeout(call)) };
    if let Some(failed) = over_limit(call, cut) {
        return Err(failed);
    }
    if exit != 0 {
        let stderr = stderr.trim();
        let details = if stderr.is_empty() { String::new() } else { format!(": {stderr}") };
        return Err(refused("exit_code", format!("the command exited with code {exit}{details}")));
    }
    let output = if call.response().format == Format::Tagged { tagged_output(&stdout) } else { Value::Str(stdout) };
    let beside = vec![("exit_code", Value::Int(exit.into())), ("stderr", Value::Str(stderr))];
    Ok(Judged { output, content_type: None, beside })
}

/// The failure of a process that was stopped because its output exceeds the limit.
pub(super) fn over_limit(call: &Call, cut: Option<Stream>) -> Option<AttemptError> {
    let cut = cut.filter(|_| !call.response().truncate);
    let limit = max_output(call);
    let stream = match cut? {
        Stream::Out => "output",
        Stream::Err => "error output",
    };
    let message = format!(
        "the command's {stream} exceeds {limit} bytes; raise `max_output`, print less, or set `truncate: true` to keep the beginning"
    );
    // The command would print as much again.
    Some(AttemptError { retry: RetryHint::Never, ..refused(Kind::OutputLimit.as_str(), message) })
}

/// The message of a failed command: the last line of its error output that is not blank, else of its output, else its exit code.
pub(super) fn failure_message(exit: i32, stdout: &str, stderr: &str) -> String {
    let last_line = |text: &str| text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned);
    last_line(stderr).or_else(|| last_line(stdout)).unwrap_or_else(|| format!("exit code {exit}"))
}

/// The text between the tags, parsed if it is JSON; without tags the whole text, trimmed. An empty text is null.
fn tagged_output(stdout: &str) -> Value {
    let between = stdout.split_once(OPEN).and_then(|(_, rest)| rest.split_once(CLOSE)).map(|(between, _)| between);
    match between {
        Some(text) => json(text).unwrap_or_else(|| text_or_null(text.trim())),
        None => text_or_null(stdout.trim()),
    }
}

fn text_or_null(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { Value::from(text) }
}
