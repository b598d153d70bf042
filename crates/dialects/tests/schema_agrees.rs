//! The schemas and the front-ends agree: a document that a schema rejects has an error, and a document with an error of structure
//! is rejected by the schema.

use std::collections::BTreeSet;

use branchpoint_dialects::{load, schema};
use branchpoint_expr::{Dialect, Severity};
use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Errors of structure, by kind: unknown types, wrong values, missing and exclusive fields.
const STRUCTURAL: [&str; 17] = [
    "bad_field",
    "bad_input_declaration",
    "bad_value",
    "conflict",
    "invalid_config",
    "invalid_field",
    "invalid_flow",
    "invalid_orchestration",
    "invalid_payload",
    "invalid_step",
    "invalid_template",
    "missing_field",
    "two_conditions",
    "unknown_node_type",
    "unknown_step_type",
    "unknown_type",
    "unsupported_step",
];

/// Errors that a schema does not express: a part of the message, and the reason.
const EXCEPTIONS: [(&str, &str); 15] = [
    ("`if` must be an expression", "conditions are compiled, also those of steps that do not use them"),
    ("a condition is an object or", "conditions are compiled, also those of steps that do not use them"),
    ("expect_status", "ranges of statuses are parsed"),
    ("states.a.loop.", "the type of the state may name the loop"),
    ("belongs in the block", "fields beside a block are unknown fields for a schema"),
    ("must be a regular expression", "patterns are compiled"),
    ("max_iterations", "a text may be an expression, which is compiled"),
    ("are one setting, but differ", "a schema cannot compare two values"),
    ("`itemVariable` and `indexVariable` must differ", "a schema cannot compare two values"),
    ("which the format `json_schema` needs", "it depends on the value of another field"),
    ("of a model has one secret", "the number of secrets depends on the type of the step"),
    ("begins with http", "addresses are parsed"),
    ("the name of an input", "names depend on the dialect"),
    ("`body` must be an object", "it depends on the value of another field"),
    ("the step of the loop is 0", "only loops that count have a step"),
];

