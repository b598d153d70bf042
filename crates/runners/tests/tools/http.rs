//! HTTP requests to a real server, and addresses that are not allowed.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use branchpoint_core::AttemptError;
use branchpoint_core::effect::HttpResponse;
use branchpoint_expr::Value;
use branchpoint_runners::{Answer, CancellationToken, judge, runtime};

use super::closed::Closed;
use super::peer::{Peer, response};
use super::{call, failure, judged, perform, secrets, tools, value};

const OPEN: &str = "[http]\nallow_private_network = true";

fn get(peer: &Peer, path: &str) -> branchpoint_runners::Call {
    call("http", "{}", &format!(r#"{{"method": "GET", "url": "{}"}}"#, peer.url(path)))
}

#[test]
fn a_request_is_sent_as_written_and_its_response_is_judged() {
    let peer = Peer::saying("201 Created", "application/json", r#"{"id": 3}"#);
    let input = format!(
        r#"{{"method": "post", "url": "{}", "headers": {{"X-One": "1"}}, "query": {{"q": "a b", "l": [1, 2]}},
            "body": {{"a": [1]}}}}"#,
        peer.url("/things?x=y")
    );
    let answer = judged(&tools(OPEN), &call("http", r#"{"response": {"envelope": true}}"#, &input));
    assert_eq!(answer.get("output"), Some(&value(r#"{"id": 3}"#)));
    assert_eq!(answer.get("status"), Some(&Value::Int(201)));
    let request = &peer.requests()[0];
    assert_eq!((&*request.method, &*request.target), ("POST", "/things?x=y&q=a+b&l=1&l=2"));
    assert_eq!((&*request.headers["x-one"], &*request.headers["content-type"]), ("1", "application/json"));
    assert_eq!(request.body, r#"{"a":[1]}"#);
    assert_eq!(request.headers["idempotency-key"], "run-1/7/0");
}

#[test]
fn the_idempotency_key_of_a_document_stays_and_get_requests_have_none() {
    let peer = Peer::saying("200 OK", "text/plain", "");
    let own = format!(r#"{{"method": "PUT", "url": "{}", "headers": {{"Idempotency-Key": "mine"}}}}"#, peer.url("/"));
    let answer = judged(&tools(OPEN), &call("http", "{}", &own));
    assert_eq!(answer, Value::Null, "an empty body is null");
    judged(&tools(OPEN), &get(&peer, "/"));
    assert_eq!(peer.requests()[0].headers["idempotency-key"], "mine");
    assert_eq!(peer.requests()[1].headers.get("idempotency-key"), None);
}

#[test]
fn invalid_fields_are_reported_before_the_request() {
    let peer = Peer::saying("200 OK", "text/plain", "");
    let long = "x".repeat(400_000);
    for (kind, fields, field) in [
        ("http", r#""query": "q=1""#, "`query`"),
        ("http", r#""query": 5"#, "`query`"),
        ("http", r#""method": "7""#, "`method`"),
        ("webhook", r#""method": "DELETE""#, "`method`"),
        ("http", &*format!(r#""url": "{long}""#), "`url`"),
    ] {
        let url = if fields.contains("url") { String::new() } else { format!(r#", "url": "{}""#, peer.url("/")) };
        let failed = failure(perform(&tools(OPEN), &call(kind, "{}", &format!("{{{fields}{url}}}"))));
        assert!(failed.message.contains(field) && failed.message.len() < 600, "{}", failed.message);
    }
    assert!(peer.requests().is_empty());
}

#[test]
fn statuses_are_judged() {
    let peer = Peer::saying("404 Not Found", "text/plain", "no");
    let failed = judge(&get(&peer, "/"), perform(&tools(OPEN), &get(&peer, "/"))).expect_err("404 is no success");
    assert_eq!((&*failed.kind, failed.answered), ("http_status", true));
}

#[test]
fn private_addresses_are_rejected_unless_allowed_also_for_host_names() {
    let peer = Peer::saying("200 OK", "text/plain", "inside");
    for url in
        [peer.url("/"), format!("http://localhost:{}/", peer.port), format!("http://[::ffff:127.0.0.1]:{}/", peer.port)]
    {
        for kind in ["http", "fetch", "webhook"] {
            let call = call(kind, "{}", &format!(r#"{{"url": "{url}"}}"#));
            let failed = failure(perform(&tools(""), &call));
            assert!(failed.message.contains("--allow-private-network"), "{kind} {url}: {failed:?}");
            assert!(!failed.retry.allows_retry() && !failed.answered, "{failed:?}");
        }
    }
    assert!(peer.requests().is_empty(), "nothing was sent");
    let named = call("http", "{}", &format!(r#"{{"url": "http://localhost:{}/"}}"#, peer.port));
    assert_eq!(judged(&tools(OPEN), &named), Value::from("inside"));
}

#[test]
fn hosts_of_the_operator_are_trusted_at_their_port_only() {
    let (peer, other) = (Peer::saying("200 OK", "text/plain", "a"), Peer::saying("200 OK", "text/plain", "b"));
    let tools = tools(&format!("[http]\ntrusted_hosts = [\"127.0.0.1:{}\"]", peer.port));
    assert_eq!(judged(&tools, &get(&peer, "/")), Value::from("a"));
    failure(perform(&tools, &get(&other, "/")));
    assert!(other.requests().is_empty());
}

fn redirecting(status: &'static str, to: impl Fn() -> String + Send + Sync + 'static) -> Peer {
    Peer::new(move |request| match &*request.target {
        "/from" => response(status, &[("location", &to())], "moved"),
        _ => response("200 OK", &[("content-type", "text/plain")], "here"),
    })
}

#[test]
fn a_redirect_on_the_same_host_is_followed_by_the_rules_of_methods() {
    for (status, method, expected) in [
        ("302 Found", "POST", ("GET", "")),
        ("303 See Other", "PUT", ("GET", "")),
        ("302 Found", "PUT", ("PUT", "x")),
        ("307 Temporary Redirect", "POST", ("POST", "x")),
        ("308 Permanent Redirect", "DELETE", ("DELETE", "x")),
    ] {
        let peer = redirecting(status, || "/to".into());
        let input = format!(r#"{{"method": "{method}", "url": "{}", "body": "x"}}"#, peer.url("/from"));
        assert_eq!(judged(&tools(OPEN), &call("http", "{}", &input)), Value::from("here"));
        let request = &peer.requests()[1];
        assert_eq!((&*request.method, &*request.body), expected, "{status} {method}");
        assert_eq!(request.headers.contains_key("content-type"), expected.0 != "GET");
    }
}

#[test]
fn a_redirect_to_another_host_is_an_error_or_is_followed_without_credentials() {
    let other = Peer::saying("200 OK", "text/plain", "there");
    let to = other.url("/to");
    let peer = redirecting("307 Temporary Redirect", move || to.clone());
    let input = format!(
        r#"{{"method": "POST", "url": "{}", "body": "x", "headers": {{"Authorization": "k", "X-Api-Key": "k", "Accept": "a/b"}}}}"#,
        peer.url("/from")
    );
    let call =
        call("http", r#"{"fixed": {"follow_redirects": true}, "response": {"expected_status": [[0, 399]]}}"#, &input);
    let failed = failure(perform(&tools(OPEN), &call));
    assert!(failed.message.contains("another host") && failed.answered && !failed.retry.allows_retry(), "{failed:?}");
    assert!(other.requests().is_empty());
    let any = tools("[http]\nallow_private_network = true\nredirects = \"any\"");
    assert_eq!(judged(&any, &call), Value::from("there"));
    let request = &other.requests()[0];
    assert_eq!(request.headers.get("authorization"), None);
    assert_eq!(request.headers.get("x-api-key"), None);
    assert_eq!((&*request.headers["accept"], &*request.body), ("a/b", "x"));
}

#[test]
fn a_redirect_that_is_not_followed_is_reported_with_its_target() {
    for (target, shown) in [("http://[nowhere".to_owned(), "http://[nowhere"), ("x:".repeat(5_000), "x:x:")] {
        let peer = redirecting("302 Found", move || target.clone());
        let failed = failure(perform(&tools(OPEN), &get(&peer, "/from")));
        assert!(failed.message.contains(shown) && failed.message.len() < 1_000, "{failed:?}");
    }
}

#[test]
fn a_redirect_into_a_private_network_is_rejected_even_from_a_trusted_host() {
    let other = Peer::saying("200 OK", "text/plain", "there");
    let to = other.url("/to");
    let peer = redirecting("302 Found", move || to.clone());
    let tools = tools(&format!("[http]\nredirects = \"any\"\ntrusted_hosts = [\"127.0.0.1:{}\"]", peer.port));
    let failed = failure(perform(&tools, &get(&peer, "/from")));
    assert!(failed.message.contains("--allow-private-network"), "{failed:?}");
    assert!(other.requests().is_empty());
}

#[test]
fn a_document_may_expect_a_redirect_and_loops_end() {
    let peer = redirecting("302 Found", || "/from".into());
    let input = format!(r#"{{"url": "{}"}}"#, peer.url("/from"));
    for spec in [r#"{"fixed": {"follow_redirects": false}}"#, r#"{"response": {"expected_status": [[302, 302]]}}"#] {
        let answer = perform(&tools(OPEN), &call("http", spec, &input));
        assert!(matches!(answer, Answer::Http(HttpResponse { status: 302, .. })), "{answer:?}");
    }
    let failed = failure(perform(&tools(OPEN), &call("http", "{}", &input)));
    assert!(failed.message.contains("loop"), "{failed:?}");
}

#[test]
fn a_response_is_read_up_to_the_limit_with_and_without_content_length() {
    let with_length = Peer::new(|_| response("200 OK", &[], &"x".repeat(2000)));
    let without_length =
        Peer::new(|_| format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{}", "x".repeat(2000)).into_bytes());
    let tools = tools("[http]\nallow_private_network = true\nmax_response_bytes = 1000");
    for peer in [with_length, without_length] {
        let failed = failure(perform(&tools, &get(&peer, "/")));
        assert!(
            failed.message.contains("max_response_bytes") && failed.answered && !failed.retry.allows_retry(),
            "{failed:?}"
        );
    }
}

#[test]
fn the_answer_says_whether_there_was_a_response() {
    let cut = Peer::new(|_| b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf".to_vec());
    let dead = Closed::new();
    let call = call("http", "{}", &format!(r#"{{"url": "http://127.0.0.1:{}/"}}"#, dead.port()));
    for call in [get(&cut, "/"), call] {
        let AttemptError { retry, answered, .. } = failure(perform(&tools(OPEN), &call));
        assert!(retry.allows_retry() && !answered, "{call:?}");
    }
}

#[test]
fn a_call_to_a_silent_server_ends_at_the_time_limit() {
    let silent = Peer::new(|_| Vec::new());
    let limited = get(&silent, "/").with_time_limit(100);
    assert_eq!(perform(&tools(OPEN), &limited), Answer::Missing);
    let brief = tools("[http]\nallow_private_network = true\ntimeout_ms = 100");
    assert_eq!(&*failure(perform(&brief, &get(&silent, "/"))).kind, "timeout");
}

#[test]
fn a_call_ends_when_it_is_cancelled() {
    let silent = Peer::new(|_| Vec::new());
    let stop = CancellationToken::new();
    let word = stop.clone();
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        word.cancel();
    });
    // It would also end by itself, but much later.
    let patient = tools(&format!("{OPEN}\ntimeout_ms = 3600000"));
    let prepared = get(&silent, "/").prepare(&secrets()).expect("it can be sent");
    assert_eq!(runtime().block_on(patient.perform(&prepared, &stop)), Some(Answer::Missing));
}

#[test]
fn secrets_are_filled_in_and_never_reported() {
    let peer = Peer::saying("200 OK", "text/plain", "ok");
    let spec =
        r#"{"secrets": [{"at": [{"field": "headers"}, {"field": "Authorization"}]}, {"at": [{"field": "url"}]}]}"#;
    let input = format!(
        r#"{{"url": ["{}?k=", {{"secret": "TEST_KEY"}}], "headers": {{"Authorization": ["Bearer ", {{"secret": "TEST_TOKEN"}}, ""]}}}}"#,
        peer.url("/")
    );
    assert_eq!(judged(&tools(OPEN), &call("http", spec, &input)), Value::from("ok"));
    assert_eq!(peer.requests()[0].headers["authorization"], "Bearer test_token");
    assert_eq!(peer.requests()[0].target, "/?k=test_key");
    let spec = r#"{"secrets": [{"at": [{"field": "headers"}, {"field": "X-Key"}], "form": {"credential": {"before": "", "secret": "TEST_OTHER"}}}]}"#;
    for headers in ["", r#", "headers": {"X-One": "1"}"#] {
        judged(&tools(OPEN), &call("http", spec, &format!(r#"{{"url": "{}"{headers}}}"#, peer.url("/"))));
        let sent_headers = peer.requests().pop().expect("it was called").headers;
        assert_eq!((&*sent_headers["x-key"], sent_headers.contains_key("x-one")), ("test_other", !headers.is_empty()));
    }
    let bad = r#"{"url": ["no address ", {"secret": "TEST_KEY"}]}"#;
    let failed = failure(perform(&tools(OPEN), &call("http", r#"{"secrets": [{"at": [{"field": "url"}]}]}"#, bad)));
    assert!(failed.message.contains("***") && !failed.message.contains("test_key"), "{failed:?}");
    let missing = r#"{"url": ["", {"secret": "OTHER"}]}"#;
    let failed = failure(perform(&tools(OPEN), &call("http", r#"{"secrets": [{"at": [{"field": "url"}]}]}"#, missing)));
    assert!(failed.message.contains("`OTHER`"), "{failed:?}");
}

#[test]
fn invalid_requests_are_reported_without_sending() {
    for (input, expected) in [
        (r#"{"url": "nowhere"}"#, "not a valid URL"),
        (r#"{"url": "https://e.example/", "method": "GE T"}"#, "`method` is"),
        (r#"{"url": "https://e.example/", "headers": {"a b": "c"}}"#, "header name"),
        (r#"{"url": "https://e.example/", "headers": {"a": "c\nd: e"}}"#, "header `a`"),
        (r#"{"url": "https://e.example/", "headers": {"Content-Length": "1"}}"#, "set by the connection"),
        (r#"{"url": "https://e.example/", "headers": {"Host": "other.example"}}"#, "set by the connection"),
        (r#"{"url": "ftp://e.example/"}"#, "http:// or https://"),
        (r#"{"url": "https://me:pw@e.example/"}"#, "password"),
    ] {
        let failed = failure(perform(&tools(""), &call("http", "{}", input)));
        assert!(failed.message.contains(expected) && !failed.retry.allows_retry(), "{input}: {failed:?}");
    }
}

#[test]
fn pages_are_read_as_text_and_data_as_values() {
    let page = "<html><head><title>T</title></head><body><p>One</p><script>x()</script></body></html>";
    let peer = Peer::new(move |request| match &*request.target {
        "/json" => response("200 OK", &[("content-type", "application/json; charset=utf-8")], "[1]"),
        "/latin" => {
            let mut page = response("200 OK", &[("content-type", "text/plain; charset=iso-8859-1")], "?");
            *page.last_mut().expect("it has a body") = 0xe4;
            page
        }
        "/gone" => response("410 Gone", &[], ""),
        _ => response("200 OK", &[("content-type", "text/html")], page),
    });
    let fetch = |path: &str, more: &str| call("fetch", "{}", &format!(r#"{{"url": "{}"{more}}}"#, peer.url(path)));
    let tools = tools(OPEN);
    assert_eq!(judged(&tools, &fetch("/", "")), Value::from("T\n\nOne"));
    assert_eq!(judged(&tools, &fetch("/", r#", "format": "html""#)), Value::from(page));
    assert_eq!(judged(&tools, &fetch("/json", "")), value("[1]"));
    assert_eq!(judged(&tools, &fetch("/latin", "")), Value::from("ä"));
    let gone = fetch("/gone", "");
    assert_eq!(&*judge(&gone, perform(&tools, &gone)).expect_err("it is gone").kind, "http_status");
    let scraping = call(
        "tool",
        r#"{"fixed": {"tool": "webScraping"}}"#,
        &format!(r#"{{"arguments": {{"url": "{}"}}}}"#, peer.url("/")),
    );
    assert_eq!(judged(&tools, &scraping), Value::from("T\n\nOne"));
}

#[test]
fn many_simultaneous_calls_share_the_threads() {
    let peer = Peer::saying("200 OK", "text/plain", "ok");
    let (tools, call) = (Arc::new(tools(OPEN)), get(&peer, "/"));
    let calls: Vec<_> = (0..50)
        .map(|_| {
            let (tools, call) = (Arc::clone(&tools), call.clone());
            thread::spawn(move || judged(&tools, &call))
        })
        .collect();
    assert!(calls.into_iter().all(|call| call.join().is_ok_and(|answer| answer == Value::from("ok"))));
}
