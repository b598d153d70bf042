//! Decisions of step trees.

use branchpoint_expr::{Dialect, Value};

use crate::{Case, Explained, Then, check_rules};

const ACCOUNT: &str = r#"{"account": {"owner": "ada", "admins": ["bob", "eve"]}}"#;

pub(super) fn case<'c>(document: &'c str, input: &'c str, script: &'c str, then: &'c [Then]) -> Explained {
    let explained = Case { dialect: Dialect::Steps, document, input, script, facts: ACCOUNT, then }.run();
    check_rules(&explained);
    explained
}

/// The text of every decision, and the JSON of all of them in a file of its own.
macro_rules! check {
    ($name:literal, $document:expr, $input:expr, $script:expr, $then:expr) => {
        let explained = case($document, $input, $script, $then);
        insta::assert_snapshot!(concat!("steps-", $name), explained.text());
        insta::assert_snapshot!(concat!("steps-", $name, "-json"), explained.json());
    };
}

const TIER: &str = "\
steps:
  - id: tier
    step_type: conditional
    if: metadata.score < 0.5
    then: [{id: drop, step_type: text, template: dropped}]
    elif:
      - if: metadata.score < 0.85 || len(input) > 20
        then: [{id: review, step_type: text, template: reviewed}]
    else: [{id: mail, step_type: text, template: mailed}]
";

