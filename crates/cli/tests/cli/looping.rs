//! Runs that loop without effects: they are bounded, and do not prevent other work.

use std::thread;
use std::time::Duration;

use branchpoint_core::ir::Status;
use branchpoint_host::store::Store;

use super::running::{Place, err, exits, out, signal};

/// A hundred million rounds that do nothing.
const ROUNDS: &str = r#"
name: rounds
steps:
  - id: outer
    step_type: while
    if: "true"
    max_iterations: 10000
    body:
      - id: inner
        step_type: while
        if: "true"
        max_iterations: 10000
        body: [{id: nothing, step_type: text}]
"#;

/// States that lead to each other for ever.
const CYCLE: &str = r#"
name: cycle
states:
  initial: a
  a: {type: for_each, items: "[]", body: [work], on_complete: b, on_failure: done}
  b: {type: for_each, items: "[]", body: [work], on_complete: a, on_failure: done}
  work: {command: "true"}
  done: {type: terminal}
"#;

const FILES: [(&str, &str); 3] =
    [("rounds.yaml", ROUNDS), ("cycle.yaml", CYCLE), ("branchpoint.toml", "[limits]\nops = 20_000\n")];

#[test]
fn a_run_that_loops_ends_at_the_operators_limit() {
    let place = Place::new(&FILES);
    for (file, id) in [("rounds.yaml", "r"), ("cycle.yaml", "c")] {
        let ran = place.run(&["run", file, "--id", id]);
        exits(&ran, 3);
        assert!(err(&ran).contains("[op_limit]: the run has executed 20000 operations"), "{}", err(&ran));
        let tried = place.run(&["run", file, "--dry-run"]);
        exits(&tried, 3);
        assert!(err(&tried).contains("[op_limit]"), "{}", err(&tried));
    }
}

const ASKING: &str = r#"
name: asking
steps:
  - {id: ok, step_type: human_in_the_loop, prompt: "Fine?", child_steps: [{id: after, step_type: text}]}
"#;

/// Waits until a run has executed something, so that it surely loops.
fn await_events(place: &Place, id: &str) {
    for _ in 0..3000 {
        let store = Store::read_only(&place.store()).expect("it opens");
        let run = store.run(id).expect("it reads").expect("it is there");
        if run.seq > 3 {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("run `{id}` never goes on");
}

#[test]
fn while_runs_loop_people_vote_and_everything_can_be_cancelled_traced_and_stopped() {
    let files = [("rounds.yaml", ROUNDS), ("cycle.yaml", CYCLE), ("asking.yaml", ASKING)];
    let place = Place::new(&files);
    for (file, id) in [("rounds.yaml", "rounds"), ("cycle.yaml", "cycle"), ("asking.yaml", "asking")] {
        exits(&place.run(&["run", file, "--detach", "--id", id]), 0);
    }
    let mut worker = place.spawn(&["work"]);
    for id in ["rounds", "cycle"] {
        await_events(&place, id);
    }
    let trace = place.run(&["runs", "trace", "rounds"]);
    exits(&trace, 0);
    assert!(out(&trace).contains("nothing"), "{}", out(&trace));
    let started = place.run(&["run", "asking.yaml", "--id", "another"]);
    exits(&started, 5);
    exits(&place.run(&["approvals", "approve", "asking", "--as", "ada"]), 0);
    exits(&place.run(&["approvals", "approve", "another", "--as", "ada"]), 0);
    exits(&place.run(&["runs", "cancel", "cycle"]), 0);
    let store = Store::read_only(&place.store()).expect("it opens");
    let status = |id: &str| store.run(id).expect("it reads").expect("it is there").status;
    assert_eq!((status("cycle"), status("rounds")), (Status::Cancelled, Status::Running));
    assert!(signal("TERM", &worker.id().to_string()));
    assert!(worker.wait().expect("it ends").success());
    // It is abandoned now, so this process resumes it.
    exits(&place.run(&["runs", "cancel", "rounds"]), 0);
    assert_eq!(status("rounds"), Status::Cancelled);
}

/// Runs a command in every round; a script answers it.
const COMMANDS: &str = r#"
name: commands
steps:
  - id: outer
    step_type: while
    if: "true"
    max_iterations: 10000
    body:
      - id: inner
        step_type: while
        if: "true"
        max_iterations: 10000
        body: [{id: act, step_type: command, command: "echo executed >> executed"}]
"#;

/// Calls another workflow in every round.
const CALLS: &str = r#"
name: calls
steps:
  - id: outer
    step_type: while
    if: "true"
    max_iterations: 10000
    body: [{id: call, step_type: call_workflow, workflow: nothing}]
"#;

const NOTHING: &str = "name: nothing\nsteps: [{id: nothing, step_type: text}]\n";

#[test]
fn a_worker_stops_while_scripts_and_child_runs_keep_their_runs_busy() {
    let files = [
        ("commands.yaml", COMMANDS),
        ("script.yaml", "act: [{$exit: 0, stdout: fine}]\n"),
        ("calls.yaml", CALLS),
        ("nothing.yaml", NOTHING),
    ];
    for (id, arguments) in
        [("commands", &["run", "commands.yaml", "-s", "script.yaml"][..]), ("calls", &["run", "calls.yaml"])]
    {
        let place = Place::new(&files);
        exits(&place.run(&[arguments, &["--detach", "--id", id]].concat()), 0);
        let mut worker = place.spawn(&["work", "--grace", "1"]);
        await_events(&place, id);
        assert!(signal("TERM", &worker.id().to_string()));
        assert!(worker.wait().expect("it ends").success());
        let store = Store::read_only(&place.store()).expect("it opens");
        let row = store.run(id).expect("it reads").expect("it is there");
        assert_eq!((row.status, row.owner), (Status::Running, None), "another process can continue `{id}`");
        assert_eq!(place.read("executed"), "", "nothing was executed");
    }
}

#[test]
fn a_trace_says_which_events_are_not_shown() {
    let place = Place::new(&FILES);
    exits(&place.run(&["run", "rounds.yaml", "--detach", "--id", "r"]), 0);
    exits(&place.run(&["runs", "resume", "r", "--json"]), 3);
    let whole = place.run(&["runs", "trace", "r"]);
    exits(&whole, 0);
    assert!(!out(&whole).contains("not shown"));
    let trace = place.run(&["runs", "trace", "r", "--from", "1"]);
    exits(&trace, 0);
    let printed = "the first 1 events are not shown; `branchpoint runs trace r --from 0` shows the beginning";
    assert!(out(&trace).contains(printed) && out(&trace).len() < out(&whole).len(), "{}", out(&trace));
    let trace = place.run(&["runs", "trace", "r", "--from", "1", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&trace.stdout).expect("it is JSON");
    assert_eq!(json["left_out"]["events_before"], 1);
}
