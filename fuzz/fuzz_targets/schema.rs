//! Any JSON as a schema and as the value that it checks: it is refused or checked, and what is checked agrees with a validator
//! that has no limits.
#![no_main]

use branchpoint_expr::Value;
use branchpoint_schema::{JsonSchema, SchemaMismatch};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // A list has the schema and the value; anything else is both.
    let Ok(json) = serde_json::from_str::<serde_json::Value>(text) else { return };
    let (schema, value) = match json.as_array().map(Vec::as_slice) {
        Some([schema, value]) => (schema, value),
        _ => (&json, &json),
    };
    let Ok(bounded) = JsonSchema::compile(&Value::from(schema)) else { return };
    let checked = bounded.check(&Value::from(value));
    if matches!(checked, Err(SchemaMismatch::Limit(_))) || has_pattern(schema) {
        return;
    }
    // The limits have passed, so this ends.
    let unbounded = jsonschema::draft202012::new(schema).expect("what compiles with limits compiles without");
    assert_eq!(checked.is_ok(), unbounded.is_valid(value), "{schema} {value}");
});

/// Whether a schema has regular expressions, whose limits may decide otherwise.
fn has_pattern(schema: &serde_json::Value) -> bool {
    match schema {
        serde_json::Value::Object(object) => {
            object.iter().any(|(key, value)| key.starts_with("pattern") || has_pattern(value))
        }
        serde_json::Value::Array(items) => items.iter().any(has_pattern),
        _ => false,
    }
}
