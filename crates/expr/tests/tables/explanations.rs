//! The one plain sentence, and the tree below it.

use branchpoint_expr::{Condition, Dialect, Explanation, Options};
use serde_json::{Value as Json, json};

fn context() -> Json {
    json!({
        "inputs": {"count": 12, "mode": "test", "tags": ["a", "b"], "long": "x".repeat(200), "none": null},
        "states": {"check": {"ExitCode": 2, "Output": "build failed"}},
        "items": [{"price": 5}, {"price": 50}],
    })
}

fn explained(source: &str) -> Explanation {
    let condition = Condition::expression(source, Options::dialect(Dialect::Session)).expect("it compiles");
    condition.explain(&context())
}

#[track_caller]
fn check(source: &str, sentence: &str) {
    assert_eq!(explained(source).sentence, sentence, "{source}");
}

#[test]
fn a_comparison_names_the_actual_and_the_expected_value() {
    check("states.check.ExitCode == 0", "false because states.check.ExitCode is 2, expected 0");
    check("states.check.ExitCode != 0", "true because states.check.ExitCode is 2, not 0");
    check("inputs.mode != 'test'", r#"false because inputs.mode is "test", expected a value other than "test""#);
    check("inputs.count > 20", "false because inputs.count is 12, expected more than 20");
    check("inputs.count <= 20", "true because inputs.count is 12, at most 20");
    // People write the value on either side; the sentence is about what varies.
    check("20 > inputs.count", "true because inputs.count is 12, less than 20");
    check(
        "inputs.count == states.check.ExitCode",
        "false because inputs.count is 12, expected 2 (states.check.ExitCode)",
    );
    check("5 < inputs.count < 10", "false because inputs.count is 12, expected less than 10");
}

#[test]
fn tests_of_text_and_membership_are_explained_in_words() {
    check(
        "states.check.Output contains 'success'",
        r#"false because states.check.Output is "build failed", which does not contain "success""#,
    );
    check("inputs.mode startsWith 'te'", r#"true because inputs.mode is "test", which starts with "te""#);
    check("inputs.mode in ['prod', 'dev']", r#"false because inputs.mode is "test", which is not in the list"#);
    check("inputs.mode matches '^t'", r#"true because inputs.mode is "test", which matches "^t""#);
    check("'c' in inputs.tags", r#"false because inputs.tags is ["a","b"], which does not contain "c""#);
}

#[test]
fn a_missing_value_is_nil() {
    check("inputs.missing == 'x'", r#"false because inputs.missing is nil, expected "x""#);
    check("inputs.none", "false because inputs.none is nil");
    check("inputs.missing.deep > 1", "false because inputs.missing.deep is nil, expected more than 1");
}

#[test]
fn joined_conditions_name_the_deciding_part() {
    check(
        "states.check.ExitCode == 0 && inputs.mode == 'prod'",
        "false because states.check.ExitCode is 2, expected 0",
    );
    check("inputs.count > 10 || inputs.mode == 'prod'", "true because inputs.count is 12, more than 10");
    check(
        "inputs.count > 10 && inputs.mode == 'test'",
        r#"true because inputs.count is 12, more than 10, and inputs.mode is "test""#,
    );
    check("!(inputs.count > 20)", "true because inputs.count is 12, expected more than 20");
    check(
        "inputs.count > 20 ? true : inputs.mode == 'prod'",
        r#"false because inputs.count is 12, expected more than 20, and then inputs.mode is "test", expected "prod""#,
    );
    check("true", "true because the condition is the constant `true`");
}

#[test]
fn predicates_and_functions_show_their_value() {
    check("any(items, .price > 100)", "false because any(items, .price > 100) is false");
    check("len(inputs.tags) == 3", "false because len(inputs.tags) is 2, expected 3");
}

#[test]
fn long_values_are_cut_and_show_their_length() {
    check(
        "inputs.long == 'y'",
        &format!("false because inputs.long is \"{}\"… (200 characters), expected \"y\"", "x".repeat(60)),
    );
    check(
        "len(string(1..100)) > 0 && (1..100) == []",
        "false because (1..100) is [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23… (293 characters), expected []",
    );
    let endless = explained("(1..9000000000000000000) == inputs.tags");
    assert!(endless.sentence.to_string().contains("… (more than 100000 characters)"), "{}", endless.sentence);
}

#[test]
fn a_failed_condition_gives_its_error() {
    check(
        "inputs.mode > 5",
        r#"cannot be evaluated: `>` cannot compare the text "test" with the number 5; the text is not a number"#,
    );
    check("inputs.count", "cannot be evaluated: `inputs.count` is 12, but a condition must be true or false");
    check("inputs.count.deep == 1", "cannot be evaluated: 12 has no field `deep`");
}

#[test]
fn the_tree_has_every_part_with_its_place_value_and_kind() {
    let source = "inputs.count > 20 || inputs.mode == 'test'";
    let tree = explained(source).tree;
    assert_eq!(tree.text, source);
    let parts: Vec<_> = tree.children.iter().map(|part| (part.span.text(source), part.decided, part.times)).collect();
    assert_eq!(parts, [("inputs.count > 20", false, 1), ("inputs.mode == 'test'", true, 1)]);
    let count = &tree.children[0].children[0];
    assert_eq!((count.text.as_str(), count.shown.as_deref(), count.kind), ("inputs.count", Some("12"), Some("int")));
    assert_eq!(
        tree.render(),
        "✓ inputs.count > 20 || inputs.mode == 'test'\n  ✗ inputs.count > 20\n    = inputs.count  12\n  \
         ✓ inputs.mode == 'test'  ← decided\n    = inputs.mode  \"test\"\n"
    );
}

#[test]
fn parts_count_their_evaluations() {
    let source = "any(items, .price > 1) || inputs.mode == 'x'";
    let tree = explained(source).tree;
    assert_eq!((tree.children[1].times, tree.children[1].shown.as_deref()), (0, None));
    let source = "all(items, .price > 1)";
    let predicate = explained(source).tree.children[1].clone();
    assert_eq!((predicate.text.as_str(), predicate.times), (".price > 1", 2));
}

#[test]
fn structured_conditions_are_explained_in_the_same_words() {
    let group = json!({"combinator": "or", "conditions": [
        {"variable": "{{ $n }}", "operator": "greater_than", "value": 10, "type": "number"},
        {"variable": "{{ $name }}", "operator": "not_contains", "value": "x"},
        {"variable": "{{ $none }}", "operator": "is_not_empty"},
    ]});
    let condition = Condition::group(&crate::located(&group), Options::dialect(Dialect::Flow)).expect("it compiles");
    let explanation = condition.explain(&json!({"n": 5, "name": "max", "none": null}));
    assert_eq!(
        explanation.sentence,
        "false because n is 5, expected more than 10, and name is \"max\", which contains \"x\", and none is nil, which is empty"
    );
    let targets =
        json!({"conditions": [{"target": "input_length", "operator": "$gte", "value": 3, "value_type": "number"}]});
    let condition =
        Condition::targets(&crate::located(&targets), Options::dialect(Dialect::Steps)).expect("it compiles");
    assert_eq!(
        condition.explain(&json!({"input": "ab"})).sentence,
        "false because input_length is 2, expected at least 3"
    );
}

#[test]
fn an_explanation_is_json_too() {
    let json = |source: &str| serde_json::from_str::<serde_json::Value>(&explained(source).to_json()).unwrap();
    let explanation = json("inputs.count == 12");
    assert_eq!(explanation["outcome"], json!(true));
    assert_eq!(explanation["sentence"], json!("true because inputs.count is 12"));
    assert_eq!(explanation["tree"]["children"][0]["value"], json!("12"));
    assert_eq!(explanation["tree"]["children"][0]["type"], json!("int"));
    let failed = json("inputs.mode > 5");
    assert_eq!(failed["outcome"]["error"], json!("condition_error"));
}

#[test]
fn a_condition_carries_its_own_text() {
    let text = |condition: &Json| {
        let located = crate::located(condition);
        Condition::targets(&located, Options::dialect(Dialect::Steps)).expect("it compiles").text()
    };
    assert_eq!(text(&json!({"if": "len(input) > 20\n  && input != 'x'"})), "len(input) > 20 && input != 'x'");
    let listed = json!({"match": "any", "conditions": [
        {"target": "input", "operator": "$eq", "value": "a"},
        "input startsWith 'b'",
        {"combinator": "and", "conditions": [
            {"variable": "{{input}}", "operator": "not_equals", "value": "c"},
            {"variable": "{{input}}", "operator": "is_not_empty"},
        ]},
    ]});
    assert_eq!(
        text(&listed),
        r#"input == "a" or input startsWith 'b' or (input not_equals "c" and input is_not_empty)"#
    );
    assert_eq!(text(&json!({"if": true})), "true");
}

#[test]
fn parts_have_text_without_the_document() {
    for source in
        ["len(inputs.tags) > 20", "inputs.count > 20 ? true : false", "any(items, .price > 1)", "(1..3) == []"]
    {
        let explanation = explained(source);
        assert_eq!(explanation.tree.text, source);
        assert!(!explanation.tree.render().contains("this part"), "{source}");
    }
    // A text with escapes has no place for its parts, and they still have words.
    let escaped = crate::located(&json!({"if": "len(input) > 20 && all([1], # > 0)"}));
    let condition = Condition::targets(&escaped, Options::dialect(Dialect::Steps)).expect("it compiles");
    let explanation = condition.explain(&json!({"input": "short"}));
    assert_eq!(explanation.sentence, "false because len(input) is 5, expected more than 20");
    assert_eq!(explanation.tree.text, "len(input) > 20 && all([1], # > 0)");
}

#[test]
fn a_sentence_keeps_whole_values_until_it_is_shown() {
    let sentence = explained("inputs.long == 'y'").sentence;
    let lengths = sentence.render(|value| value.to_string().len().to_string());
    assert_eq!(lengths, "false because inputs.long is 200, expected \"y\"");
}

/// Decides a condition once more with one value changed.
#[track_caller]
fn check_changed(source: &str, path: &str, value: Json, expect: bool) {
    let condition = Condition::expression(source, Options::dialect(Dialect::Session)).expect("it compiles");
    let mut reads = condition.reads(&context());
    let recorded = branchpoint_expr::RecordedContext::of(&reads);
    assert_eq!(condition.evaluate(&recorded), condition.evaluate(&context()), "what was read says the same");
    let value = serde_json::from_value(value).expect("it is a value");
    assert!(branchpoint_expr::change(&mut reads, path, &value), "{path}");
    assert_eq!(condition.evaluate(&branchpoint_expr::RecordedContext::of(&reads)), Ok(expect), "{source} with {path}");
}

#[test]
fn a_condition_can_be_evaluated_again_with_other_values() {
    check_changed("inputs.count > 20", "inputs.count", json!(21), true);
    check_changed("inputs.count > 20", "inputs", json!({"count": 21}), true);
    check_changed("'c' in inputs.tags", "inputs.tags[1]", json!("c"), true);
    check_changed("items[1].price > 100", "items[1].price", json!(101), true);
    check_changed("items[-1].price > 100", "items[-1]", json!({"price": 101}), true);
    check_changed("any(items, .price > 100)", "items[0].price", json!(101), true);
    check_changed("inputs.count > 10 && inputs.missing == 'x'", "inputs.missing", json!("x"), true);
    let mut reads = Condition::compile("inputs.count > 1").unwrap().reads(&context());
    assert!(!branchpoint_expr::change(&mut reads, "inputs.cou", &1.into()), "no read depends on a part of a name");
}
