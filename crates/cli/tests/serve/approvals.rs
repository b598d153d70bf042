//! Approvals over HTTP.

use serde_json::{Value, json};

use crate::client::{Response, Server};

/// A run that waits for an approval of ada.
fn waiting(server: &Server, id: &str) {
    let body = json!({"workflow": "approved-email", "id": id, "script": {"draft_email": ["Hello"], "send": ["mail-1"]},
        "inputs": {"input": "a", "metadata": {"email": "bob@example.com"}}});
    assert_eq!(server.post("/runs?wait=30s", &body).expect(200)["status"], "waiting_people");
}

fn vote(server: &Server, approval: &str, key: Option<&str>, body: &Value) -> Response {
    let mut headers = vec![("content-type", "application/json")];
    headers.extend(key.map(|key| ("idempotency-key", key)));
    server.send("POST", &format!("/approvals/{approval}/vote"), &headers, &body.to_string())
}

#[test]
fn an_approval_is_listed_shown_and_answered() {
    let server = Server::demo();
    waiting(&server, "a1");
    let mine = server.get("/approvals").expect(200);
    let approval = &mine["items"][0];
    assert_eq!(approval["key"], "a1/4");
    assert_eq!(approval["may_vote"], true);
    assert_eq!(approval["choices"][0], json!({"name": "approve", "meaning": "yes"}));
    let one = server.get("/approvals/a1/4").expect(200);
    assert!(one["prompt"].as_str().unwrap().contains("Hello"), "{one:#}");
    let voted = vote(&server, "a1/4", None, &json!({"choice": "approve", "comment": "fine"})).expect(200);
    assert_eq!((&voted["status"], &voted["outcome"]), (&json!("settled"), &json!("approve")));
    assert_eq!(voted["votes"][0]["user"], "ada");
    server.until("/runs/a1", |run| run["status"] == "completed");
    assert_eq!(server.get("/approvals?show=all").expect(200)["items"], json!([]));
    let answered = server.get("/approvals?show=answered").expect(200);
    assert_eq!(answered["items"][0]["votes"][0]["comment"], "fine");
    assert_eq!(server.get("/approvals?show=none").problem(400), "bad_request");
}

#[test]
fn a_repeated_vote_changes_nothing_and_another_is_rejected() {
    let server = Server::demo();
    waiting(&server, "a1");
    let approve = json!({"choice": "approve"});
    vote(&server, "a1/4", Some("k"), &approve).expect(200);
    assert_eq!(vote(&server, "a1/4", Some("k"), &approve).expect(200)["outcome"], "approve");
    let late = vote(&server, "a1/4", None, &approve);
    assert_eq!(late.problem(409), "not_pending");
    assert_eq!(late.json()["approval"]["votes"][0]["choice"], "approve");
    let other = vote(&server, "a1/4", Some("k2"), &json!({"choice": "reject"}));
    assert_eq!(other.problem(409), "not_pending");
}

#[test]
fn votes_that_are_not_possible_are_rejected_with_reasons() {
    let server = Server::demo();
    waiting(&server, "a1");
    assert_eq!(vote(&server, "a1/4", None, &json!({"choice": "maybe"})).problem(422), "unknown_choice");
    assert_eq!(vote(&server, "a1/7", None, &json!({"choice": "approve"})).problem(404), "not_found");
    assert_eq!(vote(&server, "a2/1", None, &json!({"choice": "approve"})).problem(404), "not_found");
    assert_eq!(vote(&server, "a1/4", None, &json!({"choice": 1})).problem(422), "invalid_input");
    assert_eq!(vote(&server, "a1/4", None, &json!({"choice": "approve", "as": "eve"})).problem(422), "invalid_input");
    assert_eq!(server.get("/approvals/a1/4").expect(200)["votes"], json!([]));
}

#[test]
fn only_approvers_vote() {
    let server = Server::demo();
    let body = json!({"workflow": "approved-email", "id": "a1", "script": {"draft_email": ["Hello"]},
        "inputs": {"input": "a", "metadata": {"email": "b@example.com"},
            "account": {"owner": "bob", "admins": ["eve"], "members": []}}});
    server.post("/runs?wait=30s", &body).expect(200);
    assert_eq!(server.get("/approvals").expect(200)["items"], json!([]));
    let others = server.get("/approvals?show=all").expect(200);
    assert_eq!(others["items"][0]["may_vote"], false);
    assert_eq!(vote(&server, "a1/4", None, &json!({"choice": "approve"})).problem(403), "not_recipient");
}

