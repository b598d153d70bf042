//! Judges replies of models.

use branchpoint_core::AttemptError;
use branchpoint_core::effect::Format;
use branchpoint_expr::{Object, Value};

use super::{Judged, json, refused};
use crate::runner::Call;

/// The value of a reply. Text is parsed as the effect says.
pub(super) fn judge(call: &Call, value: Value) -> Result<Judged, AttemptError> {
    let Some(text) = value.as_str() else { return Ok(Judged::plain(value)) };
    if text.trim().is_empty() && call.response().non_empty {
        return Err(refused("step_failed", "the model's reply is empty"));
    }
    Ok(Judged::plain(match call.response().format {
        // A plain text is a reply without tool calls.
        Format::Reply => Value::from(Object::from_iter([("text".into(), value)])),
        Format::Json => json(text)
            .ok_or_else(|| refused("step_failed", "the model's reply is not JSON, but the step requires JSON"))?,
        _ => value,
    }))
}
