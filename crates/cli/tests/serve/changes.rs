//! Changes of runs over HTTP: several at once, on another version of their workflow, and of their tags.

use serde_json::{Value, json};

use crate::client::Server;

const EMAIL: &str = "bob@example.com";

fn start(server: &Server, id: &str, script: &Value) -> Value {
    let body = json!({"workflow": "approved-email", "id": id, "script": script,
        "inputs": {"input": "a", "metadata": {"email": EMAIL}}});
    server.post("/runs?wait=30s", &body).expect(200)
}

fn waiting(server: &Server, id: &str) {
    assert_eq!(start(server, id, &json!({"draft_email": ["Hello"], "send": ["mail-1"]}))["status"], "waiting_people");
}

#[test]
fn several_runs_are_cancelled_after_a_preview() {
    let server = Server::demo();
    waiting(&server, "b1");
    waiting(&server, "b2");
    server.run("approved-email", &json!({"input": "a", "metadata": {"email": EMAIL}}));
    let change = |dry_run: bool, confirmation: Option<&str>| {
        server.post(
            "/runs/bulk",
            &json!({"action": "cancel", "filter": {"workflow": "approved-email"}, "dry_run": dry_run,
                "confirmation": confirmation, "reason": "not needed"}),
        )
    };
    let preview = change(true, None).expect(200);
    assert_eq!((&preview["count"], &preview["applied"]), (&json!(2), &json!(false)), "{preview:#}");
    assert_eq!(preview["runs"][0]["id"], "b1");
    assert_eq!(preview["left"], json!([{"reason": "They have ended.", "count": 1}]));
    assert_eq!(server.get("/runs/b1").expect(200)["status"], "waiting_people");
    assert_eq!(change(false, None).problem(409), "conflict");
    // A run that started since is not part of the preview.
    waiting(&server, "b3");
    let confirmation = preview["confirmation"].as_str().unwrap();
    let outdated = change(false, Some(confirmation));
    assert_eq!(outdated.problem(409), "conflict");
    let confirmation = outdated.json()["preview"]["confirmation"].as_str().unwrap().to_owned();
    let done = change(false, Some(&confirmation)).expect(200);
    assert_eq!(done["outcomes"].as_array().unwrap().len(), 3, "{done:#}");
    assert_eq!(done["outcomes"][2], json!({"run": "b3", "changed": true, "new_run": null, "problem": null}));
    for run in ["b1", "b2", "b3"] {
        server.until(&format!("/runs/{run}"), |run| run["status"] == "cancelled");
    }
    let wrong = json!({"action": "delete"});
    assert_eq!(server.post("/runs/bulk", &wrong).problem(422), "invalid_input");
}

#[test]
fn failed_runs_are_retried_in_new_runs() {
    let server = Server::demo();
    let failing = json!({"draft_email": [{"$error": "no connection", "$again": false}, "Hello"], "review_email": ["approve"], "send": ["m"]});
    assert_eq!(start(&server, "r1", &failing)["status"], "failed");
    let filter = json!({"status": ["failed"], "since": "1h"});
    let preview = server.post("/runs/bulk", &json!({"action": "retry", "filter": filter, "dry_run": true})).expect(200);
    let request = json!({"action": "retry", "filter": filter, "confirmation": preview["confirmation"]});
    let done = server.post("/runs/bulk", &request).expect(200);
    let new = done["outcomes"][0]["new_run"].as_str().unwrap().to_owned();
    // The script fails the call again.
    server.until(&format!("/runs/{new}"), |run| run["status"] == "failed");
}

#[test]
fn tags_and_the_priority_of_a_run_change() {
    let server = Server::demo();
    waiting(&server, "t1");
    let patch =
        |body: &Value| server.send("PATCH", "/runs/t1", &[("content-type", "application/json")], &body.to_string());
    let run = patch(&json!({"add_tags": ["urgent", "eu"], "priority": 7})).expect(200);
    assert_eq!((&run["tags"], &run["priority"]), (&json!(["eu", "urgent"]), &json!(7)));
    let run = patch(&json!({"remove_tags": ["eu"]})).expect(200);
    assert_eq!((&run["tags"], &run["priority"]), (&json!(["urgent"]), &json!(7)));
    assert_eq!(server.get("/runs?tag=urgent").expect(200)["items"][0]["id"], "t1");
    assert_eq!(patch(&json!({"priority": 1_000})).problem(422), "invalid_input");
    assert_eq!(patch(&json!({"status": "failed"})).problem(422), "invalid_input");
}

