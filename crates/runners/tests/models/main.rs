//! Calls of models over real wire formats, to a test provider on this machine.

mod answers;
mod attacks;
mod catalogue;
mod formats;
mod limits;
#[path = "../provider/mod.rs"]
mod provider;
mod real;
mod sent;
mod spent;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use branchpoint_core::RetryHint;
use branchpoint_core::RunKinds as _;
use branchpoint_core::effect::ModelResult;
use branchpoint_core::ir::Effect;
use branchpoint_expr::{Kind, Value};
use branchpoint_runners::models::{Piece, Provider as ProviderSettings, Settings};
use branchpoint_runners::tools::HttpSettings;
use branchpoint_runners::{Answer, Call, CancellationToken, Models, SecretStore, agents, judge, runtime};
use provider::{Does, Provider};

fn value(json: &str) -> Value {
    serde_json::from_str(json).expect("this is JSON")
}

/// An effect by its kind and its other fields.
fn effect(kind: &str, definition: &str) -> Effect {
    let definition = serde_json::from_str(definition).expect("these are fields of an effect");
    Effect { kind: branchpoint_core::effect::Kind::named(kind).expect("this is a kind"), ..definition }
}

fn call(kind: &str, definition: &str, input: &str) -> Call {
    Call { step: Some("ask".into()), ..Call::first(effect(kind, definition), value(input)) }
}

/// Models whose provider `anthropic`, `openai` or `gemini` is the test provider.
fn models(provider: &Provider, name: &str) -> Models {
    let settings = ProviderSettings { base_url: Some(provider.url.clone()), ..ProviderSettings::default() };
    let settings = Settings {
        default: Some(format!("{name}/test-model")),
        providers: BTreeMap::from([(name.to_owned(), settings)]),
        prices: BTreeMap::from([(
            "test-model".to_owned(),
            branchpoint_runners::models::Price { input: 1.0, output: 2.0, cached: None },
        )]),
        ..Settings::default()
    };
    let mut models = Models::new(settings, BTreeMap::new());
    models.environment = Arc::new(|name| name.ends_with("_API_KEY").then(|| "sk-hunter2".to_owned()));
    models
}

fn perform(models: &Models, call: &Call) -> Answer {
    let secret = |name: &str| [("PIN", "hunter3"), ("MINE", "sk-mine")].iter().find(|(known, _)| *known == name);
    let secrets: SecretStore = Arc::new(move |name| secret(name).map(|(_, value)| (*value).to_owned()));
    let perform = |prepared| runtime().block_on(models.perform(&prepared, &CancellationToken::new()));
    call.prepare(&secrets).map_or_else(Some, perform).expect("it is for models")
}

const FORMATS: [&str; 3] = ["openai", "anthropic", "gemini"];

/// The model of a request, from its body or its path.
fn model_of(request: &provider::Request) -> &str {
    let in_path = || request.path.split_once("/models/")?.1.split(':').next();
    request.body["model"].as_str().or_else(in_path).unwrap_or_default()
}

/// The messages of a request.
fn messages_of(request: &provider::Request) -> &Vec<serde_json::Value> {
    let list = request.body["messages"].as_array().or(request.body["contents"].as_array());
    list.unwrap_or_else(|| panic!("no messages: {}", request.body))
}

