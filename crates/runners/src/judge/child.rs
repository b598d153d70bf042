//! Judges the result of a called workflow.

use branchpoint_core::AttemptError;
use branchpoint_core::effect::Kind;
use branchpoint_expr::Value;

use super::{Judged, refused};
use crate::runner::Call;

/// Whether a value is the result of a real child run, and not an answer from a script.
pub(super) fn is_result(call: &Call, value: &Value) -> bool {
    let has = |key: &str| value.get(key).is_some();
    call.kind() == Kind::Run && call.response().child && has("status") && (has("output") || has("error"))
}

pub(super) fn judge(result: &Value) -> Result<Judged, AttemptError> {
    let text = |key: &str| result.get(key).and_then(Value::as_str);
    let status = text("status").unwrap_or_default().to_lowercase();
    if !["completed", "direct_output"].contains(&&*status) {
        return Err(refused("callee_failed", cause(result)));
    }
    let output = result.get("output").cloned().unwrap_or_default();
    let content_type = text("output_content_type").map(Into::into);
    Ok(Judged { content_type, ..Judged::plain(output) })
}

/// Why a called run did not complete: the step, the kind and the message of its error. They are in the `failure` of the result if
/// the run's own `error` has other fields.
pub(super) fn cause(result: &Value) -> String {
    let part = |name: &str| {
        let within = [result.get("failure"), result.get("error"), Some(result)].into_iter().flatten();
        let texts = within.filter_map(|within| within.get(name).and_then(Value::as_str));
        texts.map(str::to_owned).find(|text| !text.is_empty())
    };
    let step = part("step").map(|step| format!(" in step `{step}`")).unwrap_or_default();
    let kind = part("kind").map(|kind| format!(" [{kind}]")).unwrap_or_default();
    let ended = match part("status").map(|status| status.to_lowercase()).as_deref() {
        Some("rejected") => "was not started",
        Some("cancelled") => "was cancelled",
        _ => "failed",
    };
    let message = part("message").or_else(|| part("reason"));
    let message = message.map(|message| format!(": {message}")).unwrap_or_default();
    format!("the called workflow {ended}{step}{kind}{message}")
}
