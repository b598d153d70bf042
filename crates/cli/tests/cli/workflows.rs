//! `branchpoint run`, `graph` and `ir`, on the examples.

use super::{check, check_with};

const ORDERS: &str = "examples/workflows/orders.json";
const SCRIPT: &str = "examples/workflows/orders.script.yaml";

#[test]
fn a_run_shows_its_steps_and_prints_its_result() {
    check("run_orders", &["run", ORDERS, "-s", SCRIPT, "-i", "total:=250", "-i", r#"items:=["a","b"]"#]);
    check("run_json", &["run", ORDERS, "-s", SCRIPT, "-i", "total:=50", "--json", "--id", "order-50"]);
}

const SUPPORT: &str = "examples/workflows/support.yaml";
const ANSWERS: &str = "examples/workflows/support.script.yaml";

#[test]
fn a_step_tree_takes_its_input_and_metadata() {
    let inputs = ["-i", "input=Where is it?", "-i", "metadata.customer=ada@example.com"];
    check("run_support", &[&["run", SUPPORT, "-s", ANSWERS][..], &inputs].concat());
    check("run_steps_input", &["run", SUPPORT, "-s", ANSWERS, "-i", "customer=ada"]);
}

#[test]
fn a_run_that_waits_for_people_is_exit_5() {
    let script = "draft: [Dear Ada]\nscore: [{score: 0.7}]\n";
    check_with("run_people", &["run", SUPPORT, "-s", "-", "--id", "ask"], script, &[]);
    let script = "draft: [Dear Ada]\nscore: [{score: 0.7}]\nask: [perhaps]\n";
    check_with("run_people_unknown", &["run", SUPPORT, "-s", "-", "--id", "ask"], script, &[]);
}

#[test]
fn commands_of_a_state_machine_run_for_real_and_secret_inputs_are_masked() {
    let machine = r#"
name: greet
inputs: [{name: who}, {name: TOKEN_x}, {name: code, type: integer}]
states:
  initial: hello
  hello: {command: "echo hi {{escape inputs.who}} {{escape inputs.TOKEN_x}}; exit {{inputs.code}}", on_success: done, on_failure: bad}
  done: {type: terminal, message: "said it"}
  bad: {type: terminal, status: failure, message: "could not say {{inputs.TOKEN_x}}"}
"#;
    let inputs = ["run", "-", "-i", "who=you", "-i", "TOKEN_x=sekret"];
    check_with("run_machine", &[&inputs[..], &["-i", "code:=0"]].concat(), machine, &[]);
    check_with("run_machine_failed", &[&inputs[..], &["-i", "code:=7"]].concat(), machine, &[]);
}

#[test]
fn a_trigger_without_a_server_is_reported() {
    let workflow = "trigger: {type: schedule}\nsteps: [{id: a, step_type: text, template: hi}]\n";
    check_with("run_trigger", &["run", "-"], workflow, &[]);
}

#[test]
fn a_run_that_fails_is_exit_3() {
    check("run_failed", &["run", ORDERS, "-s", SCRIPT, "-i", "total=many"]);
}

#[test]
fn steps_without_a_runner_are_reported_before_anything_runs() {
    check("run_no_runner", &["run", ORDERS]);
}

#[test]
fn a_dry_run_shows_its_branches_and_the_missing_answers() {
    check("run_dry", &["run", ORDERS, "--dry-run", "-i", "total:=250"]);
    check("run_dry_complete", &["run", ORDERS, "--dry-run", "-i", "total:=5"]);
    let (approved, script) = ("examples/graph/draft-and-approve.json", "examples/graph/draft-and-approve.script.yaml");
    check("run_dry_approved", &["run", approved, "--dry-run", "--script", script]);
    check_with("run_dry_approval", &["run", approved, "--dry-run", "--script", "-"], "writer: [A text.]", &[]);
}

#[test]
fn inputs_and_scripts_are_checked_first() {
    check("run_input_name", &["run", ORDERS, "-i", "total"]);
    check("run_input_json", &["run", ORDERS, "-i", "total:=many"]);
    check("run_input_twice", &["run", ORDERS, "-i", "total:=1", "-i", "total:=2"]);
    check_with("run_script_broken", &["run", ORDERS, "-s", "-"], "assess: [", &[]);
    check_with("run_script_empty", &["run", ORDERS, "-s", "-"], "assess: []", &[]);
}

#[test]
fn an_invalid_workflow_does_not_run() {
    check("run_refused", &["run", "crates/cli/tests/fixtures/broken.yaml"]);
}

#[test]
fn a_workflow_is_drawn() {
    check("graph_mermaid", &["graph", ORDERS]);
    check("graph_dot", &["graph", ORDERS, "--format", "dot"]);
    check("graph_steps", &["graph", SUPPORT]);
}

#[test]
fn a_workflow_is_shown_as_its_translation() {
    let output = super::run(&["ir", ORDERS], "", &[]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0));
    assert!(printed.starts_with("program  semantics 1"), "{printed}");
    assert!(printed.contains("begin assess"), "{printed}");
}
