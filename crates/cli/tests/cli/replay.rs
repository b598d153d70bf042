//! Runs that are recorded and played again: the same comes out, nothing is done, and what is not known is said.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

use serde_json::Value as Json;

use super::running::{Place, err, out, signal};

#[track_caller]
fn exits(output: &Output, code: i32) {
    assert_eq!(output.status.code(), Some(code), "{}\n{}", out(output), err(output));
}

/// Records a run and plays it again; both have the same result.
#[track_caller]
fn check_replayed(place: &Place, arguments: &[&str], code: i32) {
    let result = |more: &[&str]| {
        let output = place.run(&[&["run", "--json"], arguments, more].concat());
        exits(&output, code);
        let report: Json = serde_json::from_str(&out(&output)).expect("it is JSON");
        report["result"].clone()
    };
    let recorded = result(&["--record", "tape.yaml"]);
    for name in ["done.log", "read.txt"] {
        let _ = fs::remove_file(place.path().join(name));
    }
    assert_eq!(result(&["--script", "tape.yaml"]), recorded, "{}", place.read("tape.yaml"));
    assert_eq!(place.read("done.log"), "", "nothing is done a second time");
}

#[test]
fn overlapping_calls_get_their_own_answers() {
    let child = r#"
name: child
steps:
  - {id: w, step_type: command, argv: [sh, -c, 'sleep 0.$(( (7*$1) % 10 )); echo "$1-$$"', x, "{{input}}"]}
"#;
    let parent = r#"
name: parent
steps:
  - id: each
    step_type: for_each
    input_template: "[1,2,3,4,5,6]"
    parallel: true
    body:
      - {id: c, step_type: call_workflow, workflow: child, input: "{{input}}"}
"#;
    check_replayed(&Place::new(&[("parent.yaml", parent), ("child.yaml", child)]), &["parent.yaml"], 0);
}

#[test]
fn hooks_files_and_variables_are_played_again_too() {
    let workflow = r#"
name: m
states:
  initial: a
  a:
    type: step
    command: "date +%s%N; echo a >> done.log"
    hooks: {pre: [{command: "echo pre >> done.log"}], post: [{command: "echo post >> done.log"}]}
    on_success: end
  end: {type: terminal, message: '{{states.a.Output}}{{readFile "read.txt"}}{{env.BRANCHPOINT_USER}}'}
hooks: {workflow_start: [{command: "echo start >> done.log"}]}
"#;
    let place = Place::new(&[("m.yaml", workflow), ("read.txt", "what was read")]);
    check_replayed(&place, &["m.yaml"], 0);
    let output = place.command(&["run", "m.yaml", "-s", "tape.yaml"]).env("BRANCHPOINT_USER", "bob").output();
    let output = output.expect("the program starts");
    assert!(out(&output).ends_with("what was readada\n"), "{}", out(&output));
}

#[test]
fn a_call_without_a_waiting_step_is_not_performed() {
    let workflow = r#"
name: any
steps:
  - id: p
    step_type: parallel
    wait: any
    branches:
      - {name: slow, steps: [{id: slow, step_type: command, timeout: 20s, command: "echo slow >> done.log; sleep 10"}]}
      - {name: fast, steps: [{id: fast, step_type: command, command: "sleep 0.2; echo $$"}]}
"#;
    check_replayed(&Place::new(&[("any.yaml", workflow)]), &["any.yaml"], 0);
}

const ASKS: &str = r#"
name: asks
steps:
  - {id: ask, step_type: human_in_the_loop, prompt_template: "ok?"}
  - {id: w, step_type: command, command: "date +%s%N"}
"#;

