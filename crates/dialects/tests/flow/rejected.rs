//! Every rule that rejects a flow or warns about it: the kind of the finding and its place.

use branchpoint_dialects::load;
use branchpoint_expr::{Dialect, Severity};

use crate::flow;

/// Loads a document and compares its findings in order: the kind, and the beginning of the text at its place.
#[track_caller]
fn check(source: &str, expect: &[(&str, &str)]) {
    let loaded = load(source, Some(Dialect::Flow));
    let actual: Vec<(&str, &str)> =
        loaded.diagnostics.iter().map(|finding| (finding.kind.as_str(), finding.span.text(source))).collect();
    let agree = actual.len() == expect.len()
        && actual.iter().zip(expect).all(|(actual, expect)| actual.0 == expect.0 && actual.1.starts_with(expect.1));
    assert!(agree, "{source}\nexpected {expect:?}\nfound    {actual:?}");
    let rejected = loaded.diagnostics.iter().any(|finding| finding.severity == Severity::Error);
    assert_eq!(loaded.program.is_none(), rejected, "a document has a program exactly when it has no errors");
    for finding in &loaded.diagnostics {
        let compiled =
            matches!(finding.kind.as_str(), "bad_expression" | "missing_value" | "type_mismatch" | "unknown_type");
        let shaped = finding.kind.as_str().contains("condition") || finding.kind.as_str().contains("combinator");
        assert!(finding.help.is_some() || compiled || shaped, "{finding} has no help");
    }
}

