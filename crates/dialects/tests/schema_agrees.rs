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
    serde_json::from_str(&schema(dialect)).expect("it is JSON")
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
    let name = |choice: &Value| Some(choice["then"]["$ref"].as_str()?.replace("#/$defs/", ""));
    choices.iter().filter_map(name).collect()
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

/// Documents of a dialect with every sample in every field that a definition lists, as `with` puts it in.
fn disagreements(dialect: Dialect, fields: &Value, with: impl Fn(&str, Value) -> Value) -> Vec<String> {
    let validator = jsonschema::draft202012::new(&parsed(dialect)).expect("it compiles");
    let fields = properties(fields);
    assert!(!fields.is_empty(), "there is nothing to try");
    let tries = fields.iter().flat_map(|field| samples().into_iter().map(move |sample| (field, sample)));
    tries.filter_map(|(field, sample)| disagreement(&validator, dialect, &with(field, sample))).collect()
}

#[test]
fn graphs_that_are_fine_are_taken_whatever_their_fields_hold() {
    let defs = &parsed(Dialect::Graph)["$defs"];
    let document = |node: Value, connection: Value| {
        let (start, last) = (json!({"id": "s", "type": "start"}), json!({"id": "z", "type": "agent"}));
        let first = json!({"source": "s", "target": "n"});
        json!({"nodes": [start, node, last], "connections": [first, connection]})
    };
    let way = json!({"source": "n", "target": "z"});
    let mut wrong = Vec::new();
    for (kind, definition) in [("start", "start"), ("agent", "agent"), ("if", "if_node"), ("approval", "approval")] {
        wrong.extend(disagreements(Dialect::Graph, &defs[definition]["properties"]["data"], |field, sample| {
            document(json!({"id": "n", "type": kind, "data": {field: sample}}), way.clone())
        }));
    }
    wrong.extend(disagreements(Dialect::Graph, &defs["node"], |field, sample| {
        let mut node = json!({"id": "n", "type": "agent"});
        node[field] = sample;
        document(node, way.clone())
    }));
    wrong.extend(disagreements(Dialect::Graph, &defs["connection"], |field, sample| {
        let mut way = way.clone();
        way[field] = sample;
        document(json!({"id": "n", "type": "agent"}), way)
    }));
    wrong.extend(disagreements(Dialect::Graph, &defs["condition"], |field, sample| {
        let data = json!({"conditions": [{field: sample}]});
        let handle = json!({"source": "n", "target": "z", "sourceHandle": "condition-0"});
        document(json!({"id": "n", "type": "if", "data": data}), handle)
    }));
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn sessions_that_are_fine_are_taken_whatever_their_fields_hold() {
    let defs = &parsed(Dialect::Session)["$defs"];
    let condition = json!({"type": "tool_used", "value": "x"});
    let step = json!({"name": "a", "isDefault": true, "conditions": [condition.clone()]});
    let template = json!({"version": "1", "agentId": "a", "name": "n", "description": "d", "personality": "p",
        "nodes": ["search"], "nodeConfigurations": {}, "chatSettings": {}});
    let with = |base: &Value, field: &str, sample: Value| {
        let mut changed = base.clone();
        changed[field] = sample;
        changed
    };
    let mut wrong =
        disagreements(Dialect::Session, &defs["step"], |field, sample| json!({"steps": [with(&step, field, sample)]}));
    for kind in ["tool_used", "message_regex", "not_recently_used"] {
        wrong.extend(disagreements(Dialect::Session, &defs["condition"], |field, sample| {
            let condition = with(&json!({"type": kind, "value": "x"}), field, sample);
            json!({"steps": [with(&step, "conditions", json!([condition]))]})
        }));
    }
    wrong.extend(disagreements(
        Dialect::Session,
        &json!({"properties": {"if": {}}}),
        |field, sample| json!({"steps": [with(&step, "conditions", json!([{field: sample}]))]}),
    ));
    wrong.extend(disagreements(Dialect::Session, &defs["orchestration"], |field, sample| {
        with(&json!({"steps": [step.clone()]}), field, sample)
    }));
    wrong.extend(disagreements(Dialect::Session, &defs["template"], |field, sample| with(&template, field, sample)));
    wrong.extend(disagreements(Dialect::Session, &defs["chat"], |field, sample| {
        with(&template, "chatSettings", json!({field: sample}))
    }));
    assert_eq!(wrong, Vec::<String>::new());
}
