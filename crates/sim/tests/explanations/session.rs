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
