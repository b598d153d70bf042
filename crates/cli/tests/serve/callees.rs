//! Workflows that call workflows: who may write such a call, and what the called workflow may use.

use std::path::Path;

use serde_json::{Value, json};

use crate::client::{Response, Server};
use crate::identity::Guarded;

const HELLO: &str = "name: hello\nsteps:\n  - {id: greet, step_type: text, template: Hello}\n";

const SHELL: &str = "name: shell\nsteps:\n  - {id: say, step_type: command, command: \"echo from the shell\"}\n";

/// A document that calls a workflow.
fn calling(workflow: &str) -> String {
    format!("name: caller\nsteps:\n  - {{id: c, step_type: call_workflow, workflow: {workflow}, input: x}}\n")
}

/// The kinds of the findings of a response.
fn kinds(findings: &Value) -> Vec<&str> {
    findings.as_array().into_iter().flatten().filter_map(|finding| finding["kind"].as_str()).collect()
}

#[test]
fn a_document_calls_only_workflows_that_its_author_may_start() {
    let guarded = Guarded::new();
    let admin = guarded.token(&["create", "--role", "admin"]);
    let save = |token: &str, name: &str, text: &str| -> Response {
        guarded.with(token, "POST", "/workflows", &json!({"text": text, "name": name}))
    };
    for name in ["billing-x", "support-b"] {
        assert_eq!(save(&admin, name, HELLO).status, 201);
    }
    let editor = guarded.token(&["create", "--user", "eve", "--role", "editor", "--workflow", "support-*"]);
    let foreign = save(&editor, "support-a", &calling("billing-x"));
    assert_eq!(foreign.problem(422), "invalid_document");
    assert!(kinds(&foreign.json()["diagnostics"]).contains(&"workflow_not_found"), "{}", foreign.text);
    // A workflow that does not exist has the same response, so that names of others cannot be guessed.
    let missing = save(&editor, "support-a", &calling("billing-y"));
    assert_eq!(missing.text.replace("billing-y", "billing-x"), foreign.text);
    let checked = guarded.with(&editor, "POST", "/check", &json!({"text": calling("billing-x"), "name": "support-a"}));
    assert!(kinds(&checked.expect(200)["diagnostics"]).contains(&"workflow_not_found"), "{}", checked.text);
    assert_eq!(save(&editor, "support-a", &calling("support-b")).status, 201);
    // The callee is a workflow of its own: it may call what its author may start.
    assert_eq!(save(&admin, "support-c", &calling("billing-x")).status, 201);
    assert_eq!(save(&editor, "support-d", &calling("support-c")).status, 201);
    let operator = guarded.token(&["create", "--user", "op", "--role", "operator", "--workflow", "support-*"]);
    let run = guarded.with(&operator, "POST", "/runs?wait=30s", &json!({"workflow": "support-d"})).expect(200);
    assert_eq!(run["status"], "completed", "{run:#}");
    let text = json!({"text": calling("billing-x")});
    guarded.with(&admin, "POST", "/runs?wait=30s", &json!({"workflow": "support-b", "id": "b1"})).expect(200);
    let fork = json!({"step": "greet", "with": text});
    assert_eq!(guarded.with(&editor, "POST", "/runs/b1/fork", &fork).problem(422), "invalid_document");
}

/// A server that permits commands of the shell to workflows of one name.
fn permitting(folder: &Path, workflow: &str) -> Server {
    let settings = format!("[[permissions]]\nworkflow = \"{workflow}\"\ncommands = true\n");
    std::fs::write(folder.join("branchpoint.toml"), settings).expect("the folder is writable");
    let store = folder.join("store.db").to_str().expect("a plain path").to_owned();
    Server::start_in(folder, &["serve", "--store", &store, "--listen", "127.0.0.1:0"])
}

