//! Edits of documents over HTTP: operations of the canvas, the palette, fixes and differences.

use serde_json::{Value, json};

use super::client::Server;

const SUPPORT: &str = "\
name: support
steps:
  # Writes the draft.
  - id: draft
    step_type: prompt_call  # the model of the host
  - id: show
    step_type: text
    template: \"{{step.draft.output}}\"
";

/// The text with the edits of a response, whose places are bytes.
fn applied(text: &str, edits: &Value) -> String {
    let mut text = text.to_owned();
    for edit in edits.as_array().expect("edits").iter().rev() {
        let place = |key: &str| usize::try_from(edit[key].as_u64().expect("a place")).expect("a place");
        text.replace_range(place("start")..place("end"), edit["text"].as_str().expect("a text"));
    }
    text
}

fn edit(server: &Server, text: &str, operation: &Value) -> Value {
    let edited = server.post("/edit", &json!({"text": text, "operation": operation})).expect(200);
    assert_eq!(applied(text, &edited["edits"]), edited["text"].as_str().expect("a text"));
    edited
}

#[test]
fn a_document_is_edited_on_the_canvas_and_keeps_its_comments() {
    let server = Server::demo();
    let position = json!({"at": "edge", "from": "draft", "to": "show"});
    let add = json!({"op": "add", "step_type": "human_in_the_loop", "id": "ask", "position": position, "fields": {"prompt_template": "Send?"}});
    let added = edit(&server, SUPPORT, &add);
    assert_eq!(added["selected"], "ask");
    let text = added["text"].as_str().expect("a text");
    assert!(text.contains("# Writes the draft.") && text.contains("# the model of the host"), "{text}");
    let nodes = added["drawing"]["nodes"].as_array().expect("a drawing");
    assert!(nodes.iter().any(|node| node["id"] == "ask" && node["shape"] == "approval"), "{nodes:#?}");
    let renamed = edit(&server, text, &json!({"op": "rename", "step": "draft", "id": "reply"}));
    assert_eq!(renamed["affected"][0]["step"], "show");
    assert!(renamed["text"].as_str().expect("a text").contains("{{step.reply.output}}"));
    // What refers to a removed step is listed, and reported by the check of the result.
    let removed = edit(&server, SUPPORT, &json!({"op": "remove", "steps": ["draft"]}));
    assert_eq!(removed["affected"], json!([{"step": "show", "field": "template", "names": "draft", "line": 8}]));
    assert_eq!(removed["removed"], json!(["draft"]));
    assert_eq!(removed["diagnostics"][0]["kind"], "unknown_reference");
    let moved = edit(&server, SUPPORT, &json!({"op": "move", "step": "show", "position": {"at": "start"}}));
    assert!(
        moved["text"].as_str().expect("a text").find("id: show")
            < moved["text"].as_str().expect("a text").find("id: draft")
    );
    let set = json!({"op": "set_field", "step": "draft", "path": ["retry", "max_attempts"], "value": 3});
    assert!(edit(&server, SUPPORT, &set)["text"].as_str().expect("a text").contains("    retry: {max_attempts: 3}\n"));
}

#[test]
fn a_graph_is_connected_and_placed() {
    let server = Server::demo();
    let graph = r#"{"nodes": [{"id": "s", "type": "start"}, {"id": "a", "type": "agent"}], "connections": []}"#;
    let connected = edit(&server, graph, &json!({"op": "connect", "source": "s", "target": "a"}));
    let edges = connected["drawing"]["edges"].as_array().expect("a drawing");
    assert!(edges.iter().any(|edge| edge["from"] == "s" && edge["to"] == "a"), "{edges:#?}");
    let placed = json!({"op": "set_positions", "positions": {"a": {"x": 10, "y": 20.5}}});
    let placed = edit(&server, connected["text"].as_str().expect("a text"), &placed);
    assert!(placed["text"].as_str().expect("a text").contains("\"x\": 10, \"y\": 20.5"));
    let subagent = json!({"op": "connect", "source": "s", "handle": "subagent", "target": "a"});
    let rejected = server.post("/edit", &json!({"text": graph, "operation": subagent}));
    assert_eq!(rejected.problem(422), "edit_rejected");
    let problem = rejected.json();
    assert_eq!(
        (&problem["code"], &problem["finding"]),
        (&json!("invalid_connection"), &json!("subagent_source_not_agent"))
    );
    assert!(
        problem["detail"].as_str().expect("a detail").contains("only an agent")
            || problem["detail"].as_str().expect("a detail").contains("Only an agent")
    );
}

