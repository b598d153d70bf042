//! Runners and hosts know requests by their types, never by the words of a dialect.

use crate::tree::{SourceFile, expect_none, text_files};

/// Spellings of fields that only one dialect has, and ways around the typed request.
const FORBIDDEN: [&str; 20] = [
    "Dialect::",
    "\"step_type\"",
    "\"systemPrompt\"",
    "\"userContent\"",
    "\"toolNames\"",
    "\"reasoningEffort\"",
    "\"maxTokens\"",
    "\"topP\"",
    "\"prompt_template\"",
    "\"system_template\"",
    "\"json_template\"",
    "\"evaluation_prompt\"",
    "\"expected_format\"",
    "\"node\"",
    "\"nodeId\"",
    "\"subagent\"",
    "subagent_call",
    "\"configuration\"",
    "fixed.get(",
    "input.get(\"",
];

/// Providers have field names of their own, and some are those of a dialect.
const WIRE_FORMATS: &str = "crates/runners/src/models/formats/";

#[test]
fn runners_and_hosts_know_no_dialect() {
    expect_none(
        &complaints(&text_files()),
        "front-ends normalise their own spellings when they lower; runners read `Call::request`",
    );
}

fn complaints(files: &[SourceFile]) -> Vec<String> {
    let mut complaints = Vec::new();
    let is_ours = |path: &str| path.starts_with("crates/runners/src/") || path.starts_with("crates/host/src/");
    for file in files.iter().filter(|file| is_ours(&file.path) && !file.path.ends_with("tests.rs")) {
        let is_format = file.path.starts_with(WIRE_FORMATS);
        let words = FORBIDDEN.into_iter().filter(|word| !(is_format && word.starts_with('"')));
        for (number, line) in file.text.lines().enumerate() {
            for word in words.clone().filter(|word| line.contains(word)) {
                complaints.push(format!("{}:{}: {word}", file.path, number + 1));
            }
        }
    }
    complaints
}

#[test]
fn a_spelling_of_a_dialect_is_found_in_runners_and_nowhere_else() {
    let file = |path: &str, text: &str| SourceFile { path: path.into(), text: text.into() };
    let reported = complaints(&[
        file("crates/runners/src/a.rs", "x\nlet a = y.get(\"topP\");\n"),
        file("crates/host/src/b.rs", "Dialect::Steps\n"),
        file("crates/host/src/b.rs", "send(\"subagent_call_end\", object([(\"nodeId\", id)]))"),
        file("crates/dialects/src/c.rs", "\"topP\""),
        file("crates/runners/src/models/formats/d.rs", "\"topP\"\ncall.input.get(\"x\")"),
    ]);
    let expected = [
        "crates/runners/src/a.rs:2: \"topP\"",
        "crates/host/src/b.rs:1: Dialect::",
        "crates/host/src/b.rs:1: \"nodeId\"",
        "crates/host/src/b.rs:1: subagent_call",
        "crates/runners/src/models/formats/d.rs:2: input.get(\"",
    ];
    assert_eq!(reported, expected);
}