fn tier(score: &str) -> Explained {
    let facts = format!(r#"{{"metadata": {{"score": {score}}}}}"#);
    let explained =
        Case { dialect: Dialect::Steps, document: TIER, input: "\"short\"", script: "{}", facts: &facts, then: &[] };
    let explained = explained.run();
    check_rules(&explained);
    explained
}

#[test]
fn a_conditional_names_every_branch() {
    insta::assert_snapshot!("steps-conditional-elif", tier("0.7").text());
    insta::assert_snapshot!("steps-conditional-elif-json", tier("0.7").json());
    insta::assert_snapshot!("steps-conditional-then", tier("0.2").text());
    insta::assert_snapshot!("steps-conditional-else", tier("0.9").text());
    insta::assert_snapshot!("steps-conditional-error", tier("\"high\"").text());
    insta::assert_snapshot!("steps-conditional-error-json", tier("\"high\"").json());
}

#[test]
fn a_decision_can_be_evaluated_again_with_other_values() {
    let was = tier("0.7");
    let (_, decided) = was.decisions().next().expect("the run has a decision");
    let with = |path: &str, value: Value| branchpoint_core::what_if(&was.program, decided, &[(path.into(), value)]);
    let lower = with("metadata.score", 0.1.into()).expect("the decision reads this path");
    assert_eq!(lower.chosen().map(|branch| &*branch.name), Some("then"));
    let higher = with("metadata.score", 0.9.into()).expect("the decision reads this path");
    insta::assert_snapshot!("steps-conditional-what-if", higher.to_text(&was.program, "doc.yaml", &()));
    let long = branchpoint_core::what_if(
        &was.program,
        decided,
        &[("metadata.score".into(), 0.9.into()), ("input".into(), "a much longer text than before".into())],
    );
    assert_eq!(long.expect("the decision reads both paths").chosen().map(|branch| &*branch.name), Some("elif-0"));
    let unknown = with("metadata.scor", 1.into()).expect_err("nothing reads it");
    assert_eq!(unknown.to_string(), "the decision does not read `metadata.scor`; did you mean `metadata.score`?");
}

#[test]
fn an_if_else_over_a_list_of_conditions_reads_as_its_clauses() {
    let document = "\
steps:
  - id: long
    step_type: if_else
    input_template: 'Text: {{input}}'
    match: any
    conditions:
      - {target: input_length, operator: $gt, value: 20, value_type: number}
      - {target: input, operator: $regex, value: '^Text: urgent'}
    then_steps: [{id: yes, step_type: text, template: y}]
    else_steps: [{id: no, step_type: text, template: n}]
";
    check!("if-else-list", document, "\"urgent!\"", "{}", &[]);
}

#[test]
fn a_typed_group_reads_as_its_clauses() {
    let document = "\
steps:
  - id: vip
    step_type: if_else
    if:
      combinator: and
      conditions:
        - {variable: '{{input}}', operator: contains, value: gold}
        - combinator: not
          conditions: [{variable: '{{input}}', operator: ends_with, value: '?'}]
    then_steps: [{id: yes, step_type: text, template: y}]
";
    check!("if-else-group", document, "\"gold?\"", "{}", &[]);
}

const SWITCH: &str = "\
steps:
  - {id: classify, step_type: prompt_call}
  - id: route
    step_type: switch
    discriminator: '{{step.classify.output}}'
    cases:
      - {name: bug, match: bug, steps: [{id: ticket, step_type: text, template: t}]}
      - {name: money, match: [billing, refund], steps: [{id: charge, step_type: text, template: c}]}
      - {name: spam, match: spam, steps: [{id: bin, step_type: text, template: b}]}
    else_steps: [{id: unsorted, step_type: text, template: u}]
";

#[test]
fn a_switch_names_the_value_and_every_case() {
    check!("switch-case", SWITCH, "\"help\"", "{classify: [refund]}", &[]);
    check!("switch-else", SWITCH, "\"help\"", "{classify: [other]}", &[]);
}

#[test]
fn a_gate_passes_or_blocks() {
    let gate = |on_match: &str| {
        format!(
            "steps:\n  - {{id: adult, step_type: gate, if: 'input.age >= 18', on_match: {on_match}}}\n  - {{id: in, step_type: text}}\n"
        )
    };
    check!("gate-passed", &gate("continue"), r#"{"age": 20}"#, "{}", &[]);
    check!("gate-blocked", &gate("continue"), r#"{"age": 7}"#, "{}", &[]);
    check!("gate-stopped", &gate("stop"), r#"{"age": 20}"#, "{}", &[]);
    let explained = case(&gate("continue"), r#"{"age": 7}"#, "{}", &[]);
    assert_eq!(explained.records[0].branch.as_deref(), Some("blocked"));
}

#[test]
fn a_while_loop_says_for_each_round_why_it_continued_or_ended() {
    let document = "\
steps:
  - id: grow
    step_type: while
    if: len(input) < 4
    max_iterations: 5
    body: [{id: add, step_type: text, template: '{{input}}x'}]
";
    check!("while-end", document, "\"ab\"", "{}", &[]);
    let limited =
        document.replace("len(input) < 4", "len(input) < 40").replace("max_iterations: 5", "max_iterations: 2");
    check!("while-limit", &limited, "\"ab\"", "{}", &[]);
    let failing = limited.replace("max_iterations: 2", "max_iterations: 1\n    on_limit: fail");
    check!("while-limit-fail", &failing, "\"ab\"", "{}", &[]);
    check!("while-never", document, "\"abcdef\"", "{}", &[]);
    let explained = case(document, "\"ab\"", "{}", &[]);
    let rounds: Vec<_> =
        explained.records.iter().flat_map(|record| record.iterations.iter().map(|at| at.index)).collect();
    assert_eq!(rounds, [0, 1], "steps of the body know their round");
}

#[test]
fn a_for_each_says_why_it_ended_and_its_rounds_carry_their_items() {
    let document = "\
steps:
  - id: each
    step_type: for_each
    input_template: '{{input}}'
    body:
      - {id: big, step_type: gate, if: 'step.each.item.n > 1'}
      - {id: call, step_type: http, url: 'https://example.com/{{step.each.item.n}}'}
";
    check!("for-each", document, r#"[{"n": 1}, {"n": 2}]"#, "{call: [ok]}", &[]);
    check!("for-each-empty", document, "[]", "{}", &[]);
    check!("for-each-failed", document, r#"[{"n": 2}, {"n": 3}]"#, "{call: [{$error: broken}]}", &[]);
    let retried = document.replace("n}}'}", "n}}', retry: {max_attempts: 2, delay: 1s}}");
    let script = "{call: [{$error: broken}, ok]}";
    let explained = case(&retried, r#"[{"n": 1}, {"n": 2}]"#, script, &[Then::Wait(10_000)]);
    insta::assert_snapshot!("steps-records", explained.records());
}

#[test]
fn a_parallel_step_says_what_arrived() {
    let document = |more: &str| {
        format!(
            "steps:\n  - id: both\n    step_type: parallel\n{more}    branches:\n      - {{name: fast, steps: [{{id: a, step_type: http, url: u}}]}}\n      - {{name: slow, steps: [{{id: w, step_type: wait, duration: 5s}}, {{id: b, step_type: http, url: u}}]}}\n"
        )
    };
    check!("parallel-all", &document(""), "\"x\"", "{a: [1], b: [2]}", &[Then::Wait(6000)]);
    check!("parallel-any", &document("    wait: any\n"), "\"x\"", "{a: [1], b: [2]}", &[]);
    let failed = "{a: [{$error: broken}], b: [2]}";
    check!("parallel-failed", &document(""), "\"x\"", failed, &[]);
    check!("parallel-kept", &document("    fail_fast: false\n"), "\"x\"", failed, &[Then::Wait(6000)]);
}

#[test]
fn a_merge_says_what_arrived_and_what_cannot() {
    let document = "\
steps:
  - id: start
    step_type: text
    child_steps:
      - {id: left, step_type: gate, if: 'input == \"both\"', child_steps: [{id: over, step_type: join, target: together}]}
      - {id: right, step_type: text, template: r, child_steps: [{id: together, step_type: merge}]}
";
    check!("merge-both", document, "\"both\"", "{}", &[]);
    check!("merge-one", document, "\"one\"", "{}", &[]);
    let blocked = document.replace("step_type: text, template: r", "step_type: gate, if: 'false'");
    check!("merge-none", &blocked, "\"one\"", "{}", &[]);
}

#[test]
fn a_retry_step_counts() {
    let document = "\
steps:
  - {id: draft, step_type: prompt_call}
  - id: good
    step_type: conditional
    if: input == 'good'
    then: [{id: done, step_type: text}]
    else: [{id: again, step_type: retry, target_step_id: draft, max_retries: 1}]
";
    check!("retry-step", document, "\"x\"", "{draft: [bad, bad]}", &[]);
}

#[test]
fn a_retry_policy_says_why_and_how_often() {
    let document = "\
steps:
  - {id: call, step_type: http, url: u, retry: {max_attempts: 2, delay: 2s}}
";
    let broken = "{$error: broken}";
    check!("retry-policy", document, "\"x\"", &format!("{{call: [{broken}, ok]}}"), &[]);
    check!("retry-policy-failed", document, "\"x\"", &format!("{{call: [{broken}, {broken}]}}"), &[]);
}

#[test]
fn an_approval_says_who_voted_what_and_which_rule_settled_it() {
    let document = "\
steps:
  - id: ask
    step_type: human_in_the_loop
    prompt_template: Send it?
    required_approvals: 2
    timeout_seconds: 60
    child_steps: [{id: after, step_type: text}]
";
    let votes = |last| [Then::Vote("ada", "approve", None), Then::Wait(1000), last];
    check!("approval-quorum", document, "\"x\"", "{}", &votes(Then::Vote("eve", "approve", Some("fine"))));
    check!("approval-timeout", document, "\"x\"", "{}", &votes(Then::Wait(60_000)));
    check!("approval-cancelled", document, "\"x\"", "{}", &votes(Then::CancelRequest("not needed")));
    let all = document.replace("required_approvals: 2", "required_approvals: 3");
    let split = [Then::Vote("ada", "approve", None), Then::Vote("bob", "deny", None), Then::Vote("eve", "deny", None)];
    check!("approval-no-quorum", &all, "\"x\"", "{}", &split);
    let fails = document.replace("timeout_seconds: 60", "timeout_seconds: 60\n    timeout_outcome: fail_run");
    check!("approval-fails-run", &fails, "\"x\"", "{}", &[Then::Wait(60_000)]);
}

#[test]
fn a_wait_says_what_ended_it() {
    let document = "steps:\n  - {id: pause, step_type: wait, duration: 10s, timeout: 3s}\n";
    check!("wait-timeout", document, "\"x\"", "{}", &[Then::Wait(20_000)]);
    let short = document.replace("10s", "1s");
    check!("wait-due", &short, "\"x\"", "{}", &[Then::Wait(20_000)]);
}