#[test]
fn impossible_edits_are_problems() {
    let server = Server::demo();
    let code = |body: &Value| {
        let response = server.post("/edit", body);
        assert_eq!(response.problem(422), "edit_rejected", "{}", response.text);
        response.json()["code"].as_str().expect("a code").to_owned()
    };
    let remove = json!({"op": "remove", "steps": ["missing"]});
    assert_eq!(code(&json!({"text": SUPPORT, "operation": remove})), "unknown_step");
    assert_eq!(code(&json!({"text": "steps: [", "operation": remove})), "invalid_text");
    assert_eq!(code(&json!({"text": "initial: a\nstates: {}\n", "operation": remove})), "unsupported_dialect");
    let malformed = json!({"text": SUPPORT, "operation": {"op": "explode"}});
    assert_eq!(server.post("/edit", &malformed).problem(422), "invalid_input");
    let unknown = json!({"text": SUPPORT, "operation": remove, "dialect": "nope"});
    assert_eq!(server.post("/edit", &unknown).problem(422), "invalid_input");
}

#[test]
fn the_palette_lists_types_with_fields_and_examples() {
    let server = Server::demo();
    let steps = server.get("/palette/steps").expect(200);
    let entry =
        steps.as_array().expect("a list").iter().find(|entry| entry["kind"] == "prompt_call").expect("prompt_call");
    assert_eq!((&entry["title"], &entry["group"]), (&json!("Prompt call"), &json!("Models")));
    assert!(entry["fields"]["properties"]["prompt_template"]["description"].is_string());
    for entry in server.get("/palette/graph").expect(200).as_array().expect("a list") {
        let node: Value =
            serde_json::from_str(entry["fragment"].as_str().expect("a text")).expect("an example is JSON");
        assert_eq!((&node["type"], &entry["path"]), (&entry["kind"], &json!(["data"])));
    }
    assert_eq!(server.get("/palette/machine").expect(200), json!([]));
    assert_eq!(server.get("/palette/nope").problem(404), "not_found");
}

#[test]
fn versions_and_drafts_are_compared_by_meaning() {
    let server = Server::demo();
    let body = |text: &str| json!({"text": text});
    server.replace("/workflows/replies", &[], &body(SUPPORT)).expect(201);
    let with_approval = SUPPORT.replace(
        "  - id: show\n",
        "  - id: ask\n    step_type: human_in_the_loop\n    prompt_template: Send?\n    required_approvals: 2\n  - id: show\n",
    );
    let etag = server.get("/workflows/replies").headers["etag"].clone();
    server.replace("/workflows/replies", &[("if-match", &etag)], &body(&with_approval)).expect(200);
    let diff = server.get("/workflows/replies/diff?from=1&to=2").expect(200);
    let change = &diff["changes"][0];
    assert_eq!(
        (&change["group"], &change["kind"], &change["step"]),
        (&json!("approvals"), &json!("added"), &json!("ask"))
    );
    assert_eq!((&change["line_from"], &change["line_to"]), (&Value::Null, &json!(6)));
    assert_eq!(diff["marks"], json!({"ask": "added"}));
    let edges = diff["edge_marks"].as_object().expect("marks");
    assert_eq!(edges.values().filter(|mark| **mark == "removed").count(), 1, "{diff:#}");
    // A draft against the saved version, and two texts.
    let draft = with_approval.replace("required_approvals: 2", "required_approvals: 1");
    let diff = server.post("/diff", &json!({"name": "replies", "from": 2, "text": draft})).expect(200);
    assert_eq!(diff["changes"][0]["sentence"], "required_approvals is 1 (was 2)");
    assert_eq!((&diff["changes"][0]["before"], &diff["marks"]["ask"]), (&json!("2"), &json!("changed")));
    let same = server.post("/diff", &json!({"old": SUPPORT, "text": format!("# A comment.\n{SUPPORT}")})).expect(200);
    assert_eq!((&same["changes"], &same["marks"]), (&json!([]), &json!({})));
    assert_eq!(server.post("/diff", &json!({"text": SUPPORT})).problem(422), "invalid_input");
    assert_eq!(server.post("/diff", &json!({"old": "steps: 5", "text": SUPPORT})).problem(422), "invalid_document");
    assert_eq!(server.get("/workflows/replies/diff?from=1&to=9").problem(404), "not_found");
    assert_eq!(server.get("/workflows/missing/diff?from=1&to=1").problem(404), "not_found");
}

