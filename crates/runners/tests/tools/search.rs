//! Web searches, with a server that responds like each provider.

use branchpoint_core::RetryHint;
use branchpoint_runners::runtime;

use super::peer::{Peer, response};
use super::{call, failure, judged, perform, tools, value};

#[track_caller]
fn check(provider: &str, response: &'static str, expect: (&str, &str, &str)) {
    let peer = Peer::saying("200 OK", "application/json", response);
    let tools =
        tools(&format!("[search]\nprovider = \"{provider}\"\nurl = \"{}\"\nkey_env = \"TEST_KEY\"", peer.url("/")));
    assert_eq!(runtime().block_on(tools.unavailable_reason(&super::effect("search", "{}"))), None);
    let results = judged(&tools, &call("search", "{}", r#"{"query": "a & b", "limit": 1}"#));
    assert_eq!(results, value(r#"[{"title": "T", "url": "https://t.example/", "snippet": "S"}]"#));
    let request = &peer.requests()[0];
    let (target, header, body) = expect;
    assert_eq!((&*request.target, &*request.body), (target, body));
    assert!(request.headers.values().any(|value| value == header), "{request:?}");
}

#[test]
fn every_provider_has_its_own_request_and_the_same_form_of_results() {
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
fn the_wait_of_a_busy_provider_is_passed_on() {
    for status in ["429 Too Many Requests", "503 Service Unavailable"] {
        let peer = Peer::new(move |_| response(status, &[("retry-after", "7")], ""));
        let tools = tools(&format!("[search]\nprovider = \"searxng\"\nurl = \"{}\"", peer.url("")));
        let failed = failure(perform(&tools, &call("search", "{}", r#"{"query": "x"}"#)));
        assert_eq!((failed.retry, failed.answered), (RetryHint::After(7_000), true), "{failed:?}");
    }
}

#[test]
fn an_error_of_the_provider_is_reported() {
    for (status, again) in [("429 Too Many Requests", true), ("401 Unauthorized", false)] {
        let peer = Peer::saying(status, "text/plain", "");
        let tools = tools(&format!("[search]\nprovider = \"searxng\"\nurl = \"{}\"", peer.url("")));
        let search = call("tool", r#"{"fixed": {"tool": "webSearch"}}"#, r#"{"arguments": {"query": "x"}}"#);
        let failed = failure(perform(&tools, &search));
        assert!(failed.answered && failed.retry == again.into(), "{failed:?}");
    }
}
