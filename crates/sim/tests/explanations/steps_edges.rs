//! Decisions of step trees at their edges: conditions that cannot be evaluated, limits, failures and handlers.

use branchpoint_dialects::{LoadOptions, load_with};
use branchpoint_expr::{Dialect, Value};

use crate::steps::case;
use crate::{Case, Then, check_rules};

/// The text of every decision, and the JSON of all of them in a file of its own.
macro_rules! check {
    ($name:literal, $document:expr, $input:expr, $script:expr, $then:expr) => {
        let explained = case($document, $input, $script, $then);
        insta::assert_snapshot!(concat!("steps-", $name), explained.text());
        insta::assert_snapshot!(concat!("steps-", $name, "-json"), explained.json());
    };
}

const GROW: &str = "\
steps:
  - id: grow
    step_type: while
    if: len(input) < 4
    max_iterations: 2
    body: [{id: add, step_type: text, template: '{{input}}x'}]
";

#[test]
fn a_condition_that_cannot_be_evaluated_decides_nothing() {
    check!(
        "gate-error",
        "steps:\n  - {id: adult, step_type: gate, if: 'input.age >= 18'}\n",
        r#"{"age": "old"}"#,
        "{}",
        &[]
    );
    check!("while-error", &GROW.replace("len(input) < 4", "int(input) < 4"), "\"ab\"", "{}", &[]);
}

#[test]
fn a_condition_that_becomes_false_at_the_limit_ends_the_loop() {
    check!("while-end-at-limit", GROW, "\"ab\"", "{}", &[]);
}

const EACH: &str = "\
steps:
  - id: each
    step_type: for_each
    input_template: '{{input}}'
    body: [{id: call, step_type: http, url: 'https://example.com/{{step.each.item}}'}]
";

#[test]
fn a_for_each_says_how_it_treats_failures_limits_and_no_items() {
    let with = |setting: &str| EACH.replace("    body:", &format!("    {setting}\n    body:"));
    let one = "{call: [{$error: broken}, ok]}";
    check!("for-each-kept", &with("fail_fast: false"), "[1, 2]", one, &[]);
    check!("for-each-kept-one", &with("fail_fast: false"), "[1]", one, &[]);
    check!("for-each-kept-two", &with("fail_fast: false"), "[1, 2]", "{call: [{$error: broken}]}", &[]);
    check!("for-each-fail-on-empty", &with("fail_on_empty: true"), "[]", "{}", &[]);
    check!("for-each-timeout", &with("timeout: 1s"), "[1, 2]", "{call: [{$hang: true}]}", &[Then::Wait(2000)]);
}

#[test]
fn a_parallel_step_that_needs_one_branch_says_why_none_delivered() {
    let document = |steps: &str| {
        format!(
            "steps:\n  - id: both\n    step_type: parallel\n    wait: any\n    fail_fast: false\n    branches:\n      - {{name: one, steps: [{{id: a, {steps}}}]}}\n      - {{name: two, steps: [{{id: b, {steps}}}]}}\n"
        )
    };
    let failed = "{a: [{$error: broken}], b: [{$error: busy}]}";
    check!("parallel-any-failed", &document("step_type: http, url: u"), "\"x\"", failed, &[]);
    check!("parallel-any-blocked", &document("step_type: gate, if: 'input == 1'"), "\"x\"", "{}", &[]);
    let limited = document("step_type: http, url: u").replace("    wait: any\n", "    timeout: 1s\n");
    check!("parallel-timeout", &limited, "\"x\"", "{a: [1], b: [{$hang: true}]}", &[Then::Wait(2000)]);
}

#[test]
fn a_switch_without_else_and_one_over_numbers() {
    let document = "\
steps:
  - id: route
    step_type: switch
    discriminator: '{{input}}'
    value_type: number
    cases:
      - {name: one, match: 1, steps: [{id: single, step_type: text, template: s}]}
      - {name: few, match: [2, 3], steps: [{id: some, step_type: text, template: t}]}
";
    check!("switch-number", document, "\"2.0\"", "{}", &[]);
    check!("switch-no-else", document, "\"9\"", "{}", &[]);
}