/// Every drawing is complete: what a person would miss is a defect.
#[test]
fn drawings_of_all_examples_are_complete() {
    let server = Server::demo();
    let workflows = server.get("/workflows?limit=200").expect(200);
    for workflow in workflows["items"].as_array().expect("a list") {
        let name = workflow["name"].as_str().expect("a name");
        let drawing = server.get(&format!("/workflows/{name}/drawing")).expect(200);
        let nodes = drawing["nodes"].as_array().expect("nodes");
        let edges = drawing["edges"].as_array().expect("edges");
        let ids: Vec<&Value> = nodes.iter().map(|node| &node["id"]).collect();
        assert!(nodes.iter().any(|node| node["shape"] == "start"), "{name} has no start");
        for node in nodes {
            let place = format!("{name}: {node:#}");
            assert!(!node["title"].as_str().expect("a title").is_empty(), "{place}");
            assert!(["start", "end"].contains(&node["shape"].as_str().unwrap()) || node["kind"] != "", "{place}");
            assert!(node["parent"].is_null() || ids.contains(&&node["parent"]), "{place}");
            let branches = node["branches"].as_array().expect("branches");
            assert!(branches.len() != 1, "a decision has two branches: {place}");
            assert_eq!(
                node["shape"] == "decision",
                branches.len() > 1 && !["approval", "loop"].contains(&node["shape"].as_str().unwrap()),
                "{place}"
            );
            for branch in branches {
                let has_condition =
                    branch["condition"].is_string() || branch["default"] == true || node["shape"] == "approval";
                assert!(!branch["name"].as_str().expect("a name").is_empty() && has_condition, "{place}");
                let edges =
                    edges.iter().filter(|edge| edge["from"] == node["id"] && edge["from_branch"] == branch["name"]);
                let leads: Vec<&Value> = edges.map(|edge| &edge["to"]).collect();
                for target in branch["targets"].as_array().expect("targets") {
                    assert!(leads.contains(&target), "no edge to {target}: {place}");
                }
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        for edge in edges {
            assert!(ids.contains(&&edge["from"]) && ids.contains(&&edge["to"]), "{name}: {edge:#}");
            let key = ["from", "from_branch", "to", "failure"].map(|key| edge[key].to_string());
            assert!(seen.insert(key), "{name}: two edges {edge:#}");
        }
        let editable = ["steps", "graph"].contains(&drawing["dialect"].as_str().expect("a dialect"));
        assert_eq!(drawing["editable"], editable);
    }
}

#[test]
fn a_drawing_shows_what_its_author_wrote() {
    let server = Server::demo();
    let node = |drawing: &Value, id: &str| {
        let nodes = drawing["nodes"].as_array().expect("nodes");
        nodes.iter().find(|node| node["id"] == id).unwrap_or_else(|| panic!("{id} in {drawing:#}")).clone()
    };
    let graph = r#"{"nodes": [
        {"id": "s", "type": "start", "x": 0, "y": 1.5},
        {"id": "a", "type": "agent", "data": {"agentName": "Writer", "tools": {"subagents": true}}},
        {"id": "helper", "type": "agent"},
        {"id": "review", "type": "approval"}
    ], "connections": [
        {"source": "s", "target": "a"}, {"source": "a", "target": "helper", "sourceHandle": "subagent"},
        {"source": "a", "target": "review"}, {"source": "review", "target": "a", "sourceHandle": "reject"}
    ]}"#;
    let drawing = server.post("/drawing", &json!({"text": graph, "with_fields": true})).expect(200);
    assert_eq!((&node(&drawing, "s")["x"], &node(&drawing, "s")["y"]), (&json!(0.0), &json!(1.5)));
    assert_eq!(
        (&node(&drawing, "a")["summary"], &node(&drawing, "a")["fields"]["agentName"]),
        (&json!("Writer"), &json!("Writer"))
    );
    assert_eq!(node(&drawing, "helper")["shape"], "subagent");
    let branches = node(&drawing, "review")["branches"].clone();
    assert_eq!((&branches[0]["name"], &branches[1]["targets"]), (&json!("approve"), &json!(["a"])));
    let kinds: Vec<_> = drawing["edges"]
        .as_array()
        .expect("edges")
        .iter()
        .map(|edge| (&edge["from"], &edge["to"], &edge["kind"]))
        .collect();
    assert!(kinds.contains(&(&json!("a"), &json!("helper"), &json!("subagent"))), "{kinds:?}");
    assert!(kinds.contains(&(&json!("review"), &json!("a"), &json!("loop"))), "{kinds:?}");
    // The key of layouts depends on the structure, not on places in the text.
    let draw = |text: &str| server.post("/drawing", &json!({"text": text})).expect(200);
    let (one, moved) = (draw(SUPPORT), draw(&format!("# First.\n{SUPPORT}")));
    assert_eq!(one["hash"], moved["hash"]);
    assert_ne!(one["nodes"], moved["nodes"]);
    assert_ne!(one["hash"], draw(&SUPPORT.replace("id: show", "id: print"))["hash"]);
    let span = &node(&one, "draft")["span"];
    let place = |key: &str| usize::try_from(span[key].as_u64().expect("a place")).expect("a place");
    assert!(SUPPORT[place("start")..place("end")].contains("step_type: prompt_call"));
}

