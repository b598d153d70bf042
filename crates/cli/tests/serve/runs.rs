//! Runs over HTTP: start, list, trace, explain, and what can be done with a run.

use serde_json::{Value, json};

use crate::client::Server;

#[test]
fn a_run_is_started_and_its_result_shown() {
    let server = Server::demo();
    let run = server.run("approved-email", &json!({"input": "invoices", "metadata": {"email": "bob@example.com"}}));
    assert_eq!(run["status"], "completed", "{run:#}");
    assert_eq!(run["script"], "script");
    assert_eq!(run["input"], "invoices");
    assert_eq!(run["last_decision"]["step"], "route_decision");
    let id = run["id"].as_str().unwrap();
    let listed = server.get("/runs?workflow=approved-email").expect(200);
    assert_eq!(listed["items"][0]["id"], id);
    assert_eq!(listed["next"], Value::Null);
    assert_eq!(server.get("/runs?status=failed,running").expect(200)["items"], json!([]));
    assert_eq!(server.get("/runs/nope").problem(404), "not_found");
    assert_eq!(server.get("/runs?status=sleeping").problem(400), "bad_request");
}

#[test]
fn a_start_says_where_the_run_is() {
    let server = Server::demo();
    let started = server.post("/runs", &json!({"workflow": "gates-if-else", "inputs": {"input": "x"}, "id": "g1"}));
    started.expect(202);
    assert_eq!(started.headers["location"], "/api/v1/runs/g1");
    server.until("/runs/g1", |run| run["status"] == "completed");
    assert_eq!(server.post("/runs", &json!({"workflow": "nope"})).problem(404), "not_found");
    assert_eq!(server.post("/runs", &json!({"workflow": "triage", "inputs": 5})).problem(422), "invalid_input");
    assert_eq!(server.post("/runs", &json!({"workflow": "guard"})).problem(422), "invalid_input");
    assert_eq!(server.post("/runs", &json!({"workflow": "gates-if-else", "id": "a/b"})).problem(422), "invalid_input");
    assert_eq!(server.post("/runs?wait=2h", &json!({"workflow": "gates-if-else"})).problem(400), "bad_request");
}

#[test]
fn a_repeated_start_changes_nothing() {
    let server = Server::demo();
    let start = |key: &str, input: &str| {
        let headers = [("content-type", "application/json"), ("idempotency-key", key)];
        let body = json!({"workflow": "gates-if-else", "inputs": {"input": input}});
        server.send("POST", "/runs?wait=30s", &headers, &body.to_string())
    };
    let first = start("k1", "a");
    let id = first.expect(200)["id"].clone();
    let second = start("k1", "a");
    assert_eq!(second.expect(200)["id"], id);
    assert_eq!(second.headers["idempotency-replayed"], "true");
    assert!(!first.headers.contains_key("idempotency-replayed"));
    let other = start("k1", "b");
    assert_eq!(other.problem(409), "conflict");
    assert_eq!(other.json()["differences"], json!(["inputs"]));
    assert_ne!(start("k2", "a").expect(200)["id"], id);
    assert_eq!(server.get("/runs").expect(200)["items"].as_array().unwrap().len(), 2);
    assert_eq!(start(&"k".repeat(300), "a").problem(400), "bad_request");
}

