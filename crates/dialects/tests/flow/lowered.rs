//! Programs as text, one for each construct, so that a change of the lowering is visible.

use branchpoint_core::ir::print;
use branchpoint_dialects::load;
use branchpoint_expr::Dialect;

use crate::flow;

#[track_caller]
fn lowered(step: &str) -> String {
    let loaded = load(&flow(step), Some(Dialect::Flow));
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
    print(&loaded.program.expect("a document without findings has a program"))
}

macro_rules! snapshots {
    ($($(#[doc = $doc:literal])* $name:ident: $step:expr,)+) => {$(
        #[test]
        fn $name() {
            insta::assert_snapshot!(lowered($step));
        }
    )+};
}

snapshots! {
    declared_variables: r#"{"id": "d", "type": "flow_variables", "config": {"variables": [
        {"name": "limit", "type": "number", "value": "10"}, {"name": "user.name"}, {"name": "sys", "source": "system"}]}}"#,
    assigned_variables: r#"{"id": "s", "type": "setVariables", "config": {"variables": [
        {"name": "user.name", "value": "Ann {{ $last }}"}, {"name": "n", "value": "{{ $n + 1 }}", "type": "number"}]}}"#,
    a_conditional: r#"{"id": "c", "type": "conditional", "config": {"resultVariable": "r",
        "condition": {"combinator": "or", "conditions": [
            {"variable": "{{ $user.role }}", "operator": "equals", "value": "admin", "type": "string"}]},
        "truePath": [{"id": "t", "type": "setVariables", "config": {"variables": [{"name": "x", "value": 1}]}}]}}"#,
    a_switch: r#"{"id": "w", "type": "switch", "config": {"variable": "{{ $tier }}", "cases": [
        {"value": "pro", "blocks": [{"id": "p", "type": "setVariables", "config": {"variables": [{"name": "x", "value": 1}]}}]}],
        "defaultBlocks": [{"id": "q", "type": "setVariables", "config": {"variables": [{"name": "x", "value": 2}]}}]}}"#,
    a_loop_over_numbers: r#"{"id": "l", "type": "loop", "config": {"loopType": "for", "startValue": 1, "endValue": "{{ $n }}",
        "counterVariable": "i", "loopBlocks": [
            {"id": "b", "type": "setVariables", "config": {"variables": [{"name": "x", "value": "{{ $i }}"}]}}]}}"#,
    a_loop_over_items: r#"{"id": "l", "type": "loop", "config": {"loopType": "forEach", "iterableVariable": "{{ $xs }}",
        "itemVariable": "it", "indexVariable": "ix", "maxIterations": 5, "resultVariable": "all", "loopBlocks": [
            {"id": "b", "type": "setVariables", "config": {"variables": [{"name": "it.seen", "value": true}]}}]}}"#,
    a_loop_while: r#"{"id": "l", "type": "loop", "config": {"loopType": "while", "if": "$n < 3", "loopBlocks": [
            {"id": "b", "type": "setVariables", "config": {"variables": [{"name": "n", "value": "{{ $n + 1 }}"}]}}]}}"#,
    a_model: r#"{"id": "m", "type": "llmInstruction", "config": {"instruction": "Sum up {{ $text }}", "responseFormat": "json",
        "temperature": "{{ $t }}", "maxRetries": 2, "resultVariable": "sum", "directOutput": true, "credentials": {"key": "K"}}}"#,
    a_request: r#"{"id": "a", "type": "apiCall", "config": {"url": "https://a.example/{{ $id }}", "method": "POST",
        "headers": [{"key": "X", "value": "{{ $id }}"}], "bodyType": "form_urlencoded", "formData": [{"key": "k", "value": 1}],
        "credentials": {"token": "CRM", "X-Key": "OTHER"}}}"#,
    a_command: r#"{"id": "k", "type": "runCommand", "config": {"command": "score", "args": ["{{ $n }}"], "timeout": 5,
        "credentials": {"SCORE_KEY": "K"}}}"#,
    an_action: r#"{"id": "m", "type": "mcpServerAction", "config": {"provider": "remote", "serverId": "crm", "action": "find"}}"#,
    a_search: r#"{"id": "w", "type": "webSearch", "config": {"query": "{{ $q }}", "limit": 3}}"#,
    a_finish: r#"{"id": "f", "type": "finish", "config": {"message": "done {{ $n }}", "data": {"n": "{{ $n }}"}}}"#,
}
