//! What a program reads.

use serde_json::{Value, json};

use super::{DEPLOY, check, run};

#[test]
fn json_has_the_outcome() {
    check("json_true", &["eval", "inputs.mode == 'prod'", "--context", DEPLOY, "--json"]);
}

#[test]
fn json_has_warnings_and_the_explanation() {
    check("json_explain", &["eval", "state.a == 1 || inputs.count > 20", "-c", DEPLOY, "--json", "--explain"]);
}

#[test]
fn json_has_the_place_of_an_error() {
    check("json_refused", &["eval", "inputs.mode ==\n  lenn(2)", "--context", DEPLOY, "--json"]);
    check("json_failed", &["eval", "inputs.mode > 3", "--context", DEPLOY, "--json"]);
}

#[test]
fn json_describes_a_missing_file() {
    check("json_missing_file", &["eval", "true", "--context", "nowhere.json", "--json"]);
}

#[test]
fn json_shows_which_condition_of_a_graph_matches() {
    let arguments =
        ["eval", "-d", "graph", "--condition", "examples/eval/graph-condition.json", "--json", "--explain", "-c"];
    let read = |context: &str| -> Value {
        let output = run(&[&arguments[..], &["-"]].concat(), context, &[]);
        serde_json::from_slice(&output.stdout).expect("one JSON object")
    };
    let matched = read(r#"{"input": "Escalate it"}"#);
    assert_eq!((&matched["outcome"], &matched["matched"]), (&json!(true), &json!(1)));
    assert_eq!(matched["explanations"].as_array().map(Vec::len), Some(2));
    let unmatched = read(r#"{"input": "Leave it"}"#);
    assert_eq!((&unmatched["outcome"], unmatched.get("matched")), (&json!(false), Some(&Value::Null)));
}
