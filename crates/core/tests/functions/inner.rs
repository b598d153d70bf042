//! Answers, tools, defaults and calls.

use branchpoint_core::functions::ENVIRONMENT;
use branchpoint_expr::{Dialect, Expression, Options, Value};

/// The value of an expression of a front-end's own making, as JSON.
#[track_caller]
fn check(text: &str, expect: &str) {
    let expression = Expression::compile(text, Options::dialect(Dialect::Graph).environment(&ENVIRONMENT));
    let value =
        expression.unwrap_or_else(|problems| panic!("{text}: {problems}")).value(&ENVIRONMENT.over(&Value::Null));
    let got = value.map_or_else(|error| format!("error {}", error.detail), |value| format!("{value:?}"));
    assert_eq!(got, expect, "{text}");
}

#[test]
fn an_answer_decides_or_is_none() {
    let approve = r#"{"decision":"approve","note":""}"#;
    let reject = r#"{"decision":"reject","note":""}"#;
    for input in
        ["true", "' OK '", "'Approved'", "{decision: 'yes'}", "{approved: true}", "{decision: 'ok', approved: true}"]
    {
        check(&format!("approvalAnswer({input})"), approve);
    }
    for input in ["false", "'deny'", "'NO'", "{decision: 'false'}", "{approved: false, note: 5}"] {
        check(&format!("approvalAnswer({input})"), reject);
    }
    for input in [
        "nil",
        "1",
        "''",
        "'please reject'",
        "[true]",
        "{}",
        "{note: 'ok'}",
        "{approved: 'yes'}",
        "{decision: 'yes', approved: false}",
        "{decision: true}",
        "{decision: nil, approved: true}",
    ] {
        check(&format!("approvalAnswer({input})"), "null");
    }
    check("approvalAnswer({approved: true, note: ' ok '})", r#"{"decision":"approve","note":" ok "}"#);
}

#[test]
fn tools_are_offered_by_patterns_and_position() {
    let tools = "['web_search', 'web_delete', 'save']";
    check(&format!("offeredTools({tools}, nil, 0)"), r#"["web_search","web_delete","save"]"#);
    check(&format!("offeredTools({tools}, {{allowed: [], denied: ['save']}}, 0)"), r#"["web_search","web_delete"]"#);
    check(&format!("offeredTools({tools}, {{allowed: ['web_*'], denied: ['*delete']}}, 0)"), r#"["web_search"]"#);
    let rule = "{allowed: ['web_*'], sequence: [['save', 'web_search'], ['save']]}";
    check(&format!("offeredTools({tools}, {rule}, 0)"), r#"["web_search"]"#);
    check(&format!("offeredTools({tools}, {rule}, 1)"), "[]");
    check(&format!("offeredTools({tools}, {rule}, 2)"), r#"["web_search","web_delete"]"#);
    check("offeredTools('save', {}, 0)", "error wrong_kind");
}

#[test]
fn defaults_fill_what_is_null_at_any_depth() {
    check(
        "filledIn([{model: nil, other: nil, below: [{model: 'own'}, {model: nil}]}], {model: 'm'})",
        r#"[{"model":"m","other":null,"below":[{"model":"own"},{"model":"m"}]}]"#,
    );
}

#[test]
fn a_call_that_failed_is_told_as_it_began() {
    check(
        "callFailed({type: 'subagent_call_start', callId: 'c', message: 'old'}, 'down')",
        r#"{"callId":"c","type":"subagent_call_error","message":"down"}"#,
    );
}

#[test]
fn documents_cannot_call_them() {
    for text in ["offeredTools([], nil, 0)", "approvalAnswer(true)", "filledIn({}, {})", "callFailed({}, '')"] {
        assert!(Expression::compile(text, Options::dialect(Dialect::Graph)).is_err(), "{text}");
    }
}
