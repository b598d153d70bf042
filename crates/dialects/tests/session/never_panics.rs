//! Loading reports the errors of any document and never panics.

use branchpoint_dialects::load;
use branchpoint_expr::{Dialect, Severity};
use proptest::prelude::*;
use serde_json::{Value, json};

fn text() -> impl Strategy<Value = String> {
    let words =
        ["a", "b", "search", "web_*", "*", "", "tool_used", "(open", "message contains 'x'", "1 +", "\u{1}\"'\\"];
    prop_oneof![8 => prop::sample::select(words.to_vec()).prop_map(String::from), 1 => any::<String>()]
}

fn odd() -> impl Strategy<Value = Value> {
    prop_oneof![Just(Value::Null), any::<i64>().prop_map(Value::from), text().prop_map(Value::from), Just(json!([[]]))]
}

fn condition() -> impl Strategy<Value = Value> {
    let kinds = ["tool_used", "sequence_match", "message_contains", "message_regex", "not_recently_used", "other"];
    let written =
        (prop::sample::select(kinds.to_vec()), text()).prop_map(|(kind, value)| json!({"type": kind, "value": value}));
    prop_oneof![4 => written, 1 => text().prop_map(|text| json!({"if": text})), 1 => odd()]
}

fn step() -> impl Strategy<Value = Value> {
    let texts = || prop::collection::vec(text(), 0..3);
    let parts = (text(), any::<bool>(), prop::collection::vec(condition(), 0..3), texts(), texts(), texts());
    let whole = parts.prop_map(|(name, default, conditions, sequence, allowed, denied)| {
        json!({"name": name, "isDefault": default, "conditions": conditions, "sequence": sequence,
            "availableTools": {"allowed": allowed, "denied": denied}})
    });
    prop_oneof![6 => whole, 1 => odd()]
}

proptest! {
    #[test]
    fn any_session_is_either_loaded_or_rejected(
        steps in prop::collection::vec(step(), 0..4),
        default in prop::option::of(text()),
        personality in odd(),
        whole in any::<bool>(),
    ) {
        let mut document = json!({"steps": steps});
        if let Some(default) = default {
            document["defaultStep"] = default.into();
        }
        if whole {
            document = json!({"version": "1", "agentId": "a", "name": "n", "description": "d", "personality": personality,
                "nodes": ["llm.x", "search"], "nodeConfigurations": {}, "chatSettings": {}, "orchestration": document});
        }
        let loaded = load(&document.to_string(), Some(Dialect::Session));
        let rejected = loaded.diagnostics.iter().any(|finding| finding.severity == Severity::Error);
        prop_assert_eq!(rejected, loaded.program.is_none());
    }
}
