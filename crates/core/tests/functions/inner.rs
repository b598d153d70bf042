//! Internal functions for approvals, tools, defaults, calls and expansions.

use std::cell::Cell;

use branchpoint_core::functions::ENVIRONMENT;
use branchpoint_expr::{Context, Dialect, Environment, Expression, Kind, Limits, Name, Object, Options, Source, Value};

/// Checks the value of a generated expression, as JSON.
#[track_caller]
fn check(text: &str, expect: &str) {
    let expression = Expression::compile(text, Options::dialect(Dialect::Graph).environment(&ENVIRONMENT));
    let value =
        expression.unwrap_or_else(|problems| panic!("{text}: {problems}")).value(&ENVIRONMENT.over(&Value::Null));
    let got = value.map_or_else(|error| format!("error {}", error.detail), |value| format!("{value:?}"));
    assert_eq!(got, expect, "{text}");
}

#[test]
fn an_answer_approves_rejects_or_has_no_decision() {
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
fn each_tool_has_the_reason_why_it_is_offered_or_not() {
    let rules = "{plan: {allowed: ['think', 'web_*'], denied: ['web_delete'], sequence: []}, \
         search: {allowed: ['web_*'], denied: [], sequence: [['web_search'], ['web_read']]}}";
    let reasons = |tool: &str, active: &str, index: u8, expect: &str| {
        let call = format!("toolStates(['{tool}'], {rules}, {active}, {index})[0]");
        check(&format!("({call}.offered ? 'yes: ' : 'no: ') + {call}.reason"), &format!("\"{expect}\""));
    };
    reasons("think", "'plan'", 0, "yes: allowed by plan");
    reasons("think", "'search'", 0, "no: not listed in search; listed in plan");
    reasons("save", "'plan'", 0, "no: not listed in plan");
    reasons("web_delete", "'plan'", 0, "no: denied by web_delete in plan");
    reasons("web_read", "'search'", 0, "no: not next in the sequence of search");
    reasons("web_read", "'search'", 1, "yes: allowed by search");
    reasons("save", "nil", 0, "yes: no step is active, so every tool is offered");
    check(&format!("toolStates(nil, {rules}, nil, 0)"), "[]");
    check("toolStates([], nil, nil, 0)", "error wrong_kind");
}

#[test]
fn defaults_replace_null_at_any_depth() {
    check(
        "filledIn([{model: nil, other: nil, below: [{model: 'own'}, {model: nil}]}], {model: 'm'})",
        r#"[{"model":"m","other":null,"below":[{"model":"own"},{"model":"m"}]}]"#,
    );
}

#[test]
fn the_event_of_a_failed_call_has_the_fields_of_its_start() {
    check(
        "callFailed({type: 'subagent_call_start', callId: 'c', message: 'old'}, 'down')",
        r#"{"callId":"c","type":"subagent_call_error","message":"down"}"#,
    );
}

#[test]
fn documents_cannot_call_internal_functions() {
    for text in ["offeredTools([], nil, 0)", "approvalAnswer(true)", "filledIn({}, {})", "callFailed({}, '')"] {
        assert!(Expression::compile(text, Options::dialect(Dialect::Graph)).is_err(), "{text}");
    }
}

/// Values, with the steps that evaluations over them have taken.
struct CountRecord<'v>(&'v Value, Cell<u64>);

impl Context for CountRecord<'_> {
    fn read(&self, name: &Name) -> Option<Source<'_>> {
        self.0.read(name)
    }

    fn report_steps(&self, steps: u64) {
        self.1.set(self.1.get() + steps);
    }
}

/// The steps of expanding a template that was read in a run, under a limit, and its result.
fn expansion(template: &str, steps: u64) -> (u64, Result<Value, Kind>) {
    let text = "expandTemplate(template, {})";
    let expression = Expression::compile(text, Options::dialect(Dialect::Graph).environment(&ENVIRONMENT));
    let expression = expression.unwrap_or_else(|problems| panic!("{problems}"));
    let limits = Limits { steps, ..ENVIRONMENT.limits };
    let environment = Environment { limits, ..ENVIRONMENT.clone() };
    let values = Value::from([("template".into(), Value::from(template))].into_iter().collect::<Object>());
    let counted = CountRecord(&values, Cell::new(0));
    let value = expression.value(&environment.over(&counted));
    (counted.1.get(), value.map_err(|error| error.detail))
}

#[test]
fn the_work_of_an_expansion_counts_for_the_enclosing_evaluation() {
    let nested = "{{range $i := 2000}}x{{end}}";
    let (few, expanded) = expansion("x", 1_000_000);
    assert!(few < 100 && expanded == Ok(Value::from("x")), "{few}: {expanded:?}");
    let (many, expanded) = expansion(nested, 1_000_000);
    assert!(many > 1_000 && expanded == Ok(Value::from("x".repeat(2_000))), "{many}: {expanded:?}");
    assert_eq!(expansion(nested, 500).1, Err(Kind::StepLimit));
}
