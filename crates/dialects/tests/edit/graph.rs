//! Edits of graphs: nodes, connections and handles.

use branchpoint_dialects::{EditErrorKind, Operation, Position, edit};
use branchpoint_expr::Value;

use super::{add, check, edge, edited, rejected, remove, rename};

const TRIAGE: &str = r#"{
  "nodes": [
    {"id": "start", "type": "start", "data": {}, "x": 0, "y": 0},
    {"id": "route", "type": "if", "data": {"conditions": [{"value": "one"}, {"value": "two"}]}, "x": 0, "y": 100},
    {"id": "a", "type": "agent", "data": {"tools": {"subagents": true}}, "x": -100, "y": 200},
    {"id": "b", "type": "agent", "data": {}, "x": 100, "y": 200}
  ],
  "connections": [
    {"source": "start", "target": "route", "sourceHandle": "output", "targetHandle": "input"},
    {"source": "route", "target": "a", "sourceHandle": "condition-0", "targetHandle": "input"},
    {"source": "route", "target": "b", "sourceHandle": "condition-1", "targetHandle": "input"}
  ]
}
"#;

fn connect(source: &str, handle: &str, target: &str) -> Operation {
    let handle = (!handle.is_empty()).then(|| handle.to_owned());
    Operation::Connect { source: source.into(), handle, target: target.into() }
}

fn with(old: &str, new: &str) -> String {
    assert_eq!(TRIAGE.matches(old).count(), 1, "{old}");
    TRIAGE.replacen(old, new, 1)
}

#[test]
fn nodes_are_connected_by_handles() {
    let last = "\"sourceHandle\": \"condition-1\", \"targetHandle\": \"input\"}\n";
    let new = |source: &str, target: &str, handle: &str| {
        let line = format!(
            "    {{\"source\": \"{source}\", \"target\": \"{target}\", \"sourceHandle\": \"{handle}\", \"targetHandle\": \"input\"}}\n"
        );
        with(last, &format!("{},\n{line}", last.trim_end()))
    };
    check(TRIAGE, &connect("route", "false", "b"), &new("route", "b", "false"));
    check(TRIAGE, &connect("a", "", "b"), &new("a", "b", "output"));
    check(TRIAGE, &connect("b", "output", "route"), &new("b", "route", "output"));
    let disconnect = Operation::Disconnect { source: "route".into(), handle: None, target: "a".into() };
    let line = "    {\"source\": \"route\", \"target\": \"a\", \"sourceHandle\": \"condition-0\", \"targetHandle\": \"input\"},\n";
    check(TRIAGE, &disconnect, &with(line, ""));
    let gone = Operation::Disconnect { source: "a".into(), handle: None, target: "b".into() };
    rejected(TRIAGE, &gone, EditErrorKind::UnknownConnection, "not connected");
}

#[test]
fn connections_follow_the_rules_of_the_dialect() {
    #[track_caller]
    fn refused(source: &str, operation: &Operation, kind: &str) {
        let error = edit(source, None, operation).expect_err("the connection is rejected");
        assert_eq!(error.finding.unwrap_or(error.kind.as_str()), kind, "{error}");
    }
    let team = TRIAGE.replace(",\n    {\"source\": \"route\", \"target\": \"b\", \"sourceHandle\": \"condition-1\", \"targetHandle\": \"input\"}", "");
    let helped = edited(&team, &connect("a", "subagent", "b")).text;
    refused(&helped, &connect("a", "subagent", "b"), "duplicate_connection");
    refused(&helped, &connect("route", "false", "b"), "subagent_in_execution");
    refused(TRIAGE, &connect("a", "subagent", "b"), "subagent_in_execution");
    refused(&team, &connect("b", "subagent", "a"), "subagent_tool_disabled");
    refused(&team, &connect("route", "subagent", "b"), "subagent_source_not_agent");
    refused(&team, &connect("a", "subagent", "start"), "subagent_target_not_agent");
    refused(TRIAGE, &connect("route", "condition-2", "a"), "unknown_branch");
    refused(TRIAGE, &connect("route", "condition-0", "a"), "duplicate_connection");
    refused(TRIAGE, &connect("a", "", "missing"), "unknown_step");
    let third = edited(&helped, &add("agent", Position::Free { x: 0.0, y: 0.0 })).text;
    let third = third.replace("\"userPrompt\": \"\"}", "\"tools\": {\"subagents\": true}}");
    refused(&third, &connect("agent", "subagent", "b"), "subagent_multiple_parents");
}