#[test]
fn an_approval_is_cancelled() {
    let server = Server::demo();
    waiting(&server, "a1");
    let cancelled = server.post("/approvals/a1/4/cancel", &json!({"reason": "not needed"})).expect(200);
    assert_eq!(cancelled["outcome"], "cancelled", "{cancelled:#}");
    assert_eq!(server.send("POST", "/approvals/a1/4/cancel", &[], "").problem(409), "not_pending");
}

#[test]
fn the_first_answer_settles_an_approval_without_votes() {
    let server = Server::demo();
    let agents = json!({"writer": ["A long text."], "rewriter": ["A short text."], "publisher": ["Published."]});
    let body = json!({"workflow": "draft-and-approve", "id": "g1", "script": {"agents": agents}});
    let waits = server.post("/runs?wait=30s", &body).expect(200);
    assert_eq!(waits["status"], "waiting_people", "{waits:#}");
    let mine = server.get("/approvals").expect(200);
    let key = mine["items"][0]["key"].as_str().unwrap().to_owned();
    assert_eq!(mine["items"][0]["recipients"], Value::Null);
    assert_eq!(vote(&server, &key, None, &json!({"choice": "perhaps"})).problem(422), "unknown_choice");
    let outcomes = server.get(&format!("/approvals/{key}/outcomes")).expect(200);
    assert_eq!(outcomes["items"].as_array().unwrap().len(), 2, "{outcomes:#}");
    let voted = vote(&server, &key, None, &json!({"choice": "approve"})).expect(200);
    assert_eq!((&voted["status"], &voted["votes"][0]["user"]), (&json!("settled"), &json!("ada")), "{voted:#}");
    assert_eq!(server.get("/approvals").expect(200)["items"], json!([]));
    let answered = server.get("/approvals?show=answered").expect(200);
    assert_eq!((&answered["items"][0]["key"], &answered["items"][0]["settled_by"]), (&json!(key), &json!("answer")));
}

#[test]
fn an_approval_shows_where_its_choices_lead() {
    let server = Server::demo();
    waiting(&server, "o1");
    let outcomes = server.get("/approvals/o1/4/outcomes").expect(200);
    let items = outcomes["items"].as_array().unwrap();
    let of = |choice: &str| items.iter().find(|item| item["choice"] == choice).unwrap();
    assert!(of("approve")["leads_to"].as_array().unwrap().contains(&json!("send")), "{outcomes:#}");
    assert!(!of("deny")["leads_to"].as_array().unwrap().contains(&json!("send")), "{outcomes:#}");
    let routed = |item: &Value| item["decisions"].as_array().unwrap().iter().any(|d| d["step"] == "route_decision");
    assert!(routed(of("approve")), "{outcomes:#}");
    assert_eq!((&of("timeout")["is_timeout"], &of("timeout")["ends"]), (&json!(true), &json!("completed")));
    // Nothing was performed, and nothing has changed.
    assert_eq!(server.get("/runs/o1").expect(200)["status"], "waiting_people");
    vote(&server, "o1/4", None, &json!({"choice": "approve"})).expect(200);
    assert_eq!(server.get("/approvals/o1/4/outcomes").expect(200)["items"], json!([]));
    assert_eq!(server.get("/approvals/o1/9/outcomes").problem(404), "not_found");
}

#[test]
fn a_vote_is_delegated_and_taken_back() {
    let server = Server::demo();
    waiting(&server, "d1");
    let one = server.get("/approvals/d1/4").expect(200);
    assert_eq!((&one["may_delegate"], &one["may_cancel"], &one["input"]), (&json!(true), &json!(true), &json!("a")));
    assert_eq!(one["progress"][0], json!({"choice": "approve", "votes": 0, "required": 1, "groups": []}), "{one:#}");
    let until = "2100-01-01T00:00:00Z";
    let delegate = |body: &Value| server.post("/approvals/d1/4/delegate", body);
    let delegated = delegate(&json!({"to": "fay", "until": until})).expect(200);
    assert_eq!(delegated["delegations"][0]["to"], "fay", "{delegated:#}");
    assert_eq!(delegate(&json!({"to": "fay", "until": "2001-01-01T00:00:00Z"})).problem(422), "bad_delegate");
    assert_eq!(delegate(&json!({"to": "ada", "until": until})).problem(422), "bad_delegate");
    assert_eq!(delegate(&json!({"to": "fay", "until": "soon"})).problem(422), "invalid_input");
    let revoked = server.send("DELETE", "/approvals/d1/4/delegate", &[], "").expect(200);
    assert_eq!(revoked["delegations"], json!([]));
    vote(&server, "d1/4", None, &json!({"choice": "approve"})).expect(200);
    assert_eq!(delegate(&json!({"to": "fay", "until": until})).problem(409), "not_pending");
}

