//! Flags that policies set, in everything that shows the result of a run.

use serde_json::{Value, json};

use super::running::{Place, err, exits, out};

const DOCUMENT: &str = "policies:
  - {name: promises, on: output, if: 'string(input) contains \"guarantee\"', then: flag, message: Promises something}
steps:
  - {id: draft, step_type: prompt_call, prompt_template: \"{{input}}\"}
  - {id: check, step_type: human_in_the_loop, prompt_template: \"Send it?\"}
  - {id: send, step_type: prompt_call, prompt_template: \"{{step.draft.output}}\"}
";

/// Answers that end the run in the given way.
fn place(send: &str) -> Place {
    let script = format!("draft: [\"We guarantee it.\"]\ncheck: [approve]\nsend: [{send}]\n");
    Place::new(&[("t.yaml", DOCUMENT), ("script.yaml", &script), ("asks.yaml", "draft: [\"We guarantee it.\"]\n")])
}

fn json(place: &Place, arguments: &[&str]) -> Value {
    serde_json::from_str(&out(&place.run(arguments))).expect("it is JSON")
}

const LINE: &str = "draft by the policy promises (output): Promises something";

#[test]
fn a_completed_run_shows_its_flags() {
    let place = place("sent");
    let flags = json!([{"step": "draft", "policy": "promises", "on": "output", "message": "Promises something"}]);
    let run = place.run(&["run", "t.yaml", "-s", "script.yaml", "-i", "input=x", "--id", "r"]);
    exits(&run, 0);
    assert_eq!(out(&run), "sent\n");
    assert_eq!(err(&run).matches(&format!("Flagged: {LINE}\n")).count(), 1, "{}", err(&run));
    let quiet = place.run(&["run", "t.yaml", "-s", "script.yaml", "-i", "input=x", "--quiet"]);
    assert!(!err(&quiet).contains("Flagged"), "{}", err(&quiet));

    let printed = json(&place, &["run", "t.yaml", "-s", "script.yaml", "-i", "input=x", "--json"]);
    assert_eq!(printed["result"]["flags"], flags, "{printed}");
    let printed = json(&place, &["run", "t.yaml", "-s", "script.yaml", "-i", "input=x", "--dry-run", "--json"]);
    assert_eq!(printed["flags"], flags, "{printed}");
    let printed = json(&place, &["runs", "show", "r", "--json"]);
    assert_eq!((&printed["flags"], &printed["result"]["flags"]), (&flags, &flags), "{printed}");
    assert!(out(&place.run(&["runs", "show", "r"])).contains(LINE));
    assert!(out(&place.run(&["runs", "list"])).contains("completed, flagged"));
}

#[test]
fn a_failed_run_keeps_its_flags() {
    let place = place("{$error: down}");
    let run = place.run(&["run", "t.yaml", "-s", "script.yaml", "-i", "input=x", "--id", "r"]);
    exits(&run, 3);
    assert!(err(&run).contains(&format!("Flagged: {LINE}\n")), "{}", err(&run));
    let printed = json(&place, &["runs", "show", "r", "--json"]);
    assert_eq!(printed["result"]["flags"][0]["step"], "draft", "{printed}");
    assert!(out(&place.run(&["runs", "list"])).contains("failed, flagged"));
}

#[test]
fn a_waiting_run_shows_its_flags_and_its_end_shows_them_again() {
    let place = place("unused");
    exits(&place.run(&["run", "t.yaml", "-s", "asks.yaml", "-i", "input=x", "--id", "r"]), 5);
    let printed = json(&place, &["runs", "show", "r", "--json"]);
    assert_eq!(printed["flags"][0]["policy"], "promises", "{printed}");
    assert!(out(&place.run(&["runs", "show", "r"])).contains(LINE));
    assert!(out(&place.run(&["runs", "list"])).contains("waiting_people, flagged"));
    let denied = place.run(&["approvals", "reject", "r", "--as", "ada"]);
    assert!(err(&denied).contains(&format!("Flagged: {LINE}\n")), "{}", err(&denied));
}
