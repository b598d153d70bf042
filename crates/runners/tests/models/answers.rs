//! Unusual responses: declined, truncated, empty, endless, or not from a model.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::provider::{Does, Provider};
use super::{call, perform, value};
use branchpoint_core::effect::ModelResult;
use branchpoint_core::{AttemptError, RetryHint};
use branchpoint_expr::Value;
use branchpoint_runners::models::{Piece, Price, Provider as ProviderSettings, Settings};
use branchpoint_runners::{Answer, Call, Models, judge};

const KEY: &str = "sk-0123456789abcdef";

pub(crate) fn models(provider: &Provider, name: &str) -> Models {
    let set = ProviderSettings { base_url: Some(provider.url.clone()), ..ProviderSettings::default() };
    let settings = Settings {
        default: Some(format!("{name}/test-model")),
        providers: BTreeMap::from([(name.to_owned(), set)]),
        retries: 1,
        ..Settings::default()
    };
    let mut models = Models::new(settings, BTreeMap::new());
    models.environment = Arc::new(|name| name.ends_with("_API_KEY").then(|| KEY.to_owned()));
    models
}

pub(crate) fn plain_call() -> Call {
    call("model", "{}", r#"{"prompt": "hi"}"#)
}

#[track_caller]
pub(crate) fn failed(answer: Answer) -> AttemptError {
    match answer {
        Answer::Failed(failed) | Answer::Spent { failed, .. } => failed,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
pub(crate) fn assert_text(answer: &Answer, expected: &str) {
    assert!(
        matches!(answer, Answer::Model(ModelResult { value: Value::Str(text), .. }) if &**text == expected),
        "{answer:?}"
    );
}

const OPENAI_REFUSES: &str = r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"refusal":"I cannot "},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"refusal":"help with that."},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]

"#;

const OPENAI_FILTERS: &str = r#"data: {"choices":[{"index":0,"delta":{"content":"Well"},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}

data: [DONE]

"#;

pub(crate) const ANTHROPIC_REFUSES: &str = r#"event: message_start
data: {"type":"message_start","message":{"usage":{"input_tokens":5}}}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"refusal"},"usage":{"output_tokens":1}}

event: message_stop
data: {"type":"message_stop"}

"#;

const GEMINI_FILTERS: &str = r#"data: {"candidates":[{"finishReason":"SAFETY","index":0}]}

"#;

const GEMINI_BLOCKS: &str = r#"data: {"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}

"#;