const FORM: &str = r"name: refund
steps:
  - id: ask
    step_type: human_in_the_loop
    prompt_template: Pay it back?
    recipient_distribution: owner_admins
    form:
      type: object
      properties: {amount: {type: number, maximum: 100}}
      required: [amount]
";

#[test]
fn a_vote_carries_a_form() {
    let server = Server::demo();
    let saved = server.post("/workflows", &json!({"text": FORM}));
    assert_eq!(saved.status, 201, "{}", saved.text);
    let waits = server.post("/runs?wait=30s", &json!({"workflow": "refund", "id": "f1"})).expect(200);
    let key = waits["waiting_for"]["approval"].as_str().unwrap().to_owned();
    let one = server.get(&format!("/approvals/{key}")).expect(200);
    assert_eq!(one["form"]["required"], json!(["amount"]), "{one:#}");
    let bad = vote(&server, &key, None, &json!({"choice": "approve", "form": {"amount": 500}}));
    assert_eq!(bad.problem(422), "bad_form");
    assert_eq!(bad.json()["field"], "amount");
    let outdated = json!({"choice": "approve", "form": {"amount": 50}, "shown_hash": "0"});
    assert_eq!(vote(&server, &key, None, &outdated).problem(409), "approval_outdated");
    let good = json!({"choice": "approve", "form": {"amount": 50}, "shown_hash": one["shown_hash"]});
    let voted = vote(&server, &key, Some("k"), &good).expect(200);
    assert_eq!(voted["votes"][0]["form"], json!({"amount": 50}), "{voted:#}");
    assert_eq!((&voted["settled_by"], voted["settled"].is_string()), (&json!("quorum"), true), "{voted:#}");
    assert_eq!(vote(&server, &key, Some("k"), &good).expect(200)["outcome"], "approve");
    let other = json!({"choice": "approve", "form": {"amount": 60}});
    assert_eq!(vote(&server, &key, Some("k"), &other).problem(409), "not_pending");
}

/// A graph with an approval by anyone and, behind it, one by rules.
const TWO_KINDS: &str = r#"{"nodes": [{"id": "s", "type": "start", "data": {"initialInput": "x"}},
    {"id": "first", "type": "approval", "data": {"prompt": "Go?"}},
    {"id": "second", "type": "approval", "data": {"prompt": "Really?", "approval": {"self_approval": true}}}],
    "connections": [{"source": "s", "target": "first"}, {"source": "first", "target": "second", "sourceHandle": "approve"}]}"#;

#[test]
fn settled_approvals_of_both_kinds_in_one_run_are_listed() {
    let server = Server::demo();
    server.post("/workflows", &json!({"text": TWO_KINDS, "name": "two-kinds"})).expect(201);
    server.post("/runs?wait=30s", &json!({"workflow": "two-kinds", "id": "k1"})).expect(200);
    vote(&server, "k1/first", None, &json!({"choice": "approve"})).expect(200);
    let steps = |list: &Value| -> Vec<String> {
        let items = list["items"].as_array().unwrap().iter();
        items.map(|approval| approval["step"].as_str().unwrap().to_owned()).collect()
    };
    let open = server.until("/approvals?show=all", |list| steps(list) == ["second"]);
    let answered = |expected: &[&str]| {
        let list = server.get("/approvals?show=answered&workflow=two-kinds").expect(200);
        assert_eq!(steps(&list), expected, "{list:#}");
    };
    answered(&["first"]);
    vote(&server, open["items"][0]["key"].as_str().unwrap(), None, &json!({"choice": "approve"})).expect(200);
    server.until("/runs/k1", |run| run["status"] == "completed");
    answered(&["second", "first"]);
}
