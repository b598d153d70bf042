//! Declared inputs at the start of a run, in every dialect that has them.

use branchpoint_core::ir::Status;
use branchpoint_dialects::load;
use branchpoint_expr::{Object, Value};
use branchpoint_host::{Script, VirtualDriver};

fn value(text: &str) -> Value {
    serde_json::from_str(text).expect("valid JSON")
}

/// Runs a document with an input and facts. Returns the status, the kind and message of the error, and the result.
fn run(document: &str, input: &str, facts: &str) -> (Status, String, String, Value) {
    let loaded = load(document, None);
    let is_error = |finding: &branchpoint_expr::Diagnostic| finding.severity == branchpoint_expr::Severity::Error;
    assert!(!loaded.diagnostics.iter().any(is_error), "{:?}", loaded.diagnostics);
    let program = loaded.program.expect("the document loads");
    let mut host = VirtualDriver::new(&program, 0);
    let given = value(facts);
    let facts: Object =
        program.facts.iter().map(|fact| (fact.clone(), given.get(fact).cloned().unwrap_or_default())).collect();
    host.start(value(input), facts).expect("the run starts");
    let mut script = Script::read(&Value::Null).expect("an empty script");
    host.run_until_idle(&mut |call| script.simulate(call));
    let result = host.result().cloned().unwrap_or_default();
    let error = result.get("error").cloned().unwrap_or_default();
    let part = |key: &str| error.get(key).cloned().unwrap_or_default().to_string();
    (host.status(), part("kind"), part("message"), result)
}

#[track_caller]
fn accepted(document: &str, input: &str, facts: &str) -> Value {
    let (status, kind, message, result) = run(document, input, facts);
    assert_eq!(status, Status::Completed, "{kind}: {message}");
    result
}

#[track_caller]
fn rejected(document: &str, input: &str, facts: &str, expect: (&str, &str)) {
    let (status, kind, message, result) = run(document, input, facts);
    let word = result.get("status").map(ToString::to_string).unwrap_or_default();
    assert_eq!((status, word.to_lowercase().as_str()), (Status::Failed, "rejected"), "{result:?}");
    assert_eq!((kind.as_str(), message.as_str()), expect);
}

const FLOW: &str = r#"{"name": "f", "description": "d", "uuid": "u", "inputs": [
    {"name": "count", "type": "integer", "required": true}, {"name": "user.tier", "enum": ["free", "paid"], "default": "free"},
    {"name": "note", "type": "text"}],
  "steps": [{"id": "a", "type": "setVariables", "config": {"variables": [{"name": "out", "value": "{{ $count }} {{ $user.tier }}"}]}}]}"#;

