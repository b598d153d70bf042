//! Signed webhooks.

use branchpoint_expr::Value;
use hmac::{Hmac, KeyInit, Mac};

use super::peer::{Peer, response};
use super::{call, failure, judged, perform, tools};

const SIGNED: &str = "[http]\nallow_private_network = true\n[webhook]\nsecret_env = \"TEST_SECRET\"";

#[test]
fn a_notification_is_signed_over_its_id_its_time_and_its_body() {
    let peer = Peer::saying("200 OK", "application/json", r#"{"ok": true}"#);
    let input = format!(
        r#"{{"url": "{}", "method": "POST", "content_type": "application/json", "payload": {{"a": "ä"}}}}"#,
        peer.url("/hook")
    );
    let answer = judged(&tools(SIGNED), &call("webhook", "{}", &input));
    assert_eq!(answer, Value::from(r#"{"ok": true}"#), "the answer is text");
    let request = &peer.requests()[0];
    assert_eq!((&*request.method, &*request.body), ("POST", r#"{"a":"ä"}"#));
    assert_eq!(request.headers["content-type"], "application/json");
    assert_eq!(request.headers["branchpoint-id"], "run-1/7/0");
    assert_eq!(request.headers["idempotency-key"], "run-1/7/0");
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(b"test_secret").expect("every length is a key");
    mac.update(format!("run-1/7/0.{}.{}", request.headers["branchpoint-timestamp"], request.body).as_bytes());
    let signature = request.headers["branchpoint-signature"].strip_prefix("v1=").expect("the version goes first");
    let bytes: Vec<u8> = (0..signature.len() / 2)
        .map(|at| u8::from_str_radix(&signature[2 * at..2 * at + 2], 16).expect("these are digits"))
        .collect();
    mac.verify_slice(&bytes).expect("the signature holds");
}

#[test]
fn text_is_sent_unchanged_and_without_a_secret_nothing_is_signed() {
    let peer = Peer::saying("200 OK", "text/plain", "");
    let input = format!(r#"{{"url": "{}", "content_type": "text/plain", "payload": "hello"}}"#, peer.url("/"));
    judged(&tools("[http]\nallow_private_network = true"), &call("webhook", "{}", &input));
    let request = &peer.requests()[0];
    assert_eq!(request.body, "hello");
    assert_eq!(request.headers.get("branchpoint-signature"), None);
    assert!(request.headers.contains_key("branchpoint-timestamp"));
}

#[test]
fn a_redirect_is_a_failure_that_names_the_new_address() {
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"] {
        let peer = Peer::new(move |_| response(status, &[("location", "/new-hook")], ""));
        let input = format!(r#"{{"url": "{}", "payload": {{"a": 1}}}}"#, peer.url("/hook"));
        let hook = call("webhook", "{}", &input);
        for redirects in ["same-host", "any", "none"] {
            let tools = tools(&format!("[http]\nallow_private_network = true\nredirects = \"{redirects}\""));
            let failed = failure(perform(&tools, &hook));
            assert!(failed.message.contains("`/new-hook`") && !failed.retry.allows_retry(), "{status}: {failed:?}");
            assert_eq!(&*failed.kind, "http_status");
        }
        assert_eq!(peer.requests().len(), 3, "redirects are not followed");
    }
}