#[test]
fn a_node_is_added_on_an_edge_below_a_node_or_free() {
    let added = edited(TRIAGE, &add("approval", edge("start", None, "route")));
    assert_eq!(added.selected.as_deref(), Some("approval"));
    assert!(
        added.text.contains(
            "{\"id\": \"approval\", \"type\": \"approval\", \"data\": {\"prompt\": \"Continue?\"}, \"x\": 0, \"y\": 50}"
        ),
        "{}",
        added.text
    );
    assert!(added.text.contains("{\"source\": \"start\", \"target\": \"approval\", \"sourceHandle\": \"output\""));
    assert!(added.text.contains("{\"source\": \"approval\", \"target\": \"route\", \"sourceHandle\": \"approve\""));
    // The first handle that leads nowhere.
    let below = edited(TRIAGE, &add("agent", Position::Below { step: "route".into(), branch: None })).text;
    assert!(below.contains("{\"source\": \"route\", \"target\": \"agent\", \"sourceHandle\": \"false\""), "{below}");
    // The drawing shows an end where a handle leads nowhere.
    let last = edited(TRIAGE, &add("agent", edge("a", None, "end"))).text;
    assert!(last.contains("{\"source\": \"a\", \"target\": \"agent\", \"sourceHandle\": \"output\""), "{last}");
    assert!(last.contains("\"x\": -100, \"y\": 320}"), "{last}");
    let helper = Position::Below { step: "a".into(), branch: Some("subagent".into()) };
    let helper = edited(TRIAGE, &add("agent", helper)).text;
    assert!(helper.contains("{\"source\": \"a\", \"target\": \"agent\", \"sourceHandle\": \"subagent\""));
    let free = edited(TRIAGE, &add("if", Position::Free { x: 1.5, y: -2.0 })).text;
    assert!(free.contains("\"x\": 1.5, \"y\": -2}"), "{free}");
    rejected(TRIAGE, &add("start", Position::End), EditErrorKind::InvalidPosition, "exactly one start");
    rejected(TRIAGE, &add("end", edge("start", None, "route")), EditErrorKind::InvalidPosition, "Nothing can follow");
    rejected(TRIAGE, &add("loop", Position::End), EditErrorKind::UnknownType, "`loop`");
    let first = edited("{\n  \"nodes\": [],\n  \"connections\": []\n}\n", &add("start", Position::End)).text;
    assert_eq!(
        first,
        "{\n  \"nodes\": [\n    {\"id\": \"start\", \"type\": \"start\", \"data\": {}}\n  ],\n  \"connections\": []\n}\n"
    );
}

#[test]
fn a_removed_node_takes_its_connections_along() {
    let removed = edited(TRIAGE, &remove("route"));
    assert!(removed.text.contains("\"connections\": []"), "{}", removed.text);
    assert!(!removed.text.contains("route"));
    let affected: Vec<_> = removed.affected.iter().map(|one| (one.step.as_deref(), &*one.names)).collect();
    assert_eq!(affected, [(Some("start"), "route"), (Some("a"), "route"), (Some("b"), "route")]);
    let both = Operation::Remove { steps: vec!["b".into(), "a".into()], with_children: false };
    assert_eq!(edited(TRIAGE, &both).text.matches("\"id\"").count(), 2);
}

