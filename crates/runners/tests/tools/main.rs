//! Tools with real HTTP, SMTP and MCP servers on this machine, without the internet.

mod bare;
mod closed;
mod embeddings;
mod extract;
mod files;
mod http;
mod mail;
mod mcp;
mod objects;
mod package;
mod peer;
mod process;
mod search;
mod unreached;
mod webhook;

use std::sync::Arc;

use branchpoint_core::ir::Effect;
use branchpoint_core::{AttemptError, EffectNo};
use branchpoint_expr::Value;
use branchpoint_runners::tools::{Settings, Tools};
use branchpoint_runners::{Answer, Call, CancellationToken, SecretStore, runtime};

fn value(text: &str) -> Value {
    serde_json::from_str(text).expect("this is JSON")
}

/// The secrets of tests: the value of each is its name in lower case. One is a command.
fn secrets() -> SecretStore {
    Arc::new(|name| match name {
        "TEST_EVIL" => Some("it's $(pwd); echo no".to_owned()),
        name => name.starts_with("TEST_").then(|| name.to_lowercase()),
    })
}

fn tools(settings: &str) -> Tools {
    let settings: Settings = toml::from_str(settings).expect("these are settings");
    Tools::new(settings, secrets())
}

/// An effect by its kind and its other fields.
fn effect(kind: &str, definition: &str) -> Effect {
    let definition = serde_json::from_str(definition).expect("these are fields of an effect");
    Effect { kind: branchpoint_core::effect::Kind::named(kind).expect("this is a kind"), ..definition }
}

fn call(kind: &str, definition: &str, input: &str) -> Call {
    Call { run: "run-1".into(), effect: EffectNo(7), ..Call::first(effect(kind, definition), value(input)) }
}

fn performed(tools: &Tools, call: &Call) -> Option<Answer> {
    let perform = |prepared| runtime().block_on(tools.perform(&prepared, &CancellationToken::new()));
    call.prepare(&secrets()).map_or_else(Some, perform)
}

#[track_caller]
fn perform(tools: &Tools, call: &Call) -> Answer {
    performed(tools, call).expect("this is for tools")
}

#[track_caller]
fn judged(tools: &Tools, call: &Call) -> Value {
    branchpoint_runners::judge(call, perform(tools, call)).expect("this succeeds")
}

#[track_caller]
fn failure(answer: Answer) -> AttemptError {
    match answer {
        Answer::Failed(failed) => failed,
        other => panic!("this is no failure: {other:?}"),
    }
}

#[test]
fn calls_that_are_not_for_tools_are_left_to_other_runners() {
    let tools = tools("");
    for kind in ["model", "run", "process", "files", "notify"] {
        assert_eq!(performed(&tools, &call(kind, "{}", "{}")), None, "{kind}");
        assert_eq!(runtime().block_on(tools.unavailable_reason(&effect(kind, "{}"))), None, "{kind}");
    }
}

#[test]
fn missing_settings_are_reported_before_a_run() {
    let tools = tools("[webhook]\nsecret_env = \"NOT_SET\"");
    for (kind, spec, missing) in [
        ("search", "{}", "[search]"),
        ("tool", r#"{"fixed": {"tool": "webSearch"}}"#, "[search]"),
        ("tool", r#"{"fixed": {"tool": "lookup"}}"#, "[mcp.NAME]"),
        ("mcp", "{}", "[mcp.NAME]"),
        ("memory", r#"{"fixed": {"operation": "add"}}"#, "no storage for memories"),
        ("chat_history", "{}", "no storage for memories"),
        ("retrieval", "{}", "no storage for memories"),
        ("retrieval", r#"{"fixed": {"reranker_model": "m"}}"#, "`reranker_model`"),
        ("object_store", "{}", "[files]"),
        ("mail", "{}", "[mail]"),
        ("files", r#"{"fixed": {"operation": "load"}}"#, "[files]"),
        ("files", r#"{"fixed": {"operation": "publish"}}"#, "[files]"),
        ("webhook", "{}", "NOT_SET"),
    ] {
        let lacks = runtime().block_on(tools.unavailable_reason(&effect(kind, spec))).unwrap_or_default();
        assert!(lacks.contains(missing), "{kind}: {lacks}");
        let failed = match kind {
            "search" | "mail" | "files" | "memory" | "chat_history" | "object_store" => {
                failure(perform(&tools, &call(kind, spec, "{}")))
            }
            _ => continue,
        };
        assert!(failed.message.contains(missing) && !failed.retry.allows_retry(), "{kind}: {failed:?}");
    }
    for kind in ["http", "fetch", "extract"] {
        assert_eq!(runtime().block_on(tools.unavailable_reason(&effect(kind, "{}"))), None, "{kind}");
    }
}

#[test]
fn the_examples_on_the_page_about_settings_are_valid() {
    let page = include_str!("../../../../docs/reference/settings.md");
    let ours = ["[http]", "[webhook]", "[search]", "[mail]", "[files]", "[objects]", "[mcp."];
    let examples = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let examples: Vec<&str> = examples.filter(|text| ours.iter().any(|section| text.starts_with(section))).collect();
    assert_eq!(examples.len(), ours.len(), "one for each section");
    for example in examples {
        toml::from_str::<Settings>(example).unwrap_or_else(|error| panic!("{example}\n{error}"));
    }
}

#[test]
fn an_unknown_setting_is_rejected() {
    assert!(toml::from_str::<Settings>("[http]\nallow_privat_network = true").is_err());
    assert!(toml::from_str::<Settings>("[htp]").is_err());
    assert!(toml::from_str::<Settings>("[search]\nprovider = \"other\"").is_err());
}
