//! Sessions and conditions over HTTP.

use serde_json::{Value, json};

use crate::client::Server;

#[test]
fn a_session_offers_tools_by_its_step() {
    let server = Server::demo();
    let path = "/agents/research-then-plan/sessions/s1";
    let opened = server.get(&format!("{path}?tools=web_search,scrape,plan,summarize")).expect(200);
    assert_eq!(opened["sessionId"], "s1");
    let message = server.post(&format!("{path}/messages"), &json!({"text": "research caching strategies"})).expect(200);
    assert_eq!(message["activeStep"], "research", "{message:#}");
    assert!(!message["allowedTools"].as_array().unwrap().is_empty());
    let used =
        |key: &str| server.post(&format!("{path}/tools"), &json!({"tool": "web_search", "key": key})).expect(200);
    assert_eq!(used("k1")["recentlyUsedTools"], json!(["web_search"]));
    let repeated = used("k1");
    assert_eq!((&repeated["recentlyUsedTools"], &repeated["changed"]), (&json!(["web_search"]), &json!(false)));
    assert_eq!(used("k2")["recentlyUsedTools"], json!(["web_search", "web_search"]));
    let state = server.get(&format!("{path}/state")).expect(200);
    let kinds: Vec<&str> = state["events"].as_array().unwrap().iter().map(|e| e["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["message", "tool", "tool"]);
    assert_eq!(state["events"][0]["step_after"], "research");
    let first = state["events"][0]["n"].as_u64().unwrap();
    let before = server.get(&format!("{path}/state?at={first}")).expect(200);
    assert_eq!(before["events"].as_array().unwrap().len(), 1);
    assert!(before["steps"].as_array().unwrap().iter().any(|step| step["active"] == true), "{before:#}");
    let reset = server.send("DELETE", path, &[], "").expect(200);
    assert_eq!(reset["recentlyUsedTools"], json!([]));
    let listed = server.get("/sessions").expect(200);
    assert_eq!(listed["items"][0]["id"], "s1");
}

#[test]
fn sessions_reject_what_they_do_not_understand() {
    let server = Server::demo();
    let path = "/agents/research-then-plan/sessions/s1";
    assert_eq!(server.get("/agents/nope/sessions/s1").problem(404), "not_found");
    assert_eq!(server.get("/agents/approved-email/sessions/s1").problem(422), "invalid_input");
    assert_eq!(server.get(&format!("{path}/state")).problem(404), "not_found");
    assert_eq!(server.post(&format!("{path}/messages"), &json!({"tool": "x"})).problem(422), "invalid_input");
    assert_eq!(server.post(&format!("{path}/turns"), &json!({"text": "hi"})).problem(422), "invalid_input");
}

#[test]
fn a_turn_of_a_chat_reports_why_it_failed() {
    let server = Server::demo();
    let templates = server.get("/templates").expect(200);
    let template = templates.as_array().unwrap().iter().find(|template| template["name"] == "session").unwrap().clone();
    server.post("/workflows", &json!({"text": template["text"], "name": "helper"})).expect(201);
    // No model is configured.
    let turn = server.post("/agents/helper/sessions/c1/turns", &json!({"text": "Hello"})).expect(200);
    assert!(turn["turn"]["error"]["message"].is_string(), "{turn:#}");
    let run = turn["run"].as_str().unwrap();
    assert!(!server.get(&format!("/runs/{run}/trace")).expect(200)["items"].as_array().unwrap().is_empty());
    let state = server.get("/agents/helper/sessions/c1/state").expect(200);
    assert_eq!(state["events"][0]["kind"], "turn");
}

#[test]
fn a_session_says_for_every_tool_why_it_is_offered_or_not() {
    let server = Server::demo();
    let agent = server.get("/agents/research-then-plan").expect(200);
    assert_eq!(agent["tools"], json!(["web_search", "summarize", "think", "list_generation"]));
    assert_eq!((&agent["chats"], &agent["steps"][2]["is_default"]), (&json!(false), &json!(true)));
    let path = "/agents/research-then-plan/sessions/s1";
    // Opened without a list of tools, a session has those that its document names.
    server.get(path).expect(200);
    server.post(&format!("{path}/messages"), &json!({"text": "research caching"})).expect(200);
    let state = server.get(&format!("{path}/state")).expect(200);
    let reason = |name: &str| {
        let tools = state["tools"].as_array().unwrap();
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        (tool["offered"].as_bool().unwrap(), tool["reason"].as_str().unwrap().to_owned())
    };
    assert_eq!(reason("web_search"), (true, "allowed by research".into()));
    assert_eq!(reason("think"), (false, "not listed in research; listed in planning_mode".into()));
    let steps: Vec<&Value> = state["steps"].as_array().unwrap().iter().map(|step| &step["step"]).collect();
    assert_eq!(steps, ["research", "planning_mode", "general"]);
    assert_eq!((&state["steps"][0]["active"], &state["steps"][0]["holds"]), (&json!(true), &json!(true)));
    assert_eq!((&state["chats"], &state["steps"][0]["allowed"][0]), (&json!(false), &json!("web_search")));
    let listed = server.get("/sessions").expect(200);
    assert_eq!((&listed["items"][0]["tools_offered"], &listed["items"][0]["tools_total"]), (&json!(2), &json!(4)));
}

#[test]
fn a_chat_lists_what_was_said_and_why_a_turn_failed() {
    let server = Server::demo();
    let path = "/agents/Researcher/sessions/c1";
    let empty = server.get(&format!("{path}/chat")).expect(200);
    assert_eq!((&empty["run"], &empty["lines"]), (&Value::Null, &json!([])));
    // Reading a chat opens no session.
    assert_eq!(server.get("/sessions").expect(200)["items"], json!([]));
    server.post(&format!("{path}/turns"), &json!({"text": "Hello"})).expect(200);
    let chat = server.get(&format!("{path}/chat")).expect(200);
    let lines = chat["lines"].as_array().unwrap();
    assert_eq!((&lines[0]["role"], &lines[0]["text"]), (&json!("user"), &json!("Hello")));
    assert_eq!((&lines[1]["role"], &lines[1]["error"]["kind"]), (&json!("agent"), &json!("no_runner")));
    assert_eq!((lines.len(), &chat["in_turn"]), (2, &json!(false)));
    assert_eq!(server.get("/agents/research-then-plan/sessions/s1/chat").problem(422), "invalid_input");
    assert_eq!(server.get("/agents/nope/sessions/s1/chat").problem(404), "not_found");
    assert_eq!(server.get("/agents/approved-email").problem(422), "invalid_input");
}

fn eval(server: &Server, spelling: &str, dialect: &str, condition: &Value, cases: &Value) -> Value {
    let condition = condition.as_str().map_or_else(|| condition.to_string(), str::to_owned);
    let body = json!({"spelling": spelling, "dialect": dialect, "condition": condition, "cases": cases});
    server.post("/eval", &body).expect(200)
}

#[test]
fn conditions_of_every_spelling_are_evaluated() {
    let server = Server::demo();
    let result = eval(
        &server,
        "expression",
        "machine",
        &json!("inputs.n > 3"),
        &json!([{"inputs": {"n": 5}}, {"inputs": {"n": 1}}, {}]),
    );
    let outcomes: Vec<&Value> = result["cases"].as_array().unwrap().iter().map(|case| &case["outcome"]).collect();
    assert_eq!(outcomes[..2], [&json!(true), &json!(false)]);
    assert!(result["cases"][2]["error"]["kind"].is_string() || result["cases"][2]["outcome"] == false, "{result:#}");
    assert!(result["cases"][0]["explanation"]["sentence"].as_str().unwrap().contains("inputs.n"));
    assert_eq!(result["reads"], json!(["inputs.n"]));
    let targets = json!({"conditions": [{"target": "input", "operator": "$eq", "value": "a"}]});
    assert_eq!(eval(&server, "targets", "steps", &targets, &json!([{"input": "a"}]))["cases"][0]["outcome"], true);
    let text = json!({"operator": "contains", "value": "hello"});
    let result = eval(&server, "text_match", "graph", &text, &json!([{"input": "Hello you"}]));
    assert!(
        result["diagnostics"].as_array().is_some_and(|found| !found.is_empty())
            || result["cases"][0]["outcome"] == true
    );
}

#[test]
fn a_condition_with_errors_has_findings_and_no_results() {
    let server = Server::demo();
    let result = eval(&server, "expression", "machine", &json!("inputs.n >< 3"), &json!([{}]));
    assert_eq!((&result["cases"], result["diagnostics"][0]["start"].is_u64()), (&json!([]), true));
    let body = json!({"spelling": "expression", "dialect": "nope", "condition": "true", "cases": []});
    assert_eq!(server.post("/eval", &body).problem(422), "invalid_input");
    let body = json!({"spelling": "expression", "dialect": "machine", "condition": "true", "cases": [5]});
    assert_eq!(server.post("/eval", &body).problem(422), "invalid_input");
}

/// Sessions wait for their user most of the time. They are stored as runs, and are none for people.
#[test]
fn sessions_are_neither_listed_nor_counted_as_runs() {
    let server = Server::demo();
    let path = "/agents/research-then-plan/sessions/s1";
    server.post(&format!("{path}/messages"), &json!({"text": "research caching"})).expect(200);
    let overview = server.get("/overview").expect(200);
    assert_eq!(overview["counts"]["waiting_people"], 0, "{overview:#}");
    let hours = overview["hours"].as_array().unwrap();
    assert!(hours.iter().all(|hour| hour["started"] == 0), "{overview:#}");
    assert_eq!(server.get("/runs").expect(200)["items"], json!([]));
    assert_eq!(server.get("/runs?status=waiting_people&workflow=research-then-plan").expect(200)["items"], json!([]));
    let listed = server.get("/workflows").expect(200);
    let of_session = listed["items"].as_array().unwrap().iter().find(|item| item["name"] == "research-then-plan");
    assert_eq!(of_session.expect("it is listed")["waiting"], 0);
    assert!(!server.get("//metrics").text.contains("status=\"waiting_people\"} 1"));
    let all = server.get("/runs?sessions=true").expect(200);
    let id = all["items"][0]["id"].as_str().expect("the session is listed").to_owned();
    assert_eq!(server.get(&format!("/runs/{id}")).expect(200)["workflow"], "research-then-plan");
    // Another workflow with an id that looks like that of a session is a run.
    let run = json!({"workflow": "approved-email", "id": "session-1", "inputs": {"input": "x"}});
    server.post("/runs?wait=30s", &run).expect(200);
    assert_eq!(server.get("/runs").expect(200)["items"][0]["id"], "session-1");
}