/// An object whose fields are changed: the document, and the path of the object.
type Site = (Value, &'static str);

/// Values that are valid for some fields.
fn samples() -> Vec<Value> {
    let text = [
        "x",
        "",
        " ",
        "{{input}}",
        "a b",
        "else",
        "5",
        "30s",
        "200-299",
        "GET",
        "get",
        "json",
        "all",
        "continue",
        "fail",
    ];
    let mut samples: Vec<Value> = text.map(Value::from).to_vec();
    samples.extend([json!(0), json!(1), json!(7), json!(-1), json!(2.5), json!(100_000)]);
    samples.extend([json!(true), json!(false), Value::Null, json!([]), json!(["a", "b"]), json!([1, 2]), json!({})]);
    samples.extend([json!({"a": "b"}), json!([{"key": "a", "value": "b"}]), json!([{"name": "a", "steps": []}])]);
    samples.extend([json!({"combinator": "and", "conditions": [{"variable": "a", "operator": "is_empty"}]})]);
    samples
}

fn machines() -> Vec<Site> {
    let machine = |state: Value| {
        let states = json!({"initial": "a", "a": state, "b": {"command": "x"}, "done": {"type": "terminal"}});
        json!({"name": "n", "inputs": [{"name": "i", "validation": {}}], "states": states})
    };
    let on = |state: Value| {
        let mut state = state;
        state["on_success"] = json!("done");
        machine(state)
    };
    let command = json!({"command": "x", "retry": {}, "on_failure": {"message": "m"}, "hooks": {"pre": [{"log": "l"}]},
        "transitions": [{"when": "env.X == 1", "goto": "done"}]});
    let agent = json!({"provider": "p", "prompt": "q", "conversation": {}});
    let typed = |ty: &str, fields: &Value| {
        let mut state = fields.clone();
        state["type"] = json!(ty);
        on(state)
    };
    let each = json!({"items": [1], "body": ["b"]});
    let again = json!({"while": "false", "body": ["b"]});
    vec![
        (on(command.clone()), ""),
        (on(command.clone()), "/inputs/0"),
        (on(command.clone()), "/inputs/0/validation"),
        (on(command.clone()), "/states/a"),
        (on(command.clone()), "/states/a/retry"),
        (on(command.clone()), "/states/a/on_failure"),
        (on(command.clone()), "/states/a/hooks/pre/0"),
        (on(command), "/states/a/transitions/0"),
        (typed("step", &json!({"script_file": "f"})), "/states/a"),
        (typed("agent", &agent), "/states/a"),
        (typed("agent", &agent), "/states/a/conversation"),
        (on(json!({"agent": agent})), "/states/a/agent"),
        (typed("parallel", &json!({"parallel": ["b"]})), "/states/a"),
        (typed("for_each", &each), "/states/a"),
        (typed("while", &again), "/states/a"),
        (on(json!({"loop": {"type": "for_each", "items": [1], "body": ["b"]}})), "/states/a/loop"),
        (on(json!({"loop": {"type": "while", "while": "false", "body": ["b"]}})), "/states/a/loop"),
        (typed("call_workflow", &json!({"workflow": "w"})), "/states/a"),
        (typed("terminal", &json!({})), "/states/a"),
    ]
}

fn flows() -> Vec<Site> {
    let group = json!({"combinator": "and", "conditions": [{"variable": "a", "operator": "is_empty"}]});
    let finish = json!({"type": "finish", "config": {}});
    let flow = |ty: &str, config: Value| {
        let step = json!({"type": ty, "config": config});
        json!({"name": "n", "description": "d", "uuid": "u", "inputs": [{"name": "i"}], "steps": [step]})
    };
    let (here, loops) = ("/steps/0/config", json!([finish]));
    let variables = json!({"variables": [{"name": "a", "value": 1}]});
    let cases = json!({"variable": "a", "cases": [{"value": 1, "blocks": [finish]}]});
    let http = json!({"url": "https://a.b", "headers": [{"key": "k", "value": "v"}]});
    vec![
        (flow("finish", json!({})), ""),
        (flow("finish", json!({})), "/inputs/0"),
        (flow("finish", json!({})), "/steps/0"),
        (flow("finish", json!({})), here),
        (flow("flow_variables", variables.clone()), here),
        (flow("flow_variables", variables.clone()), "/steps/0/config/variables/0"),
        (flow("setVariables", variables), "/steps/0/config/variables/0"),
        (flow("conditional", json!({"condition": group})), here),
        (flow("conditional", json!({"if": "true"})), here),
        (flow("switch", cases.clone()), here),
        (flow("switch", cases), "/steps/0/config/cases/0"),
        (flow("loop", json!({"loopType": "while", "condition": group, "loopBlocks": loops})), here),
        (
            flow(
                "loop",
                json!({"loopType": "forEach", "iterableVariable": [1], "itemVariable": "i", "loopBlocks": loops}),
            ),
            here,
        ),
        (
            flow(
                "loop",
                json!({"loopType": "for", "startValue": 1, "endValue": 2, "counterVariable": "i", "loopBlocks": loops}),
            ),
            here,
        ),
        (flow("llmInstruction", json!({"instruction": "x"})), here),
        (flow("apiCall", http.clone()), here),
        (flow("apiCall", http), "/steps/0/config/headers/0"),
        (flow("runCommand", json!({"command": "true"})), here),
        (flow("mcpServerAction", json!({"serverId": "s", "action": "a"})), here),
        (flow("webSearch", json!({"query": "x"})), here),
        (flow("webScraping", json!({"url": "https://a.b"})), here),
    ]
}

fn graphs() -> Vec<Site> {
    let graph = |ty: &str, data: Value| {
        let nodes =
            json!([{"id": "s", "type": "start"}, {"id": "n", "type": ty, "data": data}, {"id": "z", "type": "agent"}]);
        let handle = if ty == "if" { "condition-0" } else { "output" };
        let ways = json!([{"source": "s", "target": "n"}, {"source": "n", "target": "z", "sourceHandle": handle}]);
        json!({"inputs": [{"name": "input"}], "nodes": nodes, "connections": ways})
    };
    let condition = json!({"conditions": [{"value": "x"}]});
    vec![
        (graph("agent", json!({})), ""),
        (graph("agent", json!({})), "/nodes/1"),
        (graph("agent", json!({})), "/nodes/1/data"),
        (graph("start", json!({})), "/nodes/1/data"),
        (graph("approval", json!({})), "/nodes/1/data"),
        (graph("if", condition.clone()), "/nodes/1/data"),
        (graph("if", condition), "/nodes/1/data/conditions/0"),
        (graph("agent", json!({})), "/connections/1"),
    ]
}

fn sessions() -> Vec<Site> {
    let steps = |condition: Value| json!({"steps": [{"name": "a", "isDefault": true, "conditions": [condition], "availableTools": {}}]});
    let used = json!({"type": "tool_used", "value": "x"});
    let template = json!({"version": "1", "agentId": "a", "name": "n", "description": "d", "personality": "p",
        "nodes": ["search"], "nodeConfigurations": {}, "chatSettings": {}, "options": {"tokenOptimization": {}}});
    vec![
        (steps(used.clone()), ""),
        (steps(used.clone()), "/steps/0"),
        (steps(used.clone()), "/steps/0/availableTools"),
        (steps(used), "/steps/0/conditions/0"),
        (steps(json!({"type": "message_regex", "value": "x"})), "/steps/0/conditions/0"),
        (steps(json!({"type": "not_recently_used", "value": "x"})), "/steps/0/conditions/0"),
        (steps(json!({"if": "true"})), "/steps/0/conditions/0"),
        (template.clone(), ""),
        (template.clone(), "/chatSettings"),
        (template.clone(), "/options"),
        (template, "/options/tokenOptimization"),
    ]
}

/// The required fields of a step of this type.
fn least(kind: &str) -> Value {
    let text = json!([{"step_type": "text", "template": "x"}]);
    let mut step = match kind {
        "http" | "webhook_call" => json!({"url": "https://a.b"}),
        "command" => json!({"command": "true"}),
        "call_workflow" => json!({"workflow": "other"}),
        "wait" => json!({"duration": "1s"}),
        "if_else" | "gate" => json!({"if": "true"}),
        "conditional" => json!({"if": "true", "elif": [{"if": "true"}]}),
        "switch" => json!({"cases": [{"name": "a", "match": "a"}]}),
        "for_each" => json!({"input_template": "{{input}}", "attachment_rules": [{}], "body": text}),
        "while" => json!({"if": "false", "body": text}),
        "parallel" => json!({"branches": [{"name": "a", "steps": text}]}),
        "join" => json!({"target": "m"}),
        "retry" => json!({"target_step_id": "first", "max_retries": 1}),
        "human_in_the_loop" => json!({"prompt_template": "ok?"}),
        _ => json!({}),
    };
    step["step_type"] = json!(kind);
    step
}

/// A document with a step at a valid place, and the path of the step.
fn around(step: &Value) -> Site {
    let first = json!({"id": "first", "step_type": "prompt_call", "retry": {"max_attempts": 1}});
    let (steps, at) = match step["step_type"].as_str() {
        Some("streaming_result") => {
            let steps = json!([{"id": "first", "step_type": "prompt_call", "child_steps": [step]}]);
            (steps, "/steps/0/child_steps/0")
        }
        Some("join") => {
            let merge = json!({"id": "m", "step_type": "merge"});
            let first = json!({"id": "first", "step_type": "text", "template": "x", "child_steps": [step]});
            (json!([first, merge]), "/steps/0/child_steps/0")
        }
        _ => (json!([first, step]), "/steps/1"),
    };
    (json!({"trigger": {"type": "dynamic_input"}, "inputs": [{"name": "input"}], "steps": steps}), at)
}

fn steps() -> Vec<Site> {
    let schema: Value = serde_json::from_str(&schema(Dialect::Steps)).expect("valid JSON");
    let types = schema["$defs"]["step_type"]["anyOf"][0]["enum"].as_array().expect("types").clone();
    let mut sites: Vec<Site> = types.iter().filter_map(Value::as_str).map(|kind| around(&least(kind))).collect();
    for (kind, at) in [
        ("text", ""),
        ("text", "/trigger"),
        ("text", "/inputs/0"),
        ("text", "/steps/0/retry"),
        ("conditional", "/steps/1/elif/0"),
        ("switch", "/steps/1/cases/0"),
        ("for_each", "/steps/1/attachment_rules/0"),
        ("parallel", "/steps/1/branches/0"),
    ] {
        sites.push((around(&least(kind)).0, at));
    }
    sites
}

/// The names of all fields in a schema.
fn names(schema: &Value, all: &mut BTreeSet<String>) {
    if let Some(properties) = schema["properties"].as_object() {
        all.extend(properties.keys().cloned());
    }
    match schema {
        Value::Object(parts) => parts.values().for_each(|part| names(part, all)),
        Value::Array(parts) => parts.iter().for_each(|part| names(part, all)),
        _ => {}
    }
}

/// The disagreement of a schema and a front-end about a document, if there is one.
fn disagreement(validator: &Validator, dialect: Dialect, document: &Value) -> Option<String> {
    let rejected = validator.iter_errors(document).next().map(|error| error.to_string());
    let loaded = load(&document.to_string(), Some(dialect));
    let errors: Vec<_> = loaded.diagnostics.iter().filter(|finding| finding.severity == Severity::Error).collect();
    let structural = errors.iter().find(|error| {
        let is_exception = EXCEPTIONS.iter().any(|(part, _)| error.message.contains(part));
        STRUCTURAL.contains(&error.kind.as_str()) && !is_exception
    });
    match (rejected, structural) {
        (Some(rejected), _) if errors.is_empty() => Some(format!("only the schema rejects {document}: {rejected}")),
        (None, Some(error)) => Some(format!("only the front-end rejects {document}: {error}")),
        _ => None,
    }
}

/// Changes one field of a site.
fn changed((document, at): &Site, field: &str, sample: Value) -> Value {
    let mut document = document.clone();
    if let Some(object) = document.pointer_mut(at).and_then(Value::as_object_mut) {
        object.insert(field.to_owned(), sample);
    }
    document
}

fn check(dialect: Dialect, sites: Vec<Site>) {
    let schema: Value = serde_json::from_str(&schema(dialect)).expect("valid JSON");
    let validator = jsonschema::draft202012::new(&schema).expect("it compiles");
    for (document, at) in &sites {
        assert!(document.pointer(at).is_some_and(Value::is_object), "{document} has no {at}");
        assert_eq!(disagreement(&validator, dialect, document), None);
        assert!(validator.is_valid(document), "{document}");
    }
    let mut fields = BTreeSet::new();
    names(&schema, &mut fields);
    let fields: Vec<String> = fields.into_iter().collect();
    let change = (prop::sample::select(fields), prop::sample::select(samples()));
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 500,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let run = runner.run(&(prop::sample::select(sites), change), |(site, (field, sample))| {
        let wrong = disagreement(&validator, dialect, &changed(&site, &field, sample));
        prop_assert!(wrong.is_none(), "{}", wrong.unwrap_or_default());
        Ok(())
    });
    if let Err(failure) = run {
        panic!("{failure}");
    }
}

#[test]
fn machines_and_their_schema_agree() {
    check(Dialect::Machine, machines());
}

#[test]
fn flows_and_their_schema_agree() {
    check(Dialect::Flow, flows());
}

#[test]
fn graphs_and_their_schema_agree() {
    check(Dialect::Graph, graphs());
}

#[test]
fn sessions_and_their_schema_agree() {
    check(Dialect::Session, sessions());
}

#[test]
fn steps_and_their_schema_agree() {
    check(Dialect::Steps, steps());
}