#[test]
fn lists_end_at_a_time() {
    let server = Server::demo();
    waiting(&server, "u1");
    assert_eq!(server.get("/runs?until=2026-01-01T00:00:00Z").expect(200)["items"], json!([]));
    assert_eq!(server.get("/runs?since=1h&until=0s").expect(200)["items"][0]["id"], "u1");
    assert_eq!(server.get("/runs?until=yesterday").problem(400), "bad_request");
}

/// A workflow whose approval waits, in two versions: the second has another step after the approval.
fn two_versions(server: &Server) -> (String, String) {
    let first = server.get("/workflows/approved-email").expect(200)["text"].as_str().unwrap().to_owned();
    let body = json!({"text": first, "name": "mail"});
    let saved = server.post("/workflows", &body);
    assert_eq!(saved.status, 201, "{}", saved.text);
    let second = first.replace("Rejected:", "Declined:");
    assert_ne!(first, second);
    (first, second)
}

#[test]
fn a_run_continues_on_a_changed_workflow() {
    let server = Server::demo();
    let (_, second) = two_versions(&server);
    let script = json!({"draft_email": ["Hello"], "send": ["mail-1"]});
    let body = json!({"workflow": "mail", "id": "m1", "script": script,
        "inputs": {"input": "a", "metadata": {"email": EMAIL}}});
    assert_eq!(server.post("/runs?wait=30s", &body).expect(200)["status"], "waiting_people");
    let saved = server.replace("/workflows/mail", &[], &json!({"text": second, "base_version": 1})).expect(200);
    assert_eq!(saved["version"], 2);
    let forked = server.post("/runs/m1/fork", &json!({"with": {"version": 2}, "id": "m2"})).expect(202);
    assert_eq!(forked["version"], 2, "{forked:#}");
    assert_eq!(server.post("/runs/m1/fork", &json!({"id": "m3"})).problem(422), "invalid_input");
    assert_eq!(server.post("/runs/m1/fork", &json!({"with": {}})).problem(422), "invalid_input");
    assert_eq!(server.post("/runs/m1/fork", &json!({"with": {"version": 9}})).problem(404), "not_found");
    // The plan changes nothing.
    let plan = server.post("/workflows/mail/migrate", &json!({"to": 2})).expect(200);
    assert_eq!(plan["items"].as_array().unwrap().len(), 1, "{plan:#}");
    assert_eq!((&plan["items"][0]["run"], &plan["items"][0]["can_move"]), (&json!("m1"), &json!(true)), "{plan:#}");
    assert_eq!(server.get("/runs/m1").expect(200)["version"], 1);
    let moved = server.post("/workflows/mail/migrate", &json!({"to": 2, "runs": ["m1"], "apply": true})).expect(200);
    assert_eq!(moved["items"][0]["moved"], true, "{moved:#}");
    assert_eq!(server.get("/runs/m1").expect(200)["version"], 2);
    let again = server.post("/workflows/mail/migrate", &json!({"to": 2, "runs": ["m1"], "apply": true})).expect(200);
    assert_eq!(again["items"], json!([]));
    assert_eq!(server.post("/workflows/nope/migrate", &json!({"to": 1})).problem(404), "not_found");
    let other = json!({"to": 2, "runs": ["nope"]});
    assert_eq!(server.post("/workflows/mail/migrate", &other).problem(404), "not_found");
}

