//! Answers of models.

use branchpoint_core::AttemptError;
use branchpoint_core::effect::Format;
use branchpoint_expr::{Object, Value};

use super::{Judged, json, refused};
use crate::runner::Call;

/// A reply is a value already; text is read as the effect says.
pub(super) fn judge(call: &Call, value: Value) -> Result<Judged, AttemptError> {
    let Some(text) = value.as_str() else { return Ok(Judged::plain(value)) };
    if text.trim().is_empty() && call.response().non_empty {
        return Err(refused("step_failed", "the model gave no answer"));
    }
    Ok(Judged::plain(match call.response().format {
        // A plain text is a reply without tool calls.
        Format::Reply => Value::from(Object::from_iter([("text".into(), value)])),
        Format::Json => {
            json(text).ok_or_else(|| refused("step_failed", "the model's answer is not the JSON it was asked for"))?
        }
        _ => value,
    }))
}
