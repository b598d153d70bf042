//! Loading reports the errors of any document and never panics.

use branchpoint_dialects::load;
use branchpoint_expr::{Dialect, Severity};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Keys and words of the dialect, so that random documents pass the first checks.
const WORDS: &[&str] = &[
    "name",
    "steps",
    "type",
    "config",
    "id",
    "condition",
    "if",
    "truePath",
    "falsePath",
    "cases",
    "value",
    "blocks",
    "variable",
    "defaultBlocks",
    "loopType",
    "loopBlocks",
    "for",
    "forEach",
    "while",
    "startValue",
    "endValue",
    "counterVariable",
    "itemVariable",
    "iterableVariable",
    "variables",
    "combinator",
    "conditions",
    "operator",
    "and",
    "equals",
    "setVariables",
    "flow_variables",
    "conditional",
    "switch",
    "loop",
    "llmInstruction",
    "instruction",
    "apiCall",
    "url",
    "finish",
    "data",
    "message",
    "resultVariable",
    "directOutput",
    "maxIterations",
    "{{ $a }}",
    "{{ $a + }}",
    "a.b",
    "\"quoted\" \\ {{",
    "https://a.example/{{ $x }}",
    "\u{1}\n}}",
];

fn word() -> impl Strategy<Value = String> {
    prop_oneof![8 => prop::sample::select(WORDS).prop_map(String::from), 1 => any::<String>()]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(word(), inner, 0..8)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// A step with the settings of its type and random values.
fn step() -> impl Strategy<Value = Value> {
    let leaf = (word(), value()).prop_map(|(name, value)| {
        json!({"id": name, "type": "setVariables", "config": {"variables": [{"name": name, "value": value}], "resultVariable": "r"}})
    });
    leaf.prop_recursive(3, 12, 3, |inner| {
        let blocks = prop::collection::vec(inner, 0..3);
        (blocks, value(), word()).prop_flat_map(|(blocks, value, name)| {
            prop::sample::select(vec![
                json!({"type": "conditional", "config": {"if": "$a == 1", "truePath": blocks, "falsePath": value}}),
                json!({"type": "switch", "config": {"variable": value, "cases": [{"value": name, "blocks": blocks}]}}),
                json!({"type": "loop", "config": {"loopType": "forEach", "iterableVariable": [value], "itemVariable": "it",
                    "loopBlocks": blocks, "resultVariable": "all", "directOutput": true}}),
                json!({"id": name, "type": "loop", "config": {"loopType": "for", "startValue": 1, "endValue": value,
                    "counterVariable": "i", "loopBlocks": blocks}}),
                json!({"id": name, "type": "finish", "config": {"message": name, "data": value}}),
                json!({"type": "llmInstruction", "config": {"instruction": name, "jsonSchema": value}}),
                json!({"type": name, "config": value}),
            ])
        })
    })
}

proptest! {
    #[test]
    fn any_value_is_loaded_or_rejected(value in value()) {
        load(&value.to_string(), Some(Dialect::Flow));
    }

    #[test]
    fn any_step_is_either_loaded_or_rejected(steps in prop::collection::vec(step(), 1..4)) {
        let document = json!({"name": "n", "steps": steps});
        let loaded = load(&document.to_string(), Some(Dialect::Flow));
        let rejected = loaded.diagnostics.iter().any(|finding| finding.severity == Severity::Error);
        prop_assert_eq!(rejected, loaded.program.is_none());
    }
}