#[test]
fn a_reply_is_returned_whole_and_in_pieces_with_its_price() {
    for name in FORMATS {
        for stream in [true, false] {
            let provider = Provider::new(vec![Does::Says("Hello, wörld!")]);
            let received = Arc::new(Mutex::new(String::new()));
            let mut models = models(&provider, name);
            models.settings.stream = stream;
            let list = Arc::clone(&received);
            models.listener = Arc::new(move |_, piece| {
                if let Piece::Text(text) = piece {
                    list.lock().expect("no panic").push_str(text);
                }
            });
            let model_call = call(
                "model",
                "{}",
                r#"{"prompt": "Greet me.", "system": "Be kind.", "temperature": 0.5, "max_tokens": 50}"#,
            );
            let answer = perform(&models, &model_call);
            let Answer::Model(ModelResult { value: Value::Str(text), usage, .. }) = &answer else {
                panic!("{name}: {answer:?}")
            };
            assert_eq!((&**text, usage.tokens, usage.cost_micros), ("Hello, wörld!", 110, 120), "{name}");
            assert_eq!(*received.lock().expect("no panic"), "Hello, wörld!", "{name}");
            let sent = &provider.requests()[0];
            assert_eq!(model_of(sent), "test-model");
            assert!(sent.headers.contains("sk-hunter2"), "{name}: the key goes with the call: {}", sent.headers);
            assert!(sent.body.to_string().contains("Be kind."), "{name}");
            let options = if name == "gemini" { &sent.body["generationConfig"] } else { &sent.body };
            assert_eq!(options["temperature"], 0.5, "{name}: {}", sent.body);
        }
    }
}

