//! What a called workflow gave: its output, or that it failed.

use branchpoint_core::Failed;
use branchpoint_core::ir::Effect;
use branchpoint_expr::Value;

use super::{Judged, flag, refused};
use crate::runner::Call;

/// Whether a value is the result of a child run, and not what someone wrote down for it.
pub(super) fn is_result(call: &Call, value: &Value) -> bool {
    let has = |key: &str| value.get(key).is_some();
    &*call.kind == Effect::CHILD_RUN && flag(call, "child") && has("status") && (has("output") || has("error"))
}

pub(super) fn judge(result: &Value) -> Result<Judged, Failed> {
    let text = |key: &str| result.get(key).and_then(Value::as_str);
    let status = text("status").unwrap_or_default().to_lowercase();
    if !["completed", "direct_output"].contains(&&*status) {
        let error = result.get("error").and_then(|error| error.get("message")).and_then(Value::as_str);
        let message = error.or(text("message")).unwrap_or("the called workflow did not complete");
        return Err(refused("callee_failed", message));
    }
    let output = result.get("output").cloned().unwrap_or_default();
    let content_type = text("output_content_type").map(Into::into);
    Ok(Judged { content_type, ..Judged::plain(output) })
}
