//! The JSON Schemas for editors accept every document that loads, and reject clear errors.

use std::path::Path;

use branchpoint_dialects::{read, schema};
use branchpoint_expr::Dialect;
use jsonschema::Validator;
use serde_json::{Value, json};

fn validator(dialect: Dialect) -> Validator {
    let schema: Value = serde_json::from_str(&schema(dialect)).expect("valid JSON");
    jsonschema::draft202012::meta::validate(&schema).expect("a valid JSON Schema");
    jsonschema::draft202012::new(&schema).expect("it compiles")
}

fn vectors(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(file);
    let text = std::fs::read_to_string(path).expect("the vectors are there");
    let file: Value = serde_json::from_str(&text).expect("vectors are JSON");
    file["vectors"].as_array().expect("a list of vectors").clone()
}

/// The documents of a file of run vectors that are not rejected.
fn documents(file: &str, key: &str) -> Vec<(String, Value)> {
    let loads =
        |vector: &&Value| !vector["expect"]["status"].as_str().unwrap_or_default().eq_ignore_ascii_case("rejected");
    let document = |vector: &Value| match vector.get(key) {
        Some(document) => document.clone(),
        None => yaml(vector["workflow_text"].as_str().expect("a document as text")),
    };
    vectors(file).iter().filter(loads).map(|vector| (vector["name"].to_string(), document(vector))).collect()
}

fn yaml(text: &str) -> Value {
    let value = read(text).expect("the document can be read").to_value();
    serde_json::to_value(value).expect("values are JSON")
}

#[track_caller]
fn check_vectors(dialect: Dialect, file: &str, key: &str, at_least: usize) {
    let validator = validator(dialect);
    let documents = documents(file, key);
    assert!(documents.len() >= at_least, "only {} documents", documents.len());
    for (name, document) in documents {
        let rejected: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(rejected.is_empty(), "{name}: {rejected:?}");
    }
}

#[test]
fn the_schema_of_steps_accepts_every_vector_that_loads() {
    check_vectors(Dialect::Steps, "steps-runs.json", "workflow", 140);
}

#[test]
fn the_schema_of_graphs_accepts_every_vector_that_loads() {
    check_vectors(Dialect::Graph, "graph-runs.json", "graph", 100);
}

#[test]
fn the_schema_of_sessions_accepts_every_vector_that_loads() {
    check_vectors(Dialect::Session, "session-runs.json", "orchestration", 140);
}

#[test]
fn the_schema_of_sessions_accepts_every_template_that_loads() {
    let validator = validator(Dialect::Session);
    let templates = vectors("session-load.json");
    let mut accepted_count = 0;
    for vector in templates.iter().filter(|vector| vector["expect"]["valid"] == true) {
        let errors: Vec<String> = validator.iter_errors(&vector["template"]).map(|error| error.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new(), "{}", vector["name"]);
        accepted_count += 1;
    }
    assert!(accepted_count >= 25, "only {accepted_count} templates");
}

#[test]
fn the_schema_of_flow_accepts_every_vector_that_loads() {
    check_vectors(Dialect::Flow, "flow-runs.json", "flow", 80);
}

/// Checks that a document with this step is rejected with a message that contains `expect`.
#[track_caller]
fn check_rejected(dialect: Dialect, step: &Value, expect: &str) {
    let document = json!({"name": "a", "steps": [step]});
    let errors: Vec<String> = validator(dialect).iter_errors(&document).map(|error| error.to_string()).collect();
    assert!(errors.iter().any(|error| error.contains(expect)), "{step}: {errors:?}");
}

