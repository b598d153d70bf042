//! Loading reports the errors of any document and never panics.

use branchpoint_dialects::{load, preflight};
use branchpoint_expr::{Dialect, Severity};
use proptest::prelude::*;
use serde_json::{Value, json};

fn text() -> impl Strategy<Value = String> {
    let words = ["s", "a", "b", "i", "p", "", "x'\"\\", "{{PREVIOUS_OUTPUT}}", "text == 'x'", "1 +"];
    prop_oneof![12 => prop::sample::select(words.to_vec()).prop_map(String::from), 1 => any::<String>()]
}

fn odd() -> impl Strategy<Value = Value> {
    prop_oneof![Just(Value::Null), any::<i64>().prop_map(Value::from), text().prop_map(Value::from), Just(json!([{}]))]
}

fn node() -> impl Strategy<Value = Value> {
    let kinds = ["start", "agent", "if", "approval", "input", "end", "other"];
    let condition = prop_oneof![
        text().prop_map(|value| json!({"operator": "contains", "value": value})),
        text().prop_map(|text| json!({"if": text})),
        odd(),
    ];
    let conditions = prop::collection::vec(condition, 0..3);
    let parts = (text(), prop::sample::select(kinds.to_vec()), conditions, text(), any::<bool>(), odd());
    let whole = parts.prop_map(|(id, kind, conditions, prompt, subagents, odd)| {
        json!({"id": id, "type": kind, "data": {"conditions": conditions, "userPrompt": prompt, "prompt": odd,
            "initialInput": odd, "tools": {"subagents": subagents}}})
    });
    prop_oneof![8 => whole, 1 => odd()]
}

fn connection() -> impl Strategy<Value = Value> {
    let handles = ["output", "subagent", "true", "false", "condition-0", "condition-1", "approve", "reject"];
    let parts = (text(), text(), prop::sample::select(handles.to_vec()));
    let whole =
        parts.prop_map(|(source, target, handle)| json!({"source": source, "target": target, "sourceHandle": handle}));
    prop_oneof![8 => whole, 1 => odd()]
}

proptest! {
    #[test]
    fn any_graph_is_either_loaded_or_rejected(
        nodes in prop::collection::vec(node(), 0..5),
        connections in prop::collection::vec(connection(), 0..8),
        complete in any::<bool>(),
    ) {
        let mut nodes = nodes;
        if complete {
            nodes.push(json!({"id": "s", "type": "start"}));
        }
        let document = json!({"nodes": nodes, "connections": connections}).to_string();
        let loaded = load(&document, Some(Dialect::Graph));
        let rejected = loaded.diagnostics.iter().any(|finding| finding.severity == Severity::Error);
        prop_assert_eq!(rejected, loaded.program.is_none());
        prop_assert!(!rejected || !preflight(&document).is_empty());
    }
}
