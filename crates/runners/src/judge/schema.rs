//! Checks answers against a JSON Schema.

use branchpoint_core::RunKinds as _;
use branchpoint_core::effect::{self, Format, Request};
use branchpoint_core::{AttemptError, RetryHint};
use branchpoint_expr::{Kind, Value};
use branchpoint_schema::{JsonSchema, SchemaError, SchemaMismatch};

use super::{Judged, json, refused};
use crate::runner::Call;

/// Parses text as JSON and checks it against the schema. A valid answer is a value from then on.
pub(super) fn judge(call: &Call, judged: Judged) -> Result<Judged, AttemptError> {
    let Some(schema) = required_schema(call) else { return Ok(judged) };
    let value = match judged.output.as_str() {
        // A model's JSON has been parsed already, so a text is a JSON string here.
        Some(_) if asks_for_json(call) => judged.output,
        Some(text) => json(text).ok_or_else(|| {
            refused("output_schema", "the answer is text that is not JSON, but the step requires JSON")
        })?,
        None => judged.output,
    };
    match check(&schema, &value) {
        Ok(()) => Ok(Judged { output: value, content_type: Some("application/json".into()), ..judged }),
        Err(SchemaMismatch::Value(problem)) => {
            Err(refused("output_schema", format!("the answer does not match the schema: {problem}")))
        }
        // Another attempt would exceed the limit too.
        Err(SchemaMismatch::Limit(problem)) => {
            Err(AttemptError { retry: RetryHint::Never, ..refused(Kind::SchemaLimit.as_str(), problem) })
        }
    }
}

/// The schema that an answer must match: that of the effect, or the one in a request for JSON, which may be a text.
fn required_schema(call: &Call) -> Option<Value> {
    let own = || match asks_for_json(call).then(|| call.request()) {
        Some(Ok(Request::Model(request))) => Some(request.schema),
        _ => None,
    };
    parsed(call.response().output_schema.clone().or_else(own)?)
}

/// A schema, given as a value or as JSON text; `None` if it is null.
pub(crate) fn parsed(written: Value) -> Option<Value> {
    let parsed = written.as_str().and_then(json);
    Some(parsed.unwrap_or(written)).filter(|schema| *schema != Value::Null)
}

fn asks_for_json(call: &Call) -> bool {
    call.kind() == effect::Kind::Model && call.response().format == Format::Json
}

/// Checks a value against a schema. Both may come from untrusted sources, so the work is limited.
pub(crate) fn check(schema: &Value, value: &Value) -> Result<(), SchemaMismatch> {
    let schema = JsonSchema::compile(schema).map_err(|error| match error {
        SchemaError::Invalid(problem) => SchemaMismatch::Value(format!("the schema is not a JSON Schema: {problem}")),
        SchemaError::Limit(problem) => SchemaMismatch::Limit(problem),
    })?;
    schema.check(value)
}
