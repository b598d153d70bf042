//! Converts schemas to the strict form that providers require to enforce them.

use serde_json::{Map, Value, json};

/// A schema without additional properties, in which all properties are required if `all_required`. It is stricter than the original,
/// and replies are checked against the original. `None` if an object allows arbitrary properties.
pub(in crate::models) fn strict(schema: &Value, all_required: bool) -> Option<Value> {
    const ANNOTATIONS: [&str; 5] = ["$ref", "title", "description", "default", "nullable"];
    let Some(fields) = schema.as_object() else { return Some(schema.clone()) };
    // Providers reject annotations beside a reference.
    if let Some(reference) = fields.get("$ref").filter(|_| fields.keys().all(|key| ANNOTATIONS.contains(&&**key))) {
        return Some(json!({ "$ref": reference }));
    }
    let each = |schema: &Value| strict(schema, all_required);
    let mut strict = Map::new();
    for (key, value) in fields {
        let value = match (&**key, value) {
            ("properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas", Value::Object(all)) => {
                all.iter()
                    .map(|(name, schema)| Some((name.clone(), each(schema)?)))
                    .collect::<Option<Map<_, _>>>()?
                    .into()
            }
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(all)) => {
                all.iter().map(each).collect::<Option<Vec<_>>>()?.into()
            }
            ("items" | "contains" | "not" | "if" | "then" | "else", schema) => each(schema)?,
            (_, value) => value.clone(),
        };
        // Providers do not support `oneOf`.
        let key = if key == "oneOf" && !fields.contains_key("anyOf") { "anyOf" } else { key };
        strict.insert(key.to_owned(), value);
    }
    if strict.get("type").is_some_and(|kind| kind == "object") || strict.contains_key("properties") {
        close(&mut strict, all_required)?;
    }
    Some(strict.into())
}

fn close(object: &mut Map<String, Value>, all_required: bool) -> Option<()> {
    let properties = object.get("properties").and_then(Value::as_object)?;
    if object.get("additionalProperties").is_some_and(|more| *more != json!(false)) {
        return None;
    }
    let names: Vec<Value> = properties.keys().cloned().map(Value::String).collect();
    object.insert("additionalProperties".to_owned(), json!(false));
    if all_required {
        object.insert("required".to_owned(), names.into());
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_closed_at_every_level() {
        let schema = json!({"type": "object", "required": ["a"], "properties": {
            "a": {"type": "array", "items": {"properties": {"n": {"minimum": 0}}}},
            "b": {"oneOf": [{"type": "string"}, {"$ref": "#/$defs/B", "description": "another"}]}},
            "$defs": {"B": {"type": "object", "properties": {}}}});
        let closed = json!({"type": "object", "required": ["a", "b"], "additionalProperties": false, "properties": {
            "a": {"type": "array", "items": {
                "properties": {"n": {"minimum": 0}}, "additionalProperties": false, "required": ["n"]}},
            "b": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/B"}]}},
            "$defs": {"B": {"type": "object", "properties": {}, "additionalProperties": false, "required": []}}});
        assert_eq!(strict(&schema, true), Some(closed));
        let optional = strict(&schema, false).expect("it has a strict form");
        assert_eq!(optional["required"], json!(["a"]));
    }

    #[test]
    fn an_object_with_arbitrary_properties_has_no_strict_form() {
        for schema in [
            json!({"type": "object"}),
            json!({"properties": {"a": {}}, "additionalProperties": true}),
            json!({"properties": {"a": {"items": {"type": "object", "additionalProperties": {"type": "string"}}}}}),
        ] {
            assert_eq!(strict(&schema, true), None, "{schema}");
        }
        assert_eq!(strict(&json!(true), true), Some(json!(true)));
    }
}
