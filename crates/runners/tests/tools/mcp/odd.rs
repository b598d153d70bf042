//! Servers that violate the protocol: errors are reported clearly, within limits, and without effects on other servers.

use std::io::Write;

use branchpoint_expr::Value;
use branchpoint_runners::runtime;
use branchpoint_runners::tools::Tools;

use super::super::peer::{Peer, ReceivedRequest, response};
use super::{action, failure, judged, perform, server, tool, tools};

const JSON: &str = "application/json";

/// A server with a URL that initialises correctly and answers all other requests as the test wants.
pub(super) fn peer(answer: impl Fn(&str, &serde_json::Value) -> Vec<u8> + Send + Sync + 'static) -> Peer {
    Peer::new(move |request: &ReceivedRequest| {
        let request: serde_json::Value = serde_json::from_str(&request.body).unwrap_or_default();
        match request["method"].as_str() {
            Some("initialize") => result_of(
                &request,
                &serde_json::json!({
                    "protocolVersion": request["params"]["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "odd", "version": "1"},
                }),
            ),
            Some(method) if request["id"] != serde_json::Value::Null => answer(method, &request),
            _ => response("202 Accepted", &[], ""),
        }
    })
}

pub(super) fn result_of(request: &serde_json::Value, result: &serde_json::Value) -> Vec<u8> {
    let message = serde_json::json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
    response("200 OK", &[("content-type", JSON)], &message.to_string())
}

pub(super) fn at(peer: &Peer, more: &str) -> Tools {
    tools(&format!("[mcp.odd]\nurl = \"{}\"\n{more}", peer.url("/mcp")))
}

#[track_caller]
fn broken(tools: &Tools, expected: &[&str]) {
    let failed = failure(perform(tools, &action("odd", "x", "{}")));
    for words in expected {
        assert!(failed.message.contains(words), "{words}: {failed:?}");
    }
    for foreign in ["rmcp", "Transport", "Client error", "reqwest"] {
        assert!(!failed.message.contains(foreign), "{failed:?}");
    }
}

#[test]
fn a_response_that_is_too_long_fails_the_call_over_every_transport() {
    const LIMIT: &str = "max_response_bytes = 20000";
    let long = || "z".repeat(30_000);
    let expected = ["20000 bytes", "max_response_bytes", "[mcp."];
    let of_known_length =
        peer(move |_, request| result_of(request, &serde_json::json!({"content": [{"type": "text", "text": long()}]})));
    let until_the_end = peer(move |_, _| {
        format!("HTTP/1.1 200 OK\r\ncontent-type: {JSON}\r\nconnection: close\r\n\r\n\"{}", long()).into_bytes()
    });
    let in_one_event =
        peer(move |_, _| response("200 OK", &[("content-type", "text/event-stream")], &format!("data: {}", long())));
    let in_many_events = peer(move |_, _| {
        let event = "data: {\"jsonrpc\": \"2.0\", \"method\": \"notifications/progress\", \"params\": {\"progressToken\": 1, \"progress\": 1}}\n\n";
        response("200 OK", &[("content-type", "text/event-stream")], &event.repeat(1000))
    });
    let packed = peer(move |_, _| {
        let mut body = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        body.write_all(long().as_bytes()).expect("it fits into memory");
        let body = body.finish().expect("it fits into memory");
        let head = format!("content-type: {JSON}\r\ncontent-encoding: gzip\r\ncontent-length: {}", body.len());
        [format!("HTTP/1.1 200 OK\r\n{head}\r\nconnection: close\r\n\r\n").into_bytes(), body].concat()
    });
    for peer in [of_known_length, until_the_end, in_one_event, in_many_events, packed] {
        broken(&at(&peer, LIMIT), &expected);
    }
    let child = tools(&format!("{}{LIMIT}", server::by_child("small")));
    let request = format!(r#"{{"text": "{}"}}"#, long());
    let failed = failure(perform(&child, &action("small", "echo", &request)));
    assert!(expected.iter().all(|words| failed.message.contains(words)), "{failed:?}");
    assert!(!failed.retry.allows_retry(), "it would be as long again");
    assert_eq!(judged(&child, &action("small", "echo", r#"{"text": "short"}"#)), Value::from("short"));
}

#[test]
fn an_endless_list_of_tools_is_read_up_to_the_limit() {
    let described = "x".repeat(1000);
    let long = peer(move |_, request| {
        let tool = serde_json::json!({"name": "t", "description": described, "inputSchema": {"type": "object"}});
        result_of(request, &serde_json::json!({"tools": [tool], "nextCursor": "on"}))
    });
    let empty = peer(|_, request| result_of(request, &serde_json::json!({"tools": [], "nextCursor": "on"})));
    let in_events = peer(|_, _| {
        response("200 OK", &[("content-type", "text/event-stream")], &format!("data: {}", "z".repeat(30_000)))
    });
    for (peer, words) in [(long, "max_response_bytes"), (empty, "pages of tools"), (in_events, "max_response_bytes")] {
        let failed = failure(perform(&at(&peer, "max_response_bytes = 20000"), &tool("t", "{}")));
        assert!(failed.message.contains(words) && !failed.retry.allows_retry(), "{failed:?}");
    }
}

#[test]
fn a_response_that_is_not_a_message_is_reported_with_a_remedy() {
    let plain = |status: &'static str, body: &'static str| Peer::saying(status, "text/plain", body);
    broken(&at(&plain("401 Unauthorized", "no key"), ""), &["401", "headers_from", "no key"]);
    broken(&at(&plain("403 Forbidden", ""), ""), &["403", "headers_from"]);
    broken(&at(&plain("404 Not Found", ""), ""), &["404", "check the url of [mcp.odd]"]);
    broken(&at(&plain("500 Internal Server Error", "it\n fell"), ""), &["500", "`it fell`"]);
    broken(&at(&Peer::saying("200 OK", "text/html", "<html>hello</html>"), ""), &["text/html", "<html>hello", "url"]);
    broken(&at(&Peer::saying("200 OK", JSON, "[1]"), ""), &["not an MCP message", "[1]"]);
    let moved = Peer::new(|_| response("307 Temporary Redirect", &[("location", "https://new.example/mcp")], ""));
    broken(&at(&moved, ""), &["307", "https://new.example/mcp"]);
    assert_eq!(moved.requests().len(), 1, "it is not followed");
    // The same after a successful start.
    let later = peer(|_, _| response("503 Service Unavailable", &[], "later"));
    let failed = failure(perform(&at(&later, ""), &action("odd", "x", "{}")));
    assert!(failed.retry.allows_retry() && failed.answered && failed.message.contains("503"), "{failed:?}");
    broken(&at(&later, ""), &["`x`", "503", "`later`"]);
}

#[test]
fn secrets_that_a_server_repeats_are_not_reported() {
    let peer =
        Peer::new(|request| response("401 Unauthorized", &[], &format!("no {}", request.headers["authorization"])));
    let tools = at(&peer, "headers_from = { Authorization = \"TEST_KEY\" }");
    broken(&tools, &["401", "no ***"]);
    assert!(runtime().block_on(tools.tool_unavailable_reason("odd.x")).is_some_and(|why| why.contains("no ***")));
    // Nor a part of one, where only the beginning of a response is reported.
    for before in 190..201 {
        let peer = Peer::new(move |request| {
            response("401 Unauthorized", &[], &format!("{}{}", ".".repeat(before), request.headers["authorization"]))
        });
        let failed = runtime()
            .block_on(at(&peer, "headers_from = { Authorization = \"TEST_KEY\" }").tool_unavailable_reason("odd.x"));
        assert!(failed.as_ref().is_some_and(|why| why.contains("...") && !why.contains(".t")), "{failed:?}");
    }
}

#[test]
fn a_broken_server_does_not_affect_the_others() {
    for bad in [
        "[mcp.bad]\ncommand = \"sh\"\nargs = [\"-c\", \"echo broken >&2; exit 1\"]",
        "[mcp.bad]\ncommand = \"sh\"\nenv_from = { KEY = \"NOT_SET\" }",
        "[mcp.bad]",
    ] {
        let tools = tools(&format!("{}{bad}", server::by_child("small")));
        assert_eq!(
            runtime().block_on(tools.unavailable_reason(&crate::effect("mcp", r#"{"fixed": {"server": "small"}}"#))),
            None
        );
        assert_eq!(
            runtime().block_on(tools.unavailable_reason(&crate::effect("mcp", "{}"))),
            None,
            "which one it is will be seen"
        );
        for name in ["echo", "small.echo"] {
            assert_eq!(runtime().block_on(tools.tool_unavailable_reason(name)), None, "{name}");
            let described = runtime().block_on(tools.tool_descriptions(&[name]));
            let description = described[0].as_ref().and_then(|tool| tool.description.as_deref());
            assert_eq!(description, Some("Does echo."));
            assert_eq!(judged(&tools, &tool(name, r#"{"text": "x"}"#)), Value::from("x"));
        }
        assert!(
            runtime()
                .block_on(tools.unavailable_reason(&crate::effect("mcp", r#"{"fixed": {"server": "bad"}}"#)))
                .is_some()
                || bad.contains("exit 1")
        );
        let unknown = runtime().block_on(tools.tool_unavailable_reason("other")).unwrap_or_default();
        assert!(unknown.contains("`other`") && unknown.contains("bad"), "it may be the one that has it: {unknown}");
    }
}

#[test]
fn an_unknown_tool_is_reported_before_a_run_with_similar_names() {
    let tools = tools(&server::by_child("small"));
    for (name, near) in [("ecko", "`small.echo`"), ("small.ecko", "`echo`")] {
        let lacks = runtime().block_on(tools.tool_unavailable_reason(name)).unwrap_or_default();
        assert!(lacks.contains("ecko") && lacks.contains(near), "{lacks}");
    }
    assert!(
        runtime()
            .block_on(tools.unavailable_reason(&crate::effect("mcp", r#"{"fixed": {"server": "smal"}}"#)))
            .is_some_and(|why| why.contains("`small`"))
    );
    assert!(
        runtime().block_on(tools.tool_unavailable_reason("web_search")).is_some_and(|why| why.contains("[search]"))
    );
    assert_eq!(runtime().block_on(tools.tool_unavailable_reason("web_fetch")), None);
}

#[test]
fn long_names_are_compared_by_their_beginnings() {
    let long = "a".repeat(300_000);
    let peer =
        peer(move |_, request| result_of(request, &serde_json::json!({"tools": [{"name": long, "inputSchema": {}}]})));
    let lacks = runtime().block_on(at(&peer, "").tool_unavailable_reason(&"b".repeat(300_000))).unwrap_or_default();
    assert!(lacks.contains("no MCP server has a tool `bbb") && lacks.contains("`odd.aaa"), "{}", lacks.len());
}

#[test]
fn a_tool_name_with_its_server_starts_no_other_server() {
    let folder = tempfile::tempdir().expect("there is a folder");
    let started = folder.path().join("started");
    let other = format!("[mcp.other]\ncommand = \"touch\"\nargs = [{:?}]", started.display().to_string());
    let tools = tools(&format!("{}{other}", server::by_child("small")));
    assert_eq!(runtime().block_on(tools.tool_unavailable_reason("small.echo")), None);
    assert!(runtime().block_on(tools.tool_descriptions(&["small.echo"]))[0].is_some());
    assert_eq!(judged(&tools, &tool("small.echo", r#"{"text": "x"}"#)), Value::from("x"));
    assert!(!started.exists());
}
