//! Calls that end without an answer: by their time limit, or by cancellation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::answers::{failed, models, plain_call};
use super::perform;
use super::provider::{Does, Provider};
use branchpoint_runners::models::Piece;
use branchpoint_runners::{Answer, Call, CancellationToken, Models, no_secrets, runtime};

/// The progress of a call before its end.
struct Progress<'p> {
    provider: &'p Provider,
    has_text: bool,
}

/// The answer of a call whose time limit ends it after some progress. The limit is increased until the call makes that progress, because
/// machines differ in speed.
#[track_caller]
fn limited(name: &str, provider: impl Fn() -> Provider, has_progress: impl Fn(Progress<'_>) -> bool) -> Answer {
    limited_call(&plain_call(), name, provider, has_progress)
}

#[track_caller]
fn limited_call(
    call: &Call,
    name: &str,
    provider: impl Fn() -> Provider,
    has_progress: impl Fn(Progress<'_>) -> bool,
) -> Answer {
    for limit in [700, 2_000, 8_000, 30_000, 100_000] {
        let provider = provider();
        let (models, received) = listening(&provider, name);
        let answer = perform(&models, &call.clone().with_time_limit(limit));
        if has_progress(Progress { provider: &provider, has_text: received.load(Ordering::SeqCst) }) {
            return answer;
        }
    }
    panic!("{name}: it never made that progress")
}

fn listening(provider: &Provider, name: &str) -> (Models, Arc<AtomicBool>) {
    let mut models = models(provider, name);
    let received = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&received);
    models.listener = Arc::new(move |_, piece| {
        if matches!(piece, Piece::Text(_)) {
            noted.store(true, Ordering::SeqCst);
        }
    });
    (models, received)
}

#[test]
fn an_earlier_error_of_the_provider_is_reported_at_the_time_limit() {
    let busy =
        Does::Refuses(429, &[("retry-after", "0")], r#"{"error": {"message": "slow down, sk-0123456789abcdef"}}"#);
    let provider = || Provider::new(vec![busy.clone(), Does::Hangs]);
    let failed = failed(limited("openai", provider, |progress| progress.provider.requests().len() == 2));
    assert!(&*failed.kind == "timeout" && failed.retry.allows_retry() && !failed.answered, "{failed:?}");
    assert!(failed.message.contains("no response") && failed.message.contains("slow down, ***"), "{failed:?}");
}

#[test]
fn a_reply_with_the_wrong_form_is_reported_if_the_next_times_out() {
    let model_call = super::call("model", super::NUMBER, r#"{"prompt": "A number."}"#);
    let provider = || Provider::new(vec![Does::Says("no number"), Does::Hangs]);
    let answer = limited_call(&model_call, "openai", provider, |progress| progress.provider.requests().len() == 2);
    let tokens = answer.usage().tokens;
    let failed = failed(answer);
    assert!(failed.message.contains("no response") && failed.message.contains("is not JSON"), "{failed:?}");
    assert_eq!((tokens, &*failed.kind), (110, "timeout"));
}

#[test]
fn an_unknown_model_is_reported_even_without_time_for_similar_names() {
    let unknown = Does::Refuses(404, &[], r#"{"error": {"message": "no such model", "code": "model_not_found"}}"#);
    let provider = || Provider::without_names(vec![unknown.clone()]);
    let failed = failed(limited("openai", provider, |progress| progress.provider.requests_for_names() == 1));
    assert!(!failed.retry.allows_retry() && failed.answered && &*failed.kind == "step_failed", "{failed:?}");
    assert!(failed.message.contains("has no model `test-model`: no such model"), "{failed:?}");
}

#[test]
fn usage_of_earlier_tries_counts_when_the_limit_ends_the_next() {
    const EMPTY: &str = "data: {\"choices\":[{\"delta\":{\"content\":\" \"},\"finish_reason\":\"stop\"}]}\n\n\
        data: {\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":10}}\n\ndata: [DONE]\n\n";
    let provider = || Provider::new(vec![Does::Streams(EMPTY), Does::Hangs]);
    let answer = limited("openai", provider, |progress| progress.provider.requests().len() == 2);
    assert_eq!((answer.usage().tokens, &*failed(answer).kind), (110, "timeout"));
}

#[test]
fn usage_of_a_stream_counts_when_the_limit_ends_it() {
    let provider = || Provider::new(vec![Does::Begins("never to be received to its end")]);
    let answer = limited("anthropic", provider, |progress| progress.has_text);
    assert_eq!((answer.usage().tokens, &*failed(answer).kind), (101, "timeout"));
}

#[test]
fn a_limit_ends_a_call_without_a_response() {
    let provider = Provider::new(vec![Does::Hangs]);
    let limited = plain_call().with_time_limit(50);
    assert_eq!(perform(&models(&provider, "openai"), &limited), Answer::Missing);
}

#[test]
fn cancellation_ends_a_call_before_it_begins_and_while_it_runs() {
    let stop = CancellationToken::new();
    stop.cancel();
    let provider = Provider::new(vec![Does::Hangs]);
    let prepared = plain_call().prepare(&no_secrets()).expect("it can be sent");
    assert_eq!(runtime().block_on(models(&provider, "openai").perform(&prepared, &stop)), Some(Answer::Missing));
    for does in [
        Does::Hangs,
        Does::Begins("never to be received to its end"),
        Does::Refuses(429, &[("retry-after", "250")], ""),
    ] {
        let provider = Provider::new(vec![does.clone()]);
        let (models, received) = listening(&provider, "openai");
        let stop = CancellationToken::new();
        let (token, begins) = (stop.clone(), matches!(does, Does::Begins(_)));
        let prepared = prepared.clone();
        let called = runtime().spawn(async move { models.perform(&prepared, &token).await });
        while provider.requests().is_empty() || begins && !received.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(5));
        }
        stop.cancel();
        assert_eq!(runtime().block_on(called).expect("no panic"), Some(Answer::Missing), "{does:?}");
    }
}