#[test]
fn answers_of_people_are_recorded() {
    let place = Place::new(&[("asks.yaml", ASKS)]);
    let waiting = place.run(&["run", "asks.yaml", "--id", "k", "--record", "tape.yaml"]);
    exits(&waiting, 5);
    assert!(err(&waiting).contains("Recorded the run so far"), "{}", err(&waiting));
    // As far as it has come, it waits when it is played.
    exits(&place.run(&["run", "asks.yaml", "-s", "tape.yaml"]), 5);
    let list = place.run(&["approvals", "list", "--json"]);
    let list: Json = serde_json::from_str(&out(&list)).expect("it is JSON");
    let prompted = |run: &str| {
        let names = list.as_array().expect("a list").iter().filter_map(|open| open["approval"].as_str());
        names.into_iter().find(|name| name.starts_with(run)).expect("it is open").to_owned()
    };
    exits(&place.run(&["approvals", "vote", &prompted("k/"), "approve", "--as", "ada", "--comment", "fine"]), 0);
    // It has ended meanwhile, and still tells everything.
    let ended = place.run(&["run", "asks.yaml", "--id", "k", "--record", "tape.yaml"]);
    exits(&ended, 0);
    assert!(place.read("tape.yaml").contains(r#"{"user":"ada","choice":"approve","comment":"fine"}"#));
    let played = place.run(&["run", "asks.yaml", "-s", "tape.yaml", "--as", "bob"]);
    exits(&played, 0);
    assert_eq!(out(&played), out(&ended));
    let tried = place.run(&["run", "asks.yaml", "-s", "tape.yaml", "--dry-run"]);
    exits(&tried, 0);
    assert_eq!(out(&tried), out(&ended));
}

#[test]
fn approvals_of_a_graph_are_recorded_by_their_nodes() {
    let example = |name: &str| super::root().join("examples/graph").join(name).display().to_string();
    let (graph, script) = (example("parallel-reviews.json"), example("parallel-reviews.script.yaml"));
    let place = Place::new(&[]);
    let recorded = place.run(&["run", &graph, "-s", &script, "--record", "tape.yaml"]);
    exits(&recorded, 0);
    let tape = place.read("tape.yaml");
    assert!(tape.contains("\"$output\":{\"decision\":\"reject\","), "{tape}");
    let played = place.run(&["run", &graph, "-s", "tape.yaml"]);
    exits(&played, 0);
    assert_eq!(out(&played), out(&recorded));
}

#[test]
fn an_interrupted_recorded_run_is_continued() {
    let workflow = r#"
name: m
states:
  initial: twice
  twice: {type: for_each, items: [x, y], body: [a, b], on_complete: end}
  a: {type: step, command: "date +%s%N", on_success: b}
  b: {type: step, command: "echo b", on_success: twice}
  end: {type: terminal, message: "{{states.a.Output}}"}
"#;
    let place = Place::new(&[("m.yaml", workflow)]);
    let recorded = place.run(&["run", "m.yaml", "--record", "tape.yaml"]);
    exits(&recorded, 0);
    // The second call of `a` is the same as the first, and has another answer. Between them the run is interrupted.
    let tape = place.read("tape.yaml");
    let slow = tape.replace("\"b\":\n  - {", "\"b\":\n  - {\"$delay_ms\":4000,");
    assert_ne!(slow, tape);
    fs::write(place.path().join("slow.yaml"), slow).expect("it can be written");
    let mut running = place.command(&["run", "m.yaml", "-s", "slow.yaml", "--id", "k"]);
    let mut running =
        running.stderr(fs::File::create(place.path().join("report")).expect("a file")).spawn().expect("it starts");
    place.await_text("report", "a (command)");
    assert!(signal("INT", &running.id().to_string()));
    running.wait().expect("it ends");
    let played = place.run(&["run", "m.yaml", "-s", "slow.yaml", "--id", "k"]);
    exits(&played, 0);
    assert_eq!(out(&played), out(&recorded));
}

#[test]
fn a_recorded_script_names_its_missing_answers() {
    let workflow = |next: &str| {
        format!(
            "name: m\nstates:\n  initial: a\n  a: {{command: \"echo one\", on_success: {next}}}\n  \
             b: {{command: \"echo two >> done.log\", on_success: end}}\n  end: {{type: terminal}}\n"
        )
    };
    let place = Place::new(&[("m.yaml", &workflow("end"))]);
    exits(&place.run(&["run", "m.yaml", "--record", "tape.yaml"]), 0);
    fs::write(place.path().join("m.yaml"), workflow("b")).expect("it can be written");
    let played = place.run(&["run", "m.yaml", "-s", "tape.yaml"]);
    exits(&played, 3);
    assert!(err(&played).contains("no answer for step `b`"), "{}", err(&played));
    assert_eq!(place.read("done.log"), "");
}

#[test]
fn a_short_secret_does_not_spoil_a_recording() {
    let workflow = r#"
name: pin
inputs: [{name: TOKEN_PIN}]
states:
  initial: a
  a: {command: "echo hello 10", on_success: end}
  end: {type: terminal, message: "{{states.a.Output}}"}
"#;
    let place = Place::new(&[("pin.yaml", workflow)]);
    exits(&place.run(&["run", "pin.yaml", "-i", "TOKEN_PIN=0", "--record", "tape.yaml"]), 0);
    let played = place.run(&["run", "pin.yaml", "-i", "TOKEN_PIN=0", "-s", "tape.yaml"]);
    exits(&played, 0);
    assert_eq!(out(&played), "hello 1***\n\n");
}

#[test]
fn a_secret_variable_is_not_recorded_and_is_read_again_on_replay() {
    let workflow = r#"
name: m
states:
  initial: a
  a: {command: "echo {{env.GITHUB_TOKEN}} >> done.log; date +%s%N", on_success: end}
  end: {type: terminal, message: "{{states.a.Output}} {{env.GITHUB_TOKEN}}"}
"#;
    let place = Place::new(&[("m.yaml", workflow)]);
    let run = |token: Option<&str>, arguments: &[&str]| {
        let mut command = place.command(&[&["run", "m.yaml"], arguments].concat());
        match token {
            Some(token) => command.env("GITHUB_TOKEN", token),
            None => command.env_remove("GITHUB_TOKEN"),
        };
        command.output().expect("the program starts")
    };
    // So short a value of the environment is not masked in the result.
    let recorded = run(Some("ghp-old"), &["--record", "tape.yaml"]);
    exits(&recorded, 0);
    let tape = place.read("tape.yaml");
    assert!(tape.contains("GITHUB_TOKEN") && !tape.contains("ghp-old"), "{tape}");
    let mode = fs::metadata(place.path().join("tape.yaml")).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for more in [&[][..], &["--dry-run"]] {
        let played = run(Some("ghp-now"), &[&["-s", "tape.yaml", "--json"], more].concat());
        exits(&played, 0);
        let report: Json = serde_json::from_str(&out(&played)).expect("it is JSON");
        let message = report.get("result").unwrap_or(&report)["message"].as_str().unwrap_or_default();
        assert_eq!(format!("{message}\n"), out(&recorded).replace("old", "now"), "{report}");
        let refused = run(None, &[&["-s", "tape.yaml"], more].concat());
        exits(&refused, 1);
        assert!(err(&refused).contains("the variable `GITHUB_TOKEN`"), "{}", err(&refused));
    }
    assert_eq!(place.read("done.log"), "ghp-old\n", "nothing is done a second time");
}

#[test]
fn a_recording_that_cannot_be_written_is_reported_before_the_run() {
    let workflow = "name: m\nstates:\n  initial: a\n  a: {command: \"echo a >> done.log\", on_success: end}\n  end: {type: terminal}\n";
    let place = Place::new(&[("m.yaml", workflow)]);
    for file in ["none/tape.yaml", "."] {
        let refused = place.run(&["run", "m.yaml", "--record", file]);
        exits(&refused, 1);
        assert!(err(&refused).contains("cannot write the recording"), "{}", err(&refused));
    }
    assert_eq!(place.read("done.log"), "");
    exits(&place.run(&["run", "m.yaml", "--id", "k", "--record", "tape.yaml"]), 0);
    let tape = place.read("tape.yaml");
    assert!(tape.contains("\"a\":"), "{tape}");
    exits(&place.run(&["run", "m.yaml", "--id", "k", "--record", "tape.yaml"]), 0);
    assert_eq!(place.read("tape.yaml"), tape, "a run that has ended is recorded as it was");
    let left: Vec<String> = fs::read_dir(place.path())
        .expect("it can be read")
        .map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("tape"))
        .collect();
    assert_eq!(left, ["tape.yaml"]);
}

#[test]
fn mistakes_in_a_script_prevent_the_start_of_the_run() {
    let workflow = "name: t\nsteps:\n  - {id: post, step_type: command, command: \"echo a >> done.log\"}\n";
    let place = Place::new(&[("t.yaml", workflow)]);
    for (script, expect) in [
        ("psot: [x]", ["s.yaml:1:1", "did you mean `post`?"]),
        ("post: [x]\nnothing like it: [x]", ["s.yaml:2:1", "calls without an answer in the script are executed"]),
        ("post:\n  - fine\n  - {$eror: x}", ["s.yaml:3:6", "did you mean `$error`?"]),
        ("post:\n  - {$exit: '0'}", ["s.yaml:2:6", "`$exit` must be an exit code"]),
    ] {
        fs::write(place.path().join("s.yaml"), script).expect("it can be written");
        for more in [&[][..], &["--dry-run"]] {
            let refused = place.run(&[&["run", "t.yaml", "-s", "s.yaml"], more].concat());
            exits(&refused, 1);
            for expect in expect {
                assert!(err(&refused).contains(expect), "{script}: {}", err(&refused));
            }
        }
    }
    assert_eq!(place.read("done.log"), "");
}

#[test]
fn a_scripted_delay_takes_its_time() {
    let workflow = "name: t\nsteps:\n  - {id: get, step_type: http, url: \"http://host.invalid/\", timeout: 500ms}\n";
    let place = Place::new(&[
        ("t.yaml", workflow),
        ("late.yaml", "get: [{$status: 200, body: hi, $delay_ms: 60000}]\n"),
        ("in_time.yaml", "get: [{$status: 200, body: hi, $delay_ms: 20}]\n"),
    ]);
    for more in [&[][..], &["--dry-run"]] {
        let late = place.run(&[&["run", "t.yaml", "-s", "late.yaml"], more].concat());
        exits(&late, 3);
        assert!(err(&late).contains("[timeout]: no response within 500 ms"), "{}", err(&late));
        let in_time = place.run(&[&["run", "t.yaml", "-s", "in_time.yaml"], more].concat());
        exits(&in_time, 0);
        assert_eq!(out(&in_time), "hi\n");
    }
}
