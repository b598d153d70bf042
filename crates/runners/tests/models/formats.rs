//! The requests of each wire format, and the content that it sends back.

use super::answers::{assert_text, models};
use super::provider::{Does, Provider};
use super::{FORMATS, call, perform, value};
use branchpoint_core::effect::ModelResult;
use branchpoint_expr::Value;
use branchpoint_runners::Answer;
use serde_json::{Value as Json, json};

const REPLY: &str = r#"{"fixed": {"task": "reply"}, "response": {"format": "reply"}}"#;

/// The body of the request for an input.
fn sent(name: &str, definition: &str, input: &str) -> Json {
    let provider = Provider::new(vec![Does::Says("{}")]);
    let mut models = models(&provider, name);
    models.settings.stream = false;
    models.settings.reask = 0;
    perform(&models, &call("model", definition, input));
    provider.requests().pop().unwrap_or_else(|| panic!("{name}: nothing was sent")).body
}

const CONVERSATION: &str = r#"{"system": "Be kind.", "max_tokens": 7, "stop": ["END"], "seed": 3,
    "tools": [{"name": "add", "description": "Adds.", "parameters": {"type": "object"}}],
    "messages": [{"role": "system", "content": "Be short."}, {"role": "user", "content": "1 + 1?"},
        {"role": "assistant", "content": "Well.", "toolCalls": [{"id": "a", "name": "add", "arguments": {"n": 1}}]},
        {"role": "tool", "id": "a", "name": "add", "content": "2"}]}"#;

#[test]
fn openai_gets_a_conversation_with_tools() {
    let expected = json!({"model": "test-model", "stream": false, "max_tokens": 7, "stop": ["END"], "seed": 3,
        "tools": [{"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": {"type": "object"}}}],
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "system", "content": "Be short."},
            {"role": "user", "content": "1 + 1?"},
            {"role": "assistant", "content": "Well.", "tool_calls": [
                {"type": "function", "id": "a", "function": {"name": "add", "arguments": "{\"n\":1}"}}]},
            {"role": "tool", "tool_call_id": "a", "content": "2"}]});
    assert_eq!(sent("openai", REPLY, CONVERSATION), expected);
    let mut mistral = expected;
    mistral.as_object_mut().and_then(|body| body.remove("seed")).expect("it has a seed");
    mistral["random_seed"] = json!(3);
    assert_eq!(sent("mistral", REPLY, CONVERSATION), mistral);
}

#[test]
fn anthropic_gets_a_conversation_with_tools() {
    let expected = json!({"model": "test-model", "stream": false, "max_tokens": 7, "stop_sequences": ["END"],
        "system": "Be kind.\n\nBe short.",
        "tools": [{"name": "add", "description": "Adds.", "input_schema": {"type": "object"}}],
        "messages": [{"role": "user", "content": "1 + 1?"},
            {"role": "assistant", "content": [{"type": "text", "text": "Well."},
                {"type": "tool_use", "id": "a", "name": "add", "input": {"n": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "2"}]}]});
    assert_eq!(sent("anthropic", REPLY, CONVERSATION), expected);
}

#[test]
fn gemini_gets_a_conversation_with_tools() {
    let expected = json!({"generationConfig": {"maxOutputTokens": 7, "stopSequences": ["END"], "seed": 3},
        "systemInstruction": {"parts": [{"text": "Be kind.\n\nBe short."}]},
        "tools": [{"functionDeclarations": [
            {"name": "add", "description": "Adds.", "parametersJsonSchema": {"type": "object"}}]}],
        "contents": [{"role": "user", "parts": [{"text": "1 + 1?"}]},
            {"role": "model", "parts": [{"text": "Well."}, {"functionCall": {"id": "a", "name": "add", "args": {"n": 1}}}]},
            {"role": "user", "parts": [{"functionResponse": {"id": "a", "name": "add", "response": {"content": "2"}}}]}]});
    assert_eq!(sent("gemini", REPLY, CONVERSATION), expected);
}

#[test]
fn a_schema_is_sent_in_a_form_that_the_provider_enforces() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let definition = json!({"response": {"output_schema": schema}}).to_string();
    let ask = |name: &str, definition: &str| sent(name, definition, r#"{"prompt": "hi"}"#);
    let strict = json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false});
    let mut required = strict.clone();
    required["required"] = json!(["a"]);
    let openai = ask("openai", &definition);
    assert_eq!(openai["response_format"]["json_schema"], json!({"name": "answer", "strict": true, "schema": required}));
    let anthropic = ask("anthropic", &definition);
    assert_eq!(anthropic["output_config"], json!({"format": {"type": "json_schema", "schema": strict}}));
    let gemini = ask("gemini", &definition);
    assert_eq!(gemini["generationConfig"]["responseJsonSchema"], schema);
    // A schema with arbitrary properties cannot be enforced, so it is also in the system prompt.
    let free = r#"{"response": {"output_schema": {"type": "object"}}}"#;
    let openai = ask("openai", free);
    let format = json!({"name": "answer", "strict": false, "schema": {"type": "object"}});
    assert_eq!(openai["response_format"]["json_schema"], format);
    let anthropic = ask("anthropic", free);
    assert_eq!(anthropic.get("output_config"), None);
    for body in [openai, anthropic, ask("gemini", free)] {
        assert!(body.to_string().contains("JSON Schema"), "{body}");
    }
}

