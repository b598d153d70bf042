//! Inputs, variables, switches, the ends of flows, and the trace.

use branchpoint_core::ir::Index;
use branchpoint_core::{StepStatus, steps};
use branchpoint_expr::{Object, Value};
use branchpoint_host::{Script, VirtualDriver};

use crate::{check, over, program, ran, set};

#[test]
fn conflicting_inputs_end_the_run_before_its_first_step() {
    let steps = set("x", "1");
    check(
        &steps,
        r#"{"u": "text", "u.t": 1}"#,
        "{}",
        r#"{"status": "ERROR", "error": {"kind": "path_conflict", "step": null}}"#,
    );
    check(
        &steps,
        r#"{"u.t": 1, "u": {"a": 2}}"#,
        "{}",
        r#"{"status": "COMPLETED", "variables": {"u": {"a": 2, "t": 1}, "x": 1}}"#,
    );
    check(&steps, "null", "{}", r#"{"status": "COMPLETED", "variables": {"x": 1}}"#);
}

#[test]
fn a_switch_expands_all_its_cases_first() {
    let switch = r#"{"id": "w", "type": "switch", "config": {"variable": "{{ $v }}", "resultVariable": "r", "cases": [
        {"value": "{{ $a }}", "blocks": [{"type": "setVariables", "config": {"variables": [{"name": "x", "value": 1}]}}]},
        {"value": "{{ $b }}", "blocks": [{"type": "setVariables", "config": {"variables": [{"name": "x", "value": 2}]}}]}]}}"#;
    check(
        switch,
        r#"{"v": 1, "a": 1, "b": 1}"#,
        "{}",
        r#"{"variables": {"x": 1, "r": {"condition_result": 0, "matched_case": "case_1"}}}"#,
    );
    check(
        switch,
        r#"{"v": null, "a": 0, "b": null}"#,
        "{}",
        r#"{"variables": {"r": {"condition_result": 1, "matched_case": "case_null"}}}"#,
    );
    check(
        switch,
        r#"{"v": 1, "a": 1}"#,
        "{}",
        r#"{"status": "ERROR", "error": {"kind": "missing_variable", "step": "w"}}"#,
    );
    check(switch, r#"{"v": [1], "a": "[1]", "b": 0}"#, "{}", r#"{"variables": {"x": 1}}"#);
    check(
        switch,
        r#"{"v": 3, "a": 1, "b": 2}"#,
        "{}",
        r#"{"variables": {"r": {"condition_result": "default", "matched_case": "default"}}}"#,
    );
}

#[test]
fn a_finish_may_also_be_direct_output_and_may_be_stored() {
    let finish =
        r#"{"id": "f", "type": "finish", "config": {"data": null, "resultVariable": "r", "directOutput": true}}"#;
    let data = r#"{"message": null, "terminated_at_step": "f", "flow_id": "u", "custom_data": null}"#;
    let expect = format!(r#"{{"status": "DIRECT_OUTPUT", "output": {data}, "variables": {{"r": {data}}}}}"#);
    check(finish, "{}", "{}", &expect);
}

#[test]
fn null_data_is_no_direct_output() {
    let call =
        r#"{"id": "a", "type": "webSearch", "config": {"query": "q", "resultVariable": "r", "directOutput": true}}"#;
    let steps = format!("{call}, {}", set("after", "1"));
    check(
        &steps,
        "{}",
        r#"{"a": [null]}"#,
        r#"{"status": "COMPLETED", "output": null, "variables": {"r": null, "after": 1}}"#,
    );
    check(
        &steps,
        "{}",
        r#"{"a": [false]}"#,
        r#"{"status": "DIRECT_OUTPUT", "output": false, "variables": {"r": false}}"#,
    );
}

#[test]
fn declared_variables_without_a_default_exist_only_with_a_value() {
    let declare = r#"{"type": "flow_variables", "config": {"resultVariable": "r", "variables": [
        {"name": "a", "source": "system"}, {"name": "b", "source": "node_output", "value": "x"}, {"name": "c"},
        {"name": "d", "type": "number"}, {"name": "u.n", "type": "number", "value": "{{ $seed }}"}]}}"#;
    check(
        declare,
        r#"{"seed": "4"}"#,
        "{}",
        r#"{"variables": {"r": {"seed": "4", "b": "x", "c": "", "d": null, "u": {"n": 4}}}}"#,
    );
    check(
        declare,
        r#"{"seed": 4, "a": 1, "u.n": "5"}"#,
        "{}",
        r#"{"variables": {"r": {"seed": 4, "a": "1", "b": "x", "c": "", "d": null, "u": {"n": 5}}}}"#,
    );
    check(declare, "{}", "{}", r#"{"status": "ERROR", "error": {"kind": "missing_variable"}}"#);
}

