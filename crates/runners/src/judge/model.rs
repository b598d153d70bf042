//! Answers of models.

use std::sync::Arc;

use branchpoint_core::Failed;
use branchpoint_core::effect::{Format, Kind};
use branchpoint_expr::{Object, Value};

use super::{Judged, json, refused};
use crate::runner::Call;

/// Whether the value of the call is a reply and not its text alone.
fn gives_reply(call: &Call) -> bool {
    call.kind() == Kind::Chat || call.definition.fixed.get("reply") == Some(&Value::Bool(true))
}

pub(super) fn judge(call: &Call, text: &str) -> Result<Judged, Failed> {
    if text.trim().is_empty() && call.response().non_empty {
        return Err(refused("step_failed", "the model gave no answer"));
    }
    // Who hears replies hears one without calls.
    if gives_reply(call) {
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