#[test]
fn a_called_workflow_has_its_own_permissions_and_not_those_of_its_caller() {
    let folder = tempfile::tempdir().expect("there is room for a store");
    let server = permitting(folder.path(), "deploy-*");
    for (name, text) in [
        ("deploy-shell", SHELL.to_owned()),
        ("plain-shell", SHELL.to_owned()),
        ("plain", calling("deploy-shell")),
        ("deploy-all", calling("plain-shell")),
    ] {
        server.post("/workflows", &json!({"text": text, "name": name})).expect(201);
    }
    // The run starts. Its command then fails, because a run that was started over HTTP has no folder.
    let started = server.post("/runs?wait=30s", &json!({"workflow": "plain"})).expect(200);
    assert!(started["error"]["message"].as_str().unwrap().contains("bad_working_dir"), "{started:#}");
    let refused = server.post("/runs?wait=30s", &json!({"workflow": "deploy-all"}));
    assert_eq!(refused.problem(403), "not_permitted");
    assert!(refused.json()["detail"].as_str().unwrap().contains("`plain-shell`"), "{}", refused.text);
}

#[test]
fn a_withdrawn_permission_stops_forks_and_retries_of_earlier_runs() {
    let folder = tempfile::tempdir().expect("there is room for a store");
    let server = permitting(folder.path(), "deploy-*");
    server.post("/workflows", &json!({"text": SHELL, "name": "deploy-shell"})).expect(201);
    let failed = server.post("/runs?wait=30s", &json!({"workflow": "deploy-shell", "id": "d1"})).expect(200);
    assert_eq!(failed["status"], "failed", "{failed:#}");
    let requests = [
        ("fork", json!({"step": "say"})),
        ("retry", json!({})),
        ("fork", json!({"step": "say", "with": {"version": 1}})),
    ];
    drop(server);
    let server = permitting(folder.path(), "other-*");
    for (action, body) in &requests {
        let refused = server.post(&format!("/runs/d1/{action}"), body);
        assert_eq!(refused.problem(403), "not_permitted", "{action} {body}");
    }
    assert_eq!(server.get("/runs").expect(200)["items"].as_array().unwrap().len(), 1);
}

/// A state machine with one state.
fn machine(name: &str, state: &str) -> String {
    format!(
        "name: {name}\nstates:\n  initial: a\n  a: {{{state}, on_success: done, on_failure: done}}\n  done: {{type: terminal}}\n"
    )
}

const COMMAND: &str = "type: step, command: echo from the shell";

#[test]
fn a_called_workflow_is_found_by_its_name_only() {
    let folder = tempfile::tempdir().expect("there is room for a store");
    let server = permitting(folder.path(), "deploy-*");
    let saved = server.post("/workflows", &json!({"text": machine("q", COMMAND)})).expect(201);
    let hash = &saved["hash"].as_str().unwrap()[..8];
    let by_hash = machine("p", &format!("type: call_workflow, workflow: \"{hash}\""));
    let refused = server.post("/workflows", &json!({"text": by_hash}));
    assert_eq!(refused.problem(422), "invalid_document");
    assert!(kinds(&refused.json()["diagnostics"]).contains(&"unknown_workflow"), "{}", refused.text);
}

#[test]
fn no_document_has_the_name_of_an_agent_program() {
    let server = Server::demo();
    let refused = server.post("/workflows", &json!({"text": machine("q", COMMAND), "name": "branchpoint:agentx"}));
    assert_eq!(refused.problem(422), "invalid_input");
}

#[test]
fn a_live_fork_is_checked_with_the_programs_that_it_continues() {
    let folder = tempfile::tempdir().expect("there is room for a store");
    let server = permitting(folder.path(), "deploy-*");
    server.post("/workflows", &json!({"text": machine("q", COMMAND)})).expect(201);
    server.post("/workflows", &json!({"text": machine("p", "type: call_workflow, workflow: q")})).expect(201);
    let script = json!({"a": [{"$exit": 0, "stdout": "scripted"}]});
    let scripted = json!({"workflow": "p", "id": "p1", "script": script});
    server.post("/runs?wait=30s", &scripted).expect(200);
    // The present version of the called workflow needs nothing, and the run has the one before.
    let harmless = "name: q\nstates:\n  initial: done\n  done: {type: terminal}\n";
    let base = json!({"text": harmless, "base_version": 1});
    let saved = server.replace("/workflows/q", &[], &base);
    assert!(saved.status < 300, "{}", saved.text);
    let refused = server.post("/runs/p1/fork", &json!({"events": 1, "live": true}));
    assert_eq!(refused.problem(403), "not_permitted");
    assert!(refused.json()["detail"].as_str().unwrap().contains("`q`"), "{}", refused.text);
}
