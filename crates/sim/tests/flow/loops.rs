//! Loops: hidden variables, the results of rounds, and how loops end.

use branchpoint_expr::Value;

use crate::{check, over, program, ran, set};

#[test]
fn a_loop_variable_can_be_set_and_ends_with_the_loop() {
    let blocks = [set("it.seen", "true"), set("copy", r#""{{ $it }}""#)].join(", ");
    check(
        &over(r#"[{"a": 1}]"#, &blocks, ""),
        r#"{"it": "outer"}"#,
        "{}",
        r#"{"status": "COMPLETED",
        "variables": {"it": "outer", "copy": {"a": 1, "seen": true}, "all": [{"copy": {"a": 1, "seen": true}}]}}"#,
    );
    let below_text = over(r#"["x"]"#, &set("it.seen", "true"), "");
    check(
        &below_text,
        "{}",
        "{}",
        r#"{"variables": {"all": [{"success": false, "error": {"kind": "path_conflict",
        "step": "set_it.seen", "message": "`seen` cannot be set inside the text \"x\", which is not an object"}}]}}"#,
    );
    let count = r#"{"type": "loop", "config": {"loopType": "for", "startValue": 1, "endValue": 3, "counterVariable": "i",
        "resultVariable": "all", "loopBlocks": [{"type": "setVariables", "config": {"variables": [
            {"name": "i", "value": 100}, {"name": "x", "value": "{{ $i }}"}]}}]}}"#;
    check(count, "{}", "{}", r#"{"variables": {"x": 100, "all": [{"x": 100}, {"x": 100}, {"x": 100}]}}"#);
}

#[test]
fn settings_of_a_loop_read_the_variables_that_it_hides() {
    let count = r#"{"type": "loop", "config": {"loopType": "for", "startValue": "{{ $i }}", "endValue": "{{ $i + 1 }}",
        "counterVariable": "i", "loopBlocks": [{"type": "setVariables", "config": {"variables": [
            {"name": "seen", "value": "{{ $seen }}{{ $i }}"}]}}]}}"#;
    check(count, r#"{"i": 5, "seen": ""}"#, "{}", r#"{"variables": {"i": 5, "seen": "56"}}"#);
}

#[test]
fn an_outer_round_has_the_variables_set_by_inner_rounds() {
    let inner = r#"{"id": "in", "type": "loop", "config": {"loopType": "for", "startValue": 1, "endValue": 2, "counterVariable": "j",
        "resultVariable": "inner", "loopBlocks": [{"type": "setVariables", "config": {"variables": [
            {"name": "deep.x", "value": "{{ $it + $j }}"}]}}]}}"#;
    check(
        &over("[10]", inner, ""),
        r#"{"deep": {"kept": 1}}"#,
        "{}",
        r#"{"variables": {
        "all": [{"deep": {"kept": 1, "x": 12}, "inner": [{"deep": {"kept": 1, "x": 11}}, {"deep": {"kept": 1, "x": 12}}]}]}}"#,
    );
}

#[test]
fn a_loop_inside_a_round_that_fails_by_its_own_settings_ends_the_round() {
    let inner = r#"{"id": "in", "type": "loop", "config": {"loopType": "for", "startValue": 1, "endValue": "{{ $it }}",
        "counterVariable": "j", "loopBlocks": []}}"#;
    check(
        &over(r#"[1, "x"]"#, inner, ""),
        "{}",
        "{}",
        r#"{"status": "COMPLETED", "variables": {"all": [{},
        {"success": false, "error": {"kind": "type_mismatch", "step": "in", "message": "the text \"x\" is not an integer"}}]}}"#,
    );
}

#[test]
fn a_while_that_cannot_be_evaluated_later_fails_the_loop_itself() {
    let repeat = r#"{"id": "w", "type": "loop", "config": {"loopType": "while", "if": "$n < 2", "loopBlocks": [
        {"type": "setVariables", "config": {"variables": [{"name": "n", "value": "{{ $n == 0 ? 1 : 'x' }}"}]}}]}}"#;
    check(
        repeat,
        r#"{"n": 0}"#,
        "{}",
        r#"{"status": "ERROR", "variables": {"n": "x"}, "error": {"kind": "expression", "step": "w"}}"#,
    );
}

#[test]
fn a_failed_loop_starts_empty_the_next_time() {
    let inner = r#"{"id": "w", "type": "loop", "config": {"loopType": "while", "resultVariable": "inner",
        "if": "$n < $it", "loopBlocks": [{"type": "setVariables", "config": {"variables": [
            {"name": "n", "value": "{{ $it == 9 ? 'x' : $n + 1 }}"}]}}]}}"#;
    let blocks = format!("{}, {inner}", set("n", "0"));
    check(
        &over("[9, 1]", &blocks, ""),
        "{}",
        "{}",
        r#"{"status": "COMPLETED", "variables": {"n": 1, "inner": [{"n": 1}]}}"#,
    );
}

