//! Malicious responses, which try to exhaust memory or time or to crash the process.

use std::io::Write;

use super::answers::{assert_text, failed, models, plain_call};
use super::provider::{Does, Provider};
use super::{FORMATS, call, perform, value};
use branchpoint_core::effect::ModelResult;
use branchpoint_runners::{Answer, Call};

fn reply_with_tools() -> Call {
    let definition = r#"{"fixed": {"task": "reply"}, "response": {"format": "reply"}}"#;
    call("model", definition, r#"{"prompt": "hi", "tools": ["x"]}"#)
}

#[test]
fn a_huge_index_of_a_tool_call_reserves_no_memory() {
    const CALL: &str = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":4000000000,\"id\":\"a\",\"function\":{\"name\":\"x\",\"arguments\":\"{\"}}]}}]}\n\n\
        data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":4000000000,\"function\":{\"arguments\":\"}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n";
    let provider = Provider::new(vec![Does::Streams(CALL)]);
    let answer = perform(&models(&provider, "openai"), &reply_with_tools());
    let Answer::Model(ModelResult { value: reply, .. }) = &answer else { panic!("{answer:?}") };
    assert_eq!(reply.get("toolCalls"), Some(&value(r#"[{"id": "a", "name": "x", "arguments": {}}]"#)));
}

#[test]
fn a_reply_has_a_limited_number_of_tool_calls() {
    let call = |at| format!(r#"{{"index": {at}, "id": "{at}", "function": {{"name": "x", "arguments": "{{}}"}}}}"#);
    let calls: Vec<String> = (0..1_001).map(call).collect();
    let body = format!(r#"{{"choices": [{{"message": {{"tool_calls": [{}]}}}}]}}"#, calls.join(", "));
    let provider = Provider::new(vec![Does::Ignores(body.leak())]);
    let failed = failed(perform(&models(&provider, "openai"), &reply_with_tools()));
    assert!(failed.message.contains("1000 tool calls") && !failed.retry.allows_retry(), "{failed:?}");
}

#[test]
fn a_response_has_a_limited_number_of_values_and_a_text_counts_as_one() {
    let values = format!(r#"{{"choices": [{}1]}}"#, "1,".repeat(1_000_000)).leak();
    for does in [Does::Ignores(values), Does::Streams(format!("data: {values}\n\n").leak())] {
        let provider = Provider::new(vec![does]);
        let failed = failed(perform(&models(&provider, "openai"), &plain_call()));
        assert!(failed.message.contains("1000000 JSON values") && !failed.retry.allows_retry(), "{failed:?}");
    }
    let text = r#"\",[{"#.repeat(1_000_000);
    let body = format!(r#"{{"choices": [{{"message": {{"content": "{text}"}}, "finish_reason": "stop"}}]}}"#);
    let provider = Provider::new(vec![Does::Ignores(body.leak())]);
    assert_text(&perform(&models(&provider, "openai"), &plain_call()), &r#"",[{"#.repeat(1_000_000));
}

#[test]
fn arguments_with_too_many_values_stay_text() {
    let arguments = format!(r#"{{\"a\": [{}1]}}"#, "1,".repeat(1_000_000));
    let call = format!(r#"{{"id": "a", "function": {{"name": "x", "arguments": "{arguments}"}}}}"#);
    let body = format!(r#"{{"choices": [{{"message": {{"tool_calls": [{call}]}}, "finish_reason": "tool_calls"}}]}}"#);
    let provider = Provider::new(vec![Does::Ignores(body.leak())]);
    let answer = perform(&models(&provider, "openai"), &reply_with_tools());
    let Answer::Model(ModelResult { value: reply, .. }) = &answer else { panic!("it is a reply") };
    let given = reply.get("toolCalls").and_then(|calls| calls.as_list()?[0].get("arguments")).expect("arguments");
    assert!(given.as_str().is_some_and(|text| text.starts_with("{\"a\": [1,")), "they are text");
}

#[test]
fn arguments_of_gemini_that_are_not_an_object_are_passed_on() {
    for arguments in [r#""rm -rf""#, "[1,2]", "{}"] {
        let call = format!(r#"{{"functionCall": {{"name": "x", "args": {arguments}}}}}"#);
        let body = format!(r#"{{"candidates": [{{"content": {{"parts": [{call}]}}, "finishReason": "STOP"}}]}}"#);
        let provider = Provider::new(vec![Does::Ignores(body.leak())]);
        let answer = perform(&models(&provider, "gemini"), &reply_with_tools());
        let Answer::Model(ModelResult { value: reply, .. }) = &answer else { panic!("{answer:?}") };
        let given = reply.get("toolCalls").and_then(|calls| calls.as_list()?[0].get("arguments"));
        assert_eq!(given, Some(&value(arguments)));
    }
}

#[test]
fn a_schema_that_refers_to_itself_is_sent() {
    let schema = r##"{"type": "object", "properties": {"next": {"$ref": "#", "description": "The next one."}}}"##;
    let definition = format!(r#"{{"response": {{"output_schema": {schema}}}}}"#);
    for name in FORMATS {
        let provider = Provider::new(vec![Does::Says(r#"{"next": {}}"#)]);
        assert_text(
            &perform(&models(&provider, name), &call("model", &definition, r#"{"prompt": "hi"}"#)),
            r#"{"next": {}}"#,
        );
        assert!(provider.requests()[0].body.to_string().contains(r##""$ref":"#""##), "{name}");
    }
}

#[test]
fn impossible_usage_is_counted_without_overflow() {
    const USAGE: &str = "data: {\"choices\":[{\"delta\":{\"content\":\" \"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":18446744073709551615,\
        \"completion_tokens\":18446744073709551615,\"total_tokens\":1}}\n\ndata: [DONE]\n\n";
    let provider = Provider::new(vec![Does::Streams(USAGE)]);
    let answer = perform(&models(&provider, "openai"), &plain_call());
    assert_eq!(answer.usage().tokens, u64::MAX);
}

#[test]
fn a_response_is_counted_after_decompression() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let body = format!(r#"{{"choices": [{{"message": {{"content": "{}"}}}}]}}"#, " ".repeat(10_000_000));
    packed.write_all(body.as_bytes()).expect("it fits into memory");
    let packed = packed.finish().expect("it fits into memory");
    assert!(packed.len() < 20_000, "{}", packed.len());
    let provider = Provider::new(vec![Does::Encodes("gzip", packed.leak())]);
    for stream in [true, false] {
        let mut models = models(&provider, "openai");
        models.settings.stream = stream;
        models.settings.max_response_bytes = 1_000_000;
        let failed = failed(perform(&models, &plain_call()));
        assert!(failed.message.contains("1000000 bytes") && !failed.retry.allows_retry(), "{failed:?}");
    }
}

#[test]
fn responses_of_any_other_form_fail_and_never_panic() {
    let bodies = [
        "{",
        "{}",
        "[]",
        "null",
        "\"text\"",
        r#"{"choices": 1, "usage": [], "content": {}, "candidates": "x", "error": null}"#,
        r#"{"choices": [null], "candidates": [3], "content": [1, null, "x"]}"#,
        r#"{"choices": [{"delta": 1, "message": [], "finish_reason": 7}], "candidates": [{"content": {"parts": [null, 1]}}]}"#,
        r#"{"choices": [{"message": {"content": [{"type": 1}], "tool_calls": {"a": 1}, "reasoning_content": 2}}]}"#,
        r#"{"type": "content_block_delta", "delta": {"text": 1, "partial_json": {}}}"#,
        r#"{"type": "message_start", "message": null}"#,
        "\u{feff}",
        "data",
    ];
    for name in FORMATS {
        for body in bodies {
            for does in [Does::Ignores(body), Does::Streams(format!("data: {body}\n\ndata: {body}\n\n").leak())] {
                let provider = Provider::new(vec![does.clone()]);
                let mut models = models(&provider, name);
                models.settings.retries = 0;
                let failed = failed(perform(&models, &plain_call()));
                assert!(!failed.message.is_empty(), "{name} {does:?}");
            }
        }
    }
}