#[test]
fn invalid_steps_are_rejected() {
    let check = |step: Value, expect: &str| check_rejected(Dialect::Steps, &step, expect);
    check(json!({"id": "a"}), "step_type");
    check(json!({"step_type": "prompt_cal"}), "prompt_cal");
    check(json!({"step_type": "text", "id": "a b"}), "a b");
    check(json!({"step_type": "http"}), "url");
    check(json!({"step_type": "gate"}), "valid under");
    check(json!({"step_type": "gate", "if": "true", "on_match": "halt"}), "halt");
    check(json!({"step_type": "gate", "conditions": [{"operator": "$equal"}]}), "valid under");
    check(json!({"step_type": "switch", "cases": []}), "[]");
    check(json!({"step_type": "switch", "cases": [{"name": "else", "match": 1}]}), "else");
    check(json!({"step_type": "while", "if": "true", "body": []}), "[]");
    check(json!({"step_type": "retry", "target_step_id": "a", "max_retries": 11}), "11");
    check(json!({"step_type": "join", "target": "a", "child_steps": [{"step_type": "text"}]}), "items");
    check(json!({"step_type": "human_in_the_loop", "prompt": "ok?", "choices": ["timeout"]}), "timeout");
    check(json!({"step_type": "wait", "duration": "soon"}), "soon");
    // The same at any depth.
    check(json!({"step_type": "if_else", "if": "true", "then_steps": [{"step_type": "http"}]}), "url");
}

#[test]
fn invalid_flow_steps_are_rejected() {
    let check = |step: Value, expect: &str| check_rejected(Dialect::Flow, &step, expect);
    check(json!({"type": "finish"}), "config");
    check(json!({"type": "finnish", "config": {}}), "finnish");
    check(json!({"type": "loop", "config": {"loopType": "forEach"}}), "iterableVariable");
    check(json!({"type": "conditional", "config": {"condition": {"combinator": "xor", "conditions": []}}}), "xor");
    check(json!({"type": "apiCall", "config": {"url": "https://a.b", "timeout": 900}}), "900");
}

#[test]
fn every_state_machine_that_loads_is_accepted() {
    let validator = validator(Dialect::Machine);
    let vectors = vectors("machine-runs.json");
    let texts = vectors.iter().filter_map(|vector| vector["yaml"].as_str());
    let mut accepted_count = 0;
    for text in texts.filter(|text| branchpoint_dialects::load(text, Some(Dialect::Machine)).program.is_some()) {
        let errors: Vec<String> = validator.iter_errors(&yaml(text)).map(|error| error.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new(), "{text}");
        accepted_count += 1;
    }
    assert!(accepted_count >= 50, "only {accepted_count} documents");
}

#[test]
fn every_example_is_accepted() {
    for dialect in Dialect::ALL {
        let validator = validator(dialect);
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(dialect.as_str());
        let files = std::fs::read_dir(folder).expect("examples").map(|file| file.expect("a file").path());
        let is_document = |path: &std::path::PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            !name.contains(".script.")
                && !name.contains(".events.")
                && (name.ends_with(".yaml") || name.ends_with(".json"))
        };
        for path in files.filter(is_document) {
            let text = std::fs::read_to_string(&path).expect("an example");
            let named = format!("schema/{}.json", dialect.as_str());
            assert!(
                text.lines().take(2).any(|line| line.contains(&named)),
                "{} does not name its schema",
                path.display()
            );
            let document = yaml(&text);
            let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
            assert_eq!(errors, Vec::<String>::new(), "{}", path.display());
        }
    }
}

/// The files that editors load. `UPDATE_DOCS=1` writes them.
#[test]
fn the_files_of_the_schemas_are_up_to_date() {
    for dialect in Dialect::ALL {
        let name = format!("{}.json", dialect.as_str());
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema").join(name);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, schema(dialect)).expect("the folder can be written");
        }
        let stored = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(stored, schema(dialect), "{}: write it with UPDATE_DOCS=1", path.display());
    }
}

#[test]
fn invalid_states_are_rejected() {
    let validator = validator(Dialect::Machine);
    let check = |state: Value, expect: &str| {
        let document = json!({"name": "n", "states": {"initial": "a", "a": state}});
        let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.iter().any(|error| error.contains(expect)), "{errors:?}");
    };
    check(json!("text"), "text");
    check(json!({"command": ["x"]}), "x");
    check(json!({"transitions": {"when": "a"}}), "array");
    check(json!({"type": "agent", "conversation": {"max_turns": 200}}), "200");
    check(json!({"on_failure": {"status": 2}}), "valid under");
}