#[test]
fn tool_calls_are_a_reply_and_their_results_are_sent_in_one_message() {
    let input = r#"{"model": "test-model", "tools": [{"name": "find.it", "description": "Finds.", "parameters": {"type": "object"}}, "add"],
        "messages": [{"role": "user", "content": "Find and add."},
            {"role": "assistant", "content": "", "toolCalls": [{"id": "a", "name": "find.it", "arguments": {"q": 1}},
                {"id": "b", "name": "add", "arguments": {}}]},
            {"role": "tool", "id": "a", "name": "find.it", "content": {"found": true}},
            {"role": "tool", "id": "b", "name": "add", "error": "no numbers"}]}"#;
    for name in FORMATS {
        for stream in [true, false] {
            let provider =
                Provider::new(vec![Does::Calls(&[("find_it", r#"{"query": "ü"}"#), ("add", r#"{"a": 1, "b": 2}"#)])]);
            let mut models = models(&provider, name);
            models.settings.stream = stream;
            let answer = perform(
                &models,
                &call("model", r#"{"fixed": {"task": "reply"}, "response": {"format": "reply"}}"#, input),
            );
            let Answer::Model(ModelResult { value: reply, .. }) = &answer else { panic!("{name}: {answer:?}") };
            let calls = r#"[{"id": "call_0", "name": "find.it", "arguments": {"query": "ü"}}, {"id": "call_1", "name": "add", "arguments": {"a": 1, "b": 2}}]"#;
            assert_eq!(reply.get("toolCalls"), Some(&value(calls)), "{name}");
            assert_eq!(reply.get("usage").and_then(|usage| usage.get("tokens")), Some(&Value::Int(110)));
            let sent = &provider.requests()[0];
            // OpenAI has a message for each result, the others have one for all.
            assert_eq!(messages_of(sent).len(), if name == "openai" { 4 } else { 3 }, "{name}: {:#}", sent.body);
            let text = sent.body.to_string();
            assert!(text.contains("find_it") && !text.contains("find.it"), "{name}: {text}");
            assert!(text.contains("error: no numbers"), "{name}: {text}");
        }
    }
}

#[test]
fn a_chat_of_a_session_gets_a_reply() {
    let provider = Provider::new(vec![Does::Calls(&[("fetch", "{}")])]);
    let models = models(&provider, "openai");
    let spec = r#"{"fixed": {"task": "reply", "provider": "openai", "model": "test-model", "max_tokens": 7, "top_p": 0.5}, "response": {"format": "reply"}}"#;
    let input = r#"{"system": "Help.", "messages": [{"role": "user", "content": "hi"}], "tools": ["fetch"]}"#;
    let answer = perform(&models, &call("model", spec, input));
    assert!(
        matches!(&answer, Answer::Model(ModelResult { value, .. }) if value.get("text") == Some(&Value::from(""))),
        "{answer:?}"
    );
    let sent = &provider.requests()[0].body;
    assert!(sent["max_tokens"] == 7 || sent["max_completion_tokens"] == 7, "{sent}");
    assert_eq!(sent["top_p"], 0.5);
    assert_eq!(sent["tools"][0]["function"]["name"], "fetch");
}

#[test]
fn the_query_of_a_base_url_is_sent_with_every_request() {
    for (base, path) in [("", "/v1/chat/completions"), ("/?version=1&x=%2F", "/v1/chat/completions?version=1&x=%2F")] {
        let provider = Provider::new(vec![Does::Says("hello")]);
        let mut models = models(&provider, "openai");
        let settings = models.settings.providers.get_mut("openai").expect("it is there");
        settings.base_url = Some(format!("{}{base}", provider.url));
        let answer = perform(&models, &call("model", "{}", r#"{"prompt": "hi"}"#));
        assert!(
            matches!(&answer, Answer::Model(ModelResult { value: Value::Str(text), .. }) if &**text == "hello"),
            "{answer:?}"
        );
        assert_eq!(provider.requests()[0].path, path);
    }
}

#[test]
fn a_call_to_a_busy_provider_is_repeated_and_the_listener_restarts() {
    for (name, first) in [
        ("openai", Does::Refuses(429, &[("retry-after-ms", "1")], r#"{"error": {"message": "slow down"}}"#)),
        ("openai", Does::Refuses(500, &[("retry-after", "0")], "broken")),
        (
            "anthropic",
            Does::Refuses(
                529,
                &[("retry-after", "0")],
                r#"{"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}"#,
            ),
        ),
        ("openai", Does::BreaksOff("half an answer that never ends")),
        ("anthropic", Does::BreaksOff("half an answer that never ends")),
        ("gemini", Does::BreaksOff("half an answer that never ends")),
        ("openai", Does::Errs("half", "server_error")),
        ("gemini", Does::Errs("half", "UNAVAILABLE")),
        ("anthropic", Does::Errs("half", "overloaded_error")),
    ] {
        let provider = Provider::new(vec![first.clone(), Does::Says("whole")]);
        let mut models = models(&provider, name);
        let received = Arc::new(Mutex::new(0));
        let count = Arc::clone(&received);
        models.listener =
            Arc::new(move |_, piece| *count.lock().expect("no panic") += usize::from(piece == Piece::Restart));
        let answer = perform(&models, &call("model", "{}", r#"{"prompt": "hi"}"#));
        assert!(
            matches!(&answer, Answer::Model(ModelResult { value: Value::Str(text), .. }) if &**text == "whole"),
            "{name} {first:?}: {answer:?}"
        );
        assert_eq!(provider.requests().len(), 2, "{name} {first:?}");
        assert_eq!(*received.lock().expect("no panic"), 1);
    }
}

#[test]
fn tries_are_limited_and_a_wait_beyond_the_time_limit_is_not_started() {
    let busy = || Does::Refuses(429, &[("retry-after-ms", "1")], r#"{"error": {"message": "slow down"}}"#);
    let provider = Provider::new(vec![busy()]);
    let mut one = models(&provider, "openai");
    one.settings.retries = 2;
    let answer = perform(&one, &call("model", "{}", r#"{"prompt": "hi"}"#));
    assert!(
        matches!(&answer, Answer::Failed(failed) if failed.retry.allows_retry() && failed.answered && failed.message.contains("slow down")),
        "{answer:?}"
    );
    assert_eq!(provider.requests().len(), 3);

    let provider = Provider::new(vec![Does::Refuses(429, &[("retry-after", "250")], "{}")]);
    let model_call = call("model", "{}", r#"{"prompt": "hi"}"#).with_time_limit(200_000);
    let answer = perform(&models(&provider, "openai"), &model_call);
    assert!(matches!(&answer, Answer::Failed(failed) if failed.retry == RetryHint::After(250_000)), "{answer:?}");
    assert_eq!(provider.requests().len(), 1);
}

#[test]
fn a_wait_that_is_too_long_for_a_call_is_passed_to_the_run_and_reported() {
    let provider = Provider::new(vec![Does::Refuses(429, &[("retry-after", "86400")], "come back tomorrow")]);
    let answer = perform(&models(&provider, "openai"), &call("model", "{}", r#"{"prompt": "hi"}"#));
    let Answer::Failed(failed) = &answer else { panic!("{answer:?}") };
    assert_eq!(failed.retry, RetryHint::After(86_400_000), "{failed:?}");
    assert!(failed.message.contains("86400s") && failed.message.contains("come back tomorrow"), "{failed:?}");
    assert_eq!(provider.requests().len(), 1);
}

#[test]
fn an_unknown_model_is_not_retried_and_similar_names_are_reported() {
    for (name, does) in [
        (
            "openai",
            Does::Refuses(
                404,
                &[],
                r#"{"error": {"message": "The model `test-mdel` does not exist", "code": "model_not_found"}}"#,
            ),
        ),
        (
            "anthropic",
            Does::Refuses(
                404,
                &[],
                r#"{"type": "error", "error": {"type": "not_found_error", "message": "model: test-mdel"}}"#,
            ),
        ),
    ] {
        // A machine that is slow may not hear the names in time, and is called once more.
        let (provider, failed) = (0..)
            .find_map(|time| {
                let provider = Provider::new(vec![does.clone()]);
                let model_call = call("model", "{}", r#"{"model": "test-mdel", "prompt": "hi"}"#);
                let failed = answers::failed(perform(&models(&provider, name), &model_call));
                (time == 9 || failed.message.contains("Near names")).then_some((provider, failed))
            })
            .expect("one of them succeeds");
        assert!(!failed.retry.allows_retry(), "{name}");
        assert!(
            failed.message.contains("`test-mdel`") && failed.message.contains("`test-model`"),
            "{name}: {}",
            failed.message
        );
        assert!(!failed.message.contains("`other`"), "{}", failed.message);
        assert_eq!(provider.requests().len(), 1);
    }
}

#[test]
fn a_rejected_key_is_not_reported() {
    let provider = Provider::new(vec![Does::Refuses(
        401,
        &[],
        r#"{"error": {"message": "Incorrect API key provided: sk-hunter2"}}"#,
    )]);
    let answer = perform(&models(&provider, "openai"), &call("model", "{}", r#"{"prompt": "hi"}"#));
    let Answer::Failed(failed) = &answer else { panic!("{answer:?}") };
    assert!(
        !failed.retry.allows_retry() && failed.message.contains("***") && !failed.message.contains("hunter2"),
        "{}",
        failed.message
    );
}

const NUMBER: &str = r#"{"response": {"output_schema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}}"#;

#[test]
fn a_schema_is_sent_and_a_reply_that_does_not_match_is_retried() {
    for name in FORMATS {
        let provider = Provider::new(vec![Does::Says(r#"{"n": "one"}"#), Does::Says("```json\n{\"n\": 1}\n```")]);
        let model_call = call("model", NUMBER, r#"{"prompt": "A number."}"#);
        let answer = perform(&models(&provider, name), &model_call);
        assert_eq!(answer.usage().tokens, 220, "{name}: both answers are paid for");
        assert_eq!(judge(&model_call, answer), Ok(value(r#"{"n": 1}"#)), "{name}");
        let sent = provider.requests();
        let schema = if name == "gemini" { "responseJsonSchema" } else { "json_schema" };
        assert!(sent[0].body.to_string().contains(schema), "{name}: {}", sent[0].body);
        assert_eq!(messages_of(&sent[1]).len(), messages_of(&sent[0]).len() + 2);
    }
    let provider = Provider::new(vec![Does::Says(r#"{"n": "one"}"#)]);
    let model_call = call("model", NUMBER, r#"{"prompt": "A number."}"#);
    let answer = perform(&models(&provider, "openai"), &model_call);
    assert_eq!(provider.requests().len(), 2, "one more request, and no third");
    assert_eq!(judge(&model_call, answer).expect_err("no shape").kind, "output_schema".into());
}

#[test]
fn a_server_without_schemas_gets_an_instruction_instead() {
    let refusal =
        Does::Refuses(400, &[], r#"{"error": {"message": "response_format json_schema is unavailable here"}}"#);
    let provider = Provider::new(vec![refusal, Does::Says(r#"{"n": 1}"#)]);
    let model_call = call("model", NUMBER, r#"{"prompt": "A number."}"#);
    let answer = perform(&models(&provider, "openai"), &model_call);
    assert_eq!(judge(&model_call, answer), Ok(value(r#"{"n": 1}"#)));
    let sent = provider.requests();
    assert!(
        sent[1].body["response_format"].is_null() && sent[1].body.to_string().contains("JSON Schema"),
        "{}",
        sent[1].body
    );
}

#[test]
fn requests_of_every_front_end_are_performed() {
    let assert_text = |text: &'static str| Provider::new(vec![Does::Says(text)]);
    let check = |kind: &str, spec: &str, input: &str, text: &'static str, sent: &[&str], expect: &str| {
        let provider = assert_text(text);
        let model_call = call(kind, spec, input);
        let answer = perform(&models(&provider, "openai"), &model_call);
        assert_eq!(judge(&model_call, answer), Ok(value(expect)), "{kind} {input}");
        let body = provider.requests()[0].body.to_string();
        for sent in sent {
            assert!(body.contains(sent), "{kind}: `{sent}` is not in {body}");
        }
    };
    let steps = r#"{"prompt": "Say {}", "system": "Short.", "model": "default"}"#;
    check("model", "{}", steps, "ok", &["Say {}", "Short.", "test-model"], r#""ok""#);
    let written = r#"{"messages": {"messages": [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}, {"role": "user", "content": "three"}]}}"#;
    check("model", "{}", written, "ok", &["one", "two", "three"], r#""ok""#);
    let flow = r#"{"prompt": "List.", "temperature": 0.7, "schema": {"type": "object"}}"#;
    check(
        "model",
        r#"{"response": {"non_empty": true, "format": "json"}}"#,
        flow,
        r#"{"a": 1}"#,
        &["json_schema", "0.7"],
        r#"{"a": 1}"#,
    );
    let judged = r#"{"prompt": "Is it kind?", "expectation": {"tone": "kind"}, "subject": "Hello!"}"#;
    check(
        "model",
        r#"{"fixed": {"task": "score"}, "response": {"pass_threshold": 0.5}}"#,
        judged,
        r#"{"score": 0.9, "explanation": "Yes."}"#,
        &["Is it kind?", "Hello!", "tone"],
        r#"{"score": 0.9, "passed": true, "pass_threshold": 0.5, "explanation": "Yes."}"#,
    );
    let extract = r#"{"fixed": {"task": "extract"}, "response": {"output_schema": {"type": "object"}}}"#;
    check("model", extract, r#"{"prompt": "Ann is 7."}"#, r#"{"name": "Ann"}"#, &["Ann is 7."], r#"{"name": "Ann"}"#);
    let graph = r#"{"system": "You are.", "prompt": "Go.", "model": "test-model", "reasoning_effort": "low"}"#;
    check("model", "{}", graph, "gone", &["You are.", "Go."], r#""gone""#);
    let machine = r#"{"provider": "openai", "prompt": "Next.", "before": ["A skill."], "system": "Sys.", "role": "Boss.",
        "history": [{"role": "user", "content": "Earlier."}, {"role": "assistant", "content": "Yes."}]}"#;
    check(
        "model",
        r#"{"fixed": {"model": "test-model", "program": true}, "response": {"report": 1}}"#,
        machine,
        "done",
        &["A skill.\\n\\nNext.", "Boss.\\n\\nSys.", "Earlier.", "Yes."],
        r#"{"output": "done", "response": null, "tokens": 110, "input_tokens": 100, "output_tokens": 10, "tokens_estimated": false, "error": null}"#,
    );
}

#[test]
fn secrets_are_filled_in_only_where_the_front_end_says_so() {
    let provider = Provider::new(vec![Does::Refuses(400, &[], r#"{"error": {"message": "you said hunter3"}}"#)]);
    let models = models(&provider, "openai");
    let prompt = r#"{"prompt": ["The pin is ", {"secret": "PIN"}]}"#;
    let answer = perform(&models, &call("model", r#"{"secrets": [{"at": [{"field": "prompt"}]}]}"#, prompt));
    assert!(matches!(&answer, Answer::Failed(failed) if !failed.message.contains("hunter3")), "{answer:?}");
    assert!(provider.requests()[0].body.to_string().contains("The pin is hunter3"));
    perform(&models, &call("model", "{}", prompt));
    assert!(!provider.requests()[1].body.to_string().contains("hunter3"));
}

#[test]
fn missing_settings_are_reported_before_the_run() {
    let mut models = Models::new(Settings::default(), BTreeMap::new());
    models.environment = Arc::new(|_| None);
    let whatever = effect("model", r#"{"fixed": {"model": "default"}}"#);
    let (kind, why) = models.unavailable_reason(&whatever).expect("there is no model");
    assert!(kind == Kind::NoRunner && why.contains("[models]"), "{why}");
    models.settings.default = Some("claude-sonnet-4-5".to_owned());
    let (_, why) = models.unavailable_reason(&whatever).expect("there is no key");
    assert!(why.contains("ANTHROPIC_API_KEY"), "{why}");
    models.environment = Arc::new(|name| (name == "ANTHROPIC_API_KEY").then(|| "key".to_owned()));
    assert_eq!(models.unavailable_reason(&whatever), None);
    assert_eq!(models.unavailable_reason(&effect("http", "{}")), None);
    let (_, why) =
        models.unavailable_reason(&effect("model", r#"{"fixed": {"model": "gpt-5"}}"#)).expect("another key");
    assert!(why.contains("OPENAI_API_KEY"), "{why}");
    assert_eq!(models.unavailable_reason(&effect("model", "{}")), None, "only the run determines the model");
    let program = effect("model", r#"{"fixed": {"program": true, "provider": "codex"}}"#);
    let absent = agents::Settings { program: Some("no-such-program".to_owned()), ..agents::Settings::default() };
    models.agents.insert("codex".to_owned(), absent);
    let (kind, why) = models.unavailable_reason(&program).expect("it is not installed");
    assert!(kind == Kind::ProviderNotFound && why.contains("no-such-program"), "{why}");
    let api = agents::Settings { runner: agents::Runner::Api, ..agents::Settings::default() };
    models.agents.insert("codex".to_owned(), api);
    let (kind, why) = models.unavailable_reason(&program).expect("the API needs a model and a key");
    assert_eq!(kind, Kind::NoRunner, "{why}");
    let graph =
        call("model", r#"{"response": {"missing_runner_kind": "no_llm"}}"#, r#"{"prompt": "hi", "model": "gpt-5"}"#);
    assert!(
        matches!(perform(&models, &graph), Answer::Failed(failed) if &*failed.kind == "no_llm" && !failed.retry.allows_retry())
    );
}

#[test]
fn an_address_of_a_document_gets_no_key_and_no_access_to_private_networks() {
    let provider = Provider::new(vec![Does::Says("hi")]);
    let mut models = Models::new(Settings::default(), BTreeMap::new());
    models.environment = Arc::new(|_| Some("sk-hunter2".to_owned()));
    let spec = format!(r#"{{"fixed": {{"base_url": "{}", "model": "m"}}}}"#, provider.url);
    let model_call = call("model", &spec, r#"{"provider": "openai_compatible", "prompt": "hi"}"#);
    let answer = perform(&models, &model_call);
    assert!(
        matches!(&answer, Answer::Failed(failed) if failed.message.contains("--allow-private-network")),
        "{answer:?}"
    );
    assert!(provider.requests().is_empty());
    let mut models =
        models.with_network_settings(&HttpSettings { allow_private_network: true, ..HttpSettings::default() });
    assert!(matches!(perform(&models, &model_call), Answer::Model(_)));
    assert!(!provider.requests()[0].headers.contains("hunter2"));
    models.settings.providers.insert(
        "openai_compatible".to_owned(),
        ProviderSettings {
            base_url: Some(provider.url.clone()),
            key_env: Some("OTHER_KEY".to_owned()),
            ..ProviderSettings::default()
        },
    );
    perform(&models, &model_call);
    assert!(provider.requests()[1].headers.contains("hunter2"), "the operator has named this address");
}

#[test]
fn a_host_of_a_document_is_checked_by_its_addresses_and_metadata_addresses_stay_blocked() {
    let provider = Provider::new(vec![Does::Says("hi")]);
    let local = provider.url.replace("127.0.0.1", "localhost");
    let model_call = |url: &str| {
        let spec = format!(r#"{{"fixed": {{"base_url": "{url}", "model": "m"}}}}"#);
        call("model", &spec, r#"{"provider": "openai_compatible", "prompt": "hi"}"#)
    };
    let open = HttpSettings { allow_private_network: true, ..HttpSettings::default() };
    let trusting = HttpSettings { trusted_hosts: vec!["localhost".to_owned()], ..HttpSettings::default() };
    for (settings, url, expected) in [
        (HttpSettings::default(), &*local, "--allow-private-network"),
        (open, "http://169.254.169.254/v1", "credentials of this machine"),
    ] {
        for stream in [true, false] {
            let mut models = Models::new(Settings { stream, ..Settings::default() }, BTreeMap::new());
            models.environment = Arc::new(|_| None);
            let answer = perform(&models.with_network_settings(&settings), &model_call(url));
            let refused = matches!(&answer, Answer::Failed(failed) if !failed.retry.allows_retry() && failed.message.contains(expected));
            assert!(refused, "{url}: {answer:?}");
        }
    }
    assert!(provider.requests().is_empty());
    let models = Models::new(Settings::default(), BTreeMap::new()).with_network_settings(&trusting);
    assert!(matches!(perform(&models, &model_call(&local)), Answer::Model(_)), "the operator trusts this host");
}

#[test]
fn a_model_name_that_ends_like_an_effort_is_sent_unchanged() {
    for name in FORMATS {
        let provider = Provider::new(vec![Does::Says("hi")]);
        let models = models(&provider, name);
        for model in ["big-max", "one-medium", "test-model"] {
            let input = format!(r#"{{"prompt": "hi", "model": "{name}/{model}"}}"#);
            perform(&models, &call("model", "{}", &input));
            let sent = provider.requests().pop().expect("it was called");
            assert_eq!(model_of(&sent), model, "{name}");
            for effort in ["reasoning_effort", "thinking", "output_config", "generationConfig"] {
                assert_eq!(sent.body.get(effort), None, "{name} {model}: {}", sent.body);
            }
        }
    }
}

#[test]
fn a_key_of_a_document_replaces_the_key_of_the_operator() {
    let spec = r#"{"fixed": {"model": "default"}, "secrets": [{"at": [{"field": "api_key"}], "form": {"credential": {"before": "", "secret": "MINE"}}}]}"#;
    for name in FORMATS {
        let provider = Provider::new(vec![Does::Says("hi")]);
        let mut models = models(&provider, name);
        models.environment = Arc::new(|_| None);
        models.settings.providers.entry(name.to_owned()).or_default().key_env = Some("NOT_SET".to_owned());
        assert_eq!(models.unavailable_reason(&effect("model", spec)), None);
        assert!(
            models.unavailable_reason(&effect("model", r#"{"fixed": {"model": "default"}}"#)).is_some(),
            "without it, a key is missing"
        );
        perform(&models, &call("model", spec, r#"{"prompt": "hi"}"#));
        let sent = &provider.requests()[0];
        assert!(sent.headers.contains("sk-mine") && !sent.body.to_string().contains("sk-mine"), "{name}: {sent:?}");
    }
}

#[test]
fn settings_are_parsed_and_unknown_keys_rejected() {
    let text = r#"
        default = "openai/gpt-5-mini"
        retries = 2
        [providers.local]
        protocol = "openai"
        base_url = "http://localhost:8000/v1"
        key_env = ""
        [prices."gpt-5-mini"]
        input = 0.3
        output = 2
    "#;
    let settings: Settings = toml::from_str(text).expect("these are settings");
    assert_eq!((settings.retries, settings.reask), (2, 1));
    assert!(toml::from_str::<Settings>("defalt = \"x\"").is_err());
    assert!(toml::from_str::<Settings>("[providers.x]\nkey = \"sk-1\"").is_err(), "settings contain no keys");
}
