use branchpoint_core::effect::{Body, HttpResponse, Kind, ProcessResult, Stream};
use branchpoint_core::ir::Effect;

use super::*;

fn call(kind: &str, definition: &str) -> Call {
    let definition =
        Effect { attempt_limit_ms: Some(30), ..serde_json::from_str(definition).expect("this is an effect") };
    Call::first(Effect { kind: Kind::named(kind).expect("this is a kind"), ..definition }, Value::Null)
}

#[track_caller]
fn check(kind: &str, spec: &str, answer: Answer, expect: &str) {
    let got = match judge(&call(kind, spec), answer) {
        Ok(value) => format!("{value:?}"),
        Err(failed) => format!("{} again={} answered={}", failed.kind, failed.retry.allows_retry(), failed.answered),
    };
    assert_eq!(got, expect);
}

fn http(status: u16, body: &str) -> Answer {
    Answer::Http(HttpResponse { status, headers: Object::default(), body: Body::Text(body.into()) })
}

fn printed(exit: i32, stdout: &str) -> Answer {
    Answer::Process(ProcessResult::new(exit, stdout, ""))
}

#[test]
fn a_blank_answer_of_a_model_fails_only_where_the_effect_says_so() {
    check("model", "{}", Answer::model(""), r#""""#);
    check("model", r#"{"response": {"non_empty": true}}"#, Answer::model(" "), "step_failed again=true answered=true");
}

#[test]
fn a_reply_in_json_format_must_be_json() {
    let spec = r#"{"response": {"format": "json"}}"#;
    check("model", spec, Answer::model(r#" {"a": 1} "#), r#"{"a":1}"#);
    check("model", spec, Answer::model("a: 1"), "step_failed again=true answered=true");
    check("model", spec, Answer::data(Value::from("as it is")), r#""as it is""#);
}

#[test]
fn statuses_are_judged_by_ranges() {
    check("http", "{}", http(204, ""), "null");
    check("http", "{}", http(301, ""), "http_status again=true answered=true");
    let spec = r#"{"response": {"expected_status": [[0, 399], [418, 418]], "final_status": [[400, 499]]}}"#;
    check("http", spec, http(301, "x"), r#""x""#);
    check("http", spec, http(418, "[1]"), "[1]");
    check("http", spec, http(404, ""), "http_status again=false answered=true");
    check("http", spec, http(503, ""), "http_status again=true answered=true");
}

#[test]
fn tagged_output_is_found_parsed_or_trimmed() {
    let spec = r#"{"response": {"format": "tagged"}}"#;
    check("process", spec, printed(0, "log\n<output>{\"a\":1}</output>\n"), r#"{"a":1}"#);
    check("process", spec, printed(0, "<output> plain </output>"), r#""plain""#);
    check("process", spec, printed(0, " [1] \n"), r#""[1]""#);
    check("process", spec, printed(0, " \n"), "null");
    check("process", "{}", printed(0, " as it is\n"), r#"" as it is\n""#);
    check("process", spec, printed(3, "x"), "exit_code again=true answered=true");
}

#[test]
fn an_envelope_has_further_fields_beside_the_output() {
    let spec = r#"{"response": {"envelope": true}}"#;
    let expect = r#"{"output":"hi","content_type":"text/plain","exit_code":0,"stderr":""}"#;
    check("process", spec, printed(0, "hi"), expect);
    check("model", spec, Answer::data(Value::Int(1)), r#"{"output":1,"content_type":"application/json"}"#);
}

#[test]
fn a_missing_answer_is_a_timeout_with_unknown_outcome() {
    check("tool", "{}", Answer::Missing, "timeout again=true answered=false");
}

#[test]
fn output_above_the_limit_fails_unless_it_may_be_truncated() {
    let cut = |exit: i32, stream| {
        Answer::Process(ProcessResult { cut: Some(stream), ..ProcessResult::new(exit, "ab", "no") })
    };
    let limit = r#"{"response": {"max_output": 2}}"#;
    check("process", limit, cut(0, Stream::Out), "output_limit again=false answered=true");
    check("process", limit, cut(0, Stream::Err), "output_limit again=false answered=true");
    // The command was killed, so the exit code is not its own.
    check("process", limit, cut(137, Stream::Out), "output_limit again=false answered=true");
    check("process", r#"{"response": {"max_output": 2, "truncate": true}}"#, cut(0, Stream::Out), r#""ab""#);
    let report = r#"{"response": {"max_output": 2, "report": 3}}"#;
    let failed = judge(&call("process", report), cut(0, Stream::Out)).expect("a report");
    let error = failed.get("error").and_then(|error| error.get("kind")).cloned();
    assert_eq!((error, failed.get("exit_code")), (Some(Value::from("output_limit")), Some(&Value::Int(1))));
    let truncated = judge(&call("process", r#"{"response": {"report": 1, "truncate": true}}"#), cut(0, Stream::Out))
        .expect("a report");
    assert_eq!((truncated.get("error"), truncated.get("output")), (Some(&Value::Null), Some(&Value::from("ab"))));
}

#[test]
fn the_error_of_a_reported_command_is_its_last_line() {
    for (stdout, stderr, expect) in [
        ("done\n", "warning\naccess denied\n\n  \n", "access denied"),
        ("first\n  no such file \n", " \n", "no such file"),
        ("", "", "exit code 3"),
    ] {
        let answer = Answer::Process(ProcessResult::new(3, stdout, stderr));
        let report = judge(&call("process", r#"{"response": {"report": 1}}"#), answer).expect("a report");
        let message = report.get("error").and_then(|error| error.get("message")).cloned();
        assert_eq!(message, Some(Value::from(expect)));
    }
}

#[test]
fn a_failed_child_shows_its_own_cause_to_its_caller() {
    let steps = call("run", r#"{"response": {"child": true}}"#);
    for (result, expect) in [
        (
            r#"{"status": "failed", "output": null, "error": {"kind": "exit_code", "message": "no rule", "step": "make"}}"#,
            "the called workflow failed in step `make` [exit_code]: no rule",
        ),
        (
            r#"{"status": "ERROR", "output": null, "error": {"kind": "effect_failed", "message": "busy", "step": "ask"}}"#,
            "the called workflow failed in step `ask` [effect_failed]: busy",
        ),
        (
            r#"{"status": "REJECTED", "output": null, "error": {"kind": "invalid_input", "message": "input `x` is required", "step": null}}"#,
            "the called workflow was not started [invalid_input]: input `x` is required",
        ),
        (
            r#"{"status": "failed", "kind": "step_failed", "message": "no rule", "error": {"State": "make"},
                "failure": {"kind": "exit_code", "message": "no rule", "step": "make"}}"#,
            "the called workflow failed in step `make` [exit_code]: no rule",
        ),
        (r#"{"status": "cancelled", "output": null, "error": null}"#, "the called workflow was cancelled"),
    ] {
        let failed = judge(&steps, Answer::data(json(result).expect("JSON"))).expect_err("it failed");
        assert_eq!((&*failed.kind, &*failed.message), ("callee_failed", expect));
    }
    let machine = call("run", r#"{"response": {"report": 1}}"#);
    for (result, expect) in [
        (r#"{"status": "failed", "message": "its own words"}"#, "its own words"),
        (
            r#"{"status": "failed", "output": null, "error": {"kind": "timeout", "message": "too slow", "step": "a"}}"#,
            "the called workflow failed in step `a` [timeout]: too slow",
        ),
    ] {
        let report = judge(&machine, Answer::data(json(result).expect("JSON"))).expect("a report");
        let message = report.get("error").and_then(|error| error.get("message")).cloned();
        assert_eq!(message, Some(Value::from(expect)));
    }
}
