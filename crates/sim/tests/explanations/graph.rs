//! Decisions of agent graphs.

use branchpoint_expr::Dialect;

use crate::{Case, Explained, Then, check_rules};

fn case(document: &str, script: &str, then: &[Then]) -> Explained {
    let explained = Case { dialect: Dialect::Graph, document, input: "{}", script, facts: "{}", then }.run();
    check_rules(&explained);
    explained
}

/// The text of every decision, and the JSON of all of them in a file of its own.
macro_rules! check {
    ($name:literal, $document:expr, $script:expr, $then:expr) => {
        let explained = case($document, $script, $then);
        insta::assert_snapshot!(concat!("graph-", $name), explained.text());
        insta::assert_snapshot!(concat!("graph-", $name, "-json"), explained.json());
    };
}

const CHOICE: &str = r#"{
  "nodes": [
    {"id": "start", "type": "start", "data": {"initialInput": "Refund, please"}},
    {"id": "sort", "type": "agent", "data": {"agentName": "Sorter", "userPrompt": "Sort {{PREVIOUS_OUTPUT}}"}},
    {"id": "route", "type": "if", "data": {"conditions": [
      {"operator": "contains", "value": "bug"},
      {"operator": "equal", "value": "refund"},
      {"if": "len(input) > 40"}]}},
    {"id": "ticket", "type": "end", "data": {}},
    {"id": "money", "type": "end", "data": {}},
    {"id": "audit", "type": "end", "data": {}},
    {"id": "long", "type": "end", "data": {}},
    {"id": "other", "type": "end", "data": {}}
  ],
  "connections": [
    {"source": "start", "target": "sort", "sourceHandle": "output"},
    {"source": "sort", "target": "route", "sourceHandle": "output"},
    {"source": "route", "target": "ticket", "sourceHandle": "condition-0"},
    {"source": "route", "target": "money", "sourceHandle": "condition-1"},
    {"source": "route", "target": "audit", "sourceHandle": "condition-1"},
    {"source": "route", "target": "long", "sourceHandle": "condition-2"},
    {"source": "route", "target": "other", "sourceHandle": "false"}
  ]
}"#;

#[test]
fn an_if_names_every_condition_and_where_it_leads() {
    check!("if-second", CHOICE, "{sort: [Refund]}", &[]);
    check!("if-none", CHOICE, "{sort: [thanks]}", &[]);
}

#[test]
fn a_condition_that_cannot_be_evaluated_ends_the_decision() {
    let document = CHOICE.replace("len(input) > 40", "int(input) > 40");
    check!("if-error", &document, "{sort: [thanks]}", &[]);
}

const APPROVAL: &str = r#"{
  "nodes": [
    {"id": "start", "type": "start", "data": {"initialInput": "the release"}},
    {"id": "review", "type": "approval", "data": {"prompt": "Publish this text?"}},
    {"id": "publish", "type": "end", "data": {}},
    {"id": "rewrite", "type": "agent", "data": {"agentName": "Rewriter", "userPrompt": "Shorter: {{PREVIOUS_OUTPUT}}"}}
  ],
  "connections": [
    {"source": "start", "target": "review", "sourceHandle": "output"},
    {"source": "review", "target": "publish", "sourceHandle": "approve"},
    {"source": "review", "target": "rewrite", "sourceHandle": "reject"},
    {"source": "rewrite", "target": "review", "sourceHandle": "output"}
  ]
}"#;

#[test]
fn an_approval_says_who_answered_what() {
    let answers = [
        Then::Signal("resume", r#"{"input": {"decision": "reject", "note": "too long"}}"#, Some("ada")),
        Then::Signal("resume", r#"{"input": "yes"}"#, None),
    ];
    check!("approval", APPROVAL, "{rewrite: [shorter]}", &answers);
}

#[test]
fn an_if_may_lead_nowhere_and_has_older_spellings() {
    let ended = CHOICE
        .replace(
            r#"    {"source": "route", "target": "money", "sourceHandle": "condition-1"},
"#,
            "",
        )
        .replace(
            r#"    {"source": "route", "target": "audit", "sourceHandle": "condition-1"},
"#,
            "",
        );
    check!("if-no-edge", &ended, "{sort: [Refund]}", &[]);
    let blank = CHOICE.replace(r#""value": "bug""#, r#""value": " ""#);
    check!("if-blank", &blank, "{sort: [Refund]}", &[]);
    let legacy = CHOICE.replace(r#""sourceHandle": "condition-0""#, r#""sourceHandle": "true""#);
    check!("if-legacy-true", &legacy, "{sort: [a bug]}", &[]);
}

#[test]
fn approvals_may_lack_an_edge_or_wait_together() {
    let no_edge = APPROVAL
        .replace(
            r#"    {"source": "review", "target": "rewrite", "sourceHandle": "reject"},
"#,
            "",
        )
        .replace(
            r#",
    {"source": "rewrite", "target": "review", "sourceHandle": "output"}"#,
            "",
        );
    let reject = [Then::Signal("resume", r#"{"input": "no"}"#, Some("ada"))];
    check!("approval-no-edge", &no_edge, "{}", &reject);
    let two = r#"{
  "nodes": [
    {"id": "start", "type": "start", "data": {"initialInput": "the release"}},
    {"id": "legal", "type": "approval", "data": {"prompt": "Legal?"}},
    {"id": "press", "type": "approval", "data": {"prompt": "Press?"}},
    {"id": "out", "type": "end", "data": {}}
  ],
  "connections": [
    {"source": "start", "target": "legal", "sourceHandle": "output"},
    {"source": "start", "target": "press", "sourceHandle": "output"},
    {"source": "legal", "target": "out", "sourceHandle": "approve"},
    {"source": "press", "target": "out", "sourceHandle": "approve"}
  ]
}"#;
    let answers = [
        Then::Signal("resume", r#"{"id": "press", "input": {"decision": "no", "note": "wait"}}"#, Some("bob")),
        Then::Signal("resume", r#"{"input": true}"#, Some("ada")),
    ];
    check!("approval-two", two, "{}", &answers);
}
