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
