//! Loading reports the errors of any document and never panics.

use branchpoint_dialects::load;
use branchpoint_expr::{Dialect, Severity};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Keys and words of the dialect, so that random documents pass the first checks.
const WORDS: &[&str] = &[
    "name",
    "states",
    "initial",
    "a",
    "b",
    "c",
    "type",
    "command",
    "step",
    "agent",
    "parallel",
    "for_each",
    "while",
    "call_workflow",
    "terminal",
    "on_success",
    "on_failure",
    "transitions",
    "when",
    "goto",
    "body",
    "items",
    "loop",
    "condition",
    "break_when",
    "max_iterations",
    "on_complete",
    "provider",
    "prompt",
    "conversation",
    "stop_conditions",
    "mode",
    "workflow",
    "inputs",
    "outputs",
    "retry",
    "max_attempts",
    "timeout",
    "hooks",
    "pre",
    "log",
    "message",
    "status",
    "failure",
    "{{inputs.a}}",
    "{{states.a.Output}}",
    "{{secret.K}}",
    "states.a.ExitCode == 1",
    "true",
    "1s",
    "validation",
    "pattern",
    "file_exists",
    "default",
    "required",
    "if",
    "strategy",
    "best_effort",
];

fn word() -> impl Strategy<Value = String> {
    prop_oneof![9 => proptest::sample::select(WORDS).prop_map(String::from), 1 => ".{0,6}"]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        6 => word().prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => (-2_i64..300).prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(word(), inner, 0..7).prop_map(|fields| json!(fields)),
        ]
    })
}

fn check(document: &Value) {
    let source = document.to_string();
    let loaded = load(&source, Some(Dialect::Machine));
    let rejected = loaded.diagnostics.iter().any(|finding| finding.severity == Severity::Error);
    assert_eq!(loaded.program.is_none(), rejected, "{source}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_value_is_loaded_or_rejected(document in value()) {
        check(&document);
    }

    #[test]
    fn any_states_are_loaded_or_rejected(a in value(), b in value(), c in value()) {
        check(&json!({"name": "n", "states": {"initial": "a", "a": a, "b": b, "c": c, "done": {"type": "terminal"}}}));
    }
}
