//! Answers that must have a shape.

use branchpoint_core::Failed;
use branchpoint_expr::Value;

use super::{Judged, json, refused};
use crate::runner::Call;

/// Text is parsed as JSON, then held to the schema; what passes is a value from then on.
pub(super) fn judge(call: &Call, judged: Judged) -> Result<Judged, Failed> {
    let Some(schema) = call.spec.get("output_schema") else { return Ok(judged) };
    let value = match judged.output.as_str() {
        Some(text) => json(text).ok_or_else(|| refused("output_schema", "the answer is text that is not JSON"))?,
        None => judged.output,
    };
    match problem(schema, &value) {
        None => Ok(Judged { output: value, content_type: Some("application/json".into()), ..judged }),
        Some(problem) => Err(refused("output_schema", format!("the answer has not the shape it must have: {problem}"))),
    }
}

/// What is wrong with a value, in one sentence; none if it has the shape.
pub(crate) fn problem(schema: &Value, value: &Value) -> Option<String> {
    let (Ok(schema), Ok(value)) = (serde_json::to_value(schema), serde_json::to_value(value)) else {
        return Some("it cannot be written as JSON".into());
    };
    match jsonschema::draft202012::new(&schema) {
        Ok(validator) => validator.validate(&value).err().map(|error| error.to_string()),
        Err(error) => Some(format!("the schema is no schema: {error}")),
    }
}