#[test]
fn a_renamed_node_keeps_its_connections() {
    let renamed = edited(TRIAGE, &rename("a", "writer"));
    let expect =
        TRIAGE.replace("\"id\": \"a\"", "\"id\": \"writer\"").replace("\"target\": \"a\"", "\"target\": \"writer\"");
    assert_eq!(renamed.text, expect);
    assert_eq!(renamed.affected.len(), 1);
    rejected(TRIAGE, &rename("a", "b"), EditErrorKind::DuplicateId, "`b`");
}

#[test]
fn connections_follow_their_conditions() {
    let swapped = edited(TRIAGE, &Operation::Reorder { step: "route".into(), from: 0, to: 1 }).text;
    let expect = with("[{\"value\": \"one\"}, {\"value\": \"two\"}]", "[{\"value\": \"two\"}, {\"value\": \"one\"}]");
    let expect = expect
        .replace("condition-0", "condition-x")
        .replace("condition-1", "condition-0")
        .replace("condition-x", "condition-1");
    assert_eq!(swapped, expect);
    let path = vec!["data".into(), "conditions".into(), 0.into()];
    let one = Operation::RemoveField { step: Some("route".into()), path };
    let removed = edited(TRIAGE, &one).text;
    assert!(removed.contains("[{\"value\": \"two\"}]") && !removed.contains("\"target\": \"a\""), "{removed}");
    assert!(removed.contains("\"target\": \"b\", \"sourceHandle\": \"condition-0\""));
}

#[test]
fn fields_and_positions_are_set() {
    let path = vec!["data".into(), "systemPrompt".into()];
    let set = Operation::SetField { step: Some("b".into()), path, value: Value::from("Be \"brief\".") };
    check(
        TRIAGE,
        &set,
        &with("\"agent\", \"data\": {}", "\"agent\", \"data\": {\"systemPrompt\": \"Be \\\"brief\\\".\"}"),
    );
    let positions = vec![("a".to_owned(), -50.0, 210.5), ("b".to_owned(), 50.0, 200.0)];
    let placed = with("\"x\": -100, \"y\": 200", "\"x\": -50, \"y\": 210.5").replace("\"x\": 100,", "\"x\": 50,");
    check(TRIAGE, &Operation::SetPositions(positions), &placed);
    let nowhere = Operation::SetPositions(vec![("a".to_owned(), f64::NAN, 0.0)]);
    rejected(TRIAGE, &nowhere, EditErrorKind::InvalidPath, "x");
    let moved = Operation::Move { step: "a".into(), position: Position::End };
    rejected(TRIAGE, &moved, EditErrorKind::UnsupportedOperation, "connections");
}

#[test]
fn copied_nodes_are_pasted_with_their_connections() {
    let fragment = r#"{"nodes": [{"id": "a", "type": "agent", "data": {}, "x": 0, "y": 0}, {"id": "c", "type": "agent", "data": {}, "x": 10, "y": 100}],
        "connections": [{"source": "a", "target": "c"}, {"source": "route", "target": "a"}]}"#;
    let paste = |position| Operation::Paste { fragment: fragment.into(), position };
    let pasted = edited(TRIAGE, &paste(Position::Free { x: 500.0, y: 50.0 }));
    assert_eq!(pasted.selected.as_deref(), Some("a_2"));
    assert!(
        pasted.text.contains("{\"id\": \"a_2\", \"type\": \"agent\", \"data\": {}, \"x\": 500, \"y\": 50}"),
        "{}",
        pasted.text
    );
    assert!(pasted.text.contains("{\"id\": \"c\", \"type\": \"agent\", \"data\": {}, \"x\": 510, \"y\": 150}"));
    // Connections to nodes outside of the copy are left out.
    assert!(pasted.text.contains("{\"source\": \"a_2\", \"target\": \"c\"}\n"));
    assert_eq!(pasted.text.matches("\"source\"").count(), 4);
    let start =
        Operation::Paste { fragment: r#"{"id": "s", "type": "start", "data": {}}"#.into(), position: Position::End };
    rejected(TRIAGE, &start, EditErrorKind::InvalidFragment, "not a node");
}
