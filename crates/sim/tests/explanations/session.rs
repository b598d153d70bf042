//! Decisions of tool-gating sessions: which step is active, and whether a tool may be called.

use branchpoint_expr::Dialect;

use crate::{Case, Explained, Then, check_rules};

fn case(document: &str, script: &str, then: &[Then]) -> Explained {
    let input = r#"{"tools": ["search", "think", "send"]}"#;
    let explained = Case { dialect: Dialect::Session, document, input, script, facts: "{}", then }.run();
    check_rules(&explained);
    explained
}

/// The text of every decision, and the JSON of all of them in a file of its own.
macro_rules! check {
    ($name:literal, $document:expr, $script:expr, $then:expr) => {
        let explained = case($document, $script, $then);
        insta::assert_snapshot!(concat!("session-", $name), explained.text());
        insta::assert_snapshot!(concat!("session-", $name, "-json"), explained.json());
    };
}

const STEPS: &str = r#"{
  "steps": [
    {"name": "research",
     "conditions": [{"type": "message_contains", "value": "research"}],
     "availableTools": {"allowed": ["search"]}},
    {"name": "plan",
     "conditions": [{"type": "message_contains", "value": "plan"},
                    {"type": "not_recently_used", "value": "search", "window": 3}],
     "availableTools": {"allowed": ["think"]}},
    {"name": "wrap_up",
     "conditions": [{"if": "len(tools) >= 2 && step == 'research'"}]},
    {"name": "general", "isDefault": true}
  ]
}"#;

#[test]
fn every_event_says_which_step_is_active_and_why() {
    let events = [
        Then::Signal("message", r#"{"text": "hello"}"#, None),
        Then::Signal("message", r#"{"text": "please research caching"}"#, None),
        Then::Signal("tool", r#"{"tool": "search"}"#, None),
        Then::Signal("message", r#"{"text": "now plan it"}"#, None),
    ];
    check!("steps", STEPS, "{}", &events);
}

#[test]
fn a_condition_that_cannot_be_evaluated_is_shown_and_activates_nothing() {
    let document = STEPS.replace("len(tools) >= 2", "int(message) >= 2");
    check!("condition-error", &document, "{}", &[Then::Signal("message", r#"{"text": "hello"}"#, None)]);
}

const RULES: &str = r#"{
  "steps": [
    {"name": "report",
     "conditions": [{"type": "sequence_match"}],
     "sequence": ["search", "think"]},
    {"name": "urgent",
     "conditions": [{"type": "message_regex", "value": "(?i)asap|now"}]},
    {"name": "work",
     "conditions": [{"type": "tool_used", "value": "search"}],
     "sequence": [["think", "send"], "send"]}
  ]
}"#;

#[test]
fn sequences_tools_and_patterns_activate_steps() {
    let events = [
        Then::Signal("message", r#"{"text": "hello"}"#, None),
        Then::Signal("tool", r#"{"tool": "search"}"#, None),
        Then::Signal("message", r#"{"text": "do it ASAP"}"#, None),
        Then::Signal("tool", r#"{"tool": "think"}"#, None),
    ];
    check!("rules", RULES, "{}", &events);
}

#[test]
fn an_unchanged_session_can_be_evaluated_again() {
    let events = [
        Then::Signal("message", r#"{"text": "please research caching"}"#, None),
        Then::Signal("message", r#"{"text": "go on"}"#, None),
    ];
    let explained = case(STEPS, "{}", &events);
    let decisions: Vec<_> = explained.decisions().map(|(_, decided)| decided).collect();
    let with = |at: usize, message: &str| {
        let changes = [("message".to_owned(), branchpoint_expr::Value::from(message))];
        let would_be = branchpoint_core::what_if(&explained.program, decisions[at], &changes)
            .expect("the decision reads this path");
        would_be.chosen().map(|branch| branch.name.to_string())
    };
    assert_eq!(with(1, "research it").as_deref(), Some("research"));
    assert_eq!(with(1, "nothing").as_deref(), Some("unchanged"), "a step was active");
    assert_eq!(with(0, "nothing").as_deref(), Some("default"), "no step was active");
}

const CHAT: &str = r#"{
  "version": "1.0", "agentId": "helper", "name": "Helper", "description": "d", "personality": ["You help."],
  "nodes": ["llm.openai", "search", "send"], "nodeConfigurations": {}, "chatSettings": {},
  "options": {"maxSteps": 2},
  "orchestration": {"description": "Look, then write.", "steps": [
    {"name": "write", "conditions": [{"type": "tool_used", "value": "search"}], "availableTools": {"allowed": ["send"]}},
    {"name": "look", "isDefault": true, "availableTools": {"allowed": ["search"]}}]}
}"#;

#[test]
fn a_chat_turn_says_which_tools_are_offered_and_why_it_ends() {
    let script = r#"{helper: [
  {$reply: {text: "", toolCalls: [{id: "1", name: send, arguments: {}}, {id: "2", name: search, arguments: {}}]}},
  {$output: found},
  {$reply: {text: "more", toolCalls: [{id: "3", name: search, arguments: {}}]}}]}"#;
    let turn = &[Then::Signal("turn", r#"{"text": "hello"}"#, None)];
    check!("chat", CHAT, script, turn);
    insta::assert_snapshot!("session-records", case(CHAT, script, turn).records());
    let script = r#"{helper: [{$reply: {text: "hello"}}]}"#;
    check!("chat-end", CHAT, script, turn);
}
