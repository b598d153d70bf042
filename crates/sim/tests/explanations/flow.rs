//! Decisions of flows.

use branchpoint_expr::Dialect;

use crate::{Case, Explained, Then, check_rules};

/// Runs a flow of these blocks. `x`, `items` and `status` are its variables.
fn case(blocks: &str, input: &str) -> Explained {
    scripted(blocks, input, "{}", &[])
}

fn scripted(blocks: &str, input: &str, script: &str, then: &[Then]) -> Explained {
    let document = format!(
        r#"{{"name": "f", "uuid": "3f0c5d2e-8f5b-4c55-9d0e-6a4f1c1f7a10", "steps": [
{{"id": "vars", "type": "flow_variables", "config": {{"variables": [
  {{"name": "x", "type": "number", "value": 0}},
  {{"name": "items", "type": "array", "value": ["a", "b"]}},
  {{"name": "status", "type": "string", "value": "Open"}}]}}}},
{blocks}]}}"#
    );
    let document = document.as_str();
    let explained = Case { dialect: Dialect::Flow, document, input, script, facts: "{}", then }.run();
    check_rules(&explained);
    explained
}

/// The text of every decision, and the JSON of all of them in a file of its own.
macro_rules! check {
    ($name:literal, $blocks:expr, $input:expr) => {
        let explained = case($blocks, $input);
        insta::assert_snapshot!(concat!("flow-", $name), explained.text());
        insta::assert_snapshot!(concat!("flow-", $name, "-json"), explained.json());
    };
}

const CONDITIONAL: &str = r#"{"id": "large", "type": "conditional", "config": {
  "condition": {"combinator": "and", "conditions": [
    {"variable": "{{ $x }}", "operator": "greater_than", "value": 100, "type": "number"},
    {"variable": "{{ $status }}", "operator": "equals", "value": "Open", "type": "string"}]},
  "truePath": [{"id": "yes", "type": "setVariables", "config": {"variables": [{"name": "x", "value": 1}]}}],
  "falsePath": [{"id": "no", "type": "setVariables", "config": {"variables": [{"name": "x", "value": 2}]}}]}}"#;

#[test]
fn a_conditional_names_both_branches() {
    check!("conditional-true", CONDITIONAL, r#"{"x": 250}"#);
    check!("conditional-false", CONDITIONAL, r#"{"x": 5}"#);
}

#[test]
fn a_call_says_why_it_is_retried() {
    let call = r#"{"id": "ask", "type": "llmInstruction",
  "config": {"instruction": "do it", "resultVariable": "x", "maxRetries": 1}}"#;
    let explained = scripted(call, "{}", "{ask: [{$error: overloaded}]}", &[Then::Wait(600_000)]);
    insta::assert_snapshot!("flow-max-retries", explained.text());
    insta::assert_snapshot!("flow-max-retries-json", explained.json());
}

#[test]
fn records_in_a_loop_carry_its_rounds_and_their_attempts() {
    let looped = r#"{"id": "each", "type": "loop", "config": {"loopType": "forEach", "iterableVariable": "{{ $items }}", "itemVariable": "item",
  "loopBlocks": [{"id": "ask", "type": "llmInstruction",
    "config": {"instruction": "do {{ $item }}", "resultVariable": "x", "maxRetries": 1}}]}}"#;
    let explained = scripted(looped, "{}", "{ask: [{$error: overloaded}, 1]}", &[Then::Wait(600_000)]);
    insta::assert_snapshot!("flow-records", explained.records());
}

const SWITCH: &str = r#"{"id": "route", "type": "switch", "config": {"variable": "{{ $status }}",
  "cases": [
    {"value": "closed", "blocks": [{"id": "archive", "type": "setVariables", "config": {"variables": [{"name": "x", "value": 1}]}}]},
    {"value": "open", "blocks": [{"id": "work", "type": "setVariables", "config": {"variables": [{"name": "x", "value": 2}]}}]},
    {"value": "waiting", "blocks": [{"id": "rest", "type": "setVariables", "config": {"variables": [{"name": "x", "value": 4}]}}]}],
  "defaultBlocks": [{"id": "ask", "type": "setVariables", "config": {"variables": [{"name": "x", "value": 3}]}}]}}"#;

