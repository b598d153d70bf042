//! Programs as text: a change of lowering shows here.

use branchpoint_core::ir::print;
use branchpoint_dialects::load;
use branchpoint_expr::Dialect;

use crate::{boss, edge, graph};

#[track_caller]
fn lowered(source: &str) -> String {
    let loaded = load(source, Some(Dialect::Graph));
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
    print(&loaded.program.expect("nothing was found"))
}

#[test]
fn an_agent_with_a_subagent() {
    let kid = r#"{"id": "k", "type": "agent"}"#;
    let edges = [edge("s", "", "a"), edge("a", "subagent", "k")].join(", ");
    insta::assert_snapshot!(lowered(&graph(&format!("{}, {kid}", boss("a")), &edges)));
}

#[test]
fn models_of_agents_below_are_known_before_the_run() {
    let kids = r#"{"id": "k", "type": "agent", "data": {"model": "claude-x", "tools": {"subagents": true}}},
        {"id": "l", "type": "agent", "data": {"model": "gemini-x"}}, {"id": "m", "type": "agent"}"#;
    let edges =
        [edge("s", "", "a"), edge("a", "subagent", "k"), edge("k", "subagent", "l"), edge("a", "subagent", "m")]
            .join(", ");
    let loaded = load(&graph(&format!("{}, {kids}", boss("a")), &edges), Some(Dialect::Graph));
    let program = loaded.program.expect("nothing was found");
    let models = program.effects.iter().find_map(|effect| effect.fixed.get("subagent_models"));
    assert_eq!(models.map(ToString::to_string), Some(r#"["claude-x","gemini-x"]"#.to_owned()));
}

#[test]
fn models_and_tools_of_agents_below_are_named_once() {
    let kid = |id: &str, model: &str, tool: &str| {
        format!(r#"{{"id": "{id}", "type": "agent", "data": {{"model": "{model}", "tools": {{"{tool}": true}}}}}}"#)
    };
    let kids = [kid("k", "x", "web"), kid("l", "y", "shell"), kid("m", "x", "web")].join(", ");
    let edges = ["k", "l", "m"].map(|kid| edge("a", "subagent", kid)).join(", ");
    let edges = format!("{}, {edges}", edge("s", "", "a"));
    let loaded = load(&graph(&format!("{}, {kids}", boss("a")), &edges), Some(Dialect::Graph));
    let program = loaded.program.expect("nothing was found");
    let told = |key: &str| program.effects.iter().find_map(|effect| effect.fixed.get(key)).map(ToString::to_string);
    assert_eq!(told("subagent_models").as_deref(), Some(r#"["x","y"]"#));
    assert_eq!(told("uses").as_deref(), Some(r#"["web","shell"]"#));
}

#[test]
fn choices() {
    let nodes = r#"{"id": "i", "type": "if", "data": {"conditions": [{"operator": "contains", "value": "Yes"},
            {"if": "input.score > 3"}]}},
        {"id": "p", "type": "approval", "data": {"prompt": "Go?"}}, {"id": "e", "type": "end"}"#;
    let edges = [
        edge("s", "", "i"),
        edge("i", "true", "p"),
        edge("i", "condition-1", "p"),
        edge("i", "condition-1", "e"),
        edge("p", "reject", "i"),
    ];
    insta::assert_snapshot!(lowered(&graph(nodes, &edges.join(", "))));
}
