//! Every finding that rejects a document has specific help.

use std::path::Path;

use branchpoint_dialects::load;
use branchpoint_expr::{Dialect, Severity};
use serde_json::{Value, json};

/// The help of a finding without help of its own.
const LAST_RESORT: &str = "`branchpoint explain`";

#[track_caller]
fn check(source: &str, dialect: Dialect) {
    for finding in load(source, Some(dialect)).diagnostics {
        let helps = finding.help.as_deref().is_some_and(|help| !help.starts_with(LAST_RESORT));
        assert!(helps || finding.severity == Severity::Warning, "no help: {finding:?} in {source}");
    }
}

fn vectors(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(file);
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path).expect("vectors")).expect("JSON");
    file["vectors"].as_array().expect("a list").clone()
}

#[test]
fn every_rejected_vector_has_help() {
    for vector in vectors("steps-runs.json") {
        check(vector["workflow_text"].as_str().unwrap_or(&vector["workflow"].to_string()), Dialect::Steps);
    }
    for vector in vectors("flow-runs.json") {
        check(&vector["flow"].to_string(), Dialect::Flow);
    }
    for vector in vectors("steps-conditions.json") {
        let mut step = vector["config"].clone();
        step["step_type"] = vector["step"].clone();
        check(&json!({"steps": [step]}).to_string(), Dialect::Steps);
    }
    for vector in vectors("flow-conditions.json") {
        let config = json!({"condition": vector["condition"]});
        let flow = json!({"name": "n", "steps": [{"type": "conditional", "config": config}]});
        check(&flow.to_string(), Dialect::Flow);
    }
}

/// Values that few fields accept.
fn unusual_values() -> [Value; 12] {
    [
        json!(true),
        json!(-1),
        json!(1.5),
        json!(""),
        json!("{{ x"),
        json!("= ="),
        json!("{{a b}}"),
        json!([]),
        json!([1]),
        json!([{}]),
        json!({}),
        json!({"a": 1}),
    ]
}

#[test]
fn every_unusual_field_of_steps_has_help() {
    let types = "prompt_call agent http command send_email wait regex_replace if_else conditional switch for_each while parallel \
                 gate join retry human_in_the_loop evaluate_step call_workflow";
    let keys = "id step_type child_steps if conditions match cases then elif rules body branches template target timeout retry \
                on_error output_schema choices max_iterations limit discriminator value_type attachment_rules stop_when \
                expect_status duration until on_match";
    for step in types.split(' ') {
        for key in keys.split(' ') {
            for value in unusual_values() {
                check(&json!({"steps": [{"step_type": step, key: value}]}).to_string(), Dialect::Steps);
            }
        }
    }
}

#[test]
fn every_unusual_field_of_flows_has_help() {
    let types = "flow_variables setVariables conditional switch loop llmInstruction apiCall finish";
    let keys = "variables condition if truePath variable cases loopType iterableVariable itemVariable maxIterations timeout url \
                headers temperature resultVariable directOutput responseFormat";
    for step in types.split(' ') {
        for key in keys.split(' ') {
            for value in unusual_values() {
                let flow = json!({"name": "n", "steps": [{"type": step, "config": {key: value}}]});
                check(&flow.to_string(), Dialect::Flow);
            }
        }
    }
}