#[test]
fn a_failed_run_is_retried_on_a_document_that_is_permitted() {
    let server = Server::demo();
    let (_, second) = two_versions(&server);
    let failing = json!({"draft_email": [{"$error": "no connection", "$again": false}, "Hello"], "review_email": ["approve"], "send": ["m"]});
    let body = json!({"workflow": "mail", "id": "m1", "script": failing,
        "inputs": {"input": "a", "metadata": {"email": EMAIL}}});
    assert_eq!(server.post("/runs?wait=30s", &body).expect(200)["status"], "failed");
    server.post("/runs/m1/retry", &json!({"with": {"text": second}, "id": "m2"})).expect(202);
    let retried = server.until("/runs/m2", |run| run["status"] == "failed");
    assert_eq!(retried["version"], 2, "{retried:#}");
    let broken = json!({"with": {"text": "steps: 5"}, "id": "m3"});
    assert_eq!(server.post("/runs/m1/retry", &broken).problem(422), "invalid_document");
}

#[test]
fn values_and_decisions_are_shown_in_parts() {
    let server = Server::demo();
    let script = json!({"draft_email": ["x".repeat(100_000)], "send": ["mail-1"], "review_email": ["approve"]});
    start(&server, "v1", &script);
    let first = server.get("/runs/v1/trace/draft_email%231/values/output").expect(200);
    assert_eq!(
        (&first["total_bytes"], &first["next"], &first["is_text"]),
        (&json!(100_000), &json!(65_536), &json!(true))
    );
    let rest = server.get("/runs/v1/trace/draft_email%231/values/output?offset=65536").expect(200);
    assert_eq!((rest["text"].as_str().unwrap().len(), &rest["next"]), (34_464, &Value::Null));
    assert_eq!(server.get("/runs/v1/trace/draft_email%231/values/nope").problem(404), "not_found");
    assert_eq!(server.get("/runs/v1/trace/draft_email%231/values/output?bytes=0").problem(400), "bad_request");
    assert_eq!(server.get("/runs/v1/trace/draft_email%231/values/output?offset=100001").problem(422), "invalid_input");
    // A decision can be evaluated again with what it read.
    let decision = server.get("/runs/v1/trace/route_decision%231/playground").expect(200);
    let branch = &decision["branches"][0];
    assert_eq!(branch["chosen"], true, "{decision:#}");
    let eval = json!({"condition": branch["condition"], "spelling": branch["spelling"], "dialect": decision["dialect"],
        "cases": [decision["context"]]});
    let result = server.post("/eval", &eval).expect(200);
    assert_eq!(result["cases"][0]["outcome"], true, "{decision:#} {result:#}");
    assert_eq!(server.get("/runs/v1/trace/draft_email%231/playground").problem(404), "not_found");
}

#[test]
fn iterations_of_a_loop_are_listed_with_their_status() {
    let server = Server::demo();
    let run = server.run("row-enrichment", &json!({}));
    let id = run["id"].as_str().unwrap();
    let page = server.get(&format!("/runs/{id}/trace/loop%231/iterations?limit=1")).expect(200);
    assert_eq!(page["items"][0]["index"], 0, "{page:#}");
    assert_eq!(page["items"][0]["status"], "completed");
    let total = page["total"].as_u64().unwrap();
    assert_eq!(page["ranges"]["completed"], json!([[0, total - 1]]));
    assert_eq!(page["counts"]["completed"], total);
    assert_eq!(
        server.get(&format!("/runs/{id}/trace/loop%231/iterations?state=failed")).expect(200)["items"],
        json!([])
    );
    let second = server.get(&format!("/runs/{id}/trace?parent=loop%231&iteration=1")).expect(200);
    assert!(second["total"].as_u64().unwrap() > 0);
    let items = second["items"].as_array().unwrap();
    assert!(items.iter().all(|step| step["iterations"][0]["index"] == 1), "{second:#}");
    let notes = server.get(&format!("/runs/{id}/trace?deep=true&step=note")).expect(200);
    assert_eq!(notes["total"], total);
    let key = notes["items"][0]["key"].as_str().unwrap().replace('#', "%23");
    let after = server.get(&format!("/runs/{id}/trace?deep=true&step=note&after={key}")).expect(200);
    assert_eq!(after["total"], total - 1);
    let deciding = server.get(&format!("/runs/{id}/trace?deep=true&decisions=true")).expect(200);
    assert!(deciding["items"].as_array().unwrap().iter().all(|step| step["decisions"] != json!([])), "{deciding:#}");
}

