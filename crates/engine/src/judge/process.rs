//! Processes that have ended.

use std::sync::Arc;

use branchpoint_core::Failed;
use branchpoint_expr::Value;

use super::{Judged, json, refused};
use crate::runner::Call;

const OPEN: &str = "<output>";
const CLOSE: &str = "</output>";

pub(super) fn judge(call: &Call, exit: i32, stdout: &str, stderr: Arc<str>) -> Result<Judged, Failed> {
    if exit != 0 {
        let complaint = stderr.trim();
        let said = if complaint.is_empty() { String::new() } else { format!(": {complaint}") };
        return Err(refused("exit_code", format!("the command ended with code {exit}{said}")));
    }
    let tagged = call.spec.get("output").and_then(Value::as_str) == Some("tagged");
    let output = if tagged { tagged_output(stdout) } else { Value::from(stdout) };
    let beside = vec![("exit_code", Value::Int(exit.into())), ("stderr", Value::Str(stderr))];
    Ok(Judged { output, content_type: None, beside })
}

/// What stands between the tags, as JSON if it is JSON; without tags everything, trimmed. Nothing is null.
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
