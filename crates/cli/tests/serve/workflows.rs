//! Workflows and documents over HTTP.

use serde_json::{Value, json};

use crate::client::Server;

const HELLO: &str = "name: hello\ndescription: Greets.\nsteps:\n  - {id: greet, step_type: text, template: Hello}\n";

#[test]
fn examples_are_listed_with_statistics() {
    let server = Server::demo();
    server.run("gates-if-else", &json!({"input": "x"}));
    let listed = server.get("/workflows?limit=200").expect(200);
    let items = listed["items"].as_array().unwrap();
    let gates = items.iter().find(|item| item["name"] == "gates-if-else").unwrap();
    assert_eq!((&gates["runs_total"], &gates["version"], &gates["origin"]), (&json!(1), &json!(1), &json!("example")));
    assert_eq!(gates["last_runs"][0]["status"], "completed");
    assert!(gates["structure"]["decisions"].as_u64().unwrap() > 0, "{gates:#}");
    let response = server.get("/workflows?q=gates-if").expect(200);
    assert_eq!(response["items"].as_array().unwrap().len(), 1);
    let machines = server.get("/workflows?dialect=machine&limit=200").expect(200);
    assert!(machines["items"].as_array().unwrap().iter().all(|item| item["dialect"] == "machine"));
    assert_eq!(server.get("/workflows?sort=size").problem(400), "bad_request");
    assert_eq!(server.get("/workflows/nope").problem(404), "not_found");
}

#[test]
fn a_workflow_is_saved_in_versions() {
    let server = Server::demo();
    let created = server.post("/workflows", &json!({"text": HELLO}));
    assert_eq!(created.expect(201)["version"], 1);
    assert_eq!(created.headers["location"], "/api/v1/workflows/hello");
    let etag = created.headers["etag"].clone();
    assert_eq!(server.post("/workflows", &json!({"text": HELLO})).expect(200)["version"], 1);
    let changed = HELLO.replace("Hello", "Hi");
    assert_eq!(server.post("/workflows", &json!({"text": changed})).problem(409), "outdated");
    let saved = server.replace("/workflows/hello", &[("if-match", &etag)], &json!({"text": changed}));
    assert_eq!(saved.expect(200)["version"], 2);
    assert_eq!(saved.json()["description"], "Greets.");
    let other = json!({"text": HELLO.replace("Hello", "Hey")});
    let outdated = server.replace("/workflows/hello", &[("if-match", &etag)], &other);
    assert_eq!(outdated.problem(409), "outdated");
    assert_eq!(outdated.json()["version"], 2);
    let base = json!({"text": HELLO.replace("Hello", "Hey"), "base_version": 2});
    assert_eq!(server.replace("/workflows/hello", &[], &base).expect(200)["version"], 3);
    let versions = server.get("/workflows/hello/versions").expect(200);
    let numbers: Vec<_> = versions.as_array().unwrap().iter().map(|version| version["version"].clone()).collect();
    assert_eq!(numbers, [3, 2, 1]);
    assert!(server.get("/workflows/hello?version=1").expect(200)["text"].as_str().unwrap().contains("Hello"));
    assert_eq!(server.get("/workflows/hello?version=9").problem(404), "not_found");
    let run = |version: Value| {
        let body = json!({"workflow": "hello", "version": version});
        server.post("/runs?wait=30s", &body).expect(200)["result"].to_string()
    };
    assert!(run(json!(1)).contains("Hello") && run(Value::Null).contains("Hey"));
}

#[test]
fn a_document_with_errors_is_not_saved() {
    let server = Server::demo();
    let text = HELLO.replace("step_type: text", "step_type: txt");
    let rejected = server.post("/workflows", &json!({"text": text}));
    assert_eq!(rejected.problem(422), "invalid_document");
    let finding = &rejected.json()["diagnostics"][0];
    assert_eq!(finding["detail"].as_str().or(finding["kind"].as_str()), Some("unknown_step_type"));
    assert_eq!(server.get("/workflows/hello").problem(404), "not_found");
    for name in ["../etc", "a\\b", "", "\u{7}", "x\ny"] {
        let response = server.post("/workflows", &json!({"text": HELLO, "name": name}));
        assert_eq!(response.problem(422), "invalid_input", "{name:?}");
    }
    assert_eq!(server.replace("/workflows/a%2Fb", &[], &json!({"text": HELLO})).problem(422), "invalid_input");
}

