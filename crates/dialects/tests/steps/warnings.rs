//! Warnings: documents that load with findings.

use super::{finds, loaded};

#[track_caller]
fn warned(step: &str, kind: &str, at: &str, help: &str) {
    let source = format!("steps:\n  - {step}\n");
    finds(&source, kind, at);
    let loaded = loaded(&source);
    assert!(loaded.program.is_some(), "a document with a warning loads: {:?}", loaded.diagnostics);
    let helps: Vec<_> = loaded.diagnostics.iter().filter_map(|finding| finding.help.as_deref()).collect();
    assert!(helps.iter().any(|help_text| help_text.contains(help)), "{helps:?}");
}

#[track_caller]
fn silent(step: &str) {
    let findings = loaded(&format!("steps:\n  - {step}\n")).diagnostics;
    assert!(findings.is_empty(), "{findings:?}");
}

#[test]
fn unknown_keys_have_a_suggestion() {
    warned("{id: a, step_type: text, templat: x}", "unknown_key", "templat", "did you mean `template`?");
    warned("{id: a, step_type: gate, if: \"true\", on_mach: stop}", "unknown_key", "on_mach", "`on_match`");
    warned("{id: a, step_type: text, template: x, timeout: 5}", "unknown_key", "timeout", "");
    warned("{id: a, step_type: switch, cases: [{name: x, match: y, step: []}]}", "unknown_key", "step:", "`steps`");
}

#[test]
fn effects_keep_unknown_fields_and_warn_only_about_misspelt_ones() {
    silent("{id: a, step_type: prompt_call, reasoning_effort: high}");
    silent("{id: a, step_type: add_memory, collection: notes}");
    let bounds = "max_tokens: 500, token_budget: 9000, cost_budget_micros: 100000, sequential: true";
    silent(&format!("{{id: a, step_type: agent, tools: [x], {bounds}, temperature: 0.5}}"));
    silent(&format!("{{id: a, step_type: prompt_call, tools: [x], max_turns: 3, {bounds}}}"));
    warned("{id: a, step_type: prompt_call, promt_template: x}", "unknown_key", "promt", "`prompt_template`");
}

#[test]
fn references_to_steps_that_do_not_exist() {
    warned(
        "{id: draft, step_type: text, template: \"{{step.b.output}}\"}",
        "unknown_reference",
        "step.b",
        "name a step",
    );
    warned("{id: draft, step_type: gate, if: step.drfat.output == nil}", "unknown_reference", "step.drfat", "`draft`");
    warned(
        "{id: a, step_type: text, template: \"{{date Europe/Nowhere}}\"}",
        "unknown_reference",
        "date",
        "Europe/Berlin",
    );
    warned("{id: a, step_type: evaluate_step, target_step_id: zz}", "unknown_reference", "zz", "");
}

#[test]
fn older_names_load() {
    for (older, newer) in [
        ("promptcall", "prompt_call"),
        ("transform", "regex_replace"),
        ("combinator", "merge"),
        ("insight", "extract_data"),
        ("extract_json", "extract_content"),
        ("extract_html", "extract_content"),
        ("extract_xml", "extract_content"),
        ("write_memory", "add_memory"),
    ] {
        warned(&format!("{{id: a, step_type: {older}}}"), "alias_used", older, newer);
    }
    silent("{id: a, step_type: human_in_the_loop, prompt: \"Send?\"}");
    silent("{id: a, step_type: send_email, recipient: a@b.c, template: hello}");
}

#[test]
fn null_is_absent() {
    silent(
        "{id: a, step_type: for_each, input_template: \"[1]\", offset: null, limit: null, body: [{step_type: text, template: x}]}",
    );
}
