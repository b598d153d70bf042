//! `branchpoint work`: detached runs are finished by somebody else, and what happens is counted and logged.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Child;

use super::running::{Place, err, exits, out, signal};

const NOTE: &str = r#"
name: note
states:
  initial: write
  write: {command: "pwd >> noted", on_success: done, on_failure: bad}
  done: {type: terminal, message: "noted"}
  bad: {type: terminal, status: failure}
"#;

fn stop(worker: Child) -> std::process::Output {
    assert!(signal("TERM", &worker.id().to_string()));
    worker.wait_with_output().expect("it ends")
}

#[test]
fn a_detached_run_is_left_to_a_worker() {
    let place = Place::new(&[("note.yaml", NOTE)]);
    let started = place.run(&["run", "note.yaml", "--detach", "--id", "k"]);
    exits(&started, 0);
    assert_eq!((out(&started).as_str(), place.read("noted").as_str()), ("k\n", ""));
    let elsewhere = tempfile::tempdir().expect("there is room");
    let mut command = place.command(&["work", "--log-format", "json", "--metrics", "counted.prom"]);
    let worker = command.current_dir(elsewhere.path()).spawn().expect("it starts");
    place.await_text("noted", "\n");
    let ended = place.run(&["run", "note.yaml", "--id", "k"]);
    exits(&ended, 0);
    assert_eq!(out(&ended), "noted\n");
    let folder = fs::canonicalize(place.path()).expect("it is there");
    assert_eq!(place.read("noted").trim(), folder.display().to_string(), "commands run in the folder of the run");
    let stopped = stop(worker);
    exits(&stopped, 0);
    let events: Vec<serde_json::Value> =
        err(&stopped).lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect();
    let report = |event: &str| {
        events.iter().any(|line| line["event"] == event && line["run"] == "k" && line["workflow"] == "note")
    };
    assert!(report("running") && report("completed"), "{events:?}");
    let counted = fs::read_to_string(elsewhere.path().join("counted.prom")).expect("counters were written");
    assert!(counted.contains("branchpoint_runs_ended_total{status=\"completed\"} 1"), "{counted}");
    assert!(counted.contains("branchpoint_calls_total 1"), "{counted}");
}

#[test]
fn a_worker_resumes_the_runs_of_a_killed_process() {
    let slow = NOTE.replace("pwd >> noted", "echo $$ >> noted; test -e go || exec sleep 600");
    let place = Place::new(&[("note.yaml", slow.as_str())]);
    let mut run = place.spawn(&["run", "note.yaml", "--id", "k"]);
    place.await_text("noted", "\n");
    run.kill().expect("it can be killed");
    run.wait().expect("it ends");
    // What a killed process started does not hear of its end.
    assert!(signal("KILL", place.read("noted").trim()));
    fs::write(place.path().join("go"), "").expect("files can be written");
    let mut worker = place.spawn(&["work"]);
    let log = BufReader::new(worker.stderr.take().expect("it is piped"));
    let line = log.lines().map_while(Result::ok).find(|line| line.contains("completed run=k"));
    assert!(line.is_some());
    exits(&stop(worker), 0);
    assert_eq!(place.read("noted").lines().count(), 2);
}

#[test]
fn counters_are_reported_over_http() {
    let place = Place::new(&[]);
    let accepted = place.run(&["work", "--metrics", "256.0.0.1:0x", "--calls", "0"]);
    exits(&accepted, 1);
    let door = std::net::TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let address = door.local_addr().expect("it has an address").to_string();
    let busy = place.run(&["work", "--metrics", &address]);
    assert_ne!(busy.status.code(), Some(0));
    assert!(err(&busy).contains(&address), "{}", err(&busy));
}
