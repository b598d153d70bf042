//! What the vectors of whole flows do not pin: time, attempts, hiding, the ends of flows, and what the trace tells.

use branchpoint_core::ir::{Index, Program};
use branchpoint_core::{StepStatus, steps};
use branchpoint_dialects::load;
use branchpoint_engine::{Memory, Script};
use branchpoint_expr::{Dialect, Object, Value};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[track_caller]
fn program(steps: &str) -> Program {
    let source = format!(r#"{{"name": "n", "description": "d", "uuid": "u", "steps": [{steps}]}}"#);
    let loaded = load(&source, Some(Dialect::Flow));
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
    loaded.program.expect("nothing was found")
}

fn ran<'p>(program: &'p Program, input: &str, script: &str) -> Memory<'p> {
    let mut host = Memory::new(program, 0);
    host.start(json(input), Object::default()).expect("a run can start");
    host.go_on(&mut Script::read(&json(script)).expect("this is a script"));
    host
}

/// Runs a flow and compares `status`, and where they are given `variables`, `output` and `error` of its result.
#[track_caller]
fn check(steps: &str, input: &str, script: &str, expect: &str) {
    let program = program(steps);
    let host = ran(&program, input, script);
    let result = host.result().expect("a flow ends").clone();
    for (key, wanted) in json(expect).as_object().expect("an object") {
        let got = result.get(key).cloned().unwrap_or_default();
        let got = match (&**key, wanted.as_object()) {
            // Only these are compared.
            ("variables" | "error", Some(wanted)) => {
                let got = wanted.keys().filter_map(|name| Some((name.clone(), got.get(name)?.clone())));
                Value::from(got.collect::<Object>())
            }
            _ => got,
        };
        assert_eq!(got, *wanted, "{key} of {result:?}");
    }
}

fn set(name: &str, value: &str) -> String {
    format!(
        r#"{{"id": "set_{name}", "type": "setVariables", "config": {{"variables": [{{"name": "{name}", "value": {value}}}]}}}}"#
    )
}

fn over(items: &str, blocks: &str, rest: &str) -> String {
    format!(
        r#"{{"id": "l", "type": "loop", "config": {{"loopType": "forEach", "iterableVariable": {items}, "itemVariable": "it",
        "resultVariable": "all", "loopBlocks": [{blocks}]{rest}}}}}"#
    )
}

