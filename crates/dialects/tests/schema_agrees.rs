//! The schemas and the front-ends agree: what is fine is taken by the schema, whatever its fields hold, and every field that a
//! schema lists is one that the front-end knows.

use branchpoint_dialects::{load, schema};
use branchpoint_expr::{Dialect, Kind};
use jsonschema::Validator;
use serde_json::{Map, Value, json};

/// What people write into fields, rightly or not.
fn samples() -> Vec<Value> {
    let text =
        ["x", "", "{{input}}", "a b", "else", "5", "30s", "200-299", "GET", "get", "json", "all", "continue", "fail"];
    let mut samples: Vec<Value> = text.map(Value::from).to_vec();
    samples.extend([json!(0), json!(1), json!(7), json!(-1), json!(2.5), json!(100_000)]);
    samples.extend([json!(true), json!(false), Value::Null, json!([]), json!(["a", "b"]), json!([1, 2]), json!({})]);
    samples.extend([json!({"a": "b"}), json!([{"key": "a", "value": "b"}]), json!([{"name": "a", "steps": []}])]);
    samples.extend([json!({"combinator": "and", "conditions": [{"variable": "a", "operator": "is_empty"}]})]);
    samples
}

fn parsed(dialect: Dialect) -> Value {
    serde_json::from_str(schema(dialect).expect("the dialect has a schema")).expect("it is JSON")
}

/// Whether there is nothing to find in a document. A field that is only warned of, because nothing reads it, may hold anything.
fn is_clean(dialect: Dialect, document: &Value) -> bool {
    load(&document.to_string(), Some(dialect)).diagnostics.is_empty()
}

/// What is said of a document that is fine and that the schema refuses.
fn disagreement(validator: &Validator, dialect: Dialect, document: &Value) -> Option<String> {
    let refused = validator.iter_errors(document).next()?.to_string();
    is_clean(dialect, document).then(|| format!("{document}\n  {refused}"))
}

/// The least that a step of this type needs.
fn least(kind: &str) -> Value {
    let text = json!([{"step_type": "text", "template": "x"}]);
    let mut step = match kind {
        "http" | "webhook_call" => json!({"url": "https://a.b"}),
        "command" => json!({"command": "true"}),
        "call_workflow" => json!({"workflow": "other"}),
        "wait" => json!({"duration": "1s"}),
        "if_else" | "conditional" | "gate" => json!({"if": "true"}),
        "switch" => json!({"cases": [{"name": "a", "match": "a"}]}),
        "for_each" => json!({"input_template": "{{input}}", "body": text}),
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

/// A document with that step where such a step may stand.
fn around(step: &Value) -> Value {
    let first = json!({"id": "first", "step_type": "prompt_call"});
    let steps = match step["step_type"].as_str() {
        Some("streaming_result") => json!([{"id": "first", "step_type": "prompt_call", "child_steps": [step]}]),
        Some("join") => {
            let merge = json!({"id": "m", "step_type": "merge"});
            json!([{"id": "first", "step_type": "text", "template": "x", "child_steps": [step]}, merge])
        }
        _ => json!([first, step]),
    };
    json!({"trigger": {"type": "dynamic_input"}, "steps": steps})
}

/// What gives the step its type, and what nobody reads beside an `if`.
const UNREAD: [&str; 2] = ["step_type", "match"];

/// One type of each family.
const ALIKE: [&str; 6] = ["prompt_call", "text", "gate", "for_each", "retry", "human_in_the_loop"];

/// The names of step types: what the choice among them refers to.
fn types(schema: &Value) -> Vec<String> {
    let choices = schema["$defs"]["step"]["allOf"].as_array().expect("a choice of types");
    let name = |choice: &Value| choice["then"]["$ref"].as_str().expect("a reference").replace("#/$defs/", "");
    choices.iter().map(name).collect()
}

fn properties(definition: &Value) -> Vec<String> {
    definition["properties"].as_object().map(Map::keys).into_iter().flatten().cloned().collect()
}

#[test]
fn steps_that_are_fine_are_taken_whatever_their_fields_hold() {
    let schema = parsed(Dialect::Steps);
    let validator = jsonschema::draft202012::new(&schema).expect("it compiles");
    let common = properties(&schema["$defs"]["step"]);
    let mut wrong = Vec::new();
    for kind in types(&schema) {
        let fields = properties(&schema["$defs"][&kind]);
        // What all steps have in common need not be tried with all of them.
        let common = if ALIKE.contains(&&*kind) { &common[..] } else { &[] };
        for field in fields.iter().chain(common).filter(|field| !UNREAD.contains(&&***field)) {
            for sample in samples() {
                let mut step = least(&kind);
                step[field.as_str()] = sample;
                wrong.extend(disagreement(&validator, Dialect::Steps, &around(&step)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{} in all", wrong[..wrong.len().min(40)].join("\n"), wrong.len());
}

#[test]
fn every_field_of_the_schema_of_steps_is_known() {
    let schema = parsed(Dialect::Steps);
    let mut unknown = Vec::new();
    for kind in types(&schema) {
        for field in properties(&schema["$defs"][&kind]) {
            let mut step = least(&kind);
            step[field.as_str()] = json!("x");
            let loaded = load(&around(&step).to_string(), Some(Dialect::Steps));
            let told = |kind| {
                loaded
                    .diagnostics
                    .iter()
                    .any(|finding| finding.kind == kind && finding.message.contains(&format!("`{field}`")))
            };
            if told(Kind::UnknownKey) {
                unknown.push(format!("{kind}.{field}"));
            }
        }
    }
    assert_eq!(unknown, Vec::<String>::new());
}

/// The least that a step of a flow of this type needs.
fn least_config(kind: &str) -> Value {
    let group = json!({"combinator": "and", "conditions": [{"variable": "a", "operator": "is_empty"}]});
    match kind {
        "flow_variables" | "start" | "setVariables" => json!({"variables": [{"name": "a", "value": 1}]}),
        "conditional" => json!({"condition": group}),
        "switch" => json!({"variable": "a", "cases": []}),
        "loop" => json!({"loopType": "while", "condition": group, "loopBlocks": [{"type": "finish", "config": {}}]}),
        "llmInstruction" => json!({"instruction": "x"}),
        "apiCall" | "webScraping" => json!({"url": "https://a.b"}),
        "runCommand" => json!({"command": "true"}),
        "mcpServerAction" => json!({"provider": "local", "serverId": "s", "action": "a"}),
        "webSearch" => json!({"query": "x"}),
        _ => json!({}),
    }
}

#[test]
fn flow_steps_that_are_fine_are_taken_whatever_their_fields_hold() {
    let schema = parsed(Dialect::Flow);
    let validator = jsonschema::draft202012::new(&schema).expect("it compiles");
    let common = properties(&schema["$defs"]["step"]["properties"]["config"]);
    let mut wrong = Vec::new();
    for kind in types(&schema) {
        let fields = properties(&schema["$defs"][&kind]["properties"]["config"]);
        for field in fields.iter().chain(&common) {
            for sample in samples() {
                let mut config = least_config(&kind);
                config[field.as_str()] = sample;
                let document =
                    json!({"name": "n", "description": "d", "uuid": "u", "steps": [{"type": kind, "config": config}]});
                wrong.extend(disagreement(&validator, Dialect::Flow, &document));
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{} in all", wrong[..wrong.len().min(40)].join("\n"), wrong.len());
}
