//! Parts of a request beside its text: idempotency keys, sampling options and attachments.

use super::answers::{assert_text, failed, models, plain_call};
use super::provider::{Does, Provider};
use super::{FORMATS, NUMBER, call, perform, value};
use branchpoint_runners::tools::FilesSettings;
use branchpoint_runners::{Call, judge};

/// The idempotency keys of the requests, in order.
fn keys(provider: &Provider) -> Vec<String> {
    let of = |headers: &str| {
        let key = headers.lines().find_map(|line| line.strip_prefix("idempotency-key:").map(str::trim));
        key.unwrap_or_else(|| panic!("a call without a key: {headers}")).to_owned()
    };
    provider.requests().iter().map(|request| of(&request.headers)).collect()
}

#[test]
fn a_try_with_an_unknown_outcome_is_repeated_with_its_key_and_any_other_gets_a_new_one() {
    let busy = Does::Refuses(429, &[("retry-after-ms", "1")], "{}");
    for (name, first, same) in [("openai", Does::BreaksOff("half an answer"), true), ("anthropic", busy, false)] {
        let provider = Provider::new(vec![first, Does::Says("whole")]);
        assert_text(&perform(&models(&provider, name), &plain_call()), "whole");
        let keys = keys(&provider);
        assert_eq!((keys.len(), keys[0] == keys[1]), (2, same), "{name}: {keys:?}");
    }
    let provider = Provider::new(vec![Does::Says("no number"), Does::Says(r#"{"n": 1}"#)]);
    let model_call = call("model", NUMBER, r#"{"prompt": "A number."}"#);
    assert_eq!(judge(&model_call, perform(&models(&provider, "openai"), &model_call)), Ok(value(r#"{"n": 1}"#)));
    let keys = keys(&provider);
    assert!(keys.len() == 2 && keys[0] != keys[1], "another request has another key: {keys:?}");
}

#[test]
fn an_attempt_reuses_the_key_unless_the_one_before_was_answered_or_the_request_differs() {
    let provider = Provider::new(vec![Does::Says("hi")]);
    let models = models(&provider, "openai");
    let other = Call { input: value(r#"{"prompt": "ho"}"#), ..plain_call() };
    for model_call in
        [plain_call(), Call { attempt: 2, ..plain_call() }, Call { attempt: 3, answers: 1, ..plain_call() }, other]
    {
        assert_text(&perform(&models, &model_call), "hi");
    }
    let keys = keys(&provider);
    assert!(keys[0] == keys[1] && keys[1] != keys[2] && keys[0] != keys[3] && keys[2] != keys[3], "{keys:?}");
}

#[test]
fn sampling_options_may_be_text_and_invalid_ones_are_rejected_before_the_request() {
    let provider = Provider::new(vec![Does::Says("hi")]);
    let models = models(&provider, "openai");
    let input = r#"{"prompt": "hi", "temperature": " 0.5", "top_p": "1", "max_tokens": 20.0, "seed": ""}"#;
    assert_text(&perform(&models, &call("model", "{}", input)), "hi");
    let sent = provider.requests()[0].body.clone();
    assert_eq!((sent["temperature"].as_f64(), sent["top_p"].as_f64()), (Some(0.5), Some(1.0)), "{sent}");
    assert!(sent["max_tokens"] == 20 || sent["max_completion_tokens"] == 20, "{sent}");
    for (name, written) in [
        ("temperature", r#""warm""#),
        ("temperature", "-1"),
        ("temperature", r#""NaN""#),
        ("temperature", "true"),
        ("top_p", "[1]"),
        ("topP", "-0.1"),
        ("max_tokens", "0"),
        ("max_tokens", "-5"),
        ("max_tokens", "1.5"),
        ("max_tokens", r#""many""#),
        ("max_tokens", "5000000000"),
        ("seed", "-1"),
        ("seed", r#""x""#),
    ] {
        let input = format!(r#"{{"prompt": "hi", "{name}": {written}}}"#);
        let failed = failed(perform(&models, &call("model", "{}", &input)));
        assert!(failed.message.contains(&format!("`{name}`")), "{name} {written}: {failed:?}");
        assert!(!failed.retry.allows_retry() && !failed.answered, "{name} {written}: {failed:?}");
    }
    assert_eq!(provider.requests().len(), 1);
}

#[test]
fn images_and_files_are_sent_in_the_form_of_the_provider() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("cat.png"), b"hello").expect("it can be written");
    for name in FORMATS {
        let provider = Provider::new(vec![Does::Says("a cat")]);
        let mut models = models(&provider, name);
        models.files = Some(FilesSettings { dir: folder.path().to_owned(), max_bytes: 100 });
        for input in [
            r#"{"prompt": "What?", "attachments": [{"mime": "image/png", "data": "aGVsbG8=", "name": "cat.png"}]}"#,
            r#"{"prompt": "What?", "attachments": [{"mime": "image/png", "storage_key": "cat.png"}, ""]}"#,
            r#"{"prompt": "What?", "attachments": {"mime": "application/pdf", "storage_key": "cat.png", "name": "cat.pdf"}}"#,
            r#"{"messages": [{"role": "user", "content": [{"type": "text", "text": "What?"}, {"type": "image", "mime": "image/png", "storage_key": "cat.png"}]}]}"#,
            r#"{"messages": [{"role": "user", "content": "What?"}], "attachments": [{"mime": "image/png", "data": "aGVsbG8="}]}"#,
        ] {
            assert_text(&perform(&models, &call("model", "{}", input)), "a cat");
            let sent = provider.requests().pop().expect("it was called").body.to_string();
            assert!(sent.contains("aGVsbG8=") && sent.contains("What?"), "{name} {input}: {sent}");
        }
    }
}

#[test]
fn an_invalid_attachment_fails_the_call_with_a_reason() {
    for (name, attachments, reason) in [
        ("openai", r#"[{"mime": "image/png", "name": "cat.png"}]"#, "`storage_key`"),
        ("openai", r#"["cat.png"]"#, "is an object"),
        ("openai", r#""cat.png""#, "is an object"),
        ("openai", r#"[{"mime": "image/png", "storage_key": "cat.png"}]"#, "[files]"),
        // The wire formats do not support these.
        (
            "openai",
            r#"[{"mime": "application/pdf", "name": "a.pdf", "url": "https://x.test/a.pdf"}]"#,
            "does not accept",
        ),
        ("anthropic", r#"[{"mime": "audio/mpeg", "name": "a.mp3", "data": "aGVsbG8="}]"#, "does not accept"),
    ] {
        for stream in [true, false] {
            let provider = Provider::new(vec![Does::Says("a cat")]);
            let mut models = models(&provider, name);
            models.settings.stream = stream;
            let model_call = call("model", "{}", &format!(r#"{{"prompt": "What?", "attachments": {attachments}}}"#));
            let failed = failed(perform(&models, &model_call));
            assert!(failed.message.contains(reason), "{name} {attachments}: {failed:?}");
            assert!(!failed.retry.allows_retry() && !failed.answered, "{failed:?}");
            assert!(provider.requests().is_empty(), "{name} {attachments}");
        }
    }
    let provider = Provider::new(vec![Does::Says("a cat")]);
    let model_call =
        r#"{"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}"#;
    let failed = failed(perform(&models(&provider, "openai"), &call("model", "{}", model_call)));
    assert!(failed.message.contains("`image_url`") && provider.requests().is_empty(), "{failed:?}");
}

#[test]
fn explicit_messages_are_sent_unchanged_or_rejected() {
    let provider = Provider::new(vec![Does::Says("hi")]);
    let models = models(&provider, "openai");
    let model_call = |template: &str| {
        let input = format!(r#"{{"prompt": "another", "messages": {template}}}"#);
        perform(&models, &call("model", "{}", &input))
    };
    assert_text(&model_call(r#"[{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"}]"#), "hi");
    assert_text(&model_call(r#""[{\"role\": \"user\", \"content\": \"hi\"}]""#), "hi");
    for (template, why) in [
        (r#""[{\"role\": \"user\", \"content\": \"say \"hi\"\"}]""#, "not valid JSON"),
        (r#"{"a": 1}"#, "must be a list of messages"),
        ("[]", "empty"),
        (r#"["hello"]"#, "must be an object"),
        (r#"[{"role": "usr", "content": "hi"}]"#, "its role is `usr`"),
    ] {
        let failed = failed(model_call(template));
        assert!(failed.message.contains(why) && !failed.retry.allows_retry(), "{template}: {failed:?}");
    }
    assert_eq!(provider.requests().len(), 2, "nothing else was sent");
}

#[test]
fn a_key_is_trimmed_and_an_invalid_one_is_reported_before_the_run() {
    let provider = Provider::new(vec![Does::Says("hi")]);
    let mut models = models(&provider, "openai");
    models.environment = std::sync::Arc::new(|name| name.ends_with("_API_KEY").then(|| "sk-hunter2\n".to_owned()));
    assert_text(&perform(&models, &plain_call()), "hi");
    let headers = provider.requests()[0].headers.clone();
    assert!(headers.lines().any(|line| line.trim() == "authorization: bearer sk-hunter2"), "{headers}");
    models.environment = std::sync::Arc::new(|name| name.ends_with("_API_KEY").then(|| "sk\nhunter2".to_owned()));
    let (_, why) = models
        .unavailable_reason(&super::effect("model", r#"{"fixed": {"model": "gpt-5"}}"#))
        .expect("it cannot be sent");
    assert!(why.contains("OPENAI_API_KEY") && why.contains("line break") && !why.contains("hunter2"), "{why}");
    let settings = models.settings.providers.get_mut("openai").expect("it is there");
    settings.base_url = Some("ftp://example.org/?key=hunter2".to_owned());
    let (_, why) = models
        .unavailable_reason(&super::effect("model", r#"{"fixed": {"model": "gpt-5"}}"#))
        .expect("it is not a valid address");
    assert!(why.contains("ftp://example.org") && why.contains("https://") && !why.contains("hunter2"), "{why}");
}

#[test]
fn the_status_of_an_error_response_counts_with_any_body_and_headers() {
    let names: Vec<&'static str> = (0..98).map(|number| &*format!("x-{number}").leak()).collect();
    let many: Vec<_> = names.iter().map(|name| (*name, "x")).chain([("retry-after-ms", "1")]).collect();
    for refusal in [Does::Floods(503), Does::Refuses(429, many.leak(), "{}")] {
        let provider = Provider::new(vec![refusal.clone(), Does::Says("whole")]);
        assert_text(&perform(&models(&provider, "openai"), &plain_call()), "whole");
        assert_eq!(provider.requests().len(), 2, "{refusal:?}");
    }
}
