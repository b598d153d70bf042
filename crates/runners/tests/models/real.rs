//! Calls to the real providers, each if its key is set in the environment. A skipped provider is printed; the settings of nextest show the
//! output of these tests although they pass.

use std::collections::BTreeMap;

use branchpoint_core::effect::ModelResult;
use branchpoint_expr::Value;
use branchpoint_runners::models::Settings;
use branchpoint_runners::{Answer, Models};

use super::{call, perform};

fn real(key: &str, model: &str) {
    if std::env::var(key).is_err() {
        eprintln!("skipped: {key} is not set");
        return;
    }
    let models = Models::new(Settings::default(), BTreeMap::new());
    let model_call = format!(r#"{{"model": "{model}", "prompt": "Answer with the word yes.", "max_tokens": 500}}"#);
    let answer = perform(&models, &call("model", "{}", &model_call));
    let Answer::Model(ModelResult { value: Value::Str(text), usage, .. }) = &answer else { panic!("{answer:?}") };
    assert!(text.to_lowercase().contains("yes") && usage.tokens > 0, "{answer:?}");
}

#[test]
fn openai_answers_if_its_key_is_set() {
    real("OPENAI_API_KEY", "gpt-5-mini");
}

#[test]
fn anthropic_answers_if_its_key_is_set() {
    real("ANTHROPIC_API_KEY", "claude-haiku-4-5");
}

#[test]
fn gemini_answers_if_its_key_is_set() {
    real("GEMINI_API_KEY", "gemini-2.5-flash");
}

#[test]
fn mistral_answers_if_its_key_is_set() {
    real("MISTRAL_API_KEY", "mistral-small-latest");
}

#[test]
fn deepseek_answers_if_its_key_is_set() {
    real("DEEPSEEK_API_KEY", "deepseek-chat");
}

#[test]
fn xai_answers_if_its_key_is_set() {
    real("XAI_API_KEY", "grok-4-fast");
}

#[test]
fn groq_answers_if_its_key_is_set() {
    real("GROQ_API_KEY", "groq/llama-3.1-8b-instant");
}

#[test]
fn openrouter_answers_if_its_key_is_set() {
    real("OPENROUTER_API_KEY", "openrouter/openai/gpt-5-mini");
}
