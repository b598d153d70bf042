//! Calls: delays, attempts, and the requests that are sent.

use crate::{check, program, ran};

#[test]
fn pauses_grow_by_a_second_up_to_ten() {
    let ask = r#"{"id": "a", "type": "runCommand", "config": {"command": "x", "maxRetries": 10}}"#;
    let program = program(ask);
    let host = ran(&program, "{}", r#"{"a": {"$exit": 1}}"#);
    assert_eq!(host.now_ms(), (1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10) * 1_000);
}

#[test]
fn a_retry_after_response_delays_the_next_attempt() {
    let step = r#"{"id": "a", "type": "apiCall", "config": {"url": "https://a", "maxRetries": 3}}"#;
    let (program, good) = (program(step), r#"{"$status": 200, "body": 1}"#);
    let busy = |wait: &str| format!(r#"{{"$status": 503, "headers": {{"Retry-After": "{wait}"}}}}"#);
    for (wait, waited_ms) in [("7", 7_000), ("0", 1_000), ("86400", 86_400_000)] {
        let host = ran(&program, "{}", &format!(r#"{{"a": [{}, {good}]}}"#, busy(wait)));
        assert_eq!(host.now_ms(), waited_ms, "{wait}");
    }
}

#[test]
fn a_hanging_call_fails_at_its_timeout() {
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
fn an_invalid_request_is_not_a_failed_call() {
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
fn requests_are_sent_with_expanded_fields() {
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
        r#", "bodyType": "form_urlencoded", "formData": [{"key": "k", "value": "{{ $n }}"}]"#,
        r#"{"method": "GET", "url": "https://a", "headers": {}, "body": {"k": 7}}"#,
    );
}

#[test]
fn only_the_effect_names_secrets() {
    let call = r#"{"id": "a", "type": "apiCall", "config": {"url": "https://a", "credentials": {"token": "CRM_TOKEN"},
        "resultVariable": "r"}}"#;
    let program = program(call);
    let secrets: Vec<String> = program.effects[0].secrets.iter().map(ToString::to_string).collect();
    assert_eq!(secrets, ["headers.Authorization = Bearer CRM_TOKEN"]);
    let host = ran(&program, "{}", r#"{"a": {"$request": true}}"#);
    let output = format!("{:?} {:?} {:?}", host.result(), host.notes(), host.journal());
    assert!(!output.contains("CRM_TOKEN"), "{output}");
}

#[test]
fn a_computed_field_of_the_wrong_type_is_named() {
    let api = r#""url": "https://a", "bodyType": "form_urlencoded""#;
    let cases = [
        (
            "apiCall",
            format!(r#"{api}, "formData": "{{{{ $x }}}}""#),
            "7",
            "`formData` must be a list of keys and values, but is the number 7",
        ),
        (
            "apiCall",
            format!(r#"{api}, "formData": "{{{{ $x }}}}""#),
            r#"[{"value": 1}]"#,
            "`formData` has the object {\"value\":1}, but each item must be an object with a `key` and a `value`",
        ),
        (
            "apiCall",
            format!(r#"{api}, "body": "{{{{ $x }}}}""#),
            "\"a=b\"",
            "`body` must be an object, but is the text \"a=b\"",
        ),
        (
            "apiCall",
            r#""url": "https://a", "headers": "{{ $x }}""#.to_owned(),
            "true",
            "`headers` must be a list of keys and values, but is the boolean true",
        ),
        (
            "runCommand",
            r#""command": "ls", "args": "{{ $x }}""#.to_owned(),
            "7",
            "`args` must be a list, but is the number 7",
        ),
        (
            "runCommand",
            r#""command": "ls", "env": "{{ $x }}""#.to_owned(),
            "[]",
            "`env` must be an object, but is the list []",
        ),
        (
            "mcpServerAction",
            r#""serverId": "s", "action": "a", "params": "{{ $x }}""#.to_owned(),
            "\"text\"",
            "`params` must be an object, but is the text \"text\"",
        ),
        (
            "llmInstruction",
            r#""instruction": "i", "maxTokens": "{{ $x }}""#.to_owned(),
            "1.5",
            "`maxTokens` must be a whole number of at least 1, but is the number 1.5",
        ),
    ];
    for (ty, config, value, message) in cases {
        let step = format!(r#"{{"id": "a", "type": "{ty}", "config": {{{config}}}}}"#);
        let error = branchpoint_expr::Value::from(message);
        let expect = format!(r#"{{"error": {{"kind": "invalid_config", "message": {error:?}}}}}"#);
        check(&step, &format!(r#"{{"x": {value}}}"#), "{}", &expect);
    }
}

#[test]
fn absent_lists_and_objects_of_a_request_are_empty() {
    let step =
        r#"{"id": "a", "type": "runCommand", "config": {"command": "ls", "args": "{{ $x }}", "env": "{{ $x }}"}}"#;
    check(step, r#"{"x": null}"#, r#"{"a": "ok"}"#, r#"{"status": "COMPLETED"}"#);
}