#[test]
fn properties_of_a_schema_are_sent_in_the_order_of_its_author() {
    let schema = r#"{"type": "object", "properties": {"reasons": {"type": "string"}, "answer": {"type": "string"}}}"#;
    let tools =
        format!(r#"{{"prompt": "hi", "tools": [{{"name": "x", "description": "X.", "parameters": {schema}}}]}}"#);
    for name in FORMATS {
        let output = sent(name, &format!(r#"{{"response": {{"output_schema": {schema}}}}}"#), r#"{"prompt": "hi"}"#);
        for body in [output.to_string(), sent(name, REPLY, &tools).to_string()] {
            let place = |property: &str| body.find(property).unwrap_or_else(|| panic!("no {property} in {body}"));
            assert!(place("\"reasons\":{") < place("\"answer\":{"), "{name}: {body}");
        }
    }
}

#[test]
fn an_effort_is_sent_in_the_form_of_the_model() {
    for (model, effort, place, expected) in [
        ("openai/gpt-5", "minimal", "/reasoning_effort", json!("minimal")),
        ("deepseek/deepseek-chat", "none", "/thinking", json!({"type": "disabled"})),
        ("deepseek/deepseek-chat", "low", "/thinking", json!({"type": "enabled"})),
        ("deepseek/deepseek-chat", "low", "/reasoning_effort", json!("low")),
        ("ollama/qwen3", "max", "/reasoning_effort", json!("high")),
        ("anthropic/claude-opus-4-5", "max", "/output_config", json!({"effort": "high"})),
        ("anthropic/claude-opus-4-6", "max", "/output_config", json!({"effort": "max"})),
        ("anthropic/claude-opus-4-6", "xhigh", "/output_config", json!({"effort": "high"})),
        ("anthropic/claude-opus-4-6", "low", "/thinking", json!({"type": "adaptive"})),
        ("anthropic/claude-sonnet-5", "none", "/thinking", json!({"type": "disabled"})),
        (
            "anthropic/claude-3-7-sonnet-20250219",
            "medium",
            "/thinking",
            json!({"type": "enabled", "budget_tokens": 8_000}),
        ),
        ("anthropic/claude-3-haiku-20240307", "high", "/thinking", json!({"type": "enabled", "budget_tokens": 1_024})),
        ("anthropic/claude-3-haiku-20240307", "high", "/max_tokens", json!(4_096)),
        ("anthropic/claude-opus-4-1", "none", "/max_tokens", json!(32_000)),
        ("anthropic/claude-opus-4-20250514", "none", "/max_tokens", json!(32_000)),
        ("gemini/gemini-2.5-pro", "medium", "/generationConfig/thinkingConfig", json!({"thinkingBudget": 8_000})),
        ("gemini/gemini-2.5-flash", "none", "/generationConfig/thinkingConfig", json!({"thinkingBudget": 0})),
        ("gemini/gemini-2.5-pro", "none", "/generationConfig/thinkingConfig", json!({"thinkingBudget": 128})),
        ("gemini/gemini-3-flash", "none", "/generationConfig/thinkingConfig", json!({"thinkingLevel": "MINIMAL"})),
        ("gemini/gemini-3-pro", "max", "/generationConfig/thinkingConfig", json!({"thinkingLevel": "HIGH"})),
    ] {
        let (name, _) = model.split_once('/').expect("a provider and a model");
        let input = format!(r#"{{"prompt": "hi", "model": "{model}", "reasoning_effort": "{effort}"}}"#);
        let body = sent(name, "{}", &input);
        assert_eq!(body.pointer(place), Some(&expected), "{model} {effort}: {body}");
    }
}

#[test]
fn gemini_may_repeat_the_stop_reason_in_every_event() {
    const EVENTS: &str = concat!(
        r#"data: {"candidates":[{"content":{"parts":[{"text":"one "}]},"finishReason":"STOP"}]}"#,
        "\n\n",
        r#"data: {"candidates":[{"content":{"parts":[{"text":"two"}]},"finishReason":"STOP"}]}"#,
        "\n\n"
    );
    let provider = Provider::new(vec![Does::Streams(EVENTS)]);
    assert_text(&perform(&models(&provider, "gemini"), &call("model", "{}", r#"{"prompt": "hi"}"#)), "one two");
}

/// Gets a reply with a tool call, and sends it back with the result of the tool.
fn round_trip(name: &str, model: &str, does: Does, stream: bool) -> (Value, Json) {
    let provider = Provider::new(vec![does, Does::Says("done")]);
    let mut models = models(&provider, name);
    models.settings.stream = stream;
    let ask = |since: &str| {
        let input = format!(r#"{{"model": "{name}/{model}", "prompt": "hi", "tools": ["x.y"], "since": {since}}}"#);
        perform(&models, &call("model", REPLY, &input))
    };
    let answer = ask("[]");
    let Answer::Model(ModelResult { value: reply, .. }) = &answer else { panic!("{name}: {answer:?}") };
    let since = format!(
        r#"[{{"role": "assistant", "content": {}, "toolCalls": {}, "thoughts": {}}},
            {{"role": "tool", "id": {}, "name": "x.y", "content": "ok"}}]"#,
        serde_json::to_string(reply.get("text").expect("text")).expect("JSON"),
        serde_json::to_string(reply.get("toolCalls").expect("calls")).expect("JSON"),
        serde_json::to_string(&reply.get("thoughts").cloned().unwrap_or_default()).expect("JSON"),
        serde_json::to_string(reply.get("toolCalls").and_then(|calls| calls.as_list()?[0].get("id")).expect("an id"))
            .expect("JSON"),
    );
    assert!(matches!(ask(&since), Answer::Model(ModelResult { .. })));
    let body = provider.requests().pop().expect("a second request").body;
    let messages = if name == "gemini" { &body["contents"] } else { &body["messages"] };
    (reply.clone(), messages[1].clone())
}

const ANTHROPIC_THINKS: &str = r#"data: {"type":"message_start","message":{"usage":{"input_tokens":5,"cache_read_input_tokens":4,"output_tokens":1}}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me "}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"see."}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}

data: {"type":"content_block_stop","index":0}

data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"x"}}

data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Well."}}

data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"a","name":"x_y","input":{}}}

data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"n\""}}

data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":": 1}"}}