#[test]
fn a_switch_names_the_value_and_every_case() {
    check!("switch-case", SWITCH, "{}");
    check!("switch-default", SWITCH, r#"{"status": "odd"}"#);
}

const INCREMENT: &str = r#"{"id": "add", "type": "setVariables", "config": {"variables": [{"name": "x", "value": "{{ $x }}1", "type": "number"}]}}"#;

#[test]
fn a_while_loop_says_why_each_round_begins_and_why_it_ends() {
    let blocks = |most: &str| {
        format!(
            r#"{{"id": "grow", "type": "loop", "config": {{"loopType": "while"{most},
  "condition": {{"combinator": "and", "conditions": [
    {{"variable": "{{{{ $x }}}}", "operator": "less_than", "value": 100, "type": "number"}}]}},
  "loopBlocks": [{INCREMENT}]}}}}"#
        )
    };
    check!("while-end", &blocks(""), r#"{"x": 1}"#);
    check!("while-limit", &blocks(r#", "maxIterations": 1"#), r#"{"x": 1}"#);
}

#[test]
fn a_loop_over_items_names_each_item() {
    let inner = CONDITIONAL.replace("{{ $status }}", "{{ $item }}").replace(r#""value": "Open""#, r#""value": "b""#);
    let blocks = |most: &str| {
        format!(
            r#"{{"id": "each", "type": "loop", "config": {{"loopType": "forEach", "iterableVariable": "{{{{ $items }}}}", "itemVariable": "item"{most},
  "loopBlocks": [{inner}]}}}}"#
        )
    };
    check!("for-each", &blocks(""), r#"{"x": 250}"#);
    check!("for-each-limit", &blocks(r#", "maxIterations": 1"#), "{}");
}

#[test]
fn a_loop_over_numbers_says_why_it_ends() {
    let blocks = |bounds: &str| {
        format!(
            r#"{{"id": "count", "type": "loop", "config": {{"loopType": "for", {bounds}, "counterVariable": "n", "loopBlocks": [{INCREMENT}]}}}}"#
        )
    };
    check!("for", &blocks(r#""startValue": 1, "endValue": 2"#), "{}");
    check!("for-limit", &blocks(r#""startValue": 1, "endValue": 3, "maxIterations": 1"#), "{}");
    let text = case(&blocks(r#""startValue": 1, "endValue": 101"#), "{}").text();
    assert!(
        text.contains("  n is 101, up to endValue 101\n"),
        "a loop without a limit counts beyond 100 rounds: {text}"
    );
    check!("for-down", &blocks(r#""startValue": 2, "endValue": 1, "stepValue": -1"#), "{}");
}

#[test]
fn a_condition_that_cannot_be_evaluated_fails_the_step() {
    let broken = CONDITIONAL.replace(r#""{{ $x }}""#, r#""{{ $status }}""#);
    check!("conditional-error", &broken, "{}");
    let looped = format!(
        r#"{{"id": "grow", "type": "loop", "config": {{"loopType": "while",
  "condition": {{"combinator": "and", "conditions": [
    {{"variable": "{{{{ $status }}}}", "operator": "less_than", "value": 100, "type": "number"}}]}},
  "loopBlocks": [{INCREMENT}]}}}}"#
    );
    check!("while-error", &looped, "{}");
}

#[test]
fn a_condition_may_be_an_expression_or_a_nested_group() {
    let either = CONDITIONAL.replace(
        r#""condition": {"combinator": "and", "conditions": ["#,
        r#""condition": {"combinator": "or", "conditions": [
    {"combinator": "not", "conditions": [{"variable": "{{ $x }}", "operator": "equals", "value": 0, "type": "number"}]},"#,
    );
    check!("conditional-groups", &either, r#"{"x": 0}"#);
    let start = CONDITIONAL.find(r#""condition": {"#).expect("there is a condition");
    let end = CONDITIONAL.find(r#""truePath""#).expect("it has a true path");
    let expression =
        format!(r#"{}"if": "$x > 100 || $status == 'Open'", {}"#, &CONDITIONAL[..start], &CONDITIONAL[end..]);
    check!("conditional-expression", &expression, "{}");
}

#[test]
fn a_switch_without_a_default_says_that_nothing_matched() {
    let start = SWITCH
        .find(
            r#"],
  "defaultBlocks""#,
        )
        .expect("it has a default");
    let without = format!("{}]}}}}", &SWITCH[..start]);
    check!("switch-no-default", &without, r#"{"status": "odd"}"#);
}

#[test]
fn a_loop_over_no_items_and_a_round_that_fails() {
    let blocks = |inner: &str| {
        format!(
            r#"{{"id": "each", "type": "loop", "config": {{"loopType": "forEach", "iterableVariable": "{{{{ $items }}}}", "itemVariable": "item",
  "loopBlocks": [{inner}]}}}}"#
        )
    };
    check!("for-each-empty", &blocks(INCREMENT), r#"{"items": []}"#);
    let broken = CONDITIONAL.replace(r#""{{ $x }}""#, r#""{{ $item }}""#);
    check!("for-each-failing-round", &blocks(&broken), "{}");
    check!("for-each-failing-item", &blocks(&broken), r#"{"items": ["a"]}"#);
}
