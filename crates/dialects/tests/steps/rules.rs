//! Rejected documents: one case for each rule, with its kind and span.

use branchpoint_expr::Severity;

use super::{finds, loaded};

/// Checks that the document is rejected with a finding of this kind, with help, at this place.
#[track_caller]
fn rejected(source: &str, kind: &str, at: &str) {
    finds(source, kind, at);
    let loaded = loaded(source);
    assert!(loaded.program.is_none(), "a document with an error has no program");
    let finding = loaded.diagnostics.iter().find(|finding| finding.kind.as_str() == kind).expect("the finding exists");
    assert_eq!(finding.severity, Severity::Error);
}

/// Like [`rejected`], for a step in a chain.
#[track_caller]
fn step_rejected(step: &str, kind: &str, at: &str) {
    rejected(&format!("steps:\n  - {step}\n"), kind, at);
}

const TEXT: &str = "{id: t, step_type: text, template: hello}";

#[test]
fn documents() {
    rejected("steps: []\n", "no_steps", "[]");
    rejected("name: x\n", "no_steps", "name");
    rejected("steps: {a: 1}\n", "bad_field", "{a");
    rejected("[1]\n", "bad_field", "[1]");
    rejected(&format!("name: [x]\nsteps: [{TEXT}]\n"), "bad_field", "[x]");
    rejected(&format!("tags: x\nsteps: [{TEXT}]\n"), "bad_field", "x");
    rejected(&format!("trigger: {{type: never}}\nsteps: [{TEXT}]\n"), "bad_field", "never");
    rejected(&format!("steps: [{TEXT}]\nchild_steps: []\n"), "bad_field", "child_steps");
    rejected("steps:\n  - id: a\n    step_type: text\n    id: b\n", "bad_field", "id: b");
}

#[test]
fn bounds_of_agents_are_numbers() {
    for (bound, at) in [("token_budget: \"10\"", "\"10\""), ("cost_budget_micros: 0", "0}"), ("sequential: 1", "1}")] {
        rejected(&format!("steps:\n  - {{id: a, step_type: agent, tools: [x], {bound}}}\n"), "bad_field", at);
    }
}

#[test]
fn ids_and_types() {
    step_rejected("{id: a.b, step_type: text}", "bad_id", "a.b");
    step_rejected("{id: [a], step_type: text}", "bad_field", "[a]");
    rejected(&format!("steps: [{TEXT}, {TEXT}]\n"), "duplicate_id", "t, step_type");
    rejected(
        "steps: [{id: step_1, step_type: text, template: a}, {step_type: text, template: b}]\n",
        "duplicate_id",
        "{step_type: text, template: b}",
    );
    step_rejected("{id: a, step_type: teleport}", "unknown_step_type", "teleport");
    step_rejected("{id: a}", "missing_field", "{id: a}");
    step_rejected("text", "bad_field", "text");
    for leaf in ["{id: a, step_type: display_result", "{id: a, step_type: join, target: m"] {
        step_rejected(&format!("{leaf}, child_steps: [{TEXT}]}}"), "children_not_allowed", leaf);
    }
}

#[test]
fn fields() {
    step_rejected("{id: a, step_type: http}", "missing_field", "{id: a");
    step_rejected("{id: a, step_type: webhook_call}", "missing_field", "{id: a");
    step_rejected("{id: a, step_type: call_workflow}", "missing_field", "{id: a");
    step_rejected("{id: a, step_type: command}", "missing_field", "{id: a");
    step_rejected("{id: a, step_type: wait}", "missing_field", "{id: a");
    step_rejected("{id: a, step_type: command, command: ls, argv: [ls]}", "bad_field", "[ls]");
    step_rejected("{id: a, step_type: text, template: [x]}", "bad_field", "[x]");
    step_rejected("{id: a, step_type: display_result, html_format: 1}", "bad_field", "1");
    step_rejected("{id: a, step_type: prompt_call, temperature: hot}", "bad_field", "hot");
    step_rejected("{id: a, step_type: retrieval, top_n: 101}", "bad_field", "101");
    step_rejected("{id: a, step_type: command, argv: '-l'}", "bad_field", "'-l'");
    step_rejected("{id: a, step_type: command, command: ls, env: [A]}", "bad_field", "[A]");
    step_rejected("{id: a, step_type: http, url: 'https://a', headers: 7}", "bad_field", "7");
    step_rejected("{id: a, step_type: http, url: 'https://a', query: a=b}", "bad_field", "a=b");
    step_rejected("{id: a, step_type: evaluate_step, pass_threshold: '{{input}}'}", "bad_field", "'{{input}}'");
    step_rejected("{id: a, step_type: http, url: u, expect_status: fine}", "bad_field", "fine");
    step_rejected("{id: a, step_type: extract_content, expected_format: pdf}", "bad_field", "pdf");
    step_rejected("{id: a, step_type: wait, duration: soon}", "bad_duration", "soon");
    step_rejected("{id: a, step_type: wait, until: tomorrow}", "bad_field", "tomorrow");
    step_rejected("{id: a, step_type: text, template: \"{{secret.key}}\"}", "secret_not_allowed", "secret.key");
}

