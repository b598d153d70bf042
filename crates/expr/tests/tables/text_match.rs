//! The text match of graphs: `docs/spec/graph.md`, section 3.

use branchpoint_expr::{Condition, Dialect, Options};
use serde_json::{Value as Json, json};

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "a table reads better without `&` on every line")]
fn check(entry: Json, input: Json, expect: &str) {
    let compiled = Condition::text_match(&crate::located(&entry), Options::dialect(Dialect::Graph));
    let context = json!({"input": input, "text": input.to_string().to_lowercase()});
    assert_eq!(crate::outcome(compiled, &context), expect, "{entry} over {input}");
}

#[test]
fn equal_compares_lower_case_text_and_trims_only_the_value() {
    check(json!({"value": "yes"}), json!("YES"), "true");
    check(json!({"operator": "equal", "value": " Yes\u{a0}\u{feff}"}), json!("yes"), "true");
    check(json!({"value": "yes"}), json!(" yes"), "false");
    check(json!({"value": "ÄRGER"}), json!("ärger"), "true");
    check(json!({"value": "İ"}), json!("i\u{307}"), "true");
    check(json!({"value": "yes"}), json!("yes, indeed"), "false");
}

#[test]
fn contains_finds_a_part() {
    check(json!({"operator": "contains", "value": "Err"}), json!("an ERROR"), "true");
    check(json!({"operator": "contains", "value": "warn"}), json!("an ERROR"), "false");
}

#[test]
fn values_and_inputs_other_than_text_have_a_text_form() {
    check(json!({"value": 5}), json!(5.0), "true");
    check(json!({"value": true}), json!("TRUE"), "true");
    check(json!({"value": "{\"a\":[1]}"}), json!({"A": [1.0]}), "true");
    check(json!({"operator": "contains", "value": "null"}), json!([null]), "true");
}

#[test]
fn a_blank_value_never_matches_and_no_input_is_empty_text() {
    for blank in [json!(""), json!(" \u{a0} "), Json::Null] {
        check(json!({"value": blank}), json!(""), "false");
        check(json!({"operator": "contains", "value": blank}), json!("x"), "false");
    }
    check(json!({}), json!(""), "false");
    check(json!({"value": "null"}), Json::Null, "false");
}

#[test]
fn if_sees_the_input_and_its_text() {
    check(json!({"if": "input.score > 5"}), json!({"score": 7}), "true");
    check(json!({"if": "text contains 'err'"}), json!("ERR"), "true");
    check(json!({"if": "input + 1 == 2"}), json!("x"), "failed wrong_kind");
    check(json!({"if": "input ="}), json!("x"), "refused syntax");
}

#[test]
fn mistakes_are_refused() {
    check(json!({"operator": "equals", "value": "x"}), json!(""), "refused unknown_operator");
    check(json!({"operator": 5, "value": "x"}), json!(""), "refused unknown_operator");
    check(json!({"value": ["x"]}), json!(""), "refused invalid_field");
    check(json!({"value": {}}), json!(""), "refused invalid_field");
    check(json!("x"), json!(""), "refused invalid_field");
    check(json!({"if": "true", "value": "x"}), json!(""), "refused two_conditions");
    check(json!({"if": "true", "operator": "equal"}), json!(""), "refused two_conditions");
}
