use serde_json::{Value as Json, json};

use super::*;

fn compile(schema: &Json) -> Result<JsonSchema, SchemaError> {
    JsonSchema::compile(&Value::from(schema))
}

#[track_caller]
fn compiled(schema: &Json) -> JsonSchema {
    compile(schema).expect("it is a schema within its limits")
}

/// Checks that the schema exceeds a limit that the message names.
#[track_caller]
fn exceeds(schema: &Json, expected: &str) {
    match compile(schema) {
        Err(SchemaError::Limit(message)) => assert!(message.contains(expected), "{message}"),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn invalid(schema: &Json, expected: &str) {
    match compile(schema) {
        Err(SchemaError::Invalid(message)) => assert!(message.contains(expected), "{message}"),
        other => panic!("{other:?}"),
    }
}

/// `levels` definitions, each of which applies the next `width` times by a keyword.
fn tower(levels: usize, width: usize, keyword: &str) -> Json {
    let mut definitions = serde_json::Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        definitions.insert(format!("d{level}"), json!({keyword: vec![next; width]}));
    }
    definitions.insert(format!("d{levels}"), json!({"type": "integer", "minimum": 7}));
    json!({"$defs": definitions, "$ref": "#/$defs/d0"})
}

#[test]
fn references_that_multiply_are_rejected_when_the_schema_is_compiled() {
    for keyword in ["anyOf", "allOf", "oneOf"] {
        for (levels, width) in [(14, 2), (30, 2), (60, 2), (9, 3), (30, 50)] {
            exceeds(&tower(levels, width, keyword), "apply to one value more than 10000 times");
        }
        assert!(compiled(&tower(8, 2, keyword)).check(&Value::from("x")).is_err());
    }
    // Two kilobytes of schema took gigabytes of memory.
    assert!(serde_json::to_string(&tower(25, 2, "anyOf")).expect("JSON").len() < 2_500);
}

#[test]
fn nested_subschemas_multiply_too() {
    let mut schema = json!({"type": "integer"});
    for _ in 0..12 {
        schema = json!({"anyOf": [schema.clone(), schema]});
    }
    exceeds(&schema, "more than 10000");
    let mut schema = json!({"properties": {"a": {"type": "integer"}}});
    for _ in 0..20 {
        schema = json!({"allOf": [schema], "unevaluatedProperties": false});
    }
    exceeds(&schema, "more than 10000");
}

#[test]
fn circular_references_are_rejected_and_recursive_types_are_not() {
    exceeds(&json!({"$ref": "#"}), "without descending");
    exceeds(
        &json!({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"}),
        "without descending",
    );
    exceeds(&json!({"$dynamicAnchor": "x", "allOf": [{"$dynamicRef": "#x"}]}), "without descending");
    let tree =
        compiled(&json!({"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}));
    assert!(tree.check(&Value::from(&json!({"children": [{"children": []}, {}]}))).is_ok());
    assert!(tree.check(&Value::from(&json!({"children": [{"children": 1}]}))).is_err());
}

#[test]
fn work_that_depends_on_the_value_is_measured_before_the_value_is_checked() {
    let node = json!({"properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}});
    let schema = compiled(&node);
    let nested = |levels: usize| (0..levels).fold(json!({"a": 1}), |inner, _| json!({"a": inner}));
    assert!(schema.check(&Value::from(&nested(8))).is_ok());
    for levels in [20, 40, 80] {
        let refused = schema.check(&Value::from(&nested(levels)));
        assert!(matches!(refused, Err(SchemaMismatch::Limit(_))), "{levels}: {refused:?}");
    }
    let measured = schema.measure(&nested(8)).expect("it is within the limit");
    assert!((1 << 8..1 << 13).contains(&measured), "{measured}");
}

#[test]
fn a_large_value_is_checked_under_a_plain_schema_and_a_larger_one_is_not() {
    let schema = compiled(&json!({"type": "array", "items": {"type": "integer"}}));
    let list = |length: usize| Value::from(vec![Value::Int(1); length]);
    assert!(schema.check(&list(100_000)).is_ok());
    assert!(matches!(schema.check(&list(3_000_000)), Err(SchemaMismatch::Limit(_))));
}

#[test]
fn errors_are_described_only_where_that_is_cheap() {
    let schema = compiled(&json!({"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}));
    let message = |length: usize| match schema.check(&Value::from(vec![Value::from("x"); length])) {
        Err(SchemaMismatch::Value(message)) => message,
        other => panic!("{other:?}"),
    };
    assert!(message(10).contains("anyOf"), "{}", message(10));
    assert!(message(50_000).contains("too large to show where"), "{}", message(50_000));
    let long = Value::from("x".repeat(1_000_000));
    let error = compiled(&json!({"type": "integer"})).check(&long).expect_err("it is text");
    assert!(error.to_string().len() <= MESSAGE_BYTES + 4);
}

#[test]
fn size_depth_and_patterns_are_bounded() {
    exceeds(&json!({"enum": vec![1; VALUES]}), "values");
    exceeds(&json!({"const": "x".repeat(TEXT_BYTES + 1)}), "bytes of text");
    exceeds(&(0..=DEPTH).fold(json!({}), |inner, _| json!({"not": inner})), "levels deep");
    exceeds(&json!({"pattern": "a".repeat(PATTERN_BYTES + 1)}), "regular expression");
    exceeds(&json!({"allOf": vec![json!({"pattern": "a"}); PATTERNS + 1]}), "regular expressions");
    invalid(&json!({"pattern": "(a{1000}){1000}"}), "");
    let backtracking = compiled(&json!({"items": {"pattern": "^(?=(a+)+$)b"}}));
    let refused = backtracking.check(&Value::from(vec![Value::from("a".repeat(40)); 10_000]));
    assert!(matches!(refused, Err(SchemaMismatch::Limit(_))), "{refused:?}");
}

#[test]
fn references_lead_into_the_schema_only() {
    for outside in ["https://example.com/a.json", "other.json#/a", "file:///etc/passwd", "urn:x"] {
        invalid(&json!({"$ref": outside}), "leads out of the schema");
    }
    invalid(&json!({"$ref": "#/$defs/none"}), "has no target");
    invalid(&json!({"$ref": "#none"}), "has no target");
    invalid(&json!({"properties": {"a": {"$id": "https://example.com/a"}}}), "`$id`");
    invalid(&json!({"type": "word"}), "");
    let escaped = compiled(
        &json!({"$defs": {"a/b": {"type": "integer"}}, "$ref": "#/$defs/a~1b", "$id": "https://example.com/x"}),
    );
    assert!(escaped.check(&Value::Int(1)).is_ok() && escaped.check(&Value::from("x")).is_err());
    let encoded = compiled(
        &json!({"$defs": {"a b": {"$anchor": "n", "type": "integer"}}, "allOf": [{"$ref": "#/$defs/a%20b"}, {"$ref": "#n"}]}),
    );
    assert!(encoded.check(&Value::Int(1)).is_ok() && encoded.check(&Value::from("x")).is_err());
}

#[test]
fn property_names_are_not_mistaken_for_keywords() {
    let schema = compiled(
        &json!({"properties": {"$ref": {"type": "string"}, "$id": {"type": "string"}, "pattern": {"type": "integer"}}}),
    );
    assert!(schema.check(&Value::from(&json!({"$ref": "https://example.com", "$id": "x", "pattern": 1}))).is_ok());
    assert!(schema.check(&Value::from(&json!({"pattern": "x"}))).is_err());
}

/// Definitions that refer to the next one, through a keyword or directly.
fn chain(length: usize, link: impl Fn(Json) -> Json) -> Json {
    let mut definitions = serde_json::Map::new();
    for level in 0..length {
        definitions.insert(format!("d{level}"), link(json!({"$ref": format!("#/$defs/d{}", level + 1)})));
    }
    definitions.insert(format!("d{length}"), json!({"type": "integer"}));
    json!({"$defs": definitions, "$ref": "#/$defs/d0"})
}

#[test]
fn long_chains_of_references_need_no_stack() {
    let links: [fn(Json) -> Json; 4] = [
        |next| next,
        |next| json!({"anyOf": [next]}),
        |next| json!({"properties": {"a": next}}),
        |next| json!({"items": next, "uniqueItems": true}),
    ];
    for (number, link) in links.into_iter().enumerate() {
        assert!(compile(&chain(20, link)).is_ok(), "{number}");
        for length in [300, 2_400] {
            // Any result is fine, as long as the stack does not overflow.
            let schema = compile(&chain(length, link));
            assert!(number > 1 || matches!(schema, Err(SchemaError::Limit(_))), "{number} {length}");
            let nested = (0..120).fold(json!(1), |inner, _| json!({"a": [inner]}));
            let _ = schema.map(|schema| schema.check(&Value::from(&nested)));
        }
    }
}