/// Like [`check`], for a flow of one step.
#[track_caller]
fn step(ty: &str, config: &str, expect: &[(&str, &str)]) {
    check(&flow(&format!(r#"{{"id": "s", "type": "{ty}", "config": {config}}}"#)), expect);
}

const SET: &str = r#"{"type": "setVariables", "config": {"variables": []}}"#;

#[test]
fn a_flow_has_a_name_and_steps() {
    check("[]", &[("invalid_flow", "[]")]);
    check(r#"{"description": "d", "uuid": "u"}"#, &[("invalid_flow", "{"), ("invalid_flow", "{")]);
    check(
        &format!(r#"{{"name": " ", "description": "d", "uuid": "u", "steps": [{SET}]}}"#),
        &[("invalid_flow", "\" \"")],
    );
    check(&format!(r#"{{"name": 5, "description": "d", "uuid": "u", "steps": [{SET}]}}"#), &[("invalid_flow", "5")]);
    check(&flow(""), &[("invalid_flow", "[]")]);
    check(r#"{"name": "n", "description": "d", "uuid": "u", "steps": {}}"#, &[("invalid_flow", "{}")]);
    check(&format!(r#"{{"name": "n", "steps": [{SET}]}}"#), &[("missing_description", "{"), ("missing_uuid", "{")]);
    check(
        &format!(r#"{{"name": "n", "description": 1, "uuid": 2, "active": "yes", "steps": [{SET}]}}"#),
        &[("invalid_flow", "1"), ("invalid_flow", "2"), ("invalid_flow", "\"yes\"")],
    );
    check(
        &format!(r#"{{"name": "n", "description": "d", "uuid": "u", "ui-components": 1, "x": 2, "steps": [{SET}]}}"#),
        &[],
    );
}

#[test]
fn a_step_has_a_type_and_settings() {
    check(&flow("5"), &[("invalid_flow", "5")]);
    check(&flow(r#"{"config": {}}"#), &[("invalid_flow", "{")]);
    check(&flow(r#"{"type": 5, "config": {}}"#), &[("invalid_flow", "5")]);
    check(&flow(r#"{"type": "finish"}"#), &[("invalid_config", "{")]);
    check(&flow(r#"{"type": "finish", "config": []}"#), &[("invalid_config", "[]")]);
    check(&flow(r#"{"id": 7, "type": "finish", "config": {}}"#), &[("invalid_flow", "7")]);
    check(&flow(r#"{"type": "finish", "config": {}, "label": 1, "position": {}}"#), &[]);
    check(
        &flow(r#"{"id": "a", "type": "finish", "config": {}}, {"id": "a", "type": "finish", "config": {}}"#),
        &[("duplicate_id", "\"a\"")],
    );
    step("teleport", "{}", &[("unknown_step_type", "\"teleport\"")]);
    step("codeInterpreter", "{}", &[("unsupported_step", "\"codeInterpreter\"")]);
    step("streamUI", "{}", &[("unsupported_step", "\"streamUI\"")]);
}

#[test]
fn every_step_may_store_its_data_and_end_the_flow() {
    step("finish", r#"{"resultVariable": "a", "directOutput": true}"#, &[]);
    step("finish", r#"{"responseVariable": "a"}"#, &[]);
    step("finish", r#"{"resultVariable": "a", "responseVariable": "a"}"#, &[]);
    step("finish", r#"{"resultVariable": "a", "responseVariable": "b"}"#, &[("invalid_config", "\"b\"")]);
    step("finish", r#"{"resultVariable": "a.b"}"#, &[("invalid_config", "\"a.b\"")]);
    step("finish", r#"{"resultVariable": "1a"}"#, &[("invalid_config", "\"1a\"")]);
    step("finish", r#"{"directOutput": "yes"}"#, &[("invalid_config", "\"yes\"")]);
    step("finish", r#"{"mesage": "m"}"#, &[("unknown_key", "\"mesage\"")]);
}

#[test]
fn blocks_are_checked_at_any_depth() {
    let inner = r#"{"type": "loop", "config": {"loopType": "while", "condition": {"combinator": "and", "conditions": []},
        "loopBlocks": [{"type": "teleport", "config": {}}]}}"#;
    let condition = r#"{"combinator": "and", "conditions": [{"variable": 1, "operator": "equals", "value": 1}]}"#;
    step(
        "conditional",
        &format!(r#"{{"condition": {condition}, "truePath": [], "falsePath": [{inner}]}}"#),
        &[("empty_conditions", "[]"), ("unknown_step_type", "\"teleport\"")],
    );
    step("conditional", &format!(r#"{{"condition": {condition}, "truePath": {{}}}}"#), &[("invalid_config", "{}")]);
}

#[test]
fn a_conditional_has_one_condition() {
    let group = r#"{"combinator": "and", "conditions": [{"variable": 1, "operator": "equals", "value": 1}]}"#;
    step("conditional", "{}", &[("invalid_config", "{")]);
    step("conditional", r#"{"condition": "x"}"#, &[("invalid_condition", "\"x\"")]);
    step("conditional", r#"{"if": "$a == 1"}"#, &[]);
    step("conditional", &format!(r#"{{"if": {group}}}"#), &[]);
    step("conditional", &format!(r#"{{"condition": {group}, "if": "true"}}"#), &[("two_conditions", "\"true\"")]);
    step("conditional", r#"{"if": "$a =="}"#, &[("bad_expression", "")]);
    step("conditional", &format!(r#"{{"condition": {group}, "elsePath": []}}"#), &[("unknown_key", "\"elsePath\"")]);
}

#[test]
fn conditions_are_rejected_by_their_own_rules() {
    let clause = |clause: &str| format!(r#"{{"condition": {{"combinator": "and", "conditions": [{clause}]}}}}"#);
    step(
        "conditional",
        &clause(r#"{"variable": 1, "operator": "equls", "value": 1}"#),
        &[("unknown_operator", "\"equls\"")],
    );
    step("conditional", &clause(r#"{"variable": 1, "operator": "equals"}"#), &[("missing_value", "{")]);
    step(
        "conditional",
        &clause(r#"{"variable": "{{ $a", "operator": "equals", "value": "{{ nope }}"}"#),
        &[("unclosed_placeholder", "{{"), ("bad_expression", "nope")],
    );
    step(
        "conditional",
        &clause(r#"{"variable": 1, "operator": "equals", "value": "1", "type": "number"}"#),
        &[("type_mismatch", "\"1\"")],
    );
    step(
        "conditional",
        r#"{"condition": {"conditions": [{"variable": 1, "operator": "is_empty"}]}}"#,
        &[("combinator_absent", "{")],
    );
}

#[test]
fn variables_are_declared_once_at_the_top() {
    let declare = r#"{"type": "flow_variables", "config": {"variables": []}}"#;
    let legacy = r#"{"type": "start", "config": {"variables": []}}"#;
    check(&flow(&format!("{declare}, {SET}")), &[]);
    check(&flow(&format!("{declare}, {legacy}")), &[("invalid_flow", "\"start\"")]);
    let nested = format!(r#"{{"type": "conditional", "config": {{"if": "true", "truePath": [{declare}]}}}}"#);
    check(&flow(&nested), &[("invalid_flow", "\"flow_variables\"")]);
}

#[test]
fn declarations_have_valid_names_and_types() {
    let declare = |entry: &str| format!(r#"{{"variables": [{entry}]}}"#);
    step("flow_variables", "{}", &[("invalid_config", "{")]);
    step("flow_variables", r#"{"variables": {}}"#, &[("invalid_config", "{}")]);
    step("flow_variables", &declare("5"), &[("invalid_config", "5")]);
    step("flow_variables", &declare("{}"), &[("invalid_config", "{")]);
    step("flow_variables", &declare(r#"{"name": "a..b"}"#), &[("invalid_config", "\"a..b\"")]);
    step("flow_variables", &declare(r#"{"name": "a", "type": "date"}"#), &[("invalid_config", "\"date\"")]);
    step("flow_variables", &declare(r#"{"name": "a", "source": "disk"}"#), &[("invalid_config", "\"disk\"")]);
    step("flow_variables", &declare(r#"{"name": "a", "defualt": 1}"#), &[("unknown_key", "\"defualt\"")]);
    step("flow_variables", &declare(r#"{"name": "a", "type": "number", "value": "x"}"#), &[("type_mismatch", "\"x\"")]);
    step("flow_variables", &declare(r#"{"name": "a", "type": "number", "value": " 7 "}"#), &[]);
    step("flow_variables", &declare(r#"{"name": "a", "type": "number", "value": "{{ $x }}"}"#), &[]);
    step("flow_variables", &declare(r#"{"name": "a", "value": [1]}"#), &[("type_mismatch", "[1]")]);
    step(
        "flow_variables",
        &declare(r#"{"name": "a"}, {"name": "b"}, {"name": "a"}"#),
        &[("duplicate_variable", "\"a\"")],
    );
}

#[test]
fn assignments_have_valid_names_values_and_types() {
    let set = |entry: &str| format!(r#"{{"variables": [{entry}]}}"#);
    step("setVariables", "{}", &[("invalid_config", "{")]);
    step("setVariables", &set(r#"{"name": "a"}"#), &[("invalid_config", "{")]);
    step("setVariables", &set(r#"{"value": 1}"#), &[("invalid_config", "{")]);
    step("setVariables", &set(r#"{"name": 5, "value": 1}"#), &[("invalid_config", "5")]);
    step("setVariables", &set(r#"{"name": "a", "value": null, "type": "number"}"#), &[]);
    step("setVariables", &set(r#"{"name": "a", "value": 1, "type": "text"}"#), &[("invalid_config", "\"text\"")]);
    step("setVariables", &set(r#"{"name": "a", "value": true, "type": "number"}"#), &[("type_mismatch", "true")]);
    step(
        "setVariables",
        &set(r#"{"name": "a", "value": "nope", "type": "datetime"}"#),
        &[("type_mismatch", "\"nope\"")],
    );
    step("setVariables", &set(r#"{"name": "a", "value": "{{ $b + }}"}"#), &[("bad_expression", "")]);
    step("setVariables", &set(r#"{"name": "a", "value": "{{ nosuch($b) }}"}"#), &[("bad_expression", "nosuch")]);
    step("setVariables", &set(r#"{"name": "a", "value": "{{ putPath($b) }}"}"#), &[("bad_expression", "putPath")]);
}

#[test]
fn a_switch_has_a_variable_and_different_cases() {
    let case = |value: &str| format!(r#"{{"value": {value}, "blocks": [{SET}]}}"#);
    let switch = |cases: &[String]| format!(r#"{{"variable": 1, "cases": [{}]}}"#, cases.join(", "));
    step("switch", "{}", &[("invalid_config", "{"), ("invalid_config", "{")]);
    step("switch", r#"{"variable": null, "cases": []}"#, &[]);
    step("switch", r#"{"variable": 1, "cases": 2}"#, &[("invalid_config", "2")]);
    step("switch", &switch(&["3".into()]), &[("invalid_config", "3")]);
    step("switch", &switch(&[r#"{"value": 1, "blocks": []}"#.into()]), &[("invalid_config", "[]")]);
    step("switch", &switch(&[format!(r#"{{"blocks": [{SET}]}}"#)]), &[("invalid_config", "{")]);
    step("switch", &switch(&[case("1"), case("\"1\"")]), &[("duplicate_case", "\"1\"")]);
    step("switch", &switch(&[case("\"a\""), case("2"), case("\"A\"")]), &[("duplicate_case", "\"A\"")]);
    step("switch", &switch(&[case("\"{{ $a }}\""), case("\"{{ $a }}\"")]), &[]);
}

#[test]
fn loops_have_the_settings_of_their_type() {
    let of = |ty: &str, rest: &str| format!(r#"{{"loopType": "{ty}", "loopBlocks": []{rest}}}"#);
    step("loop", r#"{"loopBlocks": []}"#, &[("invalid_config", "{")]);
    step("loop", &of("until", ""), &[("invalid_config", "\"until\"")]);
    step("loop", r#"{"loopType": "while", "if": "true"}"#, &[("invalid_config", "{")]);
    step("loop", &of("while", ""), &[("invalid_config", "{")]);
    step("loop", &of("for", ""), &[("invalid_config", "{"), ("invalid_config", "{"), ("invalid_config", "{")]);
    step("loop", &of("forEach", ""), &[("invalid_config", "{"), ("invalid_config", "{")]);
    let bounds =
        |rest: &str| of("for", &format!(r#", "startValue": 1, "endValue": "3", "counterVariable": "i"{rest}"#));
    step("loop", &bounds(""), &[]);
    step("loop", &bounds(r#", "stepValue": 0"#), &[("invalid_config", "0")]);
    step("loop", &bounds(r#", "stepValue": "-00""#), &[("invalid_config", "\"-00\"")]);
    step("loop", &bounds(r#", "stepValue": 1.5"#), &[("type_mismatch", "1.5")]);
    step("loop", &bounds(r#", "maxIterations": 0"#), &[("invalid_config", "0")]);
    step("loop", &bounds(r#", "maxIterations": 10001"#), &[("invalid_config", "10001")]);
    step("loop", &bounds(r#", "maxIterations": "{{ $most }}""#), &[]);
    step("loop", &bounds(r#", "itemVariable": "x""#), &[("unknown_key", "\"itemVariable\"")]);
    let each = |rest: &str| of("forEach", &format!(r#", "itemVariable": "it"{rest}"#));
    step("loop", &each(r#", "iterableVariable": [1, 2], "indexVariable": "ix""#), &[]);
    step("loop", &each(r#", "iterableVariable": "items""#), &[("type_mismatch", "\"items\"")]);
    step("loop", &each(r#", "iterableVariable": [], "indexVariable": "it""#), &[("invalid_config", "\"it\"")]);
    step("loop", &each(r#", "iterableVariable": [], "indexVariable": "a.b""#), &[("invalid_config", "\"a.b\"")]);
}

#[test]
fn credentials_are_names_and_fit_the_tool() {
    let ask =
        |credentials: &str| format!(r#"{{"url": "https://a", "instruction": "hi", "credentials": {credentials}}}"#);
    let call = |credentials: &str| format!(r#"{{"url": "https://a", "credentials": {credentials}}}"#);
    step("apiCall", &call(r#"{"token": "CRM", "X-Key": "K"}"#), &[]);
    step("apiCall", &call("null"), &[]);
    step("apiCall", &call(r#""CRM""#), &[("invalid_config", "\"CRM\"")]);
    step("apiCall", &call(r#"{"token": "{{ $name }}"}"#), &[("invalid_config", "\"{{ $name }}\"")]);
    step("apiCall", &call(r#"{"token": 5}"#), &[("invalid_config", "5")]);
    let two = r#"{"key": "A", "other": "B"}"#;
    step("llmInstruction", &ask(two).replace(r#""url": "https://a", "#, ""), &[("invalid_config", two)]);
    step("webScraping", &call(r#"{"token": "CRM"}"#), &[("ignored_key", "\"credentials\"")]);
}

#[test]
fn limits_of_calls_are_in_range() {
    let ask = |rest: &str| format!(r#"{{"instruction": "hi"{rest}}}"#);
    step("llmInstruction", &ask(r#", "timeout": 300, "maxRetries": 10, "credentials": {"key": "NAME"}"#), &[]);
    step("llmInstruction", &ask(r#", "timeout": 0"#), &[("invalid_config", "0")]);
    step("llmInstruction", &ask(r#", "timeout": 301"#), &[("invalid_config", "301")]);
    step("llmInstruction", &ask(r#", "timeout": "{{ $t }}""#), &[("invalid_config", "\"{{ $t }}\"")]);
    step("llmInstruction", &ask(r#", "maxRetries": 11"#), &[("invalid_config", "11")]);
    step("llmInstruction", &ask(r#", "maxRetries": 1.5"#), &[("invalid_config", "1.5")]);
}

#[test]
fn options_of_a_model_are_in_range() {
    let ask = |rest: &str| format!(r#"{{"instruction": "hi"{rest}}}"#);
    step("llmInstruction", "{}", &[("invalid_config", "{")]);
    step("llmInstruction", r#"{"instruction": " "}"#, &[("invalid_config", "\" \"")]);
    step("llmInstruction", r#"{"instruction": ["hi"]}"#, &[("invalid_config", "[")]);
    step("llmInstruction", &ask(r#", "temperature": 2.1"#), &[("invalid_config", "2.1")]);
    step("llmInstruction", &ask(r#", "temperature": "{{ $t }}""#), &[]);
    step("llmInstruction", &ask(r#", "maxTokens": 0"#), &[("invalid_config", "0")]);
    step("llmInstruction", &ask(r#", "responseFormat": "xml""#), &[("invalid_config", "\"xml\"")]);
    step("llmInstruction", &ask(r#", "responseFormat": "json_schema""#), &[("invalid_config", "{")]);
    step("llmInstruction", &ask(r#", "responseFormat": "json_schema", "jsonSchema": {}"#), &[]);
    step("llmInstruction", &ask(r#", "sytemPrompt": "x""#), &[("unknown_key", "\"sytemPrompt\"")]);
}

#[test]
fn requests_have_an_address_and_pairs() {
    let call = |rest: &str| format!(r#"{{"url": "https://a.example"{rest}}}"#);
    step("apiCall", "{}", &[("invalid_config", "{")]);
    step("apiCall", r#"{"url": "ftp://a.example"}"#, &[("invalid_config", "\"ftp://a.example\"")]);
    step("apiCall", r#"{"url": "{{ $base }}/x"}"#, &[]);
    step("apiCall", &call(r#", "bodyType": "xml""#), &[("invalid_config", "\"xml\"")]);
    step("apiCall", &call(r#", "method": 5"#), &[("invalid_config", "5")]);
    step("apiCall", &call(r#", "headers": {}"#), &[("invalid_config", "{}")]);
    step("apiCall", &call(r#", "headers": [{"key": "A"}]"#), &[("invalid_config", "{")]);
    step("apiCall", &call(r#", "headers": [{"value": "A"}]"#), &[("invalid_config", "{")]);
    let form = |rest: &str| call(&format!(r#", "bodyType": "form_urlencoded"{rest}"#));
    for wrong in ["7", "{}", r#""text""#] {
        step("apiCall", &form(&format!(r#", "formData": {wrong}"#)), &[("invalid_config", wrong)]);
    }
    step("apiCall", &form(r#", "formData": [5]"#), &[("invalid_config", "5")]);
    step("apiCall", &form(r#", "formData": "{{ $form }}""#), &[]);
    step("apiCall", &form(r#", "body": "a=b""#), &[("invalid_config", "\"a=b\"")]);
    step("apiCall", &form(r#", "body": {"a": "b"}"#), &[]);
    step("apiCall", &form(r#", "formData": [], "body": {}"#), &[("ignored_key", "\"body\"")]);
    step("apiCall", &call(r#", "formData": []"#), &[("ignored_key", "\"formData\"")]);
    step("apiCall", &call(r#", "followRedirects": 1"#), &[("invalid_config", "1")]);
}

#[test]
fn other_calls_have_a_target() {
    step("runCommand", "{}", &[("invalid_config", "{")]);
    step("runCommand", r#"{"command": "ls", "args": "{{ $args }}", "env": {"A": "b"}, "cwd": "/tmp"}"#, &[]);
    step(
        "runCommand",
        r#"{"command": "ls", "args": 5, "env": [], "cwd": 7}"#,
        &[("invalid_config", "5"), ("invalid_config", "[]"), ("invalid_config", "7")],
    );
    step(
        "runCommand",
        r#"{"command": "ls", "args": "-l", "env": "A=b"}"#,
        &[("invalid_config", "\"-l\""), ("invalid_config", "\"A=b\"")],
    );
    step(
        "runCommand",
        r#"{"command": "ls", "env": {"A=B": "1", "LD_PRELOAD": "x"}, "credentials": {"PATH": "KEY"}}"#,
        &[("bad_env_name", "\"A=B\""), ("bad_env_name", "\"LD_PRELOAD\""), ("bad_env_name", "\"PATH\"")],
    );
    step("runCommand", r#"{"command": "ls", "max_output": 1000, "truncate": true}"#, &[]);
    step(
        "runCommand",
        r#"{"command": "ls", "max_output": 0, "truncate": "yes"}"#,
        &[("invalid_config", "0"), ("invalid_config", "\"yes\"")],
    );
    step("runCommand", r#"{"command": "ls", "max_output": 67108865}"#, &[("invalid_config", "67108865")]);
    step("mcpServerAction", "{}", &[("invalid_config", "{"), ("invalid_config", "{")]);
    step("mcpServerAction", r#"{"provider": "far", "serverId": "s", "action": "a"}"#, &[("invalid_config", "\"far\"")]);
    step("webSearch", "{}", &[("invalid_config", "{")]);
    step("webScraping", "{}", &[("invalid_config", "{")]);
    step("webSearch", r#"{"query": "q", "anything": {"else": "{{ $x }}"}}"#, &[]);
    step("webSearch", r#"{"query": "q", "anything": "{{ x }}"}"#, &[("bad_expression", "x")]);
}

#[test]
fn all_problems_are_reported_in_the_order_of_the_text() {
    let source = flow(
        r#"{"id": "a", "type": "setVariables", "config": {"variables": [{"name": "x", "value": "{{ x }}"}]}},
           {"id": "b", "type": "teleport", "config": {}},
           {"id": "c", "type": "loop", "config": {"loopType": "for", "startValue": "{{ $ }}", "endValue": true,
             "counterVariable": "i", "loopBlocks": [{"type": "finish"}]}}"#,
    );
    check(
        &source,
        &[
            ("bad_expression", "x"),
            ("unknown_step_type", "\"teleport\""),
            ("bad_expression", ""),
            ("type_mismatch", "true"),
            ("invalid_config", "{"),
        ],
    );
}

#[test]
fn steps_inside_a_rejected_step_are_checked() {
    let bad = r#"{"type": "setVariables", "config": {"variables": [{"name": "x", "value": "{{ x }}"}]}}"#;
    step(
        "loop",
        &format!(r#"{{"loopType": "until", "loopBlocks": [{bad}]}}"#),
        &[("invalid_config", "\"until\""), ("bad_expression", "x")],
    );
    step(
        "switch",
        &format!(r#"{{"cases": [{{"blocks": [{bad}]}}], "defaultBlocks": [{bad}]}}"#),
        &[("invalid_config", "{"), ("invalid_config", "{"), ("bad_expression", "x"), ("bad_expression", "x")],
    );
}
