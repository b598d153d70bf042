//! Answers of models.

use std::sync::Arc;

use branchpoint_core::Failed;
use branchpoint_core::effect::Format;
use branchpoint_expr::{Object, Value};

use super::{Judged, json, refused};
use crate::runner::Call;

pub(super) fn judge(call: &Call, text: &str) -> Result<Judged, Failed> {
    if text.trim().is_empty() && call.response().non_empty {
        return Err(refused("step_failed", "the model gave no answer"));
    }
    // Who hears replies hears one without calls.
    if call.response().format == Format::Reply {
        return Ok(Judged::plain(Value::from(
            [(Arc::from("text"), Value::from(text))].into_iter().collect::<Object>(),
        )));
    }
    if call.response().format != Format::Json {
        return Ok(Judged::plain(Value::from(text)));
    }
    let value =
        json(text).ok_or_else(|| refused("step_failed", "the model's answer is not the JSON it was asked for"))?;
    Ok(Judged::plain(value))
}
