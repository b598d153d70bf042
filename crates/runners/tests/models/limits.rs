//! Calls that end before there is an answer: by their limit of time, or because nobody wants one any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::answers::{failed, models, plain};
use super::perform;
use super::provider::{Does, Provider};
use branchpoint_runners::models::Piece;
use branchpoint_runners::{Answer, Call, CancellationToken, Models, no_secrets, runtime};

/// What has come of a call before its end.
struct Seen<'p> {
    provider: &'p Provider,
    heard: bool,
}

/// What comes of a call whose limit ends it when it has come so far. How long that takes is the machine's business: the limit is
/// longer each time, until it is long enough.
#[track_caller]
fn limited(name: &str, provider: impl Fn() -> Provider, so_far: impl Fn(Seen<'_>) -> bool) -> Answer {
    limited_call(&plain(), name, provider, so_far)
}

#[track_caller]
fn limited_call(call: &Call, name: &str, provider: impl Fn() -> Provider, so_far: impl Fn(Seen<'_>) -> bool) -> Answer {
    for limit in [700, 2_000, 8_000, 30_000, 100_000] {
        let provider = provider();
        let (models, heard) = listening(&provider, name);
        let answer = perform(&models, &call.clone().with_time_limit(limit));
        if so_far(Seen { provider: &provider, heard: heard.load(Ordering::SeqCst) }) {
            return answer;
        }
    }
    panic!("{name}: it never came so far")
}

fn listening(provider: &Provider, name: &str) -> (Models, Arc<AtomicBool>) {
    let mut models = models(provider, name);
    let heard = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&heard);
    models.listener = Arc::new(move |_, piece| {
        if matches!(piece, Piece::Text(_)) {
            noted.store(true, Ordering::SeqCst);
        }
    });
    (models, heard)
}

#[test]
fn what_the_provider_said_before_the_limit_is_told() {
    let busy =
        Does::Refuses(429, &[("retry-after", "0")], r#"{"error": {"message": "slow down, sk-0123456789abcdef"}}"#);
    let provider = || Provider::new(vec![busy.clone(), Does::Hangs]);
    let failed = failed(limited("openai", provider, |seen| seen.provider.requests().len() == 2));
    assert!(&*failed.kind == "timeout" && failed.retry.allows_retry() && !failed.answered, "{failed:?}");
    assert!(failed.message.contains("no response") && failed.message.contains("slow down, ***"), "{failed:?}");
}

#[test]
fn an_answer_without_its_shape_is_told_when_the_next_does_not_come() {
    let asked = super::call("model", super::NUMBER, r#"{"prompt": "A number."}"#);
    let provider = || Provider::new(vec![Does::Says("no number"), Does::Hangs]);
    let answer = limited_call(&asked, "openai", provider, |seen| seen.provider.requests().len() == 2);
    let tokens = answer.usage().tokens;
    let failed = failed(answer);
    assert!(failed.message.contains("no response") && failed.message.contains("is not JSON"), "{failed:?}");
    assert_eq!((tokens, &*failed.kind), (110, "timeout"));
}

#[test]
fn an_unknown_model_is_refused_though_the_limit_leaves_no_time_for_names() {
    let unknown = Does::Refuses(404, &[], r#"{"error": {"message": "no such model", "code": "model_not_found"}}"#);
    let provider = || Provider::without_names(vec![unknown.clone()]);
    let failed = failed(limited("openai", provider, |seen| seen.provider.asked_for_names() == 1));
    assert!(!failed.retry.allows_retry() && failed.answered && &*failed.kind == "step_failed", "{failed:?}");
    assert!(failed.message.contains("has no model `test-model`: no such model"), "{failed:?}");
}

#[test]
fn what_tries_used_up_counts_when_the_limit_ends_the_next() {
    const EMPTY: &str = "data: {\"choices\":[{\"delta\":{\"content\":\" \"},\"finish_reason\":\"stop\"}]}\n\n\
        data: {\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":10}}\n\ndata: [DONE]\n\n";
    let provider = || Provider::new(vec![Does::Streams(EMPTY), Does::Hangs]);
    let answer = limited("openai", provider, |seen| seen.provider.requests().len() == 2);
    assert_eq!((answer.usage().tokens, &*failed(answer).kind), (110, "timeout"));
}

#[test]
fn what_a_stream_used_up_counts_when_the_limit_cuts_it() {
    let provider = || Provider::new(vec![Does::Begins("never to be heard to its end")]);
    let answer = limited("anthropic", provider, |seen| seen.heard);
    assert_eq!((answer.usage().tokens, &*failed(answer).kind), (101, "timeout"));
}

#[test]
fn a_limit_ends_a_call_of_which_nothing_comes() {
    let provider = Provider::new(vec![Does::Hangs]);
    let limited = plain().with_time_limit(50);
    assert_eq!(perform(&models(&provider, "openai"), &limited), Answer::Missing);
}

#[test]
fn a_stop_ends_a_call_before_it_begins_and_while_it_lasts() {
    let stop = CancellationToken::new();
    stop.cancel();
    let provider = Provider::new(vec![Does::Hangs]);
    let prepared = plain().prepare(&no_secrets()).expect("it can be sent");
    assert_eq!(runtime().block_on(models(&provider, "openai").perform(&prepared, &stop)), Some(Answer::Missing));
    for does in
        [Does::Hangs, Does::Begins("never to be heard to its end"), Does::Refuses(429, &[("retry-after", "250")], "")]
    {
        let provider = Provider::new(vec![does.clone()]);
        let (models, heard) = listening(&provider, "openai");
        let stop = CancellationToken::new();
        let (told, begins) = (stop.clone(), matches!(does, Does::Begins(_)));
        let prepared = prepared.clone();
        let called = runtime().spawn(async move { models.perform(&prepared, &told).await });
        while provider.requests().is_empty() || begins && !heard.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(5));
        }
        stop.cancel();
        assert_eq!(runtime().block_on(called).expect("no panic"), Some(Answer::Missing), "{does:?}");
    }
}
