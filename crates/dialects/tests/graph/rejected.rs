//! Every rule that rejects a graph or warns about it: the kind of the finding and its place.

use branchpoint_dialects::{load, preflight};
use branchpoint_expr::{Dialect, Severity};

use crate::{boss, edge, graph};

/// Loads a document and compares its findings in order: the kind, and the beginning of the text at its place.
#[track_caller]
fn check(source: &str, expect: &[(&str, &str)]) {
    let loaded = load(source, Some(Dialect::Graph));
    let actual: Vec<(&str, &str)> =
        loaded.diagnostics.iter().map(|finding| (finding.kind.as_str(), finding.span.text(source))).collect();
    let agree = actual.len() == expect.len()
        && actual.iter().zip(expect).all(|(actual, expect)| actual.0 == expect.0 && actual.1.starts_with(expect.1));
    assert!(agree, "{source}\nexpected {expect:?}\nfound    {actual:?}");
    let rejected = loaded.diagnostics.iter().any(|finding| finding.severity == Severity::Error);
    assert_eq!(loaded.program.is_none(), rejected, "a document has a program exactly when it has no errors");
}

/// Like [`check`], for a node that follows the start.
#[track_caller]
fn node(kind: &str, data: &str, expect: &[(&str, &str)]) {
    let node = format!(r#"{{"id": "n", "type": "{kind}", "data": {data}}}"#);
    check(&graph(&node, &edge("s", "", "n")), expect);
}

#[test]
fn a_graph_has_nodes_and_connections() {
    check("[]", &[("invalid_payload", "[]")]);
    check("{}", &[("invalid_payload", "{"), ("invalid_payload", "{")]);
    check(r#"{"nodes": {}, "connections": 1}"#, &[("invalid_payload", "{}"), ("invalid_payload", "1")]);
    check(&graph("5", ""), &[("invalid_payload", "5")]);
    check(&graph(r#"{"type": "agent"}"#, ""), &[("invalid_payload", "{")]);
    check(&graph(r#"{"id": "", "type": "agent"}"#, ""), &[("invalid_payload", "\"\"")]);
    check(&graph("", "5"), &[("invalid_payload", "5")]);
    check(&graph("", r#"{"source": "s", "target": "s", "sourceHandle": 5}"#), &[("invalid_payload", "5")]);
    let alone = r#"{"nodes": [{"id": "s", "type": "start", "x": 1, "y": 2}], "connections": [], "viewport": {}}"#;
    check(alone, &[("start_not_connected", "{\"id\": \"s\"")]);
}

#[test]
fn nodes_have_one_id_and_a_known_type_and_one_is_the_start() {
    check(&graph(r#"{"id": "s", "type": "end"}"#, ""), &[("duplicate_node_id", r#"{"id": "s", "type": "end""#)]);
    node("agnet", "{}", &[("unknown_node_type", "\"agnet\"")]);
    check(&graph(r#"{"id": "n"}"#, ""), &[("unknown_node_type", r#"{"id": "n"}"#)]);
    check(r#"{"nodes": [{"id": "n", "type": "agent"}], "connections": []}"#, &[("missing_start", "{")]);
    check(&graph(r#"{"id": "t", "type": "start"}"#, ""), &[("multiple_starts", r#"{"id": "t""#)]);
    check(&graph("", &edge("s", "", "n")), &[("broken_connection", "\"n\"")]);
    check(&graph("", r#"{"target": "s"}"#), &[("broken_connection", "{")]);
    check(&graph("", r#"{"source": 5, "target": "s"}"#), &[("broken_connection", "5")]);
}

#[test]
fn fields_have_their_types() {
    for field in ["agentName", "systemPrompt", "userPrompt", "model", "reasoningEffort"] {
        node("agent", &format!(r#"{{"{field}": 5}}"#), &[("invalid_field", "5")]);
        node("agent", &format!(r#"{{"{field}": null}}"#), &[]);
    }
    node("agent", "[]", &[("invalid_field", "[]")]);
    node("agent", r#"{"sytemPrompt": "x", "colour": "red"}"#, &[("unknown_key", "\"sytemPrompt\"")]);
    let alone = ("if_without_branch", "{");
    node("if", r#"{"conditions": {}}"#, &[("invalid_field", "{}")]);
    node("if", r#"{"conditions": [5]}"#, &[alone, ("invalid_field", "5")]);
    node("if", r#"{"conditions": [{"value": ["x"]}]}"#, &[alone, ("invalid_field", "[")]);
    let unknown = [alone, ("unknown_operator", "\"equals\"")];
    node("if", r#"{"conditions": [{"operator": "equals", "value": "x"}]}"#, &unknown);
    node("if", r#"{"conditions": [{"if": "text == 'x'", "value": "x"}]}"#, &[alone, ("two_conditions", "\"text")]);
    node(
        "if",
        r#"{"conditions": [{"if": "input.score > 3"}, {"if": "txt == 'x'"}]}"#,
        &[alone, ("unknown_name", "txt")],
    );
    node("if", r#"{"conditions": [{"if": "1 +"}]}"#, &[alone, ("bad_condition", "")]);
    // Unreachable nodes are checked, too.
    let lost = r#"{"id": "i", "type": "if", "data": {"conditions": [{"operator": "like", "value": "x"}]}}"#;
    check(
        &graph(lost, ""),
        &[("start_not_connected", "{"), ("unreachable_node", "{"), ("unknown_operator", "\"like\"")],
    );
}

#[test]
fn older_spellings_load() {
    node("input", r#"{"prompt": "Go?"}"#, &[("approval_without_branch", "{")]);
    node("if", r#"{"condition": "yes"}"#, &[("if_without_branch", "{")]);
    node("end", "{}", &[]);
}

#[test]
fn subagents_follow_their_rules() {
    let agent = |id: &str| format!(r#"{{"id": "{id}", "type": "agent"}}"#);
    let both = |nodes: &[String], edges: &[String], expect: &[(&str, &str)]| {
        let run = edge("s", "", "a");
        check(&graph(&nodes.join(", "), &[&[run][..], edges].concat().join(", ")), expect);
    };
    let sub = |source: &str, target: &str| edge(source, "subagent", target);
    let at = |kind: &'static str| [(kind, "{\"source\"")];
    both(&[boss("a"), agent("k")], &[sub("a", "k")], &[]);
    both(&[boss("a"), agent("k")], &[sub("s", "k")], &at("subagent_source_not_agent"));
    both(&[boss("a"), r#"{"id": "k", "type": "if"}"#.into()], &[sub("a", "k")], &at("subagent_target_not_agent"));
    both(&[agent("a"), agent("k")], &[sub("a", "k")], &at("subagent_tool_disabled"));
    let wrong_end = r#"{"source": "a", "target": "k", "sourceHandle": "subagent", "targetHandle": "out"}"#;
    both(&[boss("a"), agent("k")], &[wrong_end.into()], &at("subagent_target_handle"));
    both(&[boss("a"), boss("k")], &[sub("k", "k")], &at("subagent_self"));
    both(&[boss("a"), agent("k")], &[sub("a", "k"), sub("a", "k")], &at("subagent_multiple_parents"));
    both(&[boss("a"), agent("k")], &[sub("a", "k"), edge("a", "", "k")], &at("subagent_in_execution"));
    both(&[boss("a"), boss("k"), boss("l")], &[sub("k", "l"), sub("l", "k")], &at("subagent_cycle"));
}

#[test]
fn subagents_are_not_nested_without_end() {
    let nodes: Vec<_> = (0..100).map(|at| boss(&format!("k{at}"))).collect();
    let edges: Vec<_> = (1..100).map(|at| edge(&format!("k{}", at - 1), "subagent", &format!("k{at}"))).collect();
    check(&graph(&nodes.join(", "), &edges.join(", ")), &[("depth_limit", r#"{"id": "k"#)]);
}

#[test]
fn dead_connections_and_unreachable_nodes_are_reported() {
    let nodes = r#"{"id": "i", "type": "if", "data": {"conditions": [{"value": "x"}]}}, {"id": "p", "type": "approval"},
        {"id": "e", "type": "end"}"#;
    let fine = [edge("s", "", "i"), edge("i", "true", "p"), edge("i", "condition-0", "p"), edge("p", "reject", "e")];
    check(&graph(nodes, &fine.join(", ")), &[]);
    for dead in [
        edge("i", "condition-1", "p"),
        edge("i", "condition-00", "p"),
        edge("i", "", "p"),
        edge("p", "output", "e"),
        edge("e", "output", "p"),
    ] {
        let edges = [&fine[..], &[dead]].concat().join(", ");
        check(&graph(nodes, &edges), &[("dead_connection", "{\"source\"")]);
    }
    let unconnected = [("start_not_connected", r#"{"id": "s""#), ("unreachable_node", r#"{"id": "e""#)];
    check(&graph(r#"{"id": "e", "type": "end"}"#, ""), &unconnected);
}

#[track_caller]
fn before_run(nodes: &str, edges: &[String], expect: &[&str]) {
    let actual: Vec<_> =
        preflight(&graph(nodes, &edges.join(", "))).iter().map(|finding| finding.kind.as_str()).collect();
    assert_eq!(actual, expect);
    let graph = graph(nodes, &edges.join(", "));
    let loaded = load(&graph, Some(Dialect::Graph));
    let warnings = loaded.diagnostics.iter().filter(|finding| finding.severity == Severity::Warning);
    let warnings: Vec<_> = warnings.map(|finding| finding.kind.as_str()).collect();
    let runs = loaded.program.is_some();
    assert!(!runs || expect.iter().all(|kind| warnings.contains(kind)), "they run, with warnings: {warnings:?}");
}

#[test]
fn an_editor_gets_errors_for_graphs_that_the_engine_runs() {
    let run = || edge("s", "", "n");
    before_run("", &[], &["start_not_connected"]);
    before_run("", &[edge("s", "", "s")], &["nothing_reachable"]);
    before_run(r#"{"id": "n", "type": "if"}"#, &[run()], &["if_without_branch"]);
    before_run(r#"{"id": "n", "type": "approval"}"#, &[run()], &["approval_without_branch"]);
    before_run(
        r#"{"id": "n", "type": "approval"}, {"id": "i", "type": "if"}"#,
        &[run(), edge("s", "", "i")],
        &["if_without_branch", "approval_without_branch"],
    );
    before_run(r#"{"id": "n", "type": "agent"}, {"id": "i", "type": "if"}"#, &[run()], &[]);
    before_run(r#"{"id": "n", "type": "odd"}"#, &[], &["unknown_node_type"]);
}
