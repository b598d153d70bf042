//! Programs as text, so that a change of the lowering is visible.

use branchpoint_core::ir::print;
use branchpoint_dialects::load;
use branchpoint_expr::Dialect;

#[track_caller]
fn lowered(source: &str) -> String {
    let loaded = load(source, Some(Dialect::Session));
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
    print(&loaded.program.expect("a document without findings has a program"))
}

#[test]
fn a_gate() {
    insta::assert_snapshot!(lowered(
        r#"{"steps": [
            {"name": "start", "isDefault": true},
            {"name": "report", "conditions": [{"type": "tool_used", "value": "search"}], "sequence": ["think", "save"]},
            {"name": "polite", "conditions": [{"if": "message contains 'please' && len(tools) > 2"}],
             "availableTools": {"allowed": ["web_*"], "denied": ["web_delete"]}}]}"#
    ));
}

#[test]
fn a_chat() {
    insta::assert_snapshot!(lowered(
        r#"{"version": "1.0", "agentId": "a", "name": "A", "description": "d", "personality": ["Be", "brief."],
            "nodes": ["search", "llm.openai"], "nodeConfigurations": {"llm.openai": {"model": "m"}},
            "chatSettings": {"historyLength": 3}, "options": {"maxSteps": 2}}"#
    ));
}
