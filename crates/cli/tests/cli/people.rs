//! Runs that wait for people: what is shown, who is notified, and that runs continue after an answer.

use std::sync::Arc;
use std::time::Duration;

use branchpoint_core::Event;
use branchpoint_expr::Value;
use branchpoint_host::host::{DrivenRuns, Host};
use branchpoint_host::store::{Durability, Store};
use branchpoint_host::{CallLimits, Driver};
use branchpoint_runners::{Answer, AnswerFuture, Call, CancellationToken, Runner};

use super::running::{Place, err, exits, out};

const ASK: &str = r#"
name: ask
steps:
  - {id: ask, step_type: human_in_the_loop, prompt_template: "Shall we?"}
  - {id: end, step_type: text, template: "they said {{step.ask.output.outcome}}"}
"#;

/// A runner without calls: people answer what these runs need.
struct NoRunner;

impl Runner for NoRunner {
    fn perform<'c>(&'c self, _: &'c Call, _: &'c CancellationToken) -> AnswerFuture<'c> {
        Box::pin(std::future::ready(Answer::failed("test", "no runner")))
    }

    fn fact(&self, _: &str) -> Value {
        Value::Null
    }
}

/// Votes as another process does.
fn vote(place: &Place, id: &str, user: &str, choice: &str) {
    let store = Store::open(&place.store(), Durability::Full).expect("there is a store");
    let run = store.run(id).expect("it can be read").expect("there is a run").run;
    let request = store.approval_records(run).expect("they can be read").first().expect("it asks").request.0;
    let host = Host::new(store, "test", DrivenRuns::Requested, Arc::new(|_| Value::Null), 0).expect("it can be driven");
    let driver = Driver::new(host, Arc::new(NoRunner), CallLimits::default());
    let payload = serde_json::from_str(&format!(r#"{{"request": {request}, "choice": "{choice}"}}"#)).expect("JSON");
    let event = Event::Signal { name: "vote".into(), payload, sender: Some(user.into()), key: None };
    driver.send(run, event).expect("the store works").expect("the vote is taken");
    driver.stop(Duration::from_secs(1)).expect("the store works");
}

#[test]
fn a_run_waits_for_people_with_exit_5_and_continues_after_their_votes() {
    let place = Place::new(&[("ask.yaml", ASK)]);
    let waiting = place.run(&["run", "ask.yaml", "--id", "k"]);
    exits(&waiting, 5);
    assert_eq!(out(&waiting), "");
    let report = err(&waiting);
    assert!(report.contains("Shall we?") && report.contains("Approvers: ada"), "{report}");
    assert!(report.contains("branchpoint approvals vote k/") && report.contains("--as ada"), "{report}");
    let still = place.run(&["run", "ask.yaml", "--id", "k", "--json"]);
    exits(&still, 5);
    let report: serde_json::Value = serde_json::from_str(&out(&still)).expect("it is JSON");
    assert_eq!((&report["status"], &report["waiting"][0]["step"]), (&"waiting_people".into(), &"ask".into()));
    vote(&place, "k", "ada", "approve");
    let over = place.run(&["run", "ask.yaml", "--id", "k"]);
    exits(&over, 0);
    assert_eq!(out(&over), "they said approve\n");
}

#[test]
fn an_approval_of_a_graph_waits_the_same_way() {
    let graph = super::root().join("examples/graph/draft-and-approve.json").display().to_string();
    let place = Place::new(&[("s.yaml", "writer: [A text]\nrewriter: [Short]\npublisher: [Published]\n")]);
    let waiting = place.run(&["run", &graph, "-s", "s.yaml", "--id", "k"]);
    exits(&waiting, 5);
    assert!(err(&waiting).contains("branchpoint approvals vote k/review approve"), "{}", err(&waiting));
    let place =
        Place::new(&[("s.yaml", "writer: [A text]\nreview: [approve]\nrewriter: [Short]\npublisher: [Published]\n")]);
    let scripted = place.run(&["run", &graph, "-s", "s.yaml"]);
    exits(&scripted, 0);
    assert_eq!(out(&scripted), "Published\n");
}

#[test]
fn the_people_of_the_project_are_approvers() {
    let settings = "user = \"eve\"\n[people]\nowner = \"olga\"\nadmins = [\"ann\", \"bob\"]\n";
    let place = Place::new(&[("ask.yaml", ASK), ("branchpoint.toml", settings)]);
    let waiting = place.run(&["run", "ask.yaml"]);
    exits(&waiting, 5);
    assert!(err(&waiting).contains("Approvers: olga"), "{}", err(&waiting));
}

#[test]
fn a_command_of_the_project_is_notified_of_approvals() {
    let settings = "[notify]\ncommand = \"cat >> notices.jsonl\"\n";
    let place = Place::new(&[("ask.yaml", ASK), ("branchpoint.toml", settings)]);
    exits(&place.run(&["run", "ask.yaml", "--id", "k", "--as", "bob"]), 5);
    let notice: serde_json::Value = serde_json::from_str(&place.read("notices.jsonl")).expect("one notice came");
    let part = |key: &str| notice[key].to_string();
    assert_eq!((part("event"), part("run"), part("workflow")), ("\"asked\"".into(), "\"k\"".into(), "\"ask\"".into()));
    assert_eq!((part("step"), part("question")), ("\"ask\"".into(), "\"Shall we?\"".into()));
    assert_eq!(part("recipients"), r#"["bob"]"#);
    assert!(part("command").contains("branchpoint approvals vote k/"), "{notice}");
}

#[test]
fn a_notice_that_fails_is_reported_and_changes_nothing_else() {
    let settings = "[notify]\ncommand = \"exit 3\"\n";
    let place = Place::new(&[("ask.yaml", ASK), ("branchpoint.toml", settings)]);
    let waiting = place.run(&["run", "ask.yaml"]);
    exits(&waiting, 5);
    assert!(err(&waiting).contains("warning: a notice about run"), "{}", err(&waiting));
}

#[test]
fn a_webhook_of_the_project_that_has_moved_is_reported() {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream
                .write_all(b"HTTP/1.1 302 Found\r\nlocation: /moved\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
    });
    let settings = format!("[notify]\nwebhook = \"http://{address}/hook\"\n");
    let place = Place::new(&[("ask.yaml", ASK), ("branchpoint.toml", &settings)]);
    let waiting = place.run(&["run", "ask.yaml"]);
    exits(&waiting, 5);
    let warning = err(&waiting);
    // The new address can contain a secret, so it is not shown.
    let is_reported = warning.contains("warning: a notice about run") && warning.contains("a redirect");
    assert!(is_reported && !warning.contains("/moved"), "{warning}");
}

/// Services and containers often run without `USER`; the user is known to the system all the same.
#[test]
fn the_user_of_the_operating_system_acts_when_no_user_is_configured() {
    let place = Place::new(&[("ask.yaml", ASK)]);
    let run = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        command.env_remove("BRANCHPOINT_USER").env_remove("LOGNAME").env_remove("USER");
        command
    };
    let waiting = run(&["run", "ask.yaml", "--id", "k"]).output().expect("it runs");
    exits(&waiting, 5);
    let name = std::process::Command::new("id").arg("-un").output().expect("there is an `id`");
    let name = String::from_utf8_lossy(&name.stdout).trim().to_owned();
    assert!(err(&waiting).contains(&format!("Approvers: {name}\n")), "{}", err(&waiting));
    // A variable that anybody can set does not make anybody else act.
    let refused = run(&["approvals", "approve", "k", "--as", "someone"]).output().expect("it runs");
    exits(&refused, 1);
    exits(&run(&["approvals", "approve", "k"]).env("USER", "mallory").output().expect("it runs"), 0);
}
