//! Usage of calls that failed.

use std::collections::BTreeMap;

use super::answers::{ANTHROPIC_REFUSES, assert_text, failed, models, plain_call};
use super::perform;
use super::provider::{Does, Provider};
use branchpoint_runners::models::Price;

#[test]
fn usage_of_failed_replies_and_of_earlier_tries_counts() {
    const REFUSES: &str = r#"{"choices":[{"message":{"content":null,"refusal":"No."},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":10}}"#;
    const USED: &str = r#""usage":{"prompt_tokens":100,"completion_tokens":10}"#;
    let stream = |delta: &str, reason: &str| -> &'static str {
        let choice = format!(r#"{{"choices":[{{"delta":{delta},"finish_reason":"{reason}"}}]}}"#);
        format!("data: {choice}\n\ndata: {{\"choices\":[],{USED}}}\n\ndata: [DONE]\n\n").leak()
    };
    let empty = stream(r#"{"content":" "}"#, "stop");
    for (name, does, tokens) in [
        ("openai", Does::Streams(stream(r#"{"content":"half"}"#, "length")), 110),
        ("openai", Does::Streams(stream(r#"{"refusal":"No."}"#, "stop")), 110),
        ("openai", Does::Streams(empty), 220),
        ("openai", Does::Ignores(REFUSES), 110),
        ("anthropic", Does::Streams(ANTHROPIC_REFUSES), 6),
        ("anthropic", Does::BreaksOff("never to be received to its end"), 202),
        (
            "gemini",
            Does::Streams(
                "data: {\"promptFeedback\":{\"blockReason\":\"OTHER\"},\"usageMetadata\":{\"promptTokenCount\":7}}\n\n",
            ),
            7,
        ),
    ] {
        let provider = Provider::new(vec![does.clone()]);
        let mut models = models(&provider, name);
        models.settings.stream = !matches!(does, Does::Ignores(_));
        let price = Price { input: 1.0, output: 1.0, cached: None };
        models.settings.prices = BTreeMap::from([("test-model".to_owned(), price)]);
        let answer = perform(&models, &plain_call());
        let usage = answer.usage();
        assert_eq!((usage.tokens, usage.cost_micros), (tokens, tokens), "{name} {does:?}: {answer:?}");
        failed(answer);
    }
    let provider = Provider::new(vec![Does::Streams(empty), Does::Says("here")]);
    let answer = perform(&models(&provider, "openai"), &plain_call());
    assert_text(&answer, "here");
    assert_eq!(answer.usage().tokens, 220);
}