#[test]
fn guards() {
    step_rejected("{id: a, step_type: prompt_call, timeout: soon}", "bad_duration", "soon");
    step_rejected("{id: a, step_type: prompt_call, timeout: -1}", "bad_duration", "-1");
    step_rejected("{id: a, step_type: prompt_call, retry: 3}", "bad_retry_policy", "3");
    step_rejected("{id: a, step_type: prompt_call, retry: {max_attempts: 21}}", "bad_retry_policy", "21");
    step_rejected("{id: a, step_type: prompt_call, retry: {delay: 1s}}", "bad_retry_policy", "{delay");
    step_rejected("{id: a, step_type: prompt_call, retry: {max_attempts: 2, backoff: 0}}", "bad_retry_policy", "0");
    step_rejected("{id: a, step_type: prompt_call, retry: {max_attempts: 2, delay: x}}", "bad_duration", "x");
    step_rejected("{id: a, step_type: prompt_call, output_schema: {type: word}}", "bad_schema", "{type: word");
    step_rejected("{id: a, step_type: prompt_call, output_schema: text}", "bad_schema", "text");
    let outside = r#"{$ref: "https://example.com/a.json"}"#;
    step_rejected(&format!("{{id: a, step_type: prompt_call, output_schema: {outside}}}"), "bad_schema", "{$ref");
    for levels in [14, 25, 60] {
        let level =
            |n: usize| format!(r##"d{n}: {{anyOf: [{{$ref: "#/$defs/d{0}"}}, {{$ref: "#/$defs/d{0}"}}]}}"##, n + 1);
        let definitions = (0..levels).map(level).collect::<Vec<_>>().join(", ");
        let schema = format!(r##"{{$defs: {{{definitions}, d{levels}: {{type: integer}}}}, $ref: "#/$defs/d0"}}"##);
        step_rejected(&format!("{{id: a, step_type: prompt_call, output_schema: {schema}}}"), "schema_limit", "{$defs");
    }
    step_rejected("{id: a, step_type: prompt_call, on_error: ignore}", "on_error_value", "ignore");
    step_rejected("{id: a, step_type: prompt_call, on_error: []}", "on_error_value", "[]");
    for kind in ["gate, if: \"true\"", "if_else, if: \"true\"", "conditional, if: \"true\"", "display_result"] {
        step_rejected(&format!("{{id: a, step_type: {kind}, on_error: continue}}"), "on_error_not_allowed", "continue");
    }
}

#[test]
fn conditions() {
    step_rejected("{id: a, step_type: gate}", "no_conditions", "{id: a");
    step_rejected("{id: a, step_type: gate, conditions: []}", "no_conditions", "[]");
    step_rejected("{id: a, step_type: while, body: []}", "no_conditions", "{id: a");
    step_rejected("{id: a, step_type: gate, if: \"true\", conditions: []}", "two_conditions", "\"true\"");
    step_rejected("{id: a, step_type: conditional, if: \"true\", elif: [{then: []}]}", "no_conditions", "{then");
    step_rejected("{id: a, step_type: conditional, if: \"true\", elif: {if: \"true\"}}", "bad_field", "{if");
    step_rejected("{id: a, step_type: gate, if: \"input >\"}", "bad_expression", "");
    step_rejected("{id: a, step_type: gate, if: \"true\", on_match: go}", "unknown_on_match", "go");
    step_rejected("{id: a, step_type: agent, stop_when: \"input ==\"}", "bad_expression", "");
    step_rejected("{id: a, step_type: switch, cases: []}", "no_cases", "[]");
    step_rejected("{id: a, step_type: switch, cases: [{match: x}]}", "case_name", "{match");
    step_rejected("{id: a, step_type: switch, cases: [{name: x}]}", "case_match_missing", "{name");
    step_rejected("{id: a, step_type: switch, cases: [{name: else, match: x}]}", "case_name_reserved", "else");
    step_rejected("{id: a, step_type: switch, cases: [{name: '', match: x}]}", "case_name", "''");
    step_rejected(
        "{id: a, step_type: switch, value_type: number, cases: [{name: x, match: one}]}",
        "case_match_format",
        "one",
    );
    step_rejected("{id: a, step_type: regex_replace, rules: [{pattern: \"(\"}]}", "bad_regex", "{pattern");
}

#[test]
fn loops_and_branches() {
    step_rejected("{id: a, step_type: for_each, input_template: \"[1]\", body: []}", "loop_body", "{id: a");
    step_rejected("{id: a, step_type: while, if: \"true\"}", "loop_body", "{id: a");
    step_rejected(&format!("{{id: a, step_type: for_each, body: [{TEXT}]}}"), "for_each_input_missing", "{id: a");
    let bounded =
        |bounds: &str| format!("{{id: a, step_type: for_each, input_template: \"[1]\", {bounds}, body: [{TEXT}]}}");
    step_rejected(&bounded("offset: -1"), "for_each_bounds", "-1");
    step_rejected(&bounded("limit: 1.5"), "for_each_bounds", "1.5");
    step_rejected(&bounded("offset: 5, limit: 5"), "for_each_bounds", "5, body");
    step_rejected(&bounded("attachment_rules: [{source: cloud}]"), "attachment_rule", "cloud");
    step_rejected(&bounded("attachment_rules: [{source: step}]"), "attachment_rule", "{source");
    step_rejected(&bounded("attachment_rules: [{kind: name}]"), "attachment_rule", "{kind");
    step_rejected(&bounded("attachment_rules: [{kind: index, index: -1}]"), "attachment_rule", "{kind");
    step_rejected(&bounded("max_concurrency: 0"), "bad_field", "0");
    let round = |more: &str| format!("{{id: a, step_type: while, if: \"true\", {more}, body: [{TEXT}]}}");
    step_rejected(&round("max_iterations: 10001"), "while_max", "10001");
    step_rejected(&round("on_limit: explode"), "bad_field", "explode");
    step_rejected("{id: a, step_type: parallel}", "parallel_branches", "{id: a");
    step_rejected("{id: a, step_type: parallel, branches: [{steps: []}]}", "parallel_branches", "{steps");
    step_rejected("{id: a, step_type: parallel, branches: [{name: x}, {name: x}]}", "parallel_branches", "{name: x}]");
    step_rejected("{id: a, step_type: parallel, wait: some, branches: [{name: x}]}", "bad_field", "some");
}

#[test]
fn retries() {
    let below =
        |retry: &str| format!("{{id: a, step_type: prompt_call, child_steps: [{{id: r, step_type: retry, {retry}}}]}}");
    step_rejected(&below("max_retries: 1"), "retry_target_format", "{id: r");
    step_rejected(&below("target_step_id: a b, max_retries: 1"), "retry_target_format", "a b");
    step_rejected(&below("target_step_id: r, max_retries: 1"), "retry_target", "r, max");
    step_rejected(&below("target_step_id: a"), "retry_max", "{id: r");
    step_rejected(&below("target_step_id: a, max_retries: 11"), "retry_max", "11");
    let outside = "steps:\n  - {id: a, step_type: prompt_call}\n  - {id: l, step_type: for_each, input_template: \"[1]\", \
                   body: [{id: r, step_type: retry, target_step_id: a, max_retries: 1}]}\n";
    rejected(outside, "retry_target", "a, max");
    let handler = "steps:\n  - {id: a, step_type: prompt_call, \
                   on_error: [{id: r, step_type: retry, target_step_id: a, max_retries: 1}]}\n";
    rejected(handler, "retry_target", "a, max");
}

#[test]
fn joins() {
    step_rejected("{id: j, step_type: join}", "join_target_format", "{id: j");
    step_rejected("{id: j, step_type: join, target: a b}", "join_target_format", "a b");
    step_rejected("{id: j, step_type: join, target: nowhere}", "join_target", "nowhere");
    let before = "steps:\n  - {id: m, step_type: merge}\n  - {id: j, step_type: join, target: m}\n";
    rejected(before, "join_order", "m}");
    let below = "steps:\n  - {id: m, step_type: merge, child_steps: [{id: j, step_type: join, target: m}]}\n";
    rejected(below, "join_order", "m}]");
    let arms = "steps:\n  - {id: i, step_type: if_else, if: \"true\", then_steps: [{id: j, step_type: join, target: m}], \
                else_steps: [{id: m, step_type: merge}]}\n";
    rejected(arms, "join_order", "m}]");
    let each_other = "steps:\n  - id: p\n    step_type: text\n    template: x\n    child_steps:\n      \
                      - {id: a, step_type: merge, child_steps: [{id: ja, step_type: join, target: b}]}\n      \
                      - {id: b, step_type: merge, child_steps: [{id: jb, step_type: join, target: a}]}\n";
    rejected(each_other, "join_order", "{id: ja");
}

#[test]
fn people() {
    let asks = |more: &str| format!("{{id: a, step_type: human_in_the_loop, prompt_template: \"Send?\"{more}}}");
    step_rejected("{id: a, step_type: human_in_the_loop}", "hitl_prompt", "{id: a");
    step_rejected("{id: a, step_type: human_in_the_loop, prompt: \" \"}", "hitl_prompt", "\" \"");
    step_rejected(&asks(", recipient_distribution: all"), "hitl_distribution", "all");
    step_rejected(&asks(", recipient_distribution: selected_members"), "hitl_recipients", "{id: a");
    step_rejected(&asks(", recipient_user_ids: u1"), "hitl_recipients", "u1");
    step_rejected(&asks(", choices: []"), "hitl_choices", "[]");
    step_rejected(&asks(", choices: [a, a]"), "hitl_choices", "a]");
    step_rejected(&asks(", choices: [a, \" \"]"), "hitl_choices", "\" \"");
    step_rejected(&asks(", choices: [a, no_quorum]"), "hitl_choices", "no_quorum");
    step_rejected(&asks(", required_approvals: 0"), "hitl_required", "0");
    step_rejected(&asks(", required_approvals: many"), "hitl_required", "many");
    let three_of_two =
        ", recipient_distribution: selected_members, recipient_user_ids: [a, b, a], required_approvals: 3";
    step_rejected(&asks(three_of_two), "hitl_required", "3");
    step_rejected(&asks(", timeout_seconds: 0"), "hitl_timeout", "0");
    step_rejected(&asks(", timeout_seconds: 9, timeout_outcome: retry"), "hitl_timeout_outcome", "retry");
    step_rejected(&asks(", reminder_interval_seconds: 5"), "hitl_reminders", "5");
    step_rejected(&asks(", timeout_seconds: 9, reminder_max_count: 2"), "hitl_reminders", "2");
    step_rejected(&asks(", need: {finance: 0}"), "hitl_need", "0");
    step_rejected(&asks(", need: [finance]"), "hitl_need", "[finance]");
    step_rejected(&asks(", need: {}"), "hitl_need", "{}");
    step_rejected(&asks(", need: {finance: 1}, required_approvals: 2"), "hitl_need", "2");
    step_rejected(&asks(", need: {finance: 1}, recipient_distribution: owner"), "hitl_need", "owner");
    step_rejected(&asks(", veto: legal"), "hitl_veto", "legal");
    step_rejected(&asks(", choices: [pay, later], veto: [legal]"), "hitl_veto", "[legal]");
    step_rejected(&asks(", escalate_after: 4h"), "hitl_escalation", "4h");
    step_rejected(&asks(", escalate_to: [cfo]"), "hitl_escalation", "[cfo]");
    step_rejected(&asks(", escalate_after: soon, escalate_to: [cfo]"), "hitl_escalation", "soon");
    let late = ", timeout_seconds: 60, escalate_after: 1m, escalate_to: [cfo]";
    step_rejected(&asks(late), "hitl_escalation", "1m");
    step_rejected(&asks(", form: [a]"), "hitl_form", "[a]");
    let form = |field: &str| asks(&format!(", form: {{type: object, properties: {{a: {field}}}}}"));
    step_rejected(&form("{type: date}"), "hitl_form", "date");
    step_rejected(&form("{type: string, pattern: x}"), "hitl_form", "x");
}

#[test]
fn placement() {
    let show = "{id: show, step_type: display_result}";
    let arms = [
        format!("{{id: a, step_type: if_else, if: \"true\", else_steps: [{show}]}}"),
        format!("{{id: a, step_type: conditional, if: \"true\", elif: [{{if: \"true\", then: [{show}]}}]}}"),
        format!("{{id: a, step_type: switch, cases: [{{name: x, match: x, steps: [{show}]}}]}}"),
        format!("{{id: a, step_type: parallel, branches: [{{name: x, steps: [{show}]}}]}}"),
        format!("{{id: a, step_type: prompt_call, on_error: [{show}]}}"),
    ];
    for arm in &arms {
        step_rejected(arm, "result_in_branch", show);
    }
    step_rejected(&format!("{{id: a, step_type: while, if: \"true\", body: [{show}]}}"), "result_in_loop", show);
    let ask = "{id: ask, step_type: human_in_the_loop, prompt_template: \"Send?\"}";
    let each = |body: &str| format!("{{id: a, step_type: for_each, input_template: \"[1]\", body: [{body}]}}");
    step_rejected(&each(ask), "hitl_in_for_each", ask);
    let deep = format!("{{id: w, step_type: while, if: \"true\", body: [{ask}]}}");
    step_rejected(&each(&deep), "hitl_in_for_each", ask);
    let stream = "{id: s, step_type: streaming_result}";
    step_rejected(stream, "streaming_placement", stream);
    let model = |below: &str| format!("{{id: a, step_type: prompt_call, child_steps: [{below}]}}");
    let two = model(&format!("{stream}, {{id: s2, step_type: streaming_result}}"));
    step_rejected(&two, "streaming_duplicate", "{id: s2");
    rejected(&format!("trigger: {{type: schedule}}\nsteps: [{}]\n", model(stream)), "streaming_trigger", stream);
    for kind in ["load_content", "write_metadata", "load_content_attachment", "write_content_attachment"] {
        let step = format!("{{id: a, step_type: {kind}}}");
        rejected(&format!("trigger: {{type: schedule}}\nsteps: [{step}]\n"), "content_trigger", &step);
    }
}

#[test]
fn callees_are_checked_where_the_workflows_are_known() {
    use branchpoint_dialects::{LoadOptions, load_with};
    let source = "steps: [{id: a, step_type: call_workflow, workflow: repyl}]\n";
    let known = |names: &[&str]| LoadOptions {
        callees: Some(names.iter().map(ToString::to_string).collect()),
        ..LoadOptions::default()
    };
    let rejected = load_with(source, &known(&["reply"])).diagnostics;
    assert_eq!(rejected[0].kind.as_str(), "workflow_not_found");
    assert_eq!(rejected[0].help.as_deref(), Some("did you mean `reply`?"));
    assert!(load_with(source, &known(&["repyl"])).program.is_some());
    assert!(load_with(source, &LoadOptions::default()).program.is_some());
}

#[test]
fn all_problems_are_reported_together_in_the_order_of_the_text() {
    let source =
        "steps:\n  - {id: a.b, step_type: text}\n  - {id: l, step_type: while}\n  - {id: h, step_type: http}\n";
    let kinds: Vec<_> = loaded(source).diagnostics.iter().map(|finding| finding.kind.as_str()).collect();
    assert_eq!(kinds, ["bad_id", "no_conditions", "loop_body", "missing_field"]);
}

#[test]
fn values_are_inserted_only_where_a_shell_reads_quotes() {
    let command = |text: &str| format!("{{id: c, step_type: command, command: '{text}'}}");
    step_rejected(&command("true # {{input}}"), "bad_template", "input");
    step_rejected(&command("cat << END {{input}}"), "bad_template", "input");
    step_rejected(&command("true # {{secret.KEY}}"), "bad_template", "'true");
    assert!(
        loaded(&format!("steps: [{}]", command("printf \"{{input}} {{secret.KEY}}\" {{input}}"))).program.is_some()
    );
}

#[test]
fn triggers_have_the_fields_of_their_type() {
    let document = |trigger: &str| format!("trigger: {{{trigger}}}\nsteps: [{TEXT}]\n");
    for trigger in [
        "type: schedule, cron: '0 8 * * mon-fri', timezone: Europe/Berlin, input: go, metadata: {a: 1}",
        "type: schedule, every: 1m",
        "type: schedule",
        "type: email_received, mailbox: invoices, from: ['*@example.org', boss@example.com]",
        "type: email_received, from: boss@example.com",
        "type: new_content, source: blog, on: added",
        "type: template_input, input: go",
    ] {
        assert_eq!(loaded(&document(trigger)).diagnostics, [], "{trigger}");
    }
    for (trigger, kind, at) in [
        ("type: schedule, cron: '0 25 * * *'", "bad_schedule", "'0 25 * * *'"),
        ("type: schedule, cron: 5", "bad_schedule", "5"),
        ("type: schedule, every: 59s", "bad_schedule", "59s"),
        ("type: schedule, every: soon", "bad_schedule", "soon"),
        ("type: schedule, every: 1h, cron: '* * * * *'", "bad_schedule", "1h"),
        ("type: schedule, timezone: Mars/Base", "bad_schedule", "Mars/Base"),
        ("type: email_received, from: 5", "bad_field", "5"),
        ("type: email_received, mailbox: ' '", "bad_field", "' '"),
        ("type: new_content, on: removed", "bad_field", "removed"),
    ] {
        rejected(&document(trigger), kind, at);
    }
    for trigger in ["type: new_content, cron: '* * * * *'", "type: schedule, mailbox: a", "every: 1h"] {
        let actual = loaded(&document(trigger));
        assert!(actual.program.is_some(), "{trigger}");
        let kinds: Vec<_> = actual.diagnostics.iter().map(|finding| finding.kind.as_str()).collect();
        assert_eq!(kinds, ["unknown_key"], "{trigger}");
    }
}

#[test]
fn the_key_of_written_metadata_has_two_names_and_is_not_blank() {
    let step = |field: &str| {
        format!("trigger: {{type: new_content}}\nsteps: [{{id: a, step_type: write_metadata, {field}}}]\n")
    };
    for field in ["key: k", "metadata_key: k", "key: '{{input}}'"] {
        assert!(loaded(&step(field)).program.is_some(), "{field}");
    }
    rejected(&step("key: ' '"), "bad_field", "' '");
    rejected(&step("metadata_key: ''"), "bad_field", "''");
    rejected(&step("metadata_key: a, key: b"), "bad_field", "b");
}

const EXPORTED: &str = r#"{
  "export_version": "2",
  "agent": {
    "name": "greeter",
    "definition": {"steps": [{"step_type": "text", "id": "a", "template": "hi {{step.b.output}}"}]}
  },
  "trigger": {"type": "schedule"},
  "alerts": null
}"#;

#[test]
fn an_exported_agent_is_loaded_from_its_definition() {
    let loaded = branchpoint_dialects::load(EXPORTED, None);
    assert_eq!(loaded.dialect, Some(branchpoint_expr::Dialect::Steps));
    let actual: Vec<_> =
        loaded.diagnostics.iter().map(|actual| (actual.kind.as_str(), actual.span.text(EXPORTED))).collect();
    assert_eq!(actual, [("unknown_reference", "step.b.output"), ("ignored_key", "\"trigger\"")]);
    let program = loaded.program.expect("the document loads");
    assert!(program.slots.iter().any(|slot| format!("{:?}", slot.first).contains("greeter")));
    let broken = EXPORTED.replace("text", "texd");
    let loaded = branchpoint_dialects::load(&broken, None);
    assert_eq!(loaded.diagnostics[0].kind.as_str(), "unknown_step_type");
    assert_eq!(loaded.diagnostics[0].span.text(&broken), "\"texd\"");
    let formatted = branchpoint_dialects::format(EXPORTED, None).expect("the document can be read");
    assert!(formatted.find("\"id\"") < formatted.find("\"step_type\""), "{formatted}");
}