#[test]
fn child_runs_are_listed() {
    let server = Server::demo();
    waiting(&server, "c1");
    assert_eq!(server.get("/runs/c1/children").expect(200)["items"], json!([]));
    assert_eq!(server.get("/runs/nope/children").problem(404), "not_found");
}

#[test]
fn a_changed_workflow_that_runners_perform_needs_permissions_although_a_script_answered_its_steps() {
    let server = Server::demo();
    let text = "name: deploy\nsteps:\n  - {id: deploy, step_type: prompt_call, prompt_template: Go}\n";
    server.post("/workflows", &json!({"text": text})).expect(201);
    let body = json!({"workflow": "deploy", "id": "d1", "script": {"deploy": ["done"]}});
    assert_eq!(server.post("/runs?wait=30s", &body).expect(200)["status"], "completed");
    let changed = "name: deploy\nsteps:\n  - {id: deploy, step_type: command, command: echo deployed}\n";
    let fork = |live: bool, id: &str| {
        server.post("/runs/d1/fork", &json!({"step": "deploy", "id": id, "live": live, "with": {"text": changed}}))
    };
    assert_eq!(fork(true, "d2").problem(403), "not_permitted");
    assert_eq!(fork(false, "d3").status, 202);
    let typo = json!({"step": "deploy", "lvie": true});
    assert_eq!(server.post("/runs/d1/fork", &typo).problem(422), "invalid_input");
}

#[test]
fn runs_that_cannot_change_do_not_keep_a_bulk_action_from_the_others() {
    let server = Server::demo();
    waiting(&server, "oldest");
    let text = "name: tiny\nsteps:\n  - {id: t, step_type: text, template: Hello}\n";
    server.post("/workflows", &json!({"text": text})).expect(201);
    for number in 0..505 {
        let body = json!({"workflow": "tiny", "id": format!("n{number}")});
        assert!(matches!(server.post("/runs", &body).status, 200 | 202));
    }
    server.until("/runs?workflow=tiny&status=running", |runs| runs["items"] == json!([]));
    let change = |more: Value| {
        let mut body = json!({"action": "cancel"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        server.post("/runs/bulk", &body)
    };
    let preview = change(json!({"dry_run": true})).expect(200);
    assert_eq!(preview["runs"][0]["id"], "oldest", "{preview:#}");
    assert_eq!((&preview["more"], &preview["next"]), (&json!(false), &Value::Null));
    assert_eq!(preview["left"], json!([{"reason": "They have ended.", "count": 505}]));
    let done = change(json!({"confirmation": preview["confirmation"]})).expect(200);
    assert_eq!(done["outcomes"][0]["changed"], true, "{done:#}");
    let beyond =
        change(json!({"dry_run": true, "after": server.get("/runs?limit=200").expect(200)["next"]})).expect(200);
    assert_eq!(beyond["left"], json!([{"reason": "They have ended.", "count": 306}]));
    assert_eq!(change(json!({"dry_run": true, "after": "x"})).problem(400), "bad_request");
}

#[test]
fn unknown_parameters_and_fields_are_rejected() {
    let server = Server::demo();
    waiting(&server, "p1");
    for path in [
        "/runs?stat=failed",
        "/runs/p1?x",
        "/approvals?workflows=a",
        "/me?x=1",
        "/events?topic=runs",
        "/workflows?limit=2&name=a",
    ] {
        let rejected = server.get(path);
        assert_eq!(rejected.problem(400), "bad_request", "{path}");
        assert!(
            rejected.json()["detail"].as_str().unwrap().contains("is not a parameter"),
            "{path}: {}",
            rejected.text
        );
    }
    server.get("/runs?status=failed&limit=2").expect(200);
    let refused = server.post("/runs?wai=30s", &json!({"workflow": "approved-email"}));
    assert_eq!(refused.problem(400), "bad_request");
    assert_eq!(server.post("/approvals/p1/4/cancel", &json!({"reasn": "x"})).problem(422), "invalid_input");
    let what_if = json!({"with": {}, "decison": 1});
    assert_eq!(server.post("/runs/p1/trace/draft_email/what-if", &what_if).problem(422), "invalid_input");
}