#[test]
fn documents_with_errors_are_drawn_and_their_findings_name_the_step() {
    let server = Server::demo();
    let text = "steps:\n  - id: ask\n    step_type: human_in_the_loop\n  - id: tier\n    step_type: conditional\n    if: 'step.ask.output ='\n    then: [{id: mail, step_type: send_mial}]\n";
    let drawing = server.post("/drawing", &json!({"text": text})).expect(200);
    let nodes = drawing["nodes"].as_array().expect("nodes");
    let shape =
        |id: &str| nodes.iter().find(|node| node["id"] == id).map(|node| (node["shape"].clone(), node["kind"].clone()));
    assert_eq!(shape("ask"), Some((json!("approval"), json!("human_in_the_loop"))));
    assert_eq!(shape("mail"), Some((json!("action"), json!("send_mial"))));
    let tier = nodes.iter().find(|node| node["id"] == "tier").expect("tier");
    assert_eq!(
        (&tier["branches"][0]["condition"], &tier["branches"][0]["targets"]),
        (&json!("step.ask.output ="), &json!(["mail"]))
    );
    let checked = server.post("/check", &json!({"text": text})).expect(200);
    let steps: Vec<_> =
        checked["diagnostics"].as_array().expect("a list").iter().map(|finding| finding["step"].clone()).collect();
    assert_eq!(steps, [json!("ask"), json!("tier"), json!("mail")], "{checked:#}");
    // A graph is drawn before it has a start.
    let graph = r#"{"nodes": [{"id": "a", "type": "agent"}, {"id": "i", "type": "if", "data": {"conditions": [{"value": "x"}]}}], "connections": [{"source": "a", "target": "i"}]}"#;
    let drawing = server.post("/drawing", &json!({"text": graph})).expect(200);
    assert!(
        drawing["nodes"].as_array().expect("nodes").iter().any(|node| node["id"] == "i" && node["shape"] == "decision")
    );
    assert_eq!(server.post("/drawing", &json!({"text": "steps: ["})).problem(422), "invalid_document");
}

