//! Lists of tools: cached until they change, and usable even if one tool is malformed.

use branchpoint_expr::Value;
use branchpoint_runners::runtime;
use branchpoint_runners::tools::Tools;
use serde_json::json;

use super::super::peer::{Peer, ReceivedRequest};
use super::odd::{at, peer, result_of};
use super::{action, failure, judged, perform, server, tool, tools, value};

fn listed(tools: &Tools, names: &[&str]) -> Vec<bool> {
    runtime().block_on(tools.tool_descriptions(names)).iter().map(Option::is_some).collect()
}

fn lists_of(peer: &Peer) -> usize {
    let asks = |request: &ReceivedRequest| request.body.contains("tools/list");
    peer.requests().iter().filter(|request| asks(request)).count()
}

#[test]
fn a_list_is_requested_once_for_many_tools_and_calls() {
    let peer =
        peer(|_, request| result_of(request, &json!({"tools": [{"name": "a", "inputSchema": {"type": "object"}}]})));
    let tools = at(&peer, "");
    for _ in 0..3 {
        assert_eq!(listed(&tools, &["a", "odd.a", "web_fetch", "b", "odd.b"]), [true, true, true, false, false]);
        assert_eq!(runtime().block_on(tools.tool_unavailable_reason("a")), None);
    }
    assert_eq!(lists_of(&peer), 1);
}

#[test]
fn lists_are_refreshed_before_a_tool_is_reported_as_missing() {
    let lists = std::sync::atomic::AtomicUsize::new(0);
    let peer = peer(move |_, request| {
        let first = lists.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
        let name = if first { "old" } else { "new" };
        result_of(request, &json!({"tools": [{"name": name, "inputSchema": {"type": "object"}}]}))
    });
    let tools = at(&peer, "");
    assert_eq!(runtime().block_on(tools.tool_unavailable_reason("old")), None);
    assert_eq!(runtime().block_on(tools.tool_unavailable_reason("new")), None, "it was added without a notification");
    assert!(
        runtime()
            .block_on(tools.tool_unavailable_reason("older"))
            .is_some_and(|why| why.contains("no MCP server has a tool `older`"))
    );
}

#[test]
fn a_list_that_has_changed_is_requested_again() {
    for settings in [server::by_child("small"), format!("[mcp.small]\nurl = \"{}\"", server::by_address())] {
        let tools = tools(&settings);
        assert_eq!(listed(&tools, &["grown"]), [false]);
        judged(&tools, &action("small", "grow", "{}"));
        while listed(&tools, &["grown"]) != [true] {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}

/// A server whose list was requested once, without a response. The time limit is increased until the request is sent, because machines
/// differ in speed.
fn silent_server() -> (Peer, Tools) {
    for limit in [300, 2_000, 8_000, 30_000] {
        let silent = peer(|_, _| Vec::new());
        let tools = at(&silent, &format!("timeout_ms = {limit}"));
        assert_eq!(listed(&tools, &["a", "odd.a"]), [false, false]);
        if lists_of(&silent) > 0 {
            return (silent, tools);
        }
    }
    panic!("the list was never requested")
}

#[test]
fn descriptions_do_not_wait_for_a_silent_server_again() {
    let (silent, tools) = silent_server();
    for _ in 0..2 {
        assert_eq!(listed(&tools, &["a", "odd.a"]), [false, false]);
    }
    assert_eq!(lists_of(&silent), 1);
    assert!(
        runtime()
            .block_on(tools.tool_unavailable_reason("odd.a"))
            .is_some_and(|why| why.contains("did not list its tools within")),
        "the failure is reported"
    );
}

#[test]
fn a_malformed_tool_does_not_affect_the_others() {
    let flawed = peer(|method, request| match method {
        "tools/list" => result_of(
            request,
            &json!({"tools": [
                {"name": "whole", "description": "Is whole.", "inputSchema": {"type": "object"}},
                {"name": "bare", "description": "Has no schema."},
                {"name": "odd", "description": 3, "inputSchema": {"type": "object"}, "annotations": []},
                {"description": "Has no name."},
            ]}),
        ),
        _ => result_of(request, &json!({"content": [{"type": "text", "text": request["params"]["name"]}]})),
    });
    let tools = at(&flawed, "");
    let described = runtime().block_on(tools.tool_descriptions(&["whole", "bare", "odd"]));
    let described: Vec<_> = described.into_iter().map(|tool| tool.expect("it is offered")).collect();
    assert_eq!(described[0].description.as_deref(), Some("Is whole."));
    assert_eq!((described[1].description.as_deref(), &described[1].parameters), (Some("Has no schema."), &None));
    assert_eq!(described[2].parameters, Some(value(r#"{"type": "object"}"#)));
    for name in ["whole", "bare", "odd.odd"] {
        assert_eq!(runtime().block_on(tools.tool_unavailable_reason(name)), None);
        assert_eq!(judged(&tools, &tool(name, "{}")), Value::from(name.trim_start_matches("odd.")));
    }
    let no_list = peer(|_, request| result_of(request, &json!({"tools": "none"})));
    let failed = failure(perform(&at(&no_list, ""), &tool("a", "{}")));
    for words in ["`odd`", "not a list of tools", "[mcp.odd]"] {
        assert!(failed.message.contains(words), "{words}: {failed:?}");
    }
}
