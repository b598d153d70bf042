//! Scripted runs that wait: every command that continues one uses its script, and nothing is executed.

use super::running::{Place, err, exits, out, signal};

/// Acts before and after a question.
const ASK: &str = r#"
name: ask
steps:
  - {id: before, step_type: command, command: "echo before >> executed"}
  - {id: ask, step_type: human_in_the_loop, prompt_template: "Shall we?"}
  - {id: after, step_type: command, command: "echo after >> executed"}
  - {id: again, step_type: human_in_the_loop, prompt_template: "And now?"}
  - {id: end, step_type: text, template: "{{step.after.output}}, {{step.again.output.outcome}}"}
"#;

const SCRIPT: &str = r"
before: [{$exit: 0, stdout: first}]
after: [{$exit: 0, stdout: second}]
again: [approve]
";

fn waiting() -> Place {
    let place = Place::new(&[("ask.yaml", ASK), ("script.yaml", SCRIPT)]);
    exits(&place.run(&["run", "ask.yaml", "-s", "script.yaml", "--id", "r"]), 5);
    place
}

#[track_caller]
fn completed(place: &Place) {
    let shown = place.run(&["runs", "show", "r", "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&out(&shown)).expect("it is JSON");
    assert_eq!(shown["status"], "completed", "{shown}");
    assert_eq!(shown["result"]["output"], "second, approve", "{shown}");
    assert!(shown["script"]["hash"].is_string(), "{shown}");
    assert_eq!(place.read("executed"), "", "nothing was executed");
}

#[test]
fn an_approval_continues_a_run_with_its_script() {
    let place = waiting();
    let shown = out(&place.run(&["runs", "show", "r"]));
    assert!(shown.contains("answered by a script"), "{shown}");
    let approved = place.run(&["approvals", "approve", "r", "--as", "ada"]);
    exits(&approved, 0);
    completed(&place);
}

#[test]
fn a_worker_continues_a_run_with_its_script() {
    let place = Place::new(&[("ask.yaml", ASK), ("script.yaml", &format!("{SCRIPT}ask: [approve]\n"))]);
    exits(&place.run(&["run", "ask.yaml", "-s", "script.yaml", "--id", "r", "--detach"]), 0);
    let mut worker = place.spawn(&["work"]);
    let watched = place.run(&["runs", "watch", "r"]);
    worker.kill().expect("it is there");
    worker.wait().expect("it ends");
    exits(&watched, 0);
    completed(&place);
}

#[test]
fn a_second_start_uses_the_script_of_the_run() {
    let place = waiting();
    let again = place.run(&["run", "ask.yaml", "--id", "r"]);
    exits(&again, 5);
    assert!(err(&again).contains("already exists; continuing it, with its script"), "{}", err(&again));
    exits(&place.run(&["runs", "resume", "r"]), 5);
    exits(&place.run(&["approvals", "approve", "r", "--as", "ada"]), 0);
    completed(&place);
    let forked = place.run(&["runs", "fork", "r", "--at", "after", "--id", "f"]);
    exits(&forked, 0);
    assert_eq!(out(&forked), "second, approve\n", "{}", err(&forked));
    assert_eq!(place.read("executed"), "", "nothing was executed");
}

#[test]
fn a_scripted_run_is_executed_only_with_live() {
    let place = waiting();
    exits(&place.run(&["runs", "resume", "r", "--live"]), 5);
    let shown = out(&place.run(&["runs", "show", "r"]));
    assert!(shown.contains("executed since"), "{shown}");
    exits(&place.run(&["approvals", "approve", "r", "--as", "ada"]), 0);
    assert_eq!(place.read("executed"), "after\n");
}

#[test]
fn an_approval_with_live_executes_the_rest() {
    let place = waiting();
    exits(&place.run(&["approvals", "approve", "r", "--as", "ada", "--live"]), 0);
    assert_eq!(place.read("executed"), "after\n");
}

#[test]
fn a_start_without_a_script_does_not_show_a_scripted_result() {
    let place = waiting();
    exits(&place.run(&["approvals", "approve", "r", "--as", "ada"]), 0);
    let live = place.run(&["run", "ask.yaml", "--id", "r"]);
    exits(&live, 1);
    assert_eq!(out(&live), "");
    assert!(err(&live).contains("a script answered the calls of the run"), "{}", err(&live));
    exits(&place.run(&["run", "ask.yaml", "-s", "script.yaml", "--id", "r"]), 0);
}

#[test]
fn a_worker_logs_no_secret_of_a_rejected_answer() {
    let place = Place::new(&[("ask.yaml", ASK), ("script.yaml", &format!("{SCRIPT}ask: [canary-7f3a]\n"))]);
    let start = ["run", "ask.yaml", "-s", "script.yaml", "-i", "metadata.api_key=canary-7f3a", "--id", "r", "--detach"];
    exits(&place.run(&start), 0);
    let worker = place.spawn(&["work"]);
    exits(&place.run(&["runs", "watch", "r"]), 5);
    assert!(signal("TERM", &worker.id().to_string()));
    let log = err(&worker.wait_with_output().expect("it ends"));
    assert!(log.contains("was rejected") && log.contains("***"), "{log}");
    assert!(!log.contains("canary"), "{log}");
}