#[test]
fn an_approval_is_denied_or_has_no_deadline() {
    let document = "\
steps:
  - id: ask
    step_type: human_in_the_loop
    prompt_template: Send it?
    required_approvals: 2
    timeout_seconds: 60
";
    let denied = [Then::Vote("bob", "deny", Some("not yet")), Then::Vote("eve", "deny", None)];
    check!("approval-denied", document, "\"x\"", "{}", &denied);
    let endless =
        document.replace("    timeout_seconds: 60\n", "").replace("required_approvals: 2", "required_approvals: 1");
    check!(
        "approval-no-deadline",
        &endless,
        "\"x\"",
        "{}",
        &[Then::Wait(1_000_000), Then::Vote("ada", "approve", None)]
    );
}

#[test]
fn a_failed_step_says_how_its_error_is_handled() {
    let document = |on_error: &str| {
        format!(
            "steps:\n  - {{id: call, step_type: http, url: u, on_error: {on_error}}}\n  - {{id: after, step_type: text, template: x}}\n"
        )
    };
    let failed = "{call: [{$error: broken}]}";
    check!("on-error-continue", &document("continue"), "\"x\"", failed, &[]);
    check!("on-error-steps", &document("[{id: fix, step_type: text, template: fixed}]"), "\"x\"", failed, &[]);
    let retried = document("continue").replace("on_error", "retry: {max_attempts: 2, delay: 1s}, on_error");
    check!("on-error-after-retry", &retried, "\"x\"", "{call: [{$error: broken}]}", &[Then::Wait(5000)]);
}

#[test]
fn a_limit_can_be_evaluated_again_with_other_values() {
    let explained = case(&GROW.replace("< 4", "< 40"), "\"ab\"", "{}", &[]);
    let decisions: Vec<_> = explained.decisions().map(|(_, decided)| decided).collect();
    let with = |at: usize, input: &str| {
        let would_be =
            branchpoint_core::what_if(&explained.program, decisions[at], &[("input".into(), Value::from(input))]);
        would_be.expect("the decision reads this path").to_text(&explained.program, "doc.yaml", &())
    };
    insta::assert_snapshot!("steps-while-limit-what-if", with(2, &"x".repeat(50)));
    insta::assert_snapshot!("steps-while-continue-what-if", with(0, "abc"));
}

#[test]
fn an_agent_says_why_it_stopped() {
    let document =
        "steps:\n  - {id: helper, step_type: agent, prompt: Go, tools: [echo], stop_when: \"input contains 'DONE'\"}\n";
    let options = LoadOptions { dialect: Some(Dialect::Steps), ..LoadOptions::default() };
    let workflow = load_with(document, &options).program.expect("the document is valid");
    let program = || {
        let program = branchpoint_dialects::agent_program_for(&workflow.effects[0]).expect("it compiles");
        program.expect("there is a condition")
    };
    let calls = r#"{$reply: {text: wait, usage: {tokens: 50}, toolCalls: [{id: "1", name: echo, arguments: {}}]}}"#;
    let run_until = |last: &str, bounds: &str| {
        let script = format!("{{agent.model: [{calls}, {{$reply: {{text: {last}}}}}], agent.tool: [outputs]}}");
        let input = format!(r#"{{"request": {{"prompt": "Go."}}, "tools": [{{"name": "echo"}}], {bounds}}}"#);
        let input = &input;
        let case = Case { dialect: Dialect::Steps, document: "", input, script: &script, facts: "{}", then: &[] };
        let explained = case.run_program(program());
        check_rules(&explained);
        explained
    };
    let run = |last: &str| run_until(last, r#""max_turns": 4"#);
    let stopped = run("all DONE");
    insta::assert_snapshot!("steps-agent-stop", stopped.text());
    insta::assert_snapshot!("steps-agent-stop-json", stopped.json());
    insta::assert_snapshot!("steps-agent-end", run("all is well").text());
    let limited = run_until("never asked", r#""max_turns": 1"#);
    insta::assert_snapshot!("steps-agent-max-turns", limited.text());
    insta::assert_snapshot!("steps-agent-max-turns-json", limited.json());
    let spent = run_until("never asked", r#""token_budget": 40"#);
    insta::assert_snapshot!("steps-agent-token-budget", spent.text());
}
