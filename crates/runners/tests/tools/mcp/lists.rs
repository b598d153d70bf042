//! What servers say that they offer: asked for once, until it changes, and worth something even if a part of it is not.

use branchpoint_expr::Value;
use branchpoint_runners::runtime;
use branchpoint_runners::tools::Tools;
use serde_json::json;

use super::super::peer::{Heard, Peer};
use super::odd::{at, peer, said};
use super::{action, failure, judged, perform, server, tool, tools, value};

fn listed(tools: &Tools, names: &[&str]) -> Vec<bool> {
    runtime().block_on(tools.tool_descriptions(names)).iter().map(Option::is_some).collect()
}

fn lists_of(peer: &Peer) -> usize {
    let asks = |heard: &Heard| heard.body.contains("tools/list");
    peer.heard().iter().filter(|heard| asks(heard)).count()
}

#[test]
fn a_list_is_asked_for_once_however_many_tools_and_times() {
    let peer = peer(|_, asked| said(asked, &json!({"tools": [{"name": "a", "inputSchema": {"type": "object"}}]})));
    let tools = at(&peer, "");
    for _ in 0..3 {
        assert_eq!(listed(&tools, &["a", "odd.a", "web_fetch", "b", "odd.b"]), [true, true, true, false, false]);
        assert_eq!(runtime().block_on(tools.tool_unavailable_reason("a")), None);
    }
    assert_eq!(lists_of(&peer), 1);
}

#[test]
fn servers_are_asked_once_more_before_nobody_has_a_tool() {
    let lists = std::sync::atomic::AtomicUsize::new(0);
    let peer = peer(move |_, asked| {
        let first = lists.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
        let name = if first { "old" } else { "new" };
        said(asked, &json!({"tools": [{"name": name, "inputSchema": {"type": "object"}}]}))
    });
    let tools = at(&peer, "");
    assert_eq!(runtime().block_on(tools.tool_unavailable_reason("old")), None);
    assert_eq!(runtime().block_on(tools.tool_unavailable_reason("new")), None, "it came without a word");
    assert!(
        runtime()
            .block_on(tools.tool_unavailable_reason("older"))
            .is_some_and(|why| why.contains("no MCP server has a tool `older`"))
    );
}

#[test]
fn a_list_that_has_changed_is_asked_for_again() {
    for settings in [server::by_child("small"), format!("[mcp.small]\nurl = \"{}\"", server::by_address())] {
        let tools = tools(&settings);
        assert_eq!(listed(&tools, &["grown"]), [false]);
        judged(&tools, &action("small", "grow", "{}"));
        while listed(&tools, &["grown"]) != [true] {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}

/// A server that was asked once and has said nothing. How long it takes to ask is the machine's business: the limit is longer each
/// time, until it is long enough.
fn asked_in_vain() -> (Peer, Tools) {
    for limit in [300, 2_000, 8_000, 30_000] {
        let silent = peer(|_, _| Vec::new());
        let tools = at(&silent, &format!("timeout_ms = {limit}"));
        assert_eq!(listed(&tools, &["a", "odd.a"]), [false, false]);
        if lists_of(&silent) > 0 {
            return (silent, tools);
        }
    }
    panic!("no list was ever asked for")
}

#[test]
fn a_server_that_is_silent_is_not_waited_for_with_every_description() {
    let (silent, tools) = asked_in_vain();
    for _ in 0..2 {
        assert_eq!(listed(&tools, &["a", "odd.a"]), [false, false]);
    }
    assert_eq!(lists_of(&silent), 1);
    assert!(
        runtime()
            .block_on(tools.tool_unavailable_reason("odd.a"))
            .is_some_and(|why| why.contains("has not said within")),
        "who asks is told"
    );
}

#[test]
fn a_tool_with_a_flaw_takes_nothing_from_the_others() {
    let flawed = peer(|method, asked| match method {
        "tools/list" => said(
            asked,
            &json!({"tools": [
                {"name": "whole", "description": "Is whole.", "inputSchema": {"type": "object"}},
                {"name": "bare", "description": "Has no schema."},
                {"name": "odd", "description": 3, "inputSchema": {"type": "object"}, "annotations": []},
                {"description": "Has no name."},
            ]}),
        ),
        _ => said(asked, &json!({"content": [{"type": "text", "text": asked["params"]["name"]}]})),
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
    let no_list = peer(|_, asked| said(asked, &json!({"tools": "none"})));
    let failed = failure(perform(&at(&no_list, ""), &tool("a", "{}")));
    for words in ["`odd`", "not a list of tools", "[mcp.odd]"] {
        assert!(failed.message.contains(words), "{words}: {failed:?}");
    }
}
