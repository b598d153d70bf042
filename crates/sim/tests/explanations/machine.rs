//! Decisions of state machines.

use branchpoint_core::ir::Index;
use branchpoint_core::{StepStatus, WhatIfError, what_if};
use branchpoint_expr::{Dialect, Value};

use crate::{Case, Explained, Then, check_rules};

/// Words of lowered programs, which no explanation may contain.
const INTERNAL: [&str; 8] =
    ["answer", "this part", "failure.", "request.", "len(items)", "index <", "index >=", "turn >="];

pub(super) fn case(states: &str, input: &str, script: &str, then: &[Then]) -> Explained {
    case_with(states, input, script, "{}", then)
}

fn case_with(states: &str, input: &str, script: &str, facts: &str, then: &[Then]) -> Explained {
    let document = format!("name: t\nstates:\n{states}  done: {{type: terminal}}\n");
    let explained = Case { dialect: Dialect::Machine, document: &document, input, script, facts, then }.run();
    check_rules(&explained);
    for text in [explained.text(), explained.json()] {
        let word = INTERNAL.iter().find(|word| text.contains(**word));
        assert!(word.is_none(), "{word:?} is an internal word: {text}");
    }
    explained
}

/// The text of every decision, and the JSON of all of them in a file of its own.
macro_rules! check {
    ($name:literal, $explained:expr) => {
        let explained = $explained;
        insta::assert_snapshot!(concat!("machine-", $name), explained.text());
        insta::assert_snapshot!(concat!("machine-", $name, "-json"), explained.json());
    };
}

const CHECK: &str = "  initial: check
  check:
    command: x
    transitions:
      - {when: 'states.check.ExitCode == 10 && inputs.amount > 100', goto: sign}
      - {condition: 'inputs.amount > 1000', target: refused}
      - goto: done
  sign: {command: y, on_success: done}
  refused: {type: terminal, status: failure}
";

#[test]
fn transitions_name_every_branch() {
    let check = |amount: &str, exit: &str| {
        let script = format!("{{check: [{{$exit: {exit}}}], sign: [ok]}}");
        case(CHECK, &format!("{{\"amount\": {amount}}}"), &script, &[])
    };
    check!("transition-first", check("250", "10"));
    check!("transition-second", check("5000", "0"));
    check!("transition-default", check("50", "0"));
    check!("transition-error", check("\"much\"", "10"));
    let chosen = check("250", "10");
    assert_eq!(chosen.records[0].branch.as_deref(), Some("sign"), "the record names the target");
    let default = check("50", "0");
    assert_eq!(default.records[0].branch.as_deref(), Some("done"), "also the target of the default");
    let end = default.records.iter().find(|record| &*default.program.steps[record.step.index()].id == "done");
    let end = end.expect("the terminal state has a record");
    assert_eq!((&end.status, end.decisions.len()), (&StepStatus::Completed, 0), "a terminal state decides nothing");
}

#[test]
fn a_transition_without_a_condition_says_so() {
    let states = "  initial: a\n  a: {command: x, transitions: [{goto: done}]}\n";
    check!("transition-only", case(states, "{}", "{a: [ok]}", &[]));
}

