//! `branchpoint chat`: turns with an agent that its session gates.

use std::io::Write as _;
use std::process::{Output, Stdio};

use super::closed::Closed;
use super::running::Place;
use super::stored::has;

const AGENT: &str = include_str!("../../../../examples/session/agent-template.json");

/// The model wants two tools, and the second is not offered before something was thought about.
const SCRIPT: &str = r#"
researcher:
  - $reply: {text: "", toolCalls: [{id: "1", name: search, arguments: {}}, {id: "2", name: save_result, arguments: {}}]}
    $usage: {tokens: 12}
  - {$output: the moon}
  - {$reply: {text: Tides follow the moon.}, $usage: {tokens: 30}}
  - {$reply: {text: Because it is heavy.}}
"#;

fn say(place: &Place, lines: &[u8], more: &[&str]) -> (Option<i32>, String, String) {
    let mut arguments = vec!["chat", "agent.json"];
    arguments.extend(more);
    let mut child = place.command(&arguments).stdin(Stdio::piped()).spawn().expect("the program starts");
    // A program that refuses to start may have ended before it has read anything.
    let _ = child.stdin.take().expect("it is piped").write_all(lines);
    let Output { status, stdout, stderr } = child.wait_with_output().expect("it ends");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn a_turn_calls_only_the_offered_tools() {
    let place = Place::new(&[("agent.json", AGENT), ("script.yaml", SCRIPT)]);
    let (code, stdout, stderr) = say(&place, b"Why tides?\n\nWhy the moon?\n", &["--script", "script.yaml"]);
    assert_eq!((code, &*stdout), (Some(0), "Tides follow the moon.\nBecause it is heavy.\n"), "{stderr}");
    has(&stderr, &["✓ researcher.tool (search)", "the moon", "✗ researcher.tool (save_result)", "not offered now"]);
    let (_, stdout, _) = say(&place, b"", &[]);
    assert_eq!(stdout, "", "nothing was left to say");
    let shown = place.run(&["sessions", "show", "main"]);
    has(&String::from_utf8_lossy(&shown.stdout), &[r#""activeStep": "reflect""#, r#""document": "agent""#]);
}

#[test]
fn an_interrupted_turn_continues_and_repeats_no_call() {
    let hangs =
        SCRIPT.replace("  - {$reply: {text: Tides follow the moon.}, $usage: {tokens: 30}}", "  - {$hang: true}");
    let rest = "researcher:\n  - {$reply: {text: Here I am again.}}\n";
    let place = Place::new(&[("agent.json", AGENT), ("hangs.yaml", &hangs), ("rest.yaml", rest)]);
    let mut command = place.command(&["chat", "agent.json", "--script", "hangs.yaml"]);
    let log = std::fs::File::create(place.path().join("log")).expect("a file");
    let mut child = command.stdin(Stdio::piped()).stderr(log).spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(b"Why tides?\n").expect("it reads");
    place.await_text("log", "not offered");
    child.kill().expect("it was alive");
    child.wait().expect("it ends");
    let (code, stdout, stderr) = say(&place, b"", &["--script", "rest.yaml"]);
    assert_eq!((code, &*stdout), (Some(0), "Here I am again.\n"), "{stderr}");
    has(&stderr, &["Resuming the interrupted turn"]);
    assert!(!stderr.contains("(search)"), "what was done is not done again: {stderr}");
}

#[test]
fn answers_in_plain_text_and_input_in_another_encoding_are_accepted() {
    let script = "researcher: [hello, {$text: again}]\n";
    let place = Place::new(&[("agent.json", AGENT), ("script.yaml", script)]);
    let (code, stdout, stderr) = say(&place, b"one\n\xff\xfe\n", &["--script", "script.yaml"]);
    assert_eq!((code, &*stdout), (Some(0), "hello\nagain\n"), "{stderr}");
}

#[test]
fn a_turn_as_json_shows_what_failed() {
    let script = "researcher:\n  - {$error: no words today}\n";
    let place = Place::new(&[("agent.json", AGENT), ("script.yaml", script)]);
    let (code, stdout, _) = say(&place, b"Well?\n", &["--script", "script.yaml", "--json", "--id", "other"]);
    assert_eq!(code, Some(3), "{stdout}");
    has(&stdout, &[r#""session":"other""#, "no words today", r#""allowedTools":["#]);
}

#[test]
fn a_failed_session_is_reported_and_the_next_one_starts() {
    let script = "researcher:\n  - {$output: 5}\n  - hello\n";
    let place = Place::new(&[("agent.json", AGENT), ("script.yaml", script)]);
    let (code, stdout, stderr) = say(&place, b"one\ntwo\n", &["--script", "script.yaml", "--json"]);
    assert_eq!(code, Some(3), "{stderr}");
    let turns: Vec<serde_json::Value> =
        stdout.lines().map(|line| serde_json::from_str(line).expect("each turn is an object")).collect();
    assert_eq!(turns.len(), 2, "{stdout}");
    let report = turns[0]["turn"]["error"]["message"].as_str().expect("why");
    assert!(report.contains("condition_error") && turns[0]["view"].is_null(), "no open gate: {stdout}");
    assert_eq!(turns[1]["turn"]["text"], "hello");
}

#[test]
fn a_chat_requires_an_agent() {
    let place = Place::new(&[("agent.json", r#"{"steps": [{"name": "a", "isDefault": true}]}"#)]);
    let (code, _, stderr) = say(&place, b"Hello?\n", &[]);
    assert_eq!(code, Some(1));
    has(&stderr, &["not an agent template", "branchpoint session"]);
    let place = Place::new(&[("agent.json", AGENT)]);
    let (code, _, stderr) = say(&place, b"Hello?\n", &[]);
    assert_eq!(code, Some(2), "there is no key for its model");
    has(&stderr, &["OPENAI_API_KEY"]);
}

#[test]
fn an_agent_without_tools_needs_no_tool_settings() {
    let mut agent: serde_json::Value = serde_json::from_str(AGENT).expect("this is JSON");
    agent["nodes"] = serde_json::json!(["llm.openai"]);
    agent["orchestration"] = serde_json::json!({"steps": [{"name": "talk", "isDefault": true}]});
    let settings = "[models]\nretries = 0\n";
    let place = Place::new(&[("agent.json", &agent.to_string()), ("branchpoint.toml", settings)]);
    // There is no server at this address, so the turn fails, and nothing before it.
    let mut command = place.command(&["chat", "agent.json"]);
    let closed = Closed::new();
    command.env("OPENAI_BASE_URL", closed.url("/v1")).env("OPENAI_API_KEY", "sk-test");
    let mut child = command.stdin(Stdio::piped()).spawn().expect("the program starts");
    child.stdin.take().expect("it is piped").write_all(b"Hello?\n").expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(3));
    has(&String::from_utf8_lossy(&output.stderr), &["the turn failed", "cannot be reached"]);
}

#[test]
fn a_reply_that_is_not_streamed_shows_no_secret() {
    let script = "researcher: [\"the key is canary-of-the-environment\"]\n";
    let place = Place::new(&[("agent.json", AGENT), ("script.yaml", script)]);
    for json in [&[][..], &["--json"]] {
        let id = if json.is_empty() { "text" } else { "json" };
        let mut command = place.command(&["chat", "agent.json", "--script", "script.yaml", "--id", id]);
        command.args(json).env("CANARY_API_KEY", "canary-of-the-environment").stdin(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        child.stdin.take().expect("it is piped").write_all(b"Which key?\n").expect("it reads");
        let Output { stdout, stderr, .. } = child.wait_with_output().expect("it ends");
        let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        assert!(stdout.contains("the key is ***"), "{stdout}{stderr}");
        assert!(!stdout.contains("canary-of") && !stderr.contains("canary-of"), "{stdout}{stderr}");
    }
}