#[test]
fn a_declined_reply_fails_at_once_with_the_explanation() {
    for (name, does, words) in [
        ("openai", Does::Streams(OPENAI_REFUSES), "I cannot help with that."),
        ("openai", Does::Streams(OPENAI_FILTERS), "content_filter"),
        ("anthropic", Does::Streams(ANTHROPIC_REFUSES), "refusal"),
        ("gemini", Does::Streams(GEMINI_FILTERS), "SAFETY"),
        ("gemini", Does::Streams(GEMINI_BLOCKS), "PROHIBITED_CONTENT"),
        (
            "openai",
            Does::Ignores(
                r#"{"choices":[{"message":{"content":null,"refusal":"No, thanks."},"finish_reason":"stop"}]}"#,
            ),
            "No, thanks.",
        ),
        ("anthropic", Does::Ignores(r#"{"content":[],"stop_reason":"refusal","usage":{}}"#), "refusal"),
        ("gemini", Does::Ignores(r#"{"promptFeedback":{"blockReason":"OTHER"}}"#), "OTHER"),
    ] {
        let provider = Provider::new(vec![does.clone()]);
        let mut models = models(&provider, name);
        models.settings.stream = matches!(does, Does::Streams(_));
        let failed = failed(perform(&models, &plain_call()));
        assert!(failed.message.contains(words), "{name}: {}", failed.message);
        assert!(!failed.retry.allows_retry() && failed.answered, "{name}: {failed:?}");
        assert_eq!(provider.requests().len(), 1, "{name}: {words}");
    }
}

#[test]
fn an_incomplete_stream_of_gemini_is_retried() {
    const HALF: &str = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"half\"}]}}]}\n\n";
    const WHOLE: &str =
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"whole\"}]},\"finishReason\":\"STOP\"}]}\n\n";
    let provider = Provider::new(vec![Does::Streams(HALF), Does::Streams(WHOLE)]);
    assert_text(&perform(&models(&provider, "gemini"), &plain_call()), "whole");
    assert_eq!(provider.requests().len(), 2);
}

#[test]
fn an_empty_reply_is_retried_and_accepted_only_after_tool_results() {
    const EMPTY: &str =
        "data: {\"choices\":[{\"delta\":{\"content\":\" \"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let provider = Provider::new(vec![Does::Streams(EMPTY), Does::Says("here")]);
    assert_text(&perform(&models(&provider, "openai"), &plain_call()), "here");
    let provider = Provider::new(vec![Does::Streams(EMPTY)]);
    let failed = failed(perform(&models(&provider, "openai"), &plain_call()));
    assert!(failed.message.contains("empty"), "{failed:?}");
    let since = r#"{"prompt": "hi", "since": [{"role": "assistant", "toolCalls": [{"id": "a", "name": "x", "arguments": {}}]},
        {"role": "tool", "id": "a", "name": "x", "content": "done"}]}"#;
    let answer = perform(
        &models(&provider, "openai"),
        &call("model", r#"{"fixed": {"task": "reply"}, "response": {"format": "reply"}}"#, since),
    );
    assert!(matches!(answer, Answer::Model(ModelResult { .. })), "{answer:?}");
}

const CUT: &str = r#"data: {"choices":[{"delta":{"content":"{\"n\": 1, \"te"},"finish_reason":"length"}]}

data: [DONE]

"#;

#[test]
fn a_reply_that_is_truncated_at_the_limit_of_tokens_fails() {
    let schema = r#"{"response": {"output_schema": {"type": "object"}}}"#;
    let limited = r#"{"prompt": "hi", "max_tokens": 5}"#;
    let provider = Provider::new(vec![Does::Streams(CUT)]);
    let models = models(&provider, "openai");
    for (spec, input, kind) in [
        (schema, limited, "output_schema"),
        ("{}", r#"{"prompt": "hi"}"#, "step_failed"),
        (schema, r#"{"prompt": "hi"}"#, "output_schema"),
    ] {
        let failed = failed(perform(&models, &call("model", spec, input)));
        assert_eq!(&*failed.kind, kind);
        assert!(failed.message.contains("`max_tokens`") && failed.message.contains("`length`"), "{failed:?}");
    }
    assert_eq!(provider.requests().len(), 3, "none was retried");
    assert_text(&perform(&models, &call("model", "{}", limited)), r#"{"n": 1, "te"#);
    let answer =
        perform(&models, &call("model", r#"{"fixed": {"task": "reply"}, "response": {"format": "reply"}}"#, limited));
    let reason = |value: &Value| value.get("stopReason").cloned();
    assert!(
        matches!(&answer, Answer::Model(ModelResult { value, .. }) if reason(value) == Some("length".into())),
        "{answer:?}"
    );
}

#[test]
fn the_schema_of_a_call_is_enforced() {
    let spec = r#"{"response": {"non_empty": true, "format": "json"}}"#;
    for schema in [r#"{"type": "object", "required": ["n"]}"#, r#""{\"type\": \"object\", \"required\": [\"n\"]}""#] {
        let provider = Provider::new(vec![Does::Says(r#"{"m": 1}"#)]);
        let model_call = call("model", spec, &format!(r#"{{"prompt": "n?", "schema": {schema}}}"#));
        let answer = perform(&models(&provider, "openai"), &model_call);
        assert_eq!(provider.requests().len(), 2, "retried once");
        let failed = judge(&model_call, answer).expect_err("it does not fit");
        assert_eq!(&*failed.kind, "output_schema");
        assert_eq!(judge(&model_call, Answer::model(r#"{"n": 1}"#)), Ok(value(r#"{"n": 1}"#)));
    }
    let text = call("model", spec, r#"{"schema": {"type": "string"}}"#);
    assert_eq!(judge(&text, Answer::model(r#""a word""#)), Ok(Value::from("a word")));
}

#[test]
fn a_score_out_of_range_is_retried_and_then_fails() {
    let model_call =
        call("model", r#"{"fixed": {"task": "score"}, "response": {"pass_threshold": 0.5}}"#, r#"{"subject": "work"}"#);
    let wrong = || Does::Says(r#"{"score": 85, "explanation": "good"}"#);
    let provider = Provider::new(vec![wrong(), Does::Says(r#"{"score": 0.85, "explanation": "good"}"#)]);
    let judged = judge(&model_call, perform(&models(&provider, "openai"), &model_call)).expect("it is a score now");
    assert_eq!(judged.get("score"), Some(&Value::Float(0.85)));
    let provider = Provider::new(vec![wrong()]);
    let failed = judge(&model_call, perform(&models(&provider, "openai"), &model_call)).expect_err("85 is not a score");
    assert!(failed.message.contains("85"), "{failed:?}");
}

#[test]
fn a_key_is_masked_in_the_answer_and_in_its_pieces() {
    for stream in [true, false] {
        let provider = Provider::new(vec![Does::Says("Your key is sk-0123456789abcdef, keep it.")]);
        let mut models = models(&provider, "openai");
        models.settings.stream = stream;
        let received = Arc::new(Mutex::new(String::new()));
        let list = Arc::clone(&received);
        models.listener = Arc::new(move |_, piece| {
            if let Piece::Text(text) = piece {
                list.lock().expect("no panic").push_str(text);
            }
        });
        assert_text(&perform(&models, &plain_call()), "Your key is ***, keep it.");
        assert_eq!(*received.lock().expect("no panic"), "Your key is ***, keep it.");
    }
    let provider = Provider::new(vec![Does::Calls(&[("save", r#"{"key": "sk-0123456789abcdef"}"#)])]);
    let model_call = call(
        "model",
        r#"{"fixed": {"task": "reply"}, "response": {"format": "reply"}}"#,
        r#"{"prompt": "hi", "tools": ["save"]}"#,
    );
    let answer = perform(&models(&provider, "openai"), &model_call);
    assert!(!format!("{answer:?}").contains("0123456789"), "{answer:?}");
    let provider = Provider::new(vec![Does::Says("It is none.")]);
    let mut models = models(&provider, "openai");
    models.environment = Arc::new(|name| name.ends_with("_API_KEY").then(|| "none".to_owned()));
    assert_text(&perform(&models, &plain_call()), "It is none.");
}

#[test]
fn arguments_of_tools_are_sent_back_as_objects_even_if_they_are_invalid() {
    let provider = Provider::new(vec![Does::Calls(&[("now", ""), ("cut", r#"{"n": 1, "#)])]);
    let input = r#"{"prompt": "hi", "tools": ["now", "cut"]}"#;
    let answer = perform(
        &models(&provider, "openai"),
        &call("model", r#"{"fixed": {"task": "reply"}, "response": {"format": "reply"}}"#, input),
    );
    let Answer::Model(ModelResult { value: reply, .. }) = &answer else { panic!("{answer:?}") };
    let calls = reply.get("toolCalls").and_then(Value::as_list).expect("calls");
    assert_eq!(calls[0].get("arguments"), Some(&value("{}")));
    assert_eq!(calls[1].get("arguments"), Some(&Value::from(r#"{"n": 1, "#)));
    let since = r#"[{"role": "assistant", "toolCalls": [{"id": "a", "name": "cut", "arguments": "{\"n\": 1, "}]},
        {"role": "tool", "id": "a", "name": "cut", "error": "no JSON object"}]"#;
    let input = format!(r#"{{"prompt": "hi", "tools": ["cut"], "since": {since}}}"#);
    let provider = Provider::new(vec![Does::Says("I see")]);
    perform(
        &models(&provider, "anthropic"),
        &call("model", r#"{"fixed": {"task": "reply"}, "response": {"format": "reply"}}"#, &input),
    );
    let sent = &provider.requests()[0].body["messages"][1]["content"][0];
    assert_eq!(sent["input"], serde_json::json!({}), "{sent}");
}

#[test]
fn a_server_without_streaming_is_supported_and_a_web_page_is_an_error() {
    const WHOLE: &str = r#"{"choices":[{"message":{"role":"assistant","content":"at once"},"finish_reason":"stop"}]}"#;
    let provider = Provider::new(vec![Does::Ignores(WHOLE)]);
    assert_text(&perform(&models(&provider, "openai"), &plain_call()), "at once");
    let provider = Provider::new(vec![Does::Shows("<html>Log in</html>")]);
    let failed = failed(perform(&models(&provider, "openai"), &plain_call()));
    assert!(failed.message.contains("address") && failed.message.contains("text/html"), "{failed:?}");
    assert!(!failed.retry.allows_retry() && provider.requests().len() <= 2);
}

#[test]
fn a_stream_with_a_stop_reason_is_complete() {
    const CALL: &str = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"x\",\"arguments\":\"{\\\"n\\\"\"}}]}}]}\n\n\
        data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\": 1}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n";
    const TEXT: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"all\"},\"finish_reason\":null}]}\n\n\
        data: {\"choices\":[{\"delta\":{\"content\":\" of it\"},\"finish_reason\":\"stop\"}]}\n\n\
        data: {\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":2}}\n\n";
    let provider = Provider::new(vec![Does::Streams(TEXT)]);
    let answer = perform(&models(&provider, "openai"), &plain_call());
    assert_text(&answer, "all of it");
    assert_eq!((answer.usage().tokens, provider.requests().len()), (12, 1));
    let provider = Provider::new(vec![Does::Streams(CALL)]);
    let model_call = call(
        "model",
        r#"{"fixed": {"task": "reply"}, "response": {"format": "reply"}}"#,
        r#"{"prompt": "hi", "tools": ["x"]}"#,
    );
    let answer = perform(&models(&provider, "openai"), &model_call);
    let Answer::Model(ModelResult { value: reply, .. }) = &answer else { panic!("{answer:?}") };
    assert_eq!(reply.get("toolCalls"), Some(&value(r#"[{"id": "a", "name": "x", "arguments": {"n": 1}}]"#)));
}

#[test]
fn an_effort_is_lowered_to_the_limit_of_tokens_and_an_unknown_one_is_reported() {
    for (model, effort, max_tokens, budget) in [
        ("claude-sonnet-4-5", "high", 30_000, Some(24_000)),
        ("claude-sonnet-4-5", "high", 10_000, Some(8_000)),
        ("claude-sonnet-4-5", "medium", 2_000, Some(1_024)),
        ("claude-sonnet-4-5", "low", 1_000, None),
        ("claude-opus-4-6", "high", 1_000, None),
    ] {
        let provider = Provider::new(vec![Does::Says("hi")]);
        let input = format!(
            r#"{{"prompt": "hi", "model": "anthropic/{model}", "reasoning_effort": "{effort}", "max_tokens": {max_tokens}}}"#
        );
        perform(&models(&provider, "anthropic"), &call("model", "{}", &input));
        let sent = &provider.requests()[0].body;
        assert_eq!(sent["thinking"]["budget_tokens"].as_u64(), budget, "{model} {effort} {max_tokens}: {sent}");
        assert_eq!(sent["max_tokens"], max_tokens);
    }
    let provider = Provider::new(vec![Does::Says("hi")]);
    for (field, parts) in
        [(r#""reasoning_effort": "ultra""#, ["`ultra`", "`xhigh`"]), (r#""seed": -1"#, ["`-1`", "seed"])]
    {
        let input = call("model", "{}", &format!(r#"{{"prompt": "hi", {field}}}"#));
        let failed = failed(perform(&models(&provider, "openai"), &input));
        assert!(parts.iter().all(|part| failed.message.contains(part)), "{failed:?}");
    }
    assert!(provider.requests().is_empty());
}

#[test]
fn a_model_name_that_would_change_the_url_is_rejected() {
    let provider = Provider::new(vec![Does::Says("hi")]);
    for name in ["../../x", "a/../b", "..", "%2e%2e/x", "a?key=1", "a#b", ".\t./x", "a\\..\\b"] {
        let input = Value::from(&serde_json::json!({"prompt": "hi", "model": name}));
        let model_call = Call { input, ..call("model", "{}", "{}") };
        let failed = failed(perform(&models(&provider, "gemini"), &model_call));
        assert!(failed.message.contains("is not a valid model name") && !failed.retry.allows_retry(), "{failed:?}");
        assert_text(&perform(&models(&provider, "openai"), &model_call), "hi");
        assert_eq!(provider.requests().pop().expect("a call").body["model"], name);
    }
    let model_call = call("model", "{}", r#"{"prompt": "hi", "model": "tuned/gemini-2.5-pro:1@2"}"#);
    perform(&models(&provider, "gemini"), &model_call);
    let path = provider.requests().pop().expect("a call").path;
    assert!(path.contains("/models/tuned/gemini-2.5-pro:1@2:"), "{path}");
}

#[test]
fn a_stop_and_a_seed_are_sent() {
    let provider = Provider::new(vec![Does::Says("hi")]);
    let model_call = call("model", "{}", r#"{"prompt": "hi", "stop": ["END", "\n\n"], "seed": 7}"#);
    perform(&models(&provider, "openai"), &model_call);
    let sent = &provider.requests()[0].body;
    assert_eq!((&sent["stop"], &sent["seed"]), (&serde_json::json!(["END", "\n\n"]), &serde_json::json!(7)), "{sent}");
}

#[test]
fn very_long_time_limits_do_not_overflow() {
    let busy = Does::Refuses(429, &[("retry-after", "1000000000000000")], "{}");
    let provider = Provider::new(vec![Does::Says("hi"), busy]);
    let mut models = models(&provider, "openai");
    models.settings.time_limit_s = u64::MAX;
    assert_text(&perform(&models, &plain_call()), "hi");
    let limited = plain_call().with_time_limit(u64::MAX);
    let failed = failed(perform(&models, &limited));
    assert!(failed.message.contains("429"), "{failed:?}");
    assert_eq!(provider.requests().len(), 2);
}

#[test]
fn a_very_long_wait_ends_the_attempt() {
    for wait in ["18446744073709551615", "1e300", "Fri, 31 Dec 9999 23:59:59 GMT"] {
        let headers: &'static [_] = vec![("retry-after", wait), ("date", "Mon, 01 Jan 2001 00:00:00 GMT")].leak();
        let provider = Provider::new(vec![Does::Refuses(429, headers, "{}"), Does::Says("too early")]);
        let failed = failed(perform(&models(&provider, "openai"), &plain_call()));
        assert_eq!((failed.retry, provider.requests().len()), (RetryHint::After(86_400_000), 1), "{wait}: {failed:?}");
    }
}

#[test]
fn a_provider_before_the_name_of_its_own_model_is_removed() {
    let provider = Provider::new(vec![Does::Says("hi")]);
    let mut models = models(&provider, "openai");
    models.settings.prices = BTreeMap::from([("gpt-5".to_owned(), Price { input: 1.0, output: 1.0, cached: None })]);
    for (model, sent) in [("openai/gpt-5", "gpt-5"), ("openai::gpt-5", "gpt-5"), ("anthropic/gpt-5", "anthropic/gpt-5")]
    {
        let input = format!(r#"{{"prompt": "hi", "provider": "openai", "model": "{model}"}}"#);
        let answer = perform(&models, &call("model", "{}", &input));
        assert_eq!(provider.requests().pop().expect("it was called").body["model"], sent);
        assert_eq!(answer.usage().cost_micros > 0, sent == "gpt-5", "{model}: {answer:?}");
    }
    let gateway = super::answers::models(&provider, "groq");
    perform(&gateway, &call("model", "{}", r#"{"prompt": "hi", "provider": "groq", "model": "groq/compound"}"#));
    assert_eq!(provider.requests().pop().expect("it was called").body["model"], "groq/compound", "its whole name");
}

#[test]
fn an_invalid_api_key_of_a_document_is_rejected_at_once() {
    let provider = Provider::new(vec![Does::Says("hi")]);
    let model_call = call("model", "{}", r#"{"prompt": "hi", "api_key": "sk-two\nlines"}"#);
    let failed = failed(perform(&models(&provider, "openai"), &model_call));
    assert!(failed.retry == RetryHint::Never && failed.message.contains("line break"), "{failed:?}");
    assert!(!failed.message.contains("sk-two") && provider.requests().is_empty(), "{failed:?}");
}

#[test]
fn messages_do_not_repeat_long_values() {
    let long = "x".repeat(100_000);
    let provider = Provider::new(vec![Does::Says("hi")]);
    for input in [
        format!(r#"{{"prompt": "hi", "reasoning_effort": "{long}"}}"#),
        format!(r#"{{"prompt": "hi", "provider": "{long}", "model": "m"}}"#),
        format!(r#"{{"prompt": "hi", "provider": "gemini", "model": "a/../{long}"}}"#),
        format!(r#"{{"prompt": "hi", "base_url": "ftp://{long}"}}"#),
        format!(r#"{{"prompt": "hi", "attachments": {{"name": "{long}"}}}}"#),
        format!(r#"{{"prompt": "hi", "attachments": "{long}"}}"#),
        format!(r#"{{"prompt": "hi", "attachments": {{"storage_key": "{long}"}}}}"#),
        format!(r#"{{"messages": [{{"role": "{long}", "content": "hi"}}]}}"#),
        format!(r#"{{"messages": [{{"role": "user", "content": [{{"type": "{long}"}}]}}]}}"#),
    ] {
        let failed = failed(perform(&models(&provider, "openai"), &call("model", "{}", &input)));
        assert!(failed.message.len() < 1_000, "{:.60}: {} bytes", input, failed.message.len());
    }
}

#[test]
fn a_missing_key_of_a_subagent_is_reported_before_the_run() {
    let provider = Provider::new(vec![Does::Says("hi")]);
    let models = models(&provider, "openai");
    let spec = r#"{"fixed": {"model": "gpt-5", "subagent_models": ["gpt-5", "claude-sonnet-4-5"]}}"#;
    assert_eq!(models.unavailable_reason(&super::effect("model", spec)), None);
    let mut keyless = models.clone();
    keyless.environment = Arc::new(|name| (name == "OPENAI_API_KEY").then(|| KEY.to_owned()));
    let (_, why) = keyless.unavailable_reason(&super::effect("model", spec)).expect("there is no key for it");
    assert!(why.contains("ANTHROPIC_API_KEY"), "{why}");
}

#[test]
fn an_endless_response_is_read_up_to_the_limit() {
    for stream in [true, false] {
        let provider = Provider::new(vec![Does::Floods(200)]);
        let mut models = models(&provider, "openai");
        models.settings.stream = stream;
        models.settings.max_response_bytes = 1_000_000;
        let failed = failed(perform(&models, &plain_call()));
        let names_limit = failed.message.contains("1000000 bytes") && failed.message.contains("`max_response_bytes`");
        assert!(names_limit && !failed.retry.allows_retry(), "{stream}: {failed:?}");
        assert_eq!(provider.requests().len(), 1, "{stream}: it is not retried");
    }
    let provider = Provider::new(vec![Does::Says("well within it")]);
    let mut models = models(&provider, "openai");
    models.settings.max_response_bytes = 100_000;
    assert_text(&perform(&models, &plain_call()), "well within it");
}

#[test]
fn an_endless_line_is_read_up_to_the_limit() {
    let provider = Provider::new(vec![Does::Floods(200)]);
    let failed = failed(perform(&models(&provider, "openai"), &plain_call()));
    assert!(failed.message.contains("a line") && failed.message.contains("8388608 bytes"), "{failed:?}");
    assert!(!failed.retry.allows_retry() && provider.requests().len() == 1, "{failed:?}");
}

#[test]
fn lines_of_a_stream_may_end_in_any_way_and_the_last_needs_no_end() {
    const EVENT: &str = r#"data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}"#;
    for ends in ["\n\n", "\r\n\r\n"] {
        for rest in ["data: [DONE]", "data: [DONE]\n\n"] {
            let provider = Provider::new(vec![Does::Streams(format!("{EVENT}{ends}{rest}").leak())]);
            assert_text(&perform(&models(&provider, "openai"), &plain_call()), "hi");
        }
    }
}
