//! Programs as text, so that a change of the lowering is visible.

use branchpoint_core::ir::print;
use branchpoint_dialects::load;
use branchpoint_expr::Dialect;

use crate::{boss, edge, graph};

#[track_caller]
fn lowered(source: &str) -> String {
    let loaded = load(source, Some(Dialect::Graph));
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
    print(&loaded.program.expect("a document without findings has a program"))
}

#[test]
fn an_agent_with_a_subagent() {
    let kid = r#"{"id": "k", "type": "agent"}"#;
    let edges = [edge("s", "", "a"), edge("a", "subagent", "k")].join(", ");
    insta::assert_snapshot!(lowered(&graph(&format!("{}, {kid}", boss("a")), &edges)));
}

#[test]
fn models_of_subagents_are_fixed_fields() {
    let kids = r#"{"id": "k", "type": "agent", "data": {"model": "claude-x", "tools": {"subagents": true}}},
        {"id": "l", "type": "agent", "data": {"model": "gemini-x"}}, {"id": "m", "type": "agent"}"#;
    let edges =
        [edge("s", "", "a"), edge("a", "subagent", "k"), edge("k", "subagent", "l"), edge("a", "subagent", "m")]
            .join(", ");
    let loaded = load(&graph(&format!("{}, {kids}", boss("a")), &edges), Some(Dialect::Graph));
    let program = loaded.program.expect("a document without findings has a program");
    let models = program.effects.iter().find_map(|effect| effect.fixed.get("subagent_models"));
    assert_eq!(models.map(ToString::to_string), Some(r#"["claude-x","gemini-x"]"#.to_owned()));
}

#[test]
fn models_and_tools_of_subagents_are_listed_once() {
    let kid = |id: &str, model: &str, tool: &str| {
        format!(r#"{{"id": "{id}", "type": "agent", "data": {{"model": "{model}", "tools": {{"{tool}": true}}}}}}"#)
    };
    let kids = [kid("k", "x", "web"), kid("l", "y", "shell"), kid("m", "x", "web")].join(", ");
    let edges = ["k", "l", "m"].map(|kid| edge("a", "subagent", kid)).join(", ");
    let edges = format!("{}, {edges}", edge("s", "", "a"));
    let loaded = load(&graph(&format!("{}, {kids}", boss("a")), &edges), Some(Dialect::Graph));
    let program = loaded.program.expect("a document without findings has a program");
    let fixed_field =
        |key: &str| program.effects.iter().find_map(|effect| effect.fixed.get(key)).map(ToString::to_string);
    assert_eq!(fixed_field("subagent_models").as_deref(), Some(r#"["x","y"]"#));
    assert_eq!((fixed_field("uses"), fixed_field("optional_uses").as_deref()), (None, Some(r#"["web","shell"]"#)));
}

#[test]
fn the_strictness_of_an_agent_overrides_that_of_the_graph() {
    let agent = |id: &str, strict: &str, tool: &str| {
        format!(
            r#"{{"id": "{id}", "type": "agent", "data": {{{strict} "tools": {{"{tool}": true, "subagents": true}}}}}}"#
        )
    };
    let (strict, lenient) = (r#""strict_tools": true,"#, r#""strict_tools": false,"#);
    for (of_graph, of_agent, of_kid, uses, optional) in [
        ("", "", "", None, Some(r#"["a","k"]"#)),
        (strict, "", "", Some(r#"["a","k"]"#), None),
        ("", strict, "", Some(r#"["a"]"#), Some(r#"["k"]"#)),
        (strict, "", lenient, Some(r#"["a"]"#), Some(r#"["k"]"#)),
    ] {
        let nodes = [agent("a", of_agent, "a"), agent("k", of_kid, "k")].join(", ");
        let edges = [edge("s", "", "a"), edge("a", "subagent", "k")].join(", ");
        let loaded = load(&graph(&nodes, &edges).replacen('{', &format!("{{{of_graph}"), 1), Some(Dialect::Graph));
        let program = loaded.program.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
        let fixed =
            |key: &str| program.effects.iter().find_map(|effect| effect.fixed.get(key)).map(ToString::to_string);
        assert_eq!((fixed("uses").as_deref(), fixed("optional_uses").as_deref()), (uses, optional), "{of_graph}");
        let request = print(&program);
        assert_eq!(fixed("optional_tools").is_some(), of_graph.is_empty() && of_agent.is_empty());
        let own = optional.is_some_and(|names| names.contains('k'));
        let differs = of_graph.is_empty() && of_agent.is_empty() != own;
        let kid = format!(r#""tools":{{"k":true,"subagents":true}},"optional_tools":{own}"#);
        assert_eq!(request.contains(&kid), differs || of_kid == lenient, "{request}");
    }
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