#[test]
fn a_flow_checks_its_variables_and_fills_in_defaults() {
    let out = |input: &str| accepted(FLOW, input, "{}").get("variables").and_then(|all| all.get("out")).cloned();
    assert_eq!(out(r#"{"count": 2}"#), Some(Value::from("2 free")));
    assert_eq!(out(r#"{"count": 2, "user.tier": "paid", "note": null}"#), Some(Value::from("2 paid")));
    assert_eq!(out(r#"{"count": 2, "user": {"tier": "paid"}}"#), Some(Value::from("2 paid")));
    rejected(FLOW, "{}", "{}", ("invalid_input", "input `count` is required"));
    rejected(FLOW, r#"{"count": "2"}"#, "{}", ("invalid_input", "input `count` must be an integer, but is text"));
    rejected(FLOW, r#"{"count": 2.5}"#, "{}", ("invalid_input", "input `count` must be an integer, but is a number"));
    rejected(
        FLOW,
        r#"{"count": 1, "user.tier": "gold"}"#,
        "{}",
        ("invalid_input", r#"input `user.tier` must be one of "free", "paid""#),
    );
    rejected(
        FLOW,
        r#"{"count": 1, "cuont": 1}"#,
        "{}",
        ("unknown_input", "there is no input `cuont`; did you mean `count`?"),
    );
    rejected(
        FLOW,
        r#"{"count": 1, "user.name": "ada"}"#,
        "{}",
        ("unknown_input", "there is no input `user.name`; declared inputs: `count`, `user.tier`, `note`"),
    );
    rejected(
        FLOW,
        r#"{"user": 5, "note": 1}"#,
        "{}",
        (
            "invalid_input",
            "input `count` is required; input `user.tier` is below a value that is not an object; input `note` must be text, but is an integer",
        ),
    );
}

#[test]
fn many_wrong_inputs_are_counted() {
    let many: Object = (0..1_000).map(|n| (format!("x{n}").into(), Value::Int(n))).collect();
    let (_, kind, message, _) = run(FLOW, &serde_json::to_string(&Value::from(many)).expect("JSON"), "{}");
    assert_eq!(kind, "unknown_input");
    assert!(message.len() < 2_000 && message.ends_with("and 981 more"), "{message}");
}

#[test]
fn a_flow_without_declarations_accepts_anything() {
    let flow = r#"{"name": "f", "description": "d", "uuid": "u", "steps": [{"id": "a", "type": "finish", "config": {"message": "x"}}]}"#;
    accepted(flow, r#"{"anything": 1}"#, "{}");
}

const STEPS: &str = r#"{"inputs": [{"name": "input", "type": "list", "default": [1, 2]}, {"name": "metadata.customer", "type": "text", "required": true}],
  "steps": [{"id": "a", "step_type": "text", "template": "{{metadata.customer}} {{input}} {{agent.input}}"}]}"#;

#[test]
fn a_step_tree_checks_its_input_and_metadata() {
    let out = |input: &str, facts: &str| accepted(STEPS, input, facts).get("output").cloned();
    let ada = r#"{"metadata": {"customer": "ada"}, "content_type": "text/plain"}"#;
    assert_eq!(out(r#""""#, ada), Some(Value::from("ada [1,2] [1,2]")));
    assert_eq!(out("[3]", ada), Some(Value::from("ada [3] [3]")));
    rejected(STEPS, r#""text""#, ada, ("invalid_input", "input `input` must be a list, but is text"));
    rejected(STEPS, "[]", "{}", ("invalid_input", "input `metadata.customer` is required"));
    rejected(
        STEPS,
        "[]",
        r#"{"metadata": {"customer": ""}}"#,
        ("invalid_input", "input `metadata.customer` is required, but is empty"),
    );
    rejected(
        STEPS,
        "[]",
        r#"{"metadata": {"customer": "ada", "custmer": "b"}}"#,
        ("unknown_input", "there is no input `metadata.custmer`; did you mean `metadata.customer`?"),
    );
}

#[test]
fn a_default_of_the_input_has_its_own_content_type() {
    let document = r#"{"inputs": [{"name": "input", "default": {"a": 1}}], "steps": [
        {"id": "a", "step_type": "if_else", "conditions": [{"target": "input_content_type", "operator": "$eq", "value": "application/json"}],
         "then_steps": [{"id": "b", "step_type": "text", "template": "json"}], "else_steps": [{"id": "c", "step_type": "text", "template": "text"}]}]}"#;
    let result = accepted(document, r#""""#, r#"{"content_type": "text/plain"}"#);
    assert_eq!(result.get("output"), Some(&Value::from("json")));
}

fn graph(inputs: &str) -> String {
    format!(
        r#"{{{inputs} "nodes": [{{"id": "s", "type": "start", "data": {{"initialInput": "initial"}}}}, {{"id": "i", "type": "if",
           "data": {{"conditions": [{{"operator": "equal", "value": "x"}}]}}}}],
           "connections": [{{"source": "s", "target": "i"}}]}}"#
    )
}

#[test]
fn the_input_of_a_graph_replaces_the_text_of_its_start() {
    let out = |inputs: &str, input: &str| {
        let result = accepted(&graph(inputs), input, "{}");
        result.get("state").and_then(|state| state.get("s")).cloned()
    };
    assert_eq!(out("", "{}"), Some(Value::from("initial")));
    assert_eq!(out("", "null"), Some(Value::from("initial")));
    assert_eq!(out("", r#"{"input": "given"}"#), Some(Value::from("given")));
    assert_eq!(out("", r#"{"input": 0, "runId": "r"}"#), Some(Value::Int(0)));
    let declared = r#""inputs": [{"name": "input", "type": "text", "default": "default"}],"#;
    assert_eq!(out(declared, "{}"), Some(Value::from("default")));
    assert_eq!(out(declared, r#"{"input": "given", "runId": "r", "stepLimit": 9}"#), Some(Value::from("given")));
    rejected(
        &graph(declared),
        r#"{"input": 5}"#,
        "{}",
        ("invalid_input", "input `input` must be text, but is an integer"),
    );
    rejected(
        &graph(declared),
        r#"{"inptu": "x"}"#,
        "{}",
        ("unknown_input", "there is no input `inptu`; did you mean `input`?"),
    );
    let required = r#""inputs": [{"name": "input", "required": true}],"#;
    rejected(&graph(required), "null", "{}", ("invalid_input", "input `input` is required"));
}

#[test]
fn a_machine_accepts_undeclared_inputs_with_a_warning() {
    let machine = |inputs: &str| {
        format!(
            "name: m\n{inputs}states:\n  initial: done\n  done: {{type: terminal, message: '{{{{inputs.nmae}}}}'}}\n"
        )
    };
    let result = accepted(&machine("inputs: [{name: name}]\n"), r#"{"nmae": "x"}"#, "{}");
    assert_eq!(result.get("message"), Some(&Value::from("x")));
    let warnings = r#"[{"kind":"unknown_input","message":"there is no input `nmae`; did you mean `name`?"}]"#;
    assert_eq!(result.get("warnings"), Some(&value(warnings)));
    let result = accepted(&machine("inputs: [{name: nmae}]\n"), r#"{"nmae": "x"}"#, "{}");
    assert_eq!(result.get("warnings"), Some(&value("[]")));
    assert_eq!(accepted(&machine(""), r#"{"nmae": "x"}"#, "{}").get("warnings"), None);
}

#[test]
fn a_machine_reports_every_rule_that_an_input_breaks() {
    let rules =
        "[{name: a, required: true}, {name: b, type: integer}, {name: c, type: boolean}, {name: d, type: number},
        {name: p, validation: {pattern: '^x\"'}}, {name: e, validation: {enum: [one, two]}},
        {name: m, validation: {min: 2, max: 3.5}}, {name: n, validation: {min: 2, max: 3.5}},
        {name: f, validation: {file_extension: [.md, txt]}}, {name: g, type: string, validation: {pattern: y}}]";
    let source = format!("name: n\ninputs: {rules}\nstates: {{initial: end, end: {{type: terminal}}}}\n");
    let inputs =
        r#"{"b": "1.5", "c": "maybe", "d": "x", "p": "y", "e": "three", "m": 1, "n": "4", "f": "a.rs", "g": ""}"#;
    let messages = [
        "input `a` is required",
        "input `b` must be a whole number",
        "input `c` must be true or false",
        "input `d` must be a number",
        r#"input `p` does not match "^x\"""#,
        r#"input `e` is not one of "one", "two""#,
        "input `m` is less than 2",
        "input `n` is more than 3.5",
        "input `f` has another file extension",
    ];
    let (.., result) = run(&source, inputs, "{}");
    assert_eq!(result.get("errors"), Some(&Value::from(messages.map(Value::from).to_vec())));
}
