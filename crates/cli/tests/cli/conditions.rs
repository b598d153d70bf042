//! Conditions in files, in the spelling of each dialect.

use super::check_with;

/// Evaluates an example of ours with an explanation.
#[track_caller]
fn check_example(dialect: &str, context: &str) {
    let condition = format!("examples/eval/{dialect}-condition.json");
    let context = format!("examples/eval/{context}.json");
    let arguments = ["eval", "--dialect", dialect, "--condition", &condition, "--context", &context, "--explain"];
    check_with(&format!("{dialect}_example"), &arguments, "", &[]);
}

#[test]
fn a_typed_group_of_a_flow() {
    check_example("flow", "flow-variables");
}

#[test]
fn a_target_list_of_a_step() {
    check_example("steps", "steps-context");
}

#[test]
fn the_history_conditions_of_a_session() {
    check_example("session", "session-context");
}

#[test]
fn the_text_matches_of_a_graph() {
    check_example("graph", "graph-context");
}

/// Evaluates a condition that comes from stdin, over nothing.
#[track_caller]
fn check_condition(name: &str, dialect: &str, condition: &str, more: &[&str]) {
    let mut arguments = vec!["eval", "--dialect", dialect, "--condition", "-"];
    arguments.extend(more);
    check_with(name, &arguments, condition, &[]);
}

#[test]
fn a_machine_takes_if_a_group_or_a_text() {
    check_condition("machine_if", "machine", "if: inputs.mode == nil\n", &[]);
    check_condition("machine_if_mistake", "machine", "# why\nif: inputs.mode == lenn(1)\n", &[]);
    check_condition("machine_text", "machine", r#""inputs.mode == 'prod'""#, &[]);
    let group = r#"{"combinator": "or", "conditions": [{"variable": "{{inputs.mode}}", "operator": "is_empty"}]}"#;
    check_condition("machine_group", "machine", group, &["--explain"]);
    check_condition("machine_nothing", "machine", "[1, 2]", &[]);
}

#[test]
fn findings_point_into_the_file() {
    let group = "combinator: and\nconditions:\n  - variable: '{{ $order.total }}'\n    operator: greater_then\n    value: 100\n";
    check_condition("flow_operator", "flow", group, &[]);
    let list = r#"{"conditions": [
  {"target": "inpt", "operator": "$eq", "value": "x"},
  {"operator": "equals", "value": "(", "valeu_type": "number"}
]}"#;
    check_condition("steps_mistakes", "steps", list, &[]);
}

#[test]
fn a_failure_points_into_the_file_too() {
    let group = r#"{"combinator": "and", "conditions": [
  {"variable": "{{ $order.total }}", "operator": "greater_than", "value": 100, "type": "number"}
]}"#;
    check_condition("flow_missing", "flow", group, &["--explain"]);
}

#[test]
fn a_gate_shows_whether_it_passes() {
    let gate = "conditions: [{target: input, operator: $empty}]\non_match: stop\n";
    check_condition("steps_gate", "steps", gate, &["--explain"]);
    check_condition("steps_gate_mistake", "steps", "if: true\non_match: stopp\n", &[]);
}

#[test]
fn a_session_needs_conditions() {
    check_condition("session_nothing", "session", "sequence: [a, b]\n", &[]);
    check_condition("session_type", "session", "conditions: [{type: tool_use, value: a}]\n", &[]);
}

#[test]
fn a_graph_takes_one_condition_or_many() {
    check_condition("graph_one", "graph", r#"{"operator": "equal", "value": "yes"}"#, &[]);
    check_condition("graph_none", "graph", "conditions: [{value: a}, {value: b}]\n", &[]);
    check_condition(
        "graph_mistakes",
        "graph",
        "conditions:\n  - value: [a]\n  - operator: equals\n    value: b\n",
        &[],
    );
    check_condition("graph_no_list", "graph", "conditions: {value: a}\n", &[]);
}

#[test]
fn a_document_that_cannot_be_read_is_reported_with_its_place() {
    check_condition("document_broken", "flow", "{\"combinator\": \"and\",\n \"conditions\": [}\n", &[]);
}
