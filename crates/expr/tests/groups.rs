//! Typed groups stand beside every dialect's own spelling, with the names that its spec gives.

use branchpoint_expr::{Condition, Dialect, Located, Options, Value};

#[track_caller]
fn check(dialect: Dialect, group: &str, context: &str, expect: bool) {
    let read = |text: &str| serde_json::from_str::<Value>(text).expect("the test writes JSON");
    let condition = Condition::if_key(&Located::from(&read(group)), Options::dialect(dialect)).expect("it compiles");
    assert_eq!(condition.evaluate(&read(context)), Ok(expect), "{group}");
}

#[test]
fn session_groups_read_message_and_tools() {
    let says =
        r#"{"combinator": "and", "conditions": [{"variable": "{{message}}", "operator": "equals", "value": "hi"}]}"#;
    check(Dialect::Session, says, r#"{"message": "hi"}"#, true);
    check(Dialect::Session, says, r#"{"message": "no"}"#, false);
    let used = r#"{"combinator": "and", "conditions": [
        {"variable": "{{tools}}", "operator": "contains", "value": "fetch", "type": "array"}]}"#;
    check(Dialect::Session, used, r#"{"tools": ["fetch"]}"#, true);
}

#[test]
fn graph_groups_read_input_and_text() {
    let group = r#"{"combinator": "or", "conditions": [
        {"variable": "{{input}}", "operator": "starts_with", "value": "ERR"},
        {"variable": "{{text}}", "operator": "contains", "value": "failed"}]}"#;
    check(Dialect::Graph, group, r#"{"input": "It FAILED", "text": "it failed"}"#, true);
    check(Dialect::Graph, group, r#"{"input": "fine", "text": "fine"}"#, false);
}

#[test]
fn machine_groups_read_missing_as_nil() {
    let group = r#"{"combinator": "and", "conditions": [{"variable": "{{inputs.note}}", "operator": "is_empty"}]}"#;
    check(Dialect::Machine, group, "{}", true);
    check(Dialect::Machine, group, r#"{"inputs": {"note": "x"}}"#, false);
}