#[test]
fn inputs_that_cannot_nest_end_the_run_before_its_first_step() {
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
fn pauses_grow_by_a_second_up_to_ten() {
    let ask = r#"{"id": "a", "type": "runCommand", "config": {"command": "x", "maxRetries": 10}}"#;
    let program = program(ask);
    let host = ran(&program, "{}", r#"{"a": {"$exit": 1}}"#);
    assert_eq!(host.now_ms(), (1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10) * 1_000);
}

#[test]
fn a_call_that_hangs_takes_its_timeout_and_fails() {
    let expect = r#"{"status": "ERROR", "error": {"kind": "effect_failed", "step": "a"}}"#;
    let hang = r#"{"a": {"$hang": true}}"#;
    for (config, took_ms) in
        [(r#"{"command": "x"}"#, 30_000), (r#"{"command": "x", "timeout": 1.5, "maxRetries": 1}"#, 4_000)]
    {
        let step = format!(r#"{{"id": "a", "type": "runCommand", "config": {config}}}"#);
        check(&step, "{}", hang, expect);
        assert_eq!(ran(&program(&step), "{}", hang).now_ms(), took_ms);
    }
}

#[test]
fn a_mistake_in_a_request_is_no_failed_call() {
    let call = |url: &str, rest: &str| {
        format!(r#"{{"id": "a", "type": "apiCall", "config": {{"url": "{url}", "maxRetries": 3{rest}}}}}"#)
    };
    let ok = r#"{"a": {"$status": 200, "body": 1}}"#;
    let failed = |kind: &str| format!(r#"{{"status": "ERROR", "error": {{"kind": "{kind}", "step": "a"}}}}"#);
    check(&call("https://a/{{ $nope }}", ""), "{}", ok, &failed("missing_variable"));
    check(&call("{{ $u }}", ""), r#"{"u": "ftp://a"}"#, ok, &failed("invalid_config"));
    check(&call("{{ $u }}", ""), r#"{"u": 5}"#, ok, &failed("invalid_config"));
    check(&call("https://a", r#", "body": "{{ 1 / $z }}""#), r#"{"z": 0}"#, ok, &failed("expression"));
    let ask = r#"{"id": "a", "type": "llmInstruction", "config": {"instruction": "x", "temperature": "{{ $t }}"}}"#;
    check(ask, r#"{"t": 3}"#, r#"{"a": "hi"}"#, &failed("invalid_config"));
    check(ask, r#"{"t": 0.5}"#, r#"{"a": "hi"}"#, r#"{"status": "COMPLETED"}"#);
}

#[test]
fn requests_are_sent_as_they_were_expanded() {
    let call = |rest: &str| {
        format!(r#"{{"id": "a", "type": "apiCall", "config": {{"url": "https://a", "resultVariable": "r"{rest}}}}}"#)
    };
    let sent = |rest: &str, expect: &str| {
        check(
            &call(rest),
            r#"{"n": 7}"#,
            r#"{"a": {"$request": true}}"#,
            &format!(r#"{{"variables": {{"r": {expect}}}}}"#),
        );
    };
    sent("", r#"{"method": "GET", "url": "https://a", "headers": {}, "body": null}"#);
    sent(
        r#", "method": "PUT", "headers": [{"key": "X", "value": "{{ $n }}"}], "body": "{{ $n }}""#,
        r#"{"method": "PUT", "url": "https://a", "headers": {"X": "7"}, "body": 7}"#,
    );
    sent(
        r#", "bodyType": "form_urlencoded", "formData": [{"key": "k", "value": "{{ $n }}"}], "body": "unused""#,
        r#"{"method": "GET", "url": "https://a", "headers": {}, "body": {"k": 7}}"#,
    );
}

#[test]
fn a_loop_variable_can_be_set_and_never_leaves() {
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
        "step": "set_it.seen", "message": "`seen` cannot be set below the text \"x\", which is no object"}}]}}"#,
    );
    let count = r#"{"type": "loop", "config": {"loopType": "for", "startValue": 1, "endValue": 3, "counterVariable": "i",
        "resultVariable": "all", "loopBlocks": [{"type": "setVariables", "config": {"variables": [
            {"name": "i", "value": 100}, {"name": "x", "value": "{{ $i }}"}]}}]}}"#;
    check(count, "{}", "{}", r#"{"variables": {"x": 100, "all": [{"x": 100}, {"x": 100}, {"x": 100}]}}"#);
}

#[test]
fn settings_of_a_loop_see_what_its_variables_will_hide() {
    let count = r#"{"type": "loop", "config": {"loopType": "for", "startValue": "{{ $i }}", "endValue": "{{ $i + 1 }}",
        "counterVariable": "i", "loopBlocks": [{"type": "setVariables", "config": {"variables": [
            {"name": "seen", "value": "{{ $seen }}{{ $i }}"}]}}]}}"#;
    check(count, r#"{"i": 5, "seen": ""}"#, "{}", r#"{"variables": {"i": 5, "seen": "56"}}"#);
}

#[test]
fn an_outer_round_holds_what_inner_rounds_have_set() {
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
fn a_loop_that_failed_leaves_nothing_for_its_next_time() {
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
fn caps_are_settings_like_others_and_long_loops_do_not_begin() {
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
fn declared_variables_of_other_sources_exist_only_if_something_gives_them() {
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
fn variables_nested_too_deeply_to_be_told_still_tell_their_error() {
    let deep = |levels: usize| format!(r#"{{"v": {}1{}}}"#, "[".repeat(levels), "]".repeat(levels));
    let steps = set("x", "1");
    let program = program(&steps);
    let mut host = Memory::new(&program, 0);
    let value = (0..199).fold(Value::Int(1), |inner, _| Value::from(vec![inner]));
    let input: Object = [("v".into(), value)].into_iter().collect();
    host.start(Value::from(input), Object::default()).expect("200 levels may come in");
    host.go_on(&mut Script::default());
    let result = host.result().expect("it has ended");
    assert_eq!(result.get("status"), Some(&Value::from("ERROR")));
    assert_eq!(result.get("error").and_then(|error| error.get("kind")), Some(&Value::from("depth_limit")));
    check(&steps, &deep(50), "{}", r#"{"status": "COMPLETED"}"#);
}

#[test]
fn the_trace_tells_how_every_step_ended() {
    let blocks = format!(
        r#"{}, {{"id": "ask", "type": "llmInstruction", "config": {{"instruction": "x", "resultVariable": "y"}}}}"#,
        set("x", "1")
    );
    let end = r#"{"id": "c", "type": "conditional", "config": {"if": "true", "truePath": [{"id": "f", "type": "finish", "config": {}}]}}"#;
    let program = program(&format!("{}, {end}, {}", over("[1, 2]", &blocks, ""), set("never", "1")));
    let host = ran(&program, "{}", r#"{"ask": [{"$error": "no"}, "hi"]}"#);
    let told: Vec<String> = steps(&program, host.notes(), host.status())
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
    assert_eq!(told, expect);
}

#[test]
fn secrets_are_named_in_the_effect_and_nowhere_in_the_run() {
    let call = r#"{"id": "a", "type": "apiCall", "config": {"url": "https://a", "credentials": {"token": "CRM_TOKEN"},
        "resultVariable": "r"}}"#;
    let program = program(call);
    let spec = program.effects[0].spec.get("credentials").expect("the effect names its secrets");
    assert_eq!(*spec, json(r#"{"token": "CRM_TOKEN"}"#));
    let host = ran(&program, "{}", r#"{"a": {"$request": true}}"#);
    let told = format!("{:?} {:?} {:?}", host.result(), host.notes(), host.journal());
    assert!(!told.contains("CRM_TOKEN"), "{told}");
}
