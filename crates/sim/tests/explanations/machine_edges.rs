//! Decisions of state machines at their edges: conditions that cannot be evaluated, bad limits, jumps and retries.

use crate::Then;
use crate::machine::case;

/// The text of every decision, and the JSON of all of them in a file of its own.
macro_rules! check {
    ($name:literal, $explained:expr) => {
        let explained = $explained;
        insta::assert_snapshot!(concat!("machine-", $name), explained.text());
        insta::assert_snapshot!(concat!("machine-", $name, "-json"), explained.json());
    };
}

const EACH: &str = "  initial: each
  each:
    type: for_each
    items: '{{inputs.files}}'
    body: [lint, fix]
    on_complete: done
    on_failure: done
  lint: {command: x}
  fix: {command: y}
";

const FILES: &str = r#"{"files": ["a"], "n": "many"}"#;

#[test]
fn a_loop_says_why_it_could_not_be_decided_or_begun() {
    let with = |setting: &str| EACH.replace("    body:", &format!("    {setting}\n    body:"));
    check!("break-error", case(&with("break_when: 'inputs.n > 1'"), FILES, "{lint: [ok], fix: [ok]}", &[]));
    check!("bad-max-iterations", case(&with("max_iterations: '{{inputs.n}}'"), FILES, "{}", &[]));
    let many: Vec<String> = (0..10_001).map(|number| number.to_string()).collect();
    check!("too-many-items", case(EACH, &format!(r#"{{"files": [{}]}}"#, many.join(",")), "{}", &[]));
}

#[test]
fn a_state_of_a_body_may_jump_back_or_continue_after_an_error() {
    let back = EACH.replace(
        "  fix: {command: y}",
        "  fix: {command: y, transitions: [{when: \"states.fix.Output == 'again'\", goto: lint}]}",
    );
    let script = "{lint: [ok], fix: [{$exit: 0, stdout: again}, {$exit: 0, stdout: good}]}";
    check!("body-jump-back", case(&back, FILES, script, &[]));
    let continued = EACH.replace(
        "lint: {command: x}",
        "lint: {command: x, continue_on_error: true, transitions: [{when: 'error.ExitCode == 9', goto: done}]}",
    );
    check!("body-continue-on-error", case(&continued, FILES, "{lint: [{$exit: 1}], fix: [ok]}", &[]));
}

#[test]
fn agents_and_calls_are_retried_and_template_errors_are_not() {
    let agent = "  initial: ask\n  ask: {type: agent, provider: claude, prompt: hi, retry: {max_attempts: 2, initial_delay: 1s}, on_success: done}\n";
    check!("retry-agent", case(agent, "{}", "{ask: [{$error: overloaded}]}", &[Then::Wait(5000)]));
    let call =
        "  initial: sub\n  sub: {type: call_workflow, workflow: child, retry: {max_attempts: 2}, on_success: done}\n";
    let failed = "{sub: [{$output: {status: failed, message: 'no disk'}}]}";
    check!("retry-call", case(call, "{}", failed, &[]));
    let template = "  initial: go\n  go: {command: 'echo {{inputs.a.b}}', retry: {max_attempts: 2}, on_success: done, on_failure: done}\n";
    check!("retry-template-error", case(template, r#"{"n": 1}"#, "{go: [ok]}", &[]));
}