#[test]
fn invalid_graphs_are_rejected() {
    let validator = validator(Dialect::Graph);
    let check = |node: Value, connection: Value, expect: &str| {
        let document = json!({"nodes": [node], "connections": [connection]});
        let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.iter().any(|error| error.contains(expect)), "{errors:?}");
    };
    let (node, way) = (json!({"id": "a", "type": "start"}), json!({"source": "a", "target": "a"}));
    check(json!({"type": "start"}), way.clone(), "id");
    check(json!({"id": "", "type": "start"}), way.clone(), "match");
    check(json!({"id": "a", "type": "agnet"}), way.clone(), "agnet");
    check(json!({"id": "a", "type": "agent", "data": {"model": 5}}), way.clone(), "5");
    check(json!({"id": "a", "type": "if", "data": {"conditions": [{"operator": "equals"}]}}), way.clone(), "equals");
    check(json!({"id": "a", "type": "if", "data": {"conditions": [{"if": "true", "value": 1}]}}), way, "not");
    check(node.clone(), json!({"source": "a"}), "target");
    check(node, json!({"source": "a", "target": "a", "sourceHandle": 0}), "string");
}

#[test]
fn invalid_sessions_are_rejected() {
    let validator = validator(Dialect::Session);
    let rejected = |document: &Value, expect: &str| {
        let errors: Vec<String> = validator.iter_errors(document).map(|error| error.to_string()).collect();
        assert!(errors.iter().any(|error| error.contains(expect)), "{errors:?}");
    };
    let check = |step: Value, expect: &str| rejected(&json!({"steps": [step]}), expect);
    check(json!({}), "name");
    check(json!({"name": "a", "sequence": [[]]}), "valid under");
    check(json!({"name": "a", "availableTools": ["search"]}), "object");
    check(json!({"name": "a", "conditions": [{"type": "tool_use", "value": "x"}]}), "tool_use");
    check(json!({"name": "a", "conditions": [{"type": "tool_used"}]}), "value");
    check(json!({"name": "a", "conditions": [{"type": "tool_used", "value": "x", "if": "true"}]}), "not allowed");
    check(json!({"name": "a", "conditions": [{"type": "not_recently_used", "value": "x", "window": 0}]}), "minimum");
    rejected(&json!({"name": "an agent without the rest"}), "agentId");
}

#[test]
fn every_field_has_a_description() {
    for dialect in Dialect::ALL {
        let schema: Value = serde_json::from_str(&schema(dialect)).expect("JSON");
        let mut undescribed_names = Vec::new();
        for (name, definition) in schema["$defs"].as_object().expect("definitions") {
            undescribed_names.extend(undescribed(name, definition, &schema));
        }
        assert_eq!(undescribed_names, Vec::<String>::new(), "{}", dialect.as_str());
    }
}

/// The properties of a definition without a description, also in the definition that they refer to.
fn undescribed(name: &str, definition: &Value, schema: &Value) -> Vec<String> {
    // The settings of a type are described once, at its `type`.
    const HOLDERS: [&str; 2] = ["config", "data"];
    let settings = HOLDERS.iter().filter_map(|holder| definition["properties"][holder]["properties"].as_object());
    let own = definition["properties"].as_object();
    let is_described = |property: &Value| {
        let referred = property["$ref"].as_str().and_then(|to| schema.pointer(to.trim_start_matches('#')));
        [Some(property), referred].into_iter().flatten().any(|found| found.get("description").is_some())
    };
    let all = own.into_iter().flatten().filter(|(key, _)| !HOLDERS.contains(&key.as_str())).chain(settings.flatten());
    all.filter(|(_, property)| !is_described(property)).map(|(key, _)| format!("{name}.{key}")).collect()
}