data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}}

data: {"type":"message_stop"}

"#;

#[test]
fn thoughts_of_anthropic_are_sent_back_unchanged() {
    let content = json!([{"type": "thinking", "thinking": "Let me see.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "Well."},
        {"type": "tool_use", "id": "a", "name": "x_y", "input": {"n": 1}}]);
    let usage = json!({"input_tokens": 5, "cache_read_input_tokens": 4, "output_tokens": 2});
    let whole = json!({"type": "message", "content": content, "stop_reason": "tool_use", "usage": usage}).to_string();
    // Some servers leave out the event that marks the end.
    let endless = ANTHROPIC_THINKS.replace("data: {\"type\":\"message_stop\"}", "").leak();
    for (does, stream) in
        [(Does::Streams(ANTHROPIC_THINKS), true), (Does::Streams(endless), true), (Does::Ignores(whole.leak()), false)]
    {
        let (reply, sent) = round_trip("anthropic", "test-model", does, stream);
        assert_eq!(reply.get("text"), Some(&Value::from("Well.")));
        assert_eq!(reply.get("toolCalls"), Some(&value(r#"[{"id": "a", "name": "x.y", "arguments": {"n": 1}}]"#)));
        assert_eq!(reply.get("usage").and_then(|usage| usage.get("input_tokens")), Some(&Value::Int(9)));
        assert_eq!(sent, json!({"role": "assistant", "content": content}));
    }
}

#[test]
fn thoughts_of_gemini_are_sent_back_unchanged_and_calls_without_an_id_get_one() {
    let parts = [
        json!({"text": "Hm.", "thought": true}),
        json!({"text": "We"}),
        json!({"text": "ll."}),
        json!({"functionCall": {"name": "x_y", "args": {"n": 1}}, "thoughtSignature": "c2ln"}),
        json!({"functionCall": {"name": "x_y", "args": {}}}),
    ];
    let object = |parts: &[Json]| json!({"candidates": [{"content": {"parts": parts}}]});
    let mut last = object(&parts[3..]);
    last["candidates"][0]["finishReason"] = json!("STOP");
    let stream = format!("data: {}\n\ndata: {}\n\ndata: {last}\n\n", object(&parts[..2]), object(&parts[2..3]));
    let expected = json!([{"text": "Well."}, parts[3], parts[4]]);
    let (reply, sent) = round_trip("gemini", "gemini-3-pro", Does::Streams(stream.leak()), true);
    let calls = r#"[{"id": "call#x_y#0", "name": "x.y", "arguments": {"n": 1}}, {"id": "call#x_y#1", "name": "x.y", "arguments": {}}]"#;
    assert_eq!((reply.get("text"), reply.get("toolCalls")), (Some(&Value::from("Well.")), Some(&value(calls))));
    assert_eq!(sent, json!({"role": "model", "parts": expected}));
    // Without a signature, the first call has the placeholder.
    let unsigned = json!({"candidates": [{"finishReason": "STOP", "content": {"parts": [parts[4], parts[4]]}}]});
    let (reply, sent) = round_trip("gemini", "gemini-3-pro", Does::Ignores(unsigned.to_string().leak()), false);
    assert_eq!(reply.get("thoughts"), None);
    assert_eq!(sent["parts"][0]["thoughtSignature"], "skip_thought_signature_validator");
    assert_eq!(sent["parts"][1].get("thoughtSignature"), None);
}

#[test]
fn thoughts_of_compatible_servers_are_sent_back_with_their_calls() {
    const STREAM: &str = "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"Let me \"}}]}\n\n\
        data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"see.\",\"reasoning_details\":[{\"type\":\"reasoning.text\"}]}}]}\n\n\
        data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"x_y\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n\
        data: [DONE]\n\n";
    let (_, sent) = round_trip("openai", "test-model", Does::Streams(STREAM), true);
    assert_eq!(sent["reasoning_content"], "Let me see.");
    assert_eq!(sent["reasoning_details"], json!([{"type": "reasoning.text"}]));
    // Thoughts of another format are left out, but the text and the calls of the message are sent.
    let thoughts = r#"{"format": "anthropic", "content": [{"type": "thinking"}]}"#;
    let input = format!(
        r#"{{"messages": [{{"role": "user", "content": "hi"}}, {{"role": "assistant", "content": "ho", "thoughts": {thoughts}}}]}}"#
    );
    let body = sent_messages(&input);
    assert_eq!(body[1], json!({"role": "assistant", "content": "ho"}));
}

fn sent_messages(input: &str) -> Json {
    sent("openai", "{}", input)["messages"].clone()
}

#[test]
fn images_are_sent_by_url_if_the_format_supports_it() {
    let input = r#"{"prompt": "What?", "attachments": {"mime": "image/png", "url": "https://x.test/a.png"}}"#;
    for (name, place, expected) in [
        ("openai", "/messages/0/content/0", json!({"type": "image_url", "image_url": {"url": "https://x.test/a.png"}})),
        (
            "anthropic",
            "/messages/0/content/0",
            json!({"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}}),
        ),
        (
            "gemini",
            "/contents/0/parts/0",
            json!({"fileData": {"mimeType": "image/png", "fileUri": "https://x.test/a.png"}}),
        ),
    ] {
        let body = sent(name, "{}", input);
        assert_eq!(body.pointer(place), Some(&expected), "{name}: {body}");
    }
}

#[test]
fn thoughts_beside_the_completion_are_counted() {
    const BODY: &str = r#"{"choices":[{"delta":null,"message":{"content":"hi"},"finish_reason":"stop"}],
        "usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":20}}"#;
    let provider = Provider::new(vec![Does::Ignores(BODY)]);
    let answer = perform(&models(&provider, "openai"), &super::answers::plain_call());
    assert_text(&answer, "hi");
    assert_eq!(answer.usage().tokens, 20);
}

#[test]
fn names_of_wire_formats_are_checked_before_a_run() {
    let provider = Provider::new(vec![Does::Says("hi")]);
    let lack = |protocol: &str| {
        let mut models = models(&provider, "own");
        models.settings.providers.get_mut("own").expect("it is set").protocol = Some(protocol.to_owned());
        models.unavailable_reason(&super::effect("model", r#"{"fixed": {"model": "own/m"}}"#))
    };
    for name in FORMATS.into_iter().chain(["mistral", "together", "fireworks", "ollama", "minimax"]) {
        assert_eq!(lack(name), None, "{name}");
    }
    for name in ["openai_resp", "cohere", "vertex", "", "OpenAI"] {
        let (_, why) = lack(name).unwrap_or_else(|| panic!("{name} is accepted"));
        assert!(why.contains(&format!("`{name}`")) && why.contains("`base_url`"), "{why}");
    }
}

#[test]
fn ollama_is_called_at_its_compatible_endpoint() {
    let provider = Provider::new(vec![Does::Says("hi")]);
    let host = provider.url.trim_start_matches("http://").trim_end_matches("/v1").to_owned();
    let mut models = models(&provider, "ollama");
    models.settings.providers.clear();
    models.environment = std::sync::Arc::new(move |name| (name == "OLLAMA_HOST").then(|| host.clone()));
    assert_text(&perform(&models, &super::answers::plain_call()), "hi");
    let request = &provider.requests()[0];
    assert_eq!(request.path, "/v1/chat/completions");
    assert!(!request.headers.contains("authorization"), "{}", request.headers);
}