#[test]
fn names_of_any_kind_reach_variables_and_errors() {
    let odd = r#"{"id": "a \"b\" \\ {{ x }}", "type": "setVariables", "config": {"variables": [
        {"name": "my \"odd\" name", "value": "{{ $x }}"}]}}"#;
    check(odd, r#"{"x": 1}"#, "{}", r#"{"variables": {"my \"odd\" name": 1}}"#);
    check(odd, "{}", "{}", r#"{"error": {"step": "a \"b\" \\ {{ x }}", "kind": "missing_variable"}}"#);
    let read = format!("{odd}, {}", set("y", r#""{{ $\"my \\\"odd\\\" name\" }}""#));
    check(&read, r#"{"x": 1}"#, "{}", r#"{"variables": {"y": 1}}"#);
}

#[test]
fn variables_that_are_nested_too_deeply_to_be_shown_give_a_depth_error() {
    let deep = |levels: usize| format!(r#"{{"v": {}1{}}}"#, "[".repeat(levels), "]".repeat(levels));
    let steps = set("x", "1");
    let program = program(&steps);
    let mut host = VirtualDriver::new(&program, 0);
    let value = (0..199).fold(Value::Int(1), |inner, _| Value::from(vec![inner]));
    let input: Object = [("v".into(), value)].into_iter().collect();
    host.start(Value::from(input), Object::default()).expect("an input may have 200 levels");
    host.run_until_idle(&mut |call| Script::default().simulate(call));
    let result = host.result().expect("the run has ended");
    assert_eq!(result.get("status"), Some(&Value::from("ERROR")));
    assert_eq!(result.get("error").and_then(|error| error.get("kind")), Some(&Value::from("depth_limit")));
    check(&steps, &deep(50), "{}", r#"{"status": "COMPLETED"}"#);
}

#[test]
fn the_trace_shows_how_every_step_ended() {
    let blocks = format!(
        r#"{}, {{"id": "ask", "type": "llmInstruction", "config": {{"instruction": "x", "resultVariable": "y"}}}}"#,
        set("x", "1")
    );
    let end = r#"{"id": "c", "type": "conditional", "config": {"if": "true", "truePath": [{"id": "f", "type": "finish", "config": {}}]}}"#;
    let program = program(&format!("{}, {end}, {}", over("[1, 2]", &blocks, ""), set("never", "1")));
    let host = ran(&program, "{}", r#"{"ask": [{"$error": "no"}, "hi"]}"#);
    let records: Vec<String> = steps(&program, host.notes(), host.status())
        .iter()
        .map(|record| {
            let id = &program.steps[record.step.index()].id;
            let set = record.output.as_ref().and_then(|output| output.get("variables")).cloned().unwrap_or_default();
            let status = match &record.status {
                StepStatus::Skipped(reason) => format!("skipped {reason}"),
                status => format!("{status:?}"),
            };
            format!("{id} {status} {set:?}")
        })
        .collect();
    let expect = [
        r#"l Completed {"all":[{"success":false,"error":{"kind":"effect_failed","step":"ask","message":"no"}},{"x":1,"y":"hi"}]}"#,
        r#"set_x Completed {"x":1}"#,
        "ask Failed null",
        r#"set_x Completed {"x":1}"#,
        r#"ask Completed {"y":"hi"}"#,
        "c Completed null",
        "f Completed {}",
        "set_never skipped arm_not_taken null",
    ];
    assert_eq!(records, expect);
}

/// Sets `x` to `[x, x]` forty times, each in a step of its own.
fn forty_doublings() -> String {
    let step = |n: usize| {
        format!(
            r#"{{"id": "d{n}", "type": "setVariables", "config": {{"variables": [{{"name": "x", "value": ["{{{{ $x }}}}", "{{{{ $x }}}}"]}}]}}}}"#
        )
    };
    (1..=40).map(step).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_variable_that_doubles_fails_the_step_that_makes_it_too_large() {
    let program = program(&forty_doublings());
    // 4,088 letters and eight bytes are 4 KiB, and 2^14 times that is 64 MiB, without the lists.
    let host = ran(&program, &format!(r#"{{"x": "{}"}}"#, "x".repeat(4_088)), "{}");
    let result = host.result().expect("a flow ends");
    let error = result.get("error").expect("the flow has failed");
    assert_eq!(error.get("kind"), Some(&Value::from("value_limit")));
    assert_eq!(error.get("step"), Some(&Value::from("d14")));
    assert!(
        result.get("variables").is_some_and(|variables| variables.size().bytes > 32 << 20),
        "the earlier value is kept"
    );
    let ran = steps(&program, host.notes(), branchpoint_core::ir::Status::Failed);
    assert_eq!(ran.iter().filter(|step| step.status == StepStatus::Completed).count(), 13);
}

#[test]
fn a_loop_that_doubles_a_variable_ends_with_the_last_value_that_fits() {
    let doubles = r#"{"id": "d", "type": "setVariables", "config": {"variables": [{"name": "x", "value": ["{{ $x }}", "{{ $x }}"]}]}}"#;
    let steps = format!(
        r#"{{"id": "l", "type": "loop", "config": {{"loopType": "for", "startValue": 1, "endValue": 40,
        "counterVariable": "i", "loopBlocks": [{doubles}]}}}}"#
    );
    let program = program(&steps);
    let host = ran(&program, &format!(r#"{{"x": "{}"}}"#, "x".repeat(65_528)), "{}");
    let result = host.result().expect("a flow ends");
    assert!(result.size().bytes <= branchpoint_expr::limits::VALUE_BYTES);
}