#[test]
fn a_transition_can_be_evaluated_again_with_other_values() {
    let was = case(CHECK, r#"{"amount": 250}"#, "{check: [{$exit: 10}], sign: [ok]}", &[]);
    let (_, decided) = was.decisions().next().expect("the run has a decision");
    let with = |path: &str, value: i64| what_if(&was.program, decided, &[(path.into(), value.into())]);
    let chosen = |path: &str, value: i64| {
        let would_be = with(path, value).expect("the decision reads this path");
        would_be.chosen().map(|branch| branch.name.to_string())
    };
    assert_eq!(chosen("inputs.amount", 50).as_deref(), Some("done"));
    assert_eq!(chosen("states.check.ExitCode", 0).as_deref(), Some("done"));
    assert_eq!(chosen("inputs.amount", 5000).as_deref(), Some("sign"));
    let would_be = with("inputs.amount", 50).expect("the decision reads this path");
    insta::assert_snapshot!("machine-transition-what-if", would_be.to_text(&was.program, "doc.yaml", &()));
    assert!(matches!(with("inputs.amont", 1), Err(WhatIfError::NotRead { .. })));
}

const NAMED: &str = "  initial: build
  build:
    command: x
    transitions:
      - {when: \"states.build.Output contains 'skip'\", goto: done}
    on_success: deploy
    on_failure: undo
  deploy: {command: y, on_success: done, on_failure: {message: 'no: {{error.Message}}', status: 4}}
  undo: {command: z, on_success: done}
";

#[test]
fn named_transitions_show_their_outcome() {
    check!("on-success", case(NAMED, "{}", "{build: [ok], deploy: [ok]}", &[]));
    check!("on-failure", case(NAMED, "{}", "{build: [{$exit: 1}], undo: [ok]}", &[]));
    check!("on-failure-inline", case(NAMED, "{}", "{build: [ok], deploy: [{$exit: 1}]}", &[]));
    check!("step-failed", case(NAMED, "{}", "{build: [{$exit: 1}], undo: [{$exit: 1}]}", &[]));
    let continued = NAMED.replace("    on_success: deploy", "    continue_on_error: true\n    on_success: deploy");
    check!("continue-on-error", case(&continued, "{}", "{build: [{$exit: 1}], deploy: [ok]}", &[]));
    let was = case(NAMED, "{}", "{build: [ok], deploy: [ok]}", &[]);
    let (_, decided) = was.decisions().next().expect("the run has a decision");
    let with = |output: &str| {
        let would_be = what_if(&was.program, decided, &[("states.build.Output".into(), Value::from(output))]);
        would_be.expect("the decision reads this path").chosen().map(|branch| branch.name.to_string())
    };
    assert_eq!(with("skip it").as_deref(), Some("done"));
    assert_eq!(with("build it").as_deref(), Some("deploy"), "the outcome is that of the run");
}

#[test]
fn no_matching_transition_fails_the_run() {
    let states = "  initial: a\n  a: {command: x, transitions: [{when: 'inputs.n > 1', goto: done}]}\n";
    check!("no-transition", case(states, r#"{"n": 1}"#, "{a: [ok]}", &[]));
}

#[test]
fn error_routing_explains_the_authors_condition() {
    let states = "  initial: call
  call:
    command: x
    timeout: 1s
    transitions:
      - {when: \"error.Type == 'timeout'\", goto: slow}
      - {when: \"error != nil && error.Message contains 'denied'\", goto: denied}
    on_success: done
    on_failure: broken
  slow: {command: y, on_success: done}
  denied: {type: terminal, status: failure}
  broken: {type: terminal, status: failure}
";
    check!("error-timeout", case(states, "{}", "{call: [{$timed_out: true}], slow: [ok]}", &[]));
    check!("error-message", case(states, "{}", "{call: [{$exit: 1, stderr: access denied}]}", &[]));
    check!("error-other", case(states, "{}", "{call: [{$exit: 1, stderr: broken}]}", &[]));
    check!("error-none", case(states, "{}", "{call: [ok]}", &[]));
}

const POLL: &str = "  initial: poll
  poll:
    type: while
    while: \"states.ask.Output != 'ready'\"
    max_iterations: 3
    body: [ask]
    on_complete: done
  ask: {command: x}
";

#[test]
fn a_while_loop_says_for_each_round_why_it_continued_or_ended() {
    check!("while-end", case(POLL, "{}", "{ask: [{$exit: 0, stdout: wait}, {$exit: 0, stdout: ready}]}", &[]));
    let waits = "{ask: [{$exit: 0, stdout: wait}]}";
    check!("while-limit", case(POLL, "{}", waits, &[]));
    let computed = POLL.replace("max_iterations: 3", "max_iterations: '{{inputs.most}}'");
    check!("while-limit-computed", case(&computed, r#"{"most": 1}"#, waits, &[]));
    let broken = POLL.replace("states.ask.Output != 'ready'", "inputs.n > 1");
    check!("while-error", case(&broken, r#"{"n": "many"}"#, waits, &[]));
    let limited = case(POLL, "{}", waits, &[]);
    let rounds: Vec<_> =
        limited.records.iter().flat_map(|record| record.iterations.iter().map(|at| at.index)).collect();
    assert_eq!(rounds, [0, 1, 2], "states of the body know their round");
    let poll = limited.records.iter().flat_map(|record| &record.decisions).nth(3).expect("the limit was reached");
    let ready = what_if(&limited.program, poll, &[("states.ask.Output".into(), "ready".into())]);
    let ready = ready.expect("the decision reads this path").chosen().map(|branch| branch.name.to_string());
    assert_eq!(ready.as_deref(), Some("limit"), "the limit comes before the condition");
    let second = &limited.records[0].decisions[1];
    let ready = what_if(&limited.program, second, &[("states.ask.Output".into(), "ready".into())]);
    assert_eq!(ready.expect("the decision reads this path").chosen().map(|branch| &*branch.name), Some("end"));
}

const EACH: &str = "  initial: each
  each:
    type: for_each
    items: '{{inputs.files}}'
    break_when: \"states.lint.Output == 'stop'\"
    body: [lint, fix]
    on_success: done
    on_failure: done
  lint:
    command: x
    transitions:
      - {when: \"states.lint.Output == 'clean'\", goto: each}
      - {when: \"loop.Item == 'secret'\", goto: done}
  fix: {command: y}
";

#[test]
fn a_loop_over_items_says_why_it_continued_or_ended() {
    let files = r#"{"files": ["a", "b"]}"#;
    let lint = |outputs: &[&str]| {
        let outputs: Vec<_> = outputs.iter().map(|output| format!("{{$exit: 0, stdout: {output}}}")).collect();
        format!("{{lint: [{}], fix: [ok]}}", outputs.join(", "))
    };
    check!("for-each", case(EACH, files, &lint(&["dirty", "clean"]), &[]));
    check!("for-each-break", case(EACH, files, &lint(&["stop"]), &[]));
    check!("for-each-empty", case(EACH, r#"{"files": []}"#, "{}", &[]));
    check!("for-each-left", case(EACH, r#"{"files": ["a", "secret", "b"]}"#, &lint(&["dirty"]), &[]));
    check!("for-each-failed", case(EACH, files, "{lint: [{$exit: 1}]}", &[]));
    let cut = EACH.replace("    body:", "    max_iterations: 1\n    body:");
    check!("for-each-cut", case(&cut, files, &lint(&["dirty"]), &[]));
    let retried = EACH.replace("    command: x\n", "    command: x\n    retry: {max_attempts: 2, initial_delay: 1s}\n");
    let script = "{lint: [{$exit: 1}, {$exit: 0, stdout: dirty}], fix: [ok]}";
    insta::assert_snapshot!("machine-records", case(&retried, files, script, &[Then::Wait(10_000)]).records());
}

#[test]
fn a_loop_says_that_it_timed_out() {
    let states = POLL.replace("    max_iterations: 3", "    timeout: 1s");
    check!("while-timeout", case(&states, "{}", "{ask: [{$hang: true}]}", &[Then::Wait(2000)]));
}

#[test]
fn nested_loops_carry_both_rounds() {
    let states = "  initial: outer
  outer: {type: for_each, items: [x, y], body: [inner], on_complete: done}
  inner: {type: while, while: 'loop.Index < 1', body: [work]}
  work: {command: x, transitions: [{when: 'loop.Parent.Last', goto: done}]}
";
    check!("nested", case(states, "{}", "{work: [ok]}", &[]));
}

#[test]
fn a_parallel_state_says_what_arrived() {
    let states = |strategy: &str| {
        format!(
            "  initial: both\n  both: {{type: parallel, parallel: [a, b], strategy: {strategy}, on_success: done, on_failure: done}}\n  a: {{command: x}}\n  b: {{command: y}}\n"
        )
    };
    let one = "{a: [{$exit: 1, stderr: broken}], b: [{$output: ok, $delay_ms: 1000}]}";
    let wait = &[Then::Wait(2000)];
    check!("parallel-all", case(&states("all_succeed"), "{}", "{a: [ok], b: [ok]}", &[]));
    check!("parallel-all-failed", case(&states("all_succeed"), "{}", one, wait));
    check!("parallel-any", case(&states("any_succeed"), "{}", one, wait));
    check!(
        "parallel-any-first",
        case(&states("any_succeed"), "{}", "{a: [ok], b: [{$output: ok, $delay_ms: 1000}]}", wait)
    );
    check!("parallel-any-failed", case(&states("any_succeed"), "{}", "{a: [{$exit: 1}], b: [{$exit: 2}]}", &[]));
    check!("parallel-best-effort", case(&states("best_effort"), "{}", one, wait));
    let limited = states("best_effort").replace("strategy", "timeout: 1s, strategy");
    check!("parallel-timeout", case(&limited, "{}", "{a: [ok], b: [{$hang: true}]}", wait));
    // The branch fails with its own kind, the state with `parallel`.
    let late = states("all_succeed").replace("a: {command: x", "a: {command: x, timeout: 1s");
    let late = late.replace(", on_failure: done", "");
    check!("parallel-branch-timeout", case(&late, "{}", "{a: [{$hang: true}], b: [ok]}", wait));
    let retried = states("all_succeed").replace("strategy", "retry: {max_attempts: 2}, strategy");
    check!("parallel-retry", case(&retried, "{}", "{a: [{$exit: 1}], b: [ok]}", &[]));
}

#[test]
fn a_retry_says_why_and_how_often() {
    let states =
        "  initial: call\n  call: {command: x, retry: {max_attempts: 2, initial_delay: 1s}, on_success: done}\n";
    let wait = &[Then::Wait(5000)];
    check!("retry-recovered", case(states, "{}", "{call: [{$exit: 7, stderr: refused}, ok]}", wait));
    check!("retry-failed", case(states, "{}", "{call: [{$exit: 7, stderr: refused}]}", wait));
    let codes = states.replace("max_attempts: 2", "max_attempts: 2, retryable_exit_codes: [7]");
    check!("retry-exit-code", case(&codes, "{}", "{call: [{$exit: 2}]}", wait));
    let limited = states.replace("{command: x,", "{command: x, timeout: 9s,");
    check!("retry-limited", case(&limited, "{}", "{call: [{$exit: 7}]}", wait));
}

const TALK: &str = "  initial: chat
  chat:
    type: agent
    provider: claude
    mode: conversation
    prompt: hi
    conversation:
      max_turns: 3
      stop_conditions: [\"inputs.response contains 'DONE'\", 'inputs.turn_count > 5']
    on_success: done
";

#[test]
fn a_conversation_says_why_it_stopped() {
    check!("conversation-stop", case(TALK, "{}", "{chat: [one, two DONE]}", &[]));
    check!("conversation-limit", case(TALK, "{}", "{chat: [one, two, three]}", &[]));
    let broken = TALK.replace("'inputs.turn_count > 5'", "'inputs.turn_count > inputs.most'");
    check!("conversation-error", case(&broken, r#"{"most": "many"}"#, "{chat: [one]}", &[]));
    let plain =
        TALK.replace("      stop_conditions: [\"inputs.response contains 'DONE'\", 'inputs.turn_count > 5']\n", "");
    check!("conversation-plain", case(&plain, "{}", "{chat: [one, two, three]}", &[]));
    let retried = TALK.replace("    on_success", "    retry: {max_attempts: 2}\n    on_success");
    check!("conversation-retry", case(&retried, "{}", "{chat: [{$error: overloaded}]}", &[]));
}

#[test]
fn a_conversation_with_a_user_says_what_ended_the_wait() {
    let lines = [Then::Line("more"), Then::Line(" ")];
    let facts = r#"{"user_attached": true}"#;
    check!("conversation-user", case_with(TALK, "{}", "{chat: [one, two]}", facts, &lines));
}

#[test]
fn a_called_workflow_says_which_outcome_it_had() {
    let states = "  initial: sub
  sub:
    type: call_workflow
    workflow: child
    transitions:
      - {when: \"error.Type == 'child'\", goto: undo}
    on_success: done
  undo: {command: x, on_success: done}
";
    check!("call-completed", case(states, "{}", "{sub: [{$output: {status: completed}}]}", &[]));
    let failed = "{sub: [{$output: {status: failed, message: 'no disk'}}], undo: [ok]}";
    check!("call-failed", case(states, "{}", failed, &[]));
}