#[test]
fn common_mistakes_have_fixes_that_help() {
    let server = Server::demo();
    let step = |fields: &str| {
        format!("name: n\nsteps:\n  - {{id: first, step_type: text, template: a}}\n  - {{id: second, {fields}}}\n")
    };
    let graph = |node: &str, target: &str| {
        format!(
            r#"{{"nodes": [{{"id": "s", "type": "start"}}, {{"id": "agent", "type": "{node}"}}], "connections": [{{"source": "s", "target": "{target}"}}]}}"#
        )
    };
    for (text, kind, fixed) in [
        (step("step_type: txt"), "unknown_step_type", step("step_type: text")),
        (step("step_type: promptcall"), "alias_used", step("step_type: prompt_call")),
        (step("step_type: text, tempalte: b"), "unknown_key", step("step_type: text, template: b")),
        (step("step_type: prompt_call, retry: {max_attempts: 2, dealy: 1s}"), "unknown_key", step("step_type: prompt_call, retry: {max_attempts: 2, delay: 1s}")),
        (step("step_type: text, template: '{{step.frist.output}}'"), "unknown_reference", step("step_type: text, template: '{{step.first.output}}'")),
        (step("step_type: evaluate_step, target_step_id: frist"), "unknown_reference", step("step_type: evaluate_step, target_step_id: first")),
        (step("step_type: gate, if: lne(input) > 1"), "bad_expression", step("step_type: gate, if: len(input) > 1")),
        (graph("agnet", "agent"), "unknown_node_type", graph("agent", "agent")),
        (graph("agent", "agnet"), "broken_connection", graph("agent", "agent")),
        ("name: n\nstates:\n  initial: buidl\n  build: {command: 'true', on_success: done}\n  done: {type: terminal}\n".to_owned(), "unknown_state", "name: n\nstates:\n  initial: build\n  build: {command: 'true', on_success: done}\n  done: {type: terminal}\n".to_owned()),
    ] {
        let checked = server.post("/check", &json!({"text": text})).expect(200);
        let findings = checked["diagnostics"].as_array().expect("a list");
        let finding = findings.iter().find(|finding| finding["kind"] == kind || finding["detail"] == kind);
        let finding = finding.unwrap_or_else(|| panic!("{kind} in {findings:#?}"));
        assert_eq!(applied(&text, &finding["fixes"][0]["edits"]), fixed, "{finding:#}");
    }
}

#[test]
fn large_documents_are_not_compared() {
    let server = Server::demo();
    let document = |bytes: usize| {
        format!("name: a\nsteps:\n  - {{id: t, step_type: text, template: \"{}\"}}\n", "x".repeat(bytes))
    };
    let small = document(10);
    for (old, new) in [(document(600_000), small.clone()), (small.clone(), document(3_000_000))] {
        let refused = server.post("/diff", &json!({"old": old, "text": new}));
        assert_eq!(refused.problem(413), "too_large");
        assert_eq!(refused.json()["limit"], 512 * 1024);
    }
    let changes = server.post("/diff", &json!({"old": small, "text": document(400_000)})).expect(200);
    assert_eq!(changes["changes"].as_array().unwrap().len(), 1);
}
