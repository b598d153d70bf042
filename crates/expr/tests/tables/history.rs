//! History conditions of sessions: `docs/spec/session.md`, section 1.

use branchpoint_expr::{Condition, Dialect, Options};
use serde_json::{Value as Json, json};

/// One condition in a step with a sequence, over a history and a message.
#[track_caller]
fn check_in(step: &Json, context: &Json, expect: &str) {
    let conditions = crate::located(&step["conditions"]);
    let sequence = step.get("sequence").map(crate::located);
    let compiled = Condition::history(&conditions, sequence.as_ref(), Options::dialect(Dialect::Session));
    assert_eq!(crate::outcome(compiled, context), expect, "{step} over {context}");
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "a table reads better without `&` on every line")]
fn check(condition: Json, context: Json, expect: &str) {
    check_in(&json!({"conditions": [condition]}), &context, expect);
}

#[test]
fn tool_used_looks_anywhere_in_the_history_and_case_counts() {
    let used = json!({"type": "tool_used", "value": "search"});
    check(used.clone(), json!({"tools": ["read", "search", "write"]}), "true");
    check(used.clone(), json!({"tools": ["Search", "searches"]}), "false");
    check(used.clone(), json!({"tools": []}), "false");
    check(used, json!({}), "false");
}

#[test]
fn not_recently_used_looks_at_the_end_of_the_history() {
    let recent = |window: Json| json!({"type": "not_recently_used", "value": "a", "window": window});
    let five = json!({"type": "not_recently_used", "value": "a"});
    check(five.clone(), json!({"tools": ["a", "b", "b", "b", "b", "b"]}), "true");
    check(five.clone(), json!({"tools": ["b", "a", "b", "b", "b", "b"]}), "false");
    check(five.clone(), json!({"tools": []}), "true");
    check(five, json!({}), "true");
    check(recent(json!(1)), json!({"tools": ["a", "b"]}), "true");
    check(recent(json!(2)), json!({"tools": ["a", "b"]}), "false");
    check(recent(json!(i64::MAX)), json!({"tools": ["a"]}), "false");
    check(recent(json!(0)), json!({"tools": []}), "refused invalid_condition");
    check(recent(json!(1.5)), json!({"tools": []}), "refused invalid_condition");
    check(recent(json!("3")), json!({"tools": []}), "refused invalid_condition");
}

#[test]
fn sequence_match_compares_the_end_of_the_history_position_by_position() {
    let step = |sequence: Json| json!({"conditions": [{"type": "sequence_match"}], "sequence": sequence});
    let two = step(json!(["read", ["write", "edit"]]));
    check_in(&two, &json!({"tools": ["x", "read", "edit"]}), "true");
    check_in(&two, &json!({"tools": ["read", "write"]}), "true");
    check_in(&two, &json!({"tools": ["read", "write", "x"]}), "false");
    check_in(&two, &json!({"tools": ["write"]}), "false");
    check_in(&two, &json!({"tools": []}), "false");
    check_in(&two, &json!({}), "false");
    check_in(&step(json!([])), &json!({}), "refused missing_sequence");
    check_in(&json!({"conditions": [{"type": "sequence_match"}]}), &json!({}), "refused missing_sequence");
}

#[test]
fn message_conditions_ignore_case_and_do_not_trim() {
    let contains = json!({"type": "message_contains", "value": "DePloy"});
    check(contains.clone(), json!({"message": "please DEPLOY now"}), "true");
    check(contains.clone(), json!({"message": "please"}), "false");
    check(contains.clone(), json!({"message": null}), "false");
    check(contains, json!({}), "false");
    check(json!({"type": "message_contains", "value": "STRASSE"}), json!({"message": "straße"}), "false");
    check(json!({"type": "message_contains", "value": "ÄÖ"}), json!({"message": "xäöx"}), "true");
    let starts = json!({"type": "message_starts_with", "value": "hey"});
    check(starts.clone(), json!({"message": "HEY you"}), "true");
    check(starts, json!({"message": " hey you"}), "false");
}

#[test]
fn message_regex_searches_and_case_counts() {
    let regex = |pattern: &str| json!({"type": "message_regex", "value": pattern});
    check(regex("v\\d+"), json!({"message": "release v12"}), "true");
    check(regex("V\\d+"), json!({"message": "release v12"}), "false");
    check(regex("(?i)V\\d+"), json!({"message": "release v12"}), "true");
    check(regex("^release$"), json!({"message": "release v12"}), "false");
    check(regex("x"), json!({}), "false");
    check(regex("(?=a)"), json!({}), "refused bad_regex");
    check(regex("("), json!({}), "refused bad_regex");
}

#[test]
fn if_takes_an_expression_or_a_group() {
    check(json!({"if": "len(tools) > 1 && step == 'plan'"}), json!({"tools": ["a", "b"], "step": "plan"}), "true");
    check(json!({"if": "sequence_index == nil"}), json!({}), "true");
    check(json!({"if": "message + 1 == 2"}), json!({"message": "x"}), "failed wrong_kind");
    let group = json!({"combinator": "and", "conditions": [{"variable": "{{message}}", "operator": "is_not_empty"}]});
    check(json!({"if": group}), json!({"message": "x"}), "true");
    check(json!({"if": "tools ="}), json!({}), "refused syntax");
    check(json!({"if": "true", "type": "tool_used"}), json!({}), "refused two_conditions");
}

#[test]
fn all_conditions_must_hold_and_all_are_looked_at() {
    let step = json!({"conditions": [
        {"type": "tool_used", "value": "a"}, {"type": "message_contains", "value": "go", "description": "no effect"},
    ]});
    check_in(&step, &json!({"tools": ["a"], "message": "GO"}), "true");
    check_in(&step, &json!({"tools": ["a"], "message": "stop"}), "false");
    check_in(&json!({"conditions": []}), &json!({}), "true");
    let failing = json!({"conditions": [{"type": "tool_used", "value": "a"}, {"if": "message > 1"}]});
    check_in(&failing, &json!({"message": "x"}), "failed wrong_kind");
}

#[test]
fn mistakes_are_refused() {
    check(json!({"type": "tool_usd", "value": "a"}), json!({}), "refused unknown_condition_type");
    check(json!({"type": "tool_used"}), json!({}), "refused missing_value");
    check(json!({"type": "tool_used", "value": ""}), json!({}), "refused missing_value");
    check(json!({"type": "tool_used", "value": null}), json!({}), "refused missing_value");
    check(json!({"type": "tool_used", "value": 5}), json!({}), "refused invalid_condition");
    check(json!({"value": "a"}), json!({}), "refused invalid_condition");
    check(json!({"type": 5}), json!({}), "refused invalid_condition");
    check(json!("tool_used"), json!({}), "refused invalid_condition");
    check_in(&json!({"conditions": {}}), &json!({}), "refused invalid_condition");
}
