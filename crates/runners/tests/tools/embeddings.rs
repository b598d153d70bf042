//! Vectors of texts, with a server that responds as embedding models do.

use branchpoint_core::RetryHint;
use branchpoint_runners::tools::Tools;
use branchpoint_runners::{CancellationToken, runtime};

use super::peer::{Peer, ReceivedRequest, response};
use super::tools;

fn settings(peer: &Peer, more: &str) -> Tools {
    tools(&format!("[embeddings]\nurl = \"{}\"\nmodel = \"small\"\n{more}", peer.url("/v1/")))
}

fn embed(tools: &Tools, texts: &[&str]) -> Result<Vec<Vec<u8>>, String> {
    let vectors = runtime().block_on(tools.embed_documents(texts, &CancellationToken::new()));
    let vectors = vectors.map_err(|error| error.to_string())?.expect("a model is configured");
    Ok(vectors.iter().map(branchpoint_runners::storage::Vector::to_bytes).collect())
}

/// Gives each text the vector `[its length, 1]`, in reverse order.
fn lengths(request: &ReceivedRequest) -> Vec<u8> {
    let body: serde_json::Value = serde_json::from_str(&request.body).expect("the request is JSON");
    let texts = body["input"].as_array().expect("it has texts");
    let vector = |(index, text): (usize, &serde_json::Value)| serde_json::json!({ "index": index, "embedding": [text.as_str().map(str::len), 1] });
    let data: Vec<_> = texts.iter().enumerate().map(vector).rev().collect();
    response("200 OK", &[("content-type", "application/json")], &serde_json::json!({ "data": data }).to_string())
}

#[test]
fn texts_get_their_vectors_in_order_and_in_batches() {
    let peer = Peer::new(lengths);
    let tools = settings(&peer, "key_env = \"TEST_KEY\"\ndimensions = 2");
    assert_eq!(tools.embedding_model().as_deref(), Some("small (2)"));
    let texts: Vec<String> = (1..=70).map(|length| "x".repeat(length)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = embed(&tools, &texts).expect("the model responds");
    let expected = |length: f32| {
        let vector = branchpoint_runners::storage::Vector::new(vec![length, 1.0]).expect("a vector");
        vector.to_bytes()
    };
    assert_eq!(vectors, (1_u8..=70).map(|length| expected(f32::from(length))).collect::<Vec<_>>());
    let requests = peer.requests();
    assert_eq!(requests.len(), 2, "64 texts and 6");
    assert_eq!((&*requests[0].method, &*requests[0].target), ("POST", "/v1/embeddings"));
    assert_eq!(requests[0].headers.get("authorization").map(String::as_str), Some("Bearer test_key"));
    let body: serde_json::Value = serde_json::from_str(&requests[1].body).expect("JSON");
    assert_eq!((&body["model"], &body["dimensions"]), (&"small".into(), &2.into()));
    assert_eq!(runtime().block_on(self::tools("").embed_documents(&["x"], &CancellationToken::new())), Ok(None));
}

#[test]
fn a_long_text_is_truncated_between_characters() {
    let peer = Peer::new(lengths);
    embed(&settings(&peer, "max_input_bytes = 4"), &["aäöü"]).expect("the model responds");
    let body: serde_json::Value = serde_json::from_str(&peer.requests()[0].body).expect("JSON");
    assert_eq!((&body["input"][0], &body["dimensions"]), (&"aä".into(), &serde_json::Value::Null));
}

#[test]
fn unusable_responses_are_errors() {
    for (body, reason) in [
        ("nonsense", "cannot be parsed"),
        (r#"{"data": []}"#, "returned 0 vectors for 1 texts"),
        (r#"{"data": [{"index": 7, "embedding": [1]}]}"#, "no vector for one text"),
        (r#"{"data": [{"index": 0, "embedding": [0, 0]}]}"#, "an invalid vector of 2 numbers"),
        (r#"{"data": [{"index": 0, "embedding": "AAAA"}]}"#, "cannot be parsed"),
    ] {
        let call = super::call("retrieval", "{}", r#"{"query": "x"}"#);
        let peer = Peer::saying("200 OK", "application/json", body);
        let failed = super::failure(super::perform(&stored(settings(&peer, "")), &call));
        assert!(failed.message.contains(reason) && failed.retry == RetryHint::Soon, "{body}: {failed:?}");
    }
    let peer = Peer::new(lengths);
    let failed = embed(&settings(&peer, "dimensions = 3"), &["x"]).expect_err("the vector has 2 numbers");
    assert!(failed.contains("`dimensions` of [embeddings] is 3"), "{failed}");
}

#[test]
fn a_failing_model_fails_the_step_and_its_key_is_masked() {
    for (status, again) in
        [("503 Service Unavailable", RetryHint::After(7_000)), ("401 Unauthorized", RetryHint::Never)]
    {
        let peer = Peer::new(move |_| response(status, &[("retry-after", "7")], "no entry for test_key"));
        let tools = stored(settings(&peer, "key_env = \"TEST_KEY\""));
        for call in [
            super::call("retrieval", "{}", r#"{"query": "x"}"#),
            super::call("memory", r#"{"fixed": {"operation": "add"}}"#, r#"{"content": "x"}"#),
            super::call("memory", r#"{"fixed": {"operation": "search"}}"#, r#"{"query": "x"}"#),
        ] {
            let failed = super::failure(super::perform(&tools, &call));
            assert_eq!((failed.retry, failed.answered), (again, true), "{failed:?}");
            assert!(!failed.message.contains("test_key"), "{failed:?}");
        }
    }
    let peer = Peer::saying("401 Unauthorized", "text/plain", "no entry for test_key");
    let failed = embed(&settings(&peer, "key_env = \"TEST_KEY\""), &["x"]).expect_err("it is refused");
    assert!(failed.contains("401") && !failed.contains("test_key"), "{failed}");
}

#[test]
fn a_missing_key_is_reported_before_the_run() {
    let peer = Peer::new(lengths);
    let tools = stored(settings(&peer, "key_env = \"NO_SUCH_KEY_ANYWHERE\""));
    for kind in ["retrieval", "memory"] {
        let reason = runtime().block_on(tools.unavailable_reason(&super::effect(kind, "{}"))).expect("there is no key");
        assert!(reason.contains("NO_SUCH_KEY_ANYWHERE"), "{reason}");
    }
    assert_eq!(runtime().block_on(tools.unavailable_reason(&super::effect("chat_history", "{}"))), None);
}

#[test]
fn calls_to_a_busy_model_are_retried_while_documents_are_embedded() {
    let calls = std::sync::atomic::AtomicU32::new(0);
    let peer = Peer::new(move |request| match calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
        0 => response("429 Too Many Requests", &[("retry-after", "0")], ""),
        _ => lengths(request),
    });
    assert_eq!(embed(&settings(&peer, ""), &["x"]).map(|vectors| vectors.len()), Ok(1));
}

/// Tools over stored data that is never reached.
fn stored(tools: Tools) -> Tools {
    tools.with_storage(branchpoint_runners::storage::Storage::new(std::sync::Arc::new(super::unreached::Unreached)))
}