#[test]
fn lists_have_pages() {
    let server = Server::demo();
    for number in 0..5 {
        let body = json!({"workflow": "gates-if-else", "inputs": {"input": "x"}, "id": format!("p{number}")});
        server.post("/runs?wait=30s", &body).expect(200);
    }
    let (mut ids, mut path) = (Vec::new(), "/runs?limit=2".to_owned());
    loop {
        let page = server.get(&path).expect(200);
        ids.extend(page["items"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/runs?limit=2&cursor={next}");
    }
    assert_eq!(ids, ["p4", "p3", "p2", "p1", "p0"]);
    assert_eq!(server.get("/runs?limit=0").problem(400), "bad_request");
    assert_eq!(server.get("/runs?cursor=x").problem(400), "bad_request");
}

#[test]
fn runs_have_tags_and_show_their_last_decision_in_lists() {
    let server = Server::demo();
    let body = json!({"workflow": "approved-email", "id": "t1", "tags": ["urgent"], "priority": 5,
        "inputs": {"input": "a", "metadata": {"email": "bob@example.com"}}});
    server.post("/runs?wait=30s", &body).expect(200);
    let tagged = server.get("/runs?tag=urgent").expect(200);
    assert_eq!(tagged["items"][0]["tags"], json!(["urgent"]));
    assert_eq!(tagged["items"][0]["last_decision"]["step"], "route_decision");
    assert_eq!(tagged["items"][0]["last_decision"]["branch"], "then");
    assert_eq!(server.get("/runs?tag=other").expect(200)["items"], json!([]));
    let odd = json!({"workflow": "approved-email", "priority": 9_000});
    assert_eq!(server.post("/runs", &odd).problem(422), "invalid_input");
}

#[test]
fn a_trace_is_read_in_pages_and_by_step() {
    let server = Server::demo();
    let run = server.run("row-enrichment", &json!({}));
    assert_eq!(run["status"], "completed", "{run:#}");
    let id = run["id"].as_str().unwrap();
    let tops = server.get(&format!("/runs/{id}/trace")).expect(200);
    let keys: Vec<&str> = tops["items"].as_array().unwrap().iter().map(|s| s["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["load#1", "parse#1", "loop#1"]);
    assert_eq!(tops["counts"], json!({"completed": 3}));
    let inside = server.get(&format!("/runs/{id}/trace?parent=loop%231&limit=3")).expect(200);
    assert_eq!(inside["total"], 4);
    assert_eq!(inside["items"].as_array().unwrap().len(), 3);
    assert_eq!(inside["items"][0]["iterations"][0]["loop"], "loop");
    let rest =
        server.get(&format!("/runs/{id}/trace?parent=loop%231&limit=3&cursor={}", inside["next"].as_str().unwrap()));
    assert_eq!(rest.expect(200)["next"], Value::Null);
    let response = server.get(&format!("/runs/{id}/trace?deep=true&q=note&state=completed")).expect(200);
    assert_eq!(response["total"], 2);
    let key = response["items"][1]["key"].as_str().unwrap().replace('#', "%23");
    let step = server.get(&format!("/runs/{id}/trace/{key}")).expect(200);
    assert_eq!(step["step"], "note");
    assert_eq!(step["output"], "n1");
    assert_eq!(server.get(&format!("/runs/{id}/trace/nope")).problem(404), "not_found");
    assert_eq!(server.get(&format!("/runs/{id}/trace?parent=nope")).problem(404), "not_found");
}

#[test]
fn large_values_are_cut_unless_they_are_wanted_whole() {
    let server = Server::demo();
    let script = json!({"draft_email": ["x".repeat(10_000)], "send": ["mail-1"], "review_email": ["approve"]});
    let body = json!({"workflow": "approved-email", "script": script, "id": "big",
        "inputs": {"input": "a", "metadata": {"email": "bob@example.com"}}});
    server.post("/runs?wait=30s", &body).expect(200);
    let cut = server.get("/runs/big/trace/draft_email%231").expect(200);
    assert!(cut["output"]["bytes"].as_u64().unwrap() >= 10_000, "{cut:#}");
    let whole = server.get("/runs/big/trace/draft_email%231?full=true").expect(200);
    assert_eq!(whole["output"].as_str().unwrap().len(), 10_000);
}

#[test]
fn a_decision_is_explained_and_decided_again() {
    let server = Server::demo();
    let run = server.run("approved-email", &json!({"input": "a", "metadata": {"email": "bob@example.com"}}));
    let id = run["id"].as_str().unwrap();
    let step = server.get(&format!("/runs/{id}/trace/route_decision%231")).expect(200);
    let decision = &step["decisions"][0];
    assert_eq!(decision["chosen"], "then");
    assert!(decision["branches"][0]["tree"].is_object(), "{decision:#}");
    let path = decision["values"][0]["path"].as_str().unwrap().to_owned();
    let what_if = format!("/runs/{id}/trace/route_decision%231/what-if");
    let again = server.post(&what_if, &json!({"with": {path: "reject"}})).expect(200);
    assert_eq!(again[0]["same"], false);
    assert_eq!(again[0]["would_be"]["chosen"], "else");
    let unread = server.post(&what_if, &json!({"with": {"nope": 1}}));
    assert_eq!(unread.problem(422), "invalid_input");
    assert!(!unread.json()["reads"].as_array().unwrap().is_empty());
}

#[test]
fn a_waiting_run_is_cancelled() {
    let server = Server::demo();
    let body = json!({"workflow": "approved-email", "id": "w1", "script": {"draft_email": ["Hello"]},
        "inputs": {"input": "a", "metadata": {"email": "bob@example.com"}}});
    let waiting = server.post("/runs?wait=30s", &body).expect(200);
    assert_eq!(waiting["status"], "waiting_people", "{waiting:#}");
    assert_eq!(waiting["waiting_for"]["approval"], "w1/4");
    assert_eq!(waiting["current"], json!(["review_email"]));
    assert_eq!(server.post("/runs/w1/cancel", &json!({"reason": "enough"})).status, 202);
    server.until("/runs/w1", |run| run["status"] == "cancelled");
    let ended = server.send("POST", "/runs/w1/cancel", &[], "");
    assert_eq!(ended.problem(409), "conflict");
    assert_eq!(server.post("/runs/w1/retry", &json!({})).problem(409), "conflict");
}

#[test]
fn a_run_is_forked_and_retried() {
    let server = Server::demo();
    let body = json!({"workflow": "approved-email", "id": "f0",
        "script": {"draft_email": [{"$error": "no connection", "$again": false}]},
        "inputs": {"input": "a", "metadata": {"email": "bob@example.com"}}});
    let failed = server.post("/runs?wait=30s", &body).expect(200);
    assert_eq!(failed["status"], "failed", "{failed:#}");
    assert!(failed["error"]["message"].as_str().unwrap().contains("no connection"));
    let retried = server.post("/runs/f0/retry", &json!({"id": "f1"}));
    retried.expect(202);
    assert_eq!(retried.headers["location"], "/api/v1/runs/f1");
    server.until("/runs/f1", |run| run["status"] == "failed");
    assert_eq!(server.post("/runs/f0/retry", &json!({"id": "f1"})).problem(409), "conflict");
    let done = server.run("approved-email", &json!({"input": "a", "metadata": {"email": "bob@example.com"}}));
    let id = done["id"].as_str().unwrap();
    server.post(&format!("/runs/{id}/fork"), &json!({"step": "route_decision", "id": "f2"})).expect(202);
    let forked = server.until("/runs/f2", |run| run["status"] == "completed");
    assert_eq!(forked["result"]["output"], done["result"]["output"]);
    assert_eq!(server.post(&format!("/runs/{id}/fork"), &json!({"step": "nope"})).problem(422), "invalid_input");
}

#[test]
fn a_run_is_exported_and_recorded() {
    let server = Server::demo();
    let run = server.run("approved-email", &json!({"input": "a", "metadata": {"email": "bob@example.com"}}));
    let id = run["id"].as_str().unwrap();
    let export = server.get(&format!("/runs/{id}/export"));
    assert_eq!(export.status, 200);
    assert!(export.text.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{}", export.text);
    let recording = server.get(&format!("/runs/{id}/recording"));
    assert!(recording.text.contains("$recorded"), "{}", recording.text);
    let body = json!({"workflow": "approved-email", "id": "replayed", "script": recording.text,
        "inputs": {"input": "a", "metadata": {"email": "bob@example.com"}}});
    let replayed = server.post("/runs?wait=30s", &body).expect(200);
    assert_eq!(replayed["script"], "recording");
    assert_eq!(replayed["result"]["output"], run["result"]["output"]);
}

#[test]
fn a_run_has_its_document_and_its_drawing() {
    let server = Server::demo();
    let run = server.run("approved-email", &json!({"input": "a", "metadata": {"email": "bob@example.com"}}));
    let id = run["id"].as_str().unwrap();
    let source = server.get(&format!("/runs/{id}/source")).expect(200);
    assert!(source["text"].as_str().unwrap().contains("route_decision"));
    let drawing = server.get(&format!("/runs/{id}/drawing")).expect(200);
    let nodes = drawing["nodes"].as_array().unwrap();
    let decision = nodes.iter().find(|node| node["id"] == "route_decision").unwrap();
    assert_eq!(decision["shape"], "decision");
    assert_eq!(decision["branches"][0]["targets"], json!(["send"]));
    assert!(decision["span"]["line"].as_u64().unwrap() > 1);
    let edges = drawing["edges"].as_array().unwrap();
    assert!(
        edges.iter().any(|e| e["from"] == "route_decision" && e["from_branch"] == "then" && e["to"] == "send"),
        "{edges:#?}"
    );
}

#[test]
fn a_dry_run_stores_nothing() {
    let server = Server::demo();
    let body = json!({"workflow": "approved-email", "dry_run": true,
        "inputs": {"input": "a", "metadata": {"email": "bob@example.com"}}});
    let tried = server.post("/runs", &body).expect(200);
    assert_eq!(tried["status"], "completed", "{tried:#}");
    assert_eq!(tried["steps"][0]["step"], "draft_email");
    let lacking = json!({"workflow": "approved-email", "dry_run": true, "script": {"review_email": ["approve"]},
        "inputs": {"input": "a", "metadata": {"email": "bob@example.com"}}});
    let lacking = server.post("/runs", &lacking).expect(200);
    assert_eq!(lacking["missing"], json!({"draft_email": "model"}));
    assert_eq!(server.get("/runs").expect(200)["items"], json!([]));
}

#[test]
fn a_run_starts_with_files() {
    let server = Server::demo();
    let send = |parts: &str| {
        let headers = [("content-type", "multipart/form-data; boundary=b")];
        server.send("POST", "/runs?wait=30s", &headers, &format!("{parts}--b--\r\n"))
    };
    let request = |workflow: &str| {
        let request = json!({"workflow": workflow, "inputs": {"input": "see file"}});
        format!("--b\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n{request}\r\n")
    };
    let file = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"note.txt\"\r\nContent-Type: text/plain\r\n\r\nhello\r\n";
    let run = send(&(request("attachments") + file)).expect(200);
    assert_eq!(run["input"]["attachments"][0]["name"], "note.txt", "{run:#}");
    let path = file.replace("note.txt", "../../etc/passwd");
    let traversal = send(&(request("attachments") + &path));
    assert_eq!(traversal.problem(422), "invalid_input");
    assert_eq!(send(&(request("premium-features") + file)).problem(422), "invalid_input");
    assert_eq!(send(file).problem(422), "invalid_input");
    assert_eq!(send("--c\r\n").problem(422), "invalid_input");
}

#[test]
fn signals_do_not_answer_approvals() {
    let server = Server::demo();
    let body = json!({"workflow": "approved-email", "id": "s1", "script": {"draft_email": ["Hello"]},
        "inputs": {"input": "a", "metadata": {"email": "bob@example.com"}}});
    server.post("/runs?wait=30s", &body).expect(200);
    let vote = json!({"name": "vote", "payload": {"request": 1, "choice": "approve"}});
    assert_eq!(server.post("/runs/s1/signals", &vote).problem(422), "invalid_input");
    assert_eq!(server.post("/runs/s1/signals", &json!({"name": "nope"})).problem(409), "conflict");
}

#[test]
fn a_run_cannot_have_the_id_of_a_path() {
    let server = Server::demo();
    let start =
        |id: &str| server.post("/runs", &json!({"workflow": "approved-email", "id": id, "inputs": {"input": "x"}}));
    let rejected = start("bulk");
    assert_eq!(rejected.problem(422), "invalid_input");
    assert!(rejected.text.contains("`bulk` is reserved"), "{}", rejected.text);
    assert_eq!(start("bulk-1").status, 202);
    let fork = server.post("/runs/bulk-1/fork", &json!({"events": 1, "id": "bulk"}));
    assert_eq!(fork.problem(422), "invalid_input");
    let local = crate::client::command(&["run", "-", "--id", "bulk"]).output().expect("the program runs");
    assert!(!local.status.success());
    assert!(String::from_utf8_lossy(&local.stderr).contains("`bulk` is reserved"), "{local:?}");
}
