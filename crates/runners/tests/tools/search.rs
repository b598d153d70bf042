//! Searching, with a server that answers as each provider does.

use branchpoint_core::RetryHint;
use branchpoint_runners::runtime;

use super::peer::{Peer, response};
use super::{call, failure, judged, perform, tools, value};

#[track_caller]
fn check(provider: &str, said: &'static str, expect: (&str, &str, &str)) {
    let peer = Peer::saying("200 OK", "application/json", said);
    let tools =
        tools(&format!("[search]\nprovider = \"{provider}\"\nurl = \"{}\"\nkey_env = \"TEST_KEY\"", peer.url("/")));
    assert_eq!(runtime().block_on(tools.unavailable_reason(&super::effect("search", "{}"))), None);
    let results = judged(&tools, &call("search", "{}", r#"{"query": "a & b", "limit": 1}"#));
    assert_eq!(results, value(r#"[{"title": "T", "url": "https://t.example/", "snippet": "S"}]"#));
    let heard = &peer.heard()[0];
    let (target, header, body) = expect;
    assert_eq!((&*heard.target, &*heard.body), (target, body));
    assert!(heard.headers.values().any(|value| value == header), "{heard:?}");
}

#[test]
fn every_provider_is_asked_in_its_own_way_and_gives_the_same_form() {
    check(
        "brave",
        r#"{"web": {"results": [{"title": "T", "url": "https://t.example/", "description": "S"}, {"title": "U"}]}}"#,
        ("/res/v1/web/search?q=a+%26+b&count=1", "test_key", ""),
    );
    let results = r#"{"results": [{"title": "T", "url": "https://t.example/", "content": "S"}, {"title": "U"}]}"#;
    check("tavily", results, ("/search", "Bearer test_key", r#"{"query":"a & b","max_results":1}"#));
    check("searxng", results, ("/search?q=a+%26+b&format=json", "Bearer test_key", ""));
}

#[test]
fn a_provider_that_is_busy_is_left_alone_for_as_long_as_it_says() {
    for status in ["429 Too Many Requests", "503 Service Unavailable"] {
        let peer = Peer::new(move |_| response(status, &[("retry-after", "7")], ""));
        let tools = tools(&format!("[search]\nprovider = \"searxng\"\nurl = \"{}\"", peer.url("")));
        let failed = failure(perform(&tools, &call("search", "{}", r#"{"query": "x"}"#)));
        assert_eq!((failed.retry, failed.answered), (RetryHint::After(7_000), true), "{failed:?}");
    }
}

#[test]
fn a_provider_that_says_no_is_told() {
    for (status, again) in [("429 Too Many Requests", true), ("401 Unauthorized", false)] {
        let peer = Peer::saying(status, "text/plain", "");
        let tools = tools(&format!("[search]\nprovider = \"searxng\"\nurl = \"{}\"", peer.url("")));
        let asked = call("tool", r#"{"fixed": {"tool": "webSearch"}}"#, r#"{"arguments": {"query": "x"}}"#);
        let failed = failure(perform(&tools, &asked));
        assert!(failed.answered && failed.retry == again.into(), "{failed:?}");
    }
}
