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
    let remove = json!({"op": "remove", "steps": ["nobody"]});
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
