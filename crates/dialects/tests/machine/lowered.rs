//! Programs as text, one for each construct, so that a change of the lowering is visible.

use branchpoint_core::effect::Kind;
use branchpoint_core::ir::print;
use branchpoint_dialects::load;
use branchpoint_expr::{Dialect, Severity, Value};

use crate::machine;

#[track_caller]
fn lowered(states: &str) -> String {
    let loaded = load(&machine(states), Some(Dialect::Machine));
    let errors: Vec<_> = loaded.diagnostics.iter().filter(|finding| finding.severity == Severity::Error).collect();
    assert!(errors.is_empty(), "{errors:?}");
    print(&loaded.program.expect("a document without findings has a program"))
}

macro_rules! snapshots {
    ($($name:ident: $states:expr,)+) => {$(
        #[test]
        fn $name() {
            insta::assert_snapshot!(lowered($states));
        }
    )+};
}

/// An address in the document is a fixed field, so that it can be checked before the run.
#[test]
fn an_address_of_an_agent_is_a_fixed_field() {
    let options = "provider: openai_compatible, options: {base_url: 'http://h/v1', model: m}";
    let states = format!("  a: {{type: agent, prompt: hi, {options}, on_success: done}}\n");
    let program = load(&machine(&states), Some(Dialect::Machine)).program.expect("the document loads");
    let agent = program.effects.iter().find(|effect| effect.kind == Kind::Model).expect("the program calls an agent");
    assert_eq!(agent.fixed.get("base_url"), Some(&Value::from("http://h/v1")));
}

snapshots! {
    a_command: "  a: {command: 'echo {{inputs.x}}', dir: d, timeout: 2s, on_success: done}\n",
    a_command_with_retries: "  a: {command: x, timeout: 2s, retry: {max_attempts: 3}, on_success: done}\n",
    transitions: "  a:\n    command: x\n    transitions:\n      - {when: 'states.a.ExitCode == 3', goto: done}\n      - goto: a\n",
    an_inline_failure: "  a: {command: x, on_success: done, on_failure: {message: 'no {{error.Message}}', status: 4}}\n",
    a_loop_over_items: "  a: {type: for_each, items: [1, 2], break_when: 'loop.Last', body: [b], on_complete: done}\n  b: {command: x, on_failure: done}\n",
    a_loop_while: "  a: {type: while, while: 'loop.Index < 2', body: [b], on_complete: done}\n  b: {command: x}\n",
    branches: "  a: {type: parallel, parallel: [b, c], strategy: any_succeed, max_concurrent: 1, on_success: done}\n  b: {command: x}\n  c: {command: y}\n",
    an_agent: "  a: {type: agent, provider: claude, prompt: 'do {{inputs.x}}', output_format: json, on_success: done}\n",
    a_conversation: "  a: {type: agent, provider: claude, mode: conversation, prompt: hi, conversation: {stop_conditions: [\"inputs.response contains 'DONE'\"], inject_context: more}, on_success: done}\n",
    a_call: "  a: {type: call_workflow, workflow: k, inputs: {n: '{{inputs.x}}', l: [1]}, outputs: {s: out}, on_success: done}\n",
    hooks: "  a: {command: x, hooks: {pre: [{log: begin}], post: [{command: 'rm tmp'}]}, on_success: done}\n",
    a_secret: "  a: {command: 'login {{secret.KEY}} now', on_success: done}\n",
}