#[test]
fn findings_have_places_and_fixes() {
    let server = Server::demo();
    let text = HELLO.replace("step_type: text", "step_type: txt");
    let checked = server.post("/check", &json!({"text": text})).expect(200);
    assert_eq!(checked["ok"], false);
    let finding = &checked["diagnostics"][0];
    assert_eq!(finding["line"], 4);
    let edit = &finding["fixes"][0]["edits"][0];
    assert_eq!(edit["text"], "text", "{finding:#}");
    let place = |key: &str| usize::try_from(edit[key].as_u64().unwrap()).unwrap();
    let (start, end) = (place("start"), place("end"));
    let fixed = format!("{}{}{}", &text[..start], edit["text"].as_str().unwrap(), &text[end..]);
    assert_eq!(fixed, HELLO);
    let checked = server.post("/check", &json!({"text": fixed})).expect(200);
    assert_eq!((&checked["ok"], &checked["structure"]["steps"]), (&json!(true), &json!(1)));
}

#[test]
fn documents_are_formatted_and_drawn() {
    let server = Server::demo();
    let formatted = server
        .post("/format", &json!({"text": "name: hello # a\nsteps:\n    -   {id: a, step_type: text, template: b}\n"}));
    let formatted = formatted.expect(200);
    assert!(formatted["text"].as_str().unwrap().contains("# a"));
    assert_eq!(formatted["changed"], true);
    let drawing = server.post("/drawing", &json!({"text": HELLO})).expect(200);
    assert!(drawing["nodes"].as_array().unwrap().iter().any(|node| node["id"] == "greet"), "{drawing:#}");
    assert_eq!(server.post("/drawing", &json!({"text": "steps: 5"})).problem(422), "invalid_document");
    for workflow in ["gates-if-else", "score-gate", "guard", "release", "role-gate"] {
        let drawing = server.get(&format!("/workflows/{workflow}/drawing")).expect(200);
        assert!(drawing["nodes"].as_array().unwrap().len() > 1 && !drawing["edges"].as_array().unwrap().is_empty());
    }
    assert!(server.get("/schema/graph").expect(200)["$schema"].is_string());
    assert_eq!(server.get("/schema/nope").problem(404), "not_found");
}

#[test]
fn every_template_runs_with_its_script() {
    let server = Server::demo();
    let templates = server.get("/templates").expect(200);
    for template in templates.as_array().unwrap().iter().filter(|template| template["inputs"].is_object()) {
        let name = template["name"].as_str().unwrap();
        server.post("/workflows", &json!({"text": template["text"], "name": format!("t-{name}")})).expect(201);
        let body = json!({"workflow": format!("t-{name}"), "script": template["script"], "inputs": template["inputs"]});
        let run = server.post("/runs?wait=30s", &body);
        assert_eq!(run.expect(200)["status"], "completed", "{name}: {}", run.text);
    }
}

#[test]
fn the_overview_counts_runs_and_approvals() {
    let server = Server::demo();
    server.run("gates-if-else", &json!({"input": "x"}));
    let body = json!({"workflow": "approved-email", "script": {"draft_email": ["Hello"]},
        "inputs": {"input": "a", "metadata": {"email": "bob@example.com"}}});
    server.post("/runs?wait=30s", &body).expect(200);
    let overview = server.get("/overview").expect(200);
    assert_eq!(overview["counts"]["completed_today"], 1, "{overview:#}");
    assert_eq!(overview["counts"]["waiting_people"], 1);
    assert_eq!(overview["approvals"]["mine"], 1);
    assert_eq!(overview["hours"].as_array().unwrap().len(), 24);
}

#[test]
fn versions_say_who_saved_them_and_why() {
    let server = Server::demo();
    let text = server.get("/workflows/gates-if-else").expect(200)["text"].as_str().unwrap().to_owned();
    let body = json!({"text": text, "name": "noted", "message": "  First. "});
    assert_eq!(server.post("/workflows", &body).status, 201);
    let changed = format!("{text}\n# Changed.\n");
    let saved = server.replace("/workflows/noted", &[], &json!({"text": changed, "base_version": 1})).expect(200);
    assert_eq!(saved["versions"][0]["version"], 2);
    assert_eq!((&saved["versions"][0]["saved_by"], &saved["versions"][0]["message"]), (&json!("ada"), &json!(null)));
    assert_eq!(
        (&saved["versions"][1]["saved_by"], &saved["versions"][1]["message"]),
        (&json!("ada"), &json!("First."))
    );
    assert_eq!((&saved["versions"][1]["active_runs"], &saved["script"]), (&json!(0), &json!(null)));
    assert_eq!(saved["input_schema"]["type"], "object");
    let late = server.replace("/workflows/noted", &[], &json!({"text": text, "base_version": 1}));
    assert_eq!(late.problem(409), "outdated");
    assert_eq!((&late.json()["saved_by"], late.json()["saved_at"].is_string()), (&json!("ada"), true));
    let long = json!({"text": changed, "base_version": 2, "message": "x".repeat(1_001)});
    assert_eq!(server.replace("/workflows/noted", &[], &long).problem(422), "invalid_input");
    let example = server.get("/workflows/gates-if-else").expect(200);
    assert_eq!(example["script"], json!({"name": "gates-if-else.script.yaml"}));
}
