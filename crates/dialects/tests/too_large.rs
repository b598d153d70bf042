//! Values of a document never become text of formulas, so large values can be lowered.

use branchpoint_dialects::load;
use branchpoint_expr::Dialect;

#[track_caller]
fn accepted(source: &str, dialect: Dialect) {
    let loaded = load(source, Some(dialect));
    let shown = || loaded.diagnostics.iter().map(|finding| finding.message.chars().take(200).collect::<String>());
    assert!(loaded.program.is_some(), "{:?}", shown().collect::<Vec<_>>());
}

fn machine(inputs: &str) -> String {
    format!("name: n\ninputs:\n{inputs}states:\n  initial: done\n  done: {{type: terminal}}\n")
}

/// A text that exceeds the limit of formulas.
fn long() -> String {
    "x".repeat((1 << 20) + 100)
}

fn deep(depth: usize) -> String {
    "[".repeat(depth) + &"]".repeat(depth)
}

#[test]
fn a_machine_with_an_input_with_many_choices() {
    let choices: Vec<String> = (0..25_000).map(|n| format!("c{n}")).collect();
    let choices = choices.join(", ");
    let rules = format!("{{enum: [{choices}], file_extension: [{choices}]}}");
    accepted(&machine(&format!("  - {{name: a, type: string, validation: {rules}}}\n")), Dialect::Machine);
}

#[test]
fn a_machine_with_many_inputs() {
    let inputs: Vec<String> =
        (0..3_000).map(|n| format!("  - {{name: i{n}, type: number, required: true}}\n")).collect();
    accepted(&machine(&inputs.concat()), Dialect::Machine);
}

#[test]
fn a_machine_with_long_and_deep_options_of_an_agent() {
    for options in
        [format!("{{model: {}, stop: {}}}", long(), deep(90)), format!("{{stop: [{}]}}", "a, ".repeat(30_000))]
    {
        let agent = format!("{{type: agent, provider: p, prompt: hi, options: {options}, on_success: done}}");
        let source = format!("name: n\nstates:\n  initial: a\n  a: {agent}\n  done: {{type: terminal}}\n");
        accepted(&source, Dialect::Machine);
    }
}

#[test]
fn a_machine_with_long_names_and_messages() {
    let name = long();
    let states = serde_json::json!({
        "initial": name,
        &name: {"type": "step", "command": "true", "on_success": "loop", "on_failure": "done"},
        "loop": {"type": "for_each", "items": [1], "body": ["work"], "on_complete": "done"},
        "work": {"type": "step", "command": "true"},
        "done": {"type": "terminal", "status": "failure", "message": name},
    });
    accepted(&serde_json::json!({"name": "n", "states": states}).to_string(), Dialect::Machine);
}

#[test]
fn a_flow_with_long_names_of_variables() {
    let name = long();
    let set = |name: &str| serde_json::json!({"variables": [{"name": name, "value": 1}]});
    let block = serde_json::json!({"id": "b", "type": "setVariables", "config": set(&format!("{name}.part"))});
    let counted = serde_json::json!({"loopType": "for", "counterVariable": name, "startValue": 1, "endValue": 2,
        "loopBlocks": [block]});
    let steps = serde_json::json!([
        {"id": "v", "type": "flow_variables", "config": set(&name)},
        {"id": "f", "type": "loop", "config": counted},
    ]);
    let flow = serde_json::json!({"name": "n", "description": "d", "uuid": "u", "steps": steps});
    accepted(&flow.to_string(), Dialect::Flow);
}

#[test]
fn steps_with_long_names_of_branches_and_long_selectors() {
    let name = long();
    let text = |template: &str| serde_json::json!({"step_type": "text", "template": template});
    let branches = serde_json::json!([
        {"name": name, "steps": [text("a")]},
        {"name": "deep", "steps": [text(&format!("{{{{attachments[0]{}}}}}", ".a".repeat(1_000)))]},
    ]);
    let steps = serde_json::json!([
        {"id": name, "step_type": "http", "url": "https://example.org"},
        {"id": "p", "step_type": "parallel", "branches": branches},
        {"id": "f", "step_type": "for_each", "iterate_attachments": true,
            "attachment_rules": [{"source": "step", "step_id": name}], "body": [text("b")]},
    ]);
    accepted(&serde_json::json!({"name": "n", "steps": steps}).to_string(), Dialect::Steps);
}