#[test]
fn caps_are_checked_like_other_settings_and_too_long_loops_do_not_start() {
    let to = |rest: &str| {
        format!(
            r#"{{"id": "l", "type": "loop", "config": {{"loopType": "for", "startValue": 1, "endValue": "{{{{ $to }}}}",
            "counterVariable": "i", "loopBlocks": [{}]{rest}}}}}"#,
            set("last", r#""{{ $i }}""#)
        )
    };
    check(
        &to(""),
        r#"{"to": 10001, "last": 0}"#,
        "{}",
        r#"{"status": "ERROR", "variables": {"last": 0},
        "error": {"kind": "too_many_rounds", "step": "l"}}"#,
    );
    check(&to(""), r#"{"to": 10000}"#, "{}", r#"{"status": "COMPLETED", "variables": {"last": 10000}}"#);
    check(
        &to(r#", "maxIterations": 3"#),
        r#"{"to": 20000}"#,
        "{}",
        r#"{"status": "COMPLETED", "variables": {"last": 3}}"#,
    );
    let cap = to(r#", "maxIterations": "{{ $most }}""#);
    check(&cap, r#"{"to": 9, "most": 2}"#, "{}", r#"{"variables": {"last": 2}}"#);
    check(&cap, r#"{"to": 9, "most": 0}"#, "{}", r#"{"error": {"kind": "invalid_config", "step": "l"}}"#);
    let step = to(r#", "stepValue": "{{ $by }}""#);
    check(&step, r#"{"to": 9, "by": 0}"#, "{}", r#"{"error": {"kind": "invalid_config", "step": "l"}}"#);
    check(
        &step,
        r#"{"to": 9223372036854775807, "by": 9223372036854775806}"#,
        "{}",
        r#"{"variables": {"last": 9223372036854775807}}"#,
    );
}

#[test]
fn a_loop_with_on_error_fail_fails_with_its_first_failing_round() {
    let blocks = set("x", r#""{{ $it + 1 }}""#);
    let failing = over(r#"[1, "two", 3]"#, &blocks, r#", "on_error": "fail""#);
    check(
        &failing,
        "{}",
        "{}",
        r#"{"status": "ERROR", "variables": {"x": 2}, "error": {"kind": "expression", "step": "set_x",
        "message": "`+` takes two numbers or two texts, not the text \"two\""}}"#,
    );
    let continuing = over(r#"[1, "two", 3]"#, &blocks, r#", "on_error": "continue""#);
    check(
        &continuing,
        "{}",
        "{}",
        r#"{"status": "COMPLETED", "variables": {"x": 4}, "warnings": [{"kind": "failed_rounds", "step": "l", "round": 2,
        "error": {"kind": "expression", "step": "set_x", "message": "`+` takes two numbers or two texts, not the text \"two\""},
        "message": "round 2 of loop `l` failed in step `set_x` [expression]: `+` takes two numbers or two texts, not the text \"two\""}]}"#,
    );
}

#[test]
fn failed_rounds_are_listed_in_the_result_up_to_a_limit() {
    let blocks = format!(
        r#"{{"id": "c", "type": "conditional", "config": {{"condition": {{"combinator": "and", "conditions": [
            {{"variable": "{{{{ $it }}}}", "operator": "equals", "value": "end"}}]}},
            "truePath": [{{"id": "stop", "type": "finish", "config": {{"message": "x"}}}}], "falsePath": []}}}}, {}"#,
        set("x", r#""{{ $it + 1 }}""#)
    );
    let items: Vec<String> = (0..150).map(|_| "\"no number\"".to_owned()).chain(["\"end\"".to_owned()]).collect();
    let program = program(&over(&format!("[{}]", items.join(", ")), &blocks, ""));
    let host = ran(&program, "{}", "{}");
    let result = host.result().expect("the run ends");
    let warnings = result.get("warnings").and_then(Value::as_list).expect("a list");
    assert_eq!(warnings.len(), 101);
    assert_eq!(warnings[100].get("message").and_then(Value::as_str), Some("50 more rounds failed"));
}

#[test]
fn long_errors_of_rounds_do_not_fail_a_loop_that_continues() {
    let blocks = r#"{"id": "ask", "type": "llmInstruction", "config": {"instruction": "x", "resultVariable": "y"}}"#;
    let program = program(&over("[1, 2, 3, 4, 5, 6, 7, 8]", blocks, ""));
    let long = "x".repeat(5_000_000);
    let host = ran(&program, "{}", &format!(r#"{{"ask": [{{"$error": "{long}"}}]}}"#));
    let result = host.result().expect("the flow ends");
    assert_eq!(result.get("status").and_then(Value::as_str), Some("COMPLETED"), "{:?}", result.get("error"));
    let warnings = result.get("warnings").and_then(Value::as_list).expect("a list");
    assert_eq!(warnings.len(), 8);
    let message = warnings[0].get("message").and_then(Value::as_str).expect("a text");
    assert!((1_000..1_200).contains(&message.len()), "{} bytes", message.len());
}
