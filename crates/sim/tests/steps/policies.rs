//! Policies of step trees: blocking, masking, flags and approvals. Nothing after a mask contains the masked value.

use std::fmt::Write as _;

use branchpoint_dialects::read;
use branchpoint_expr::{Object, Value};
use branchpoint_host::{Script, VirtualDriver};

/// The result of a run, its requests and its notes.
struct Ended {
    result: Value,
    requests: String,
    notes: String,
}

impl Ended {
    fn output(&self) -> String {
        self.result.get("output").map(ToString::to_string).unwrap_or_default()
    }

    fn error(&self) -> String {
        let part = |key: &str| self.result.get("error").and_then(|error| error.get(key)).map(ToString::to_string);
        format!("{} {}", part("kind").unwrap_or_default(), part("message").unwrap_or_default())
    }
}

fn run(source: &str, script: &str, input: &str, vote: Option<&str>) -> Ended {
    let loaded = branchpoint_dialects::load(source, None);
    let program = loaded.program.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    let mut host = VirtualDriver::new(&program, 0).restarting();
    let account = read("{owner: ada, admins: []}").unwrap().to_value();
    let fact = |name: &std::sync::Arc<str>| if &**name == "account" { account.clone() } else { Value::Null };
    let facts: Object = program.facts.iter().map(|name| (name.clone(), fact(name))).collect();
    host.start(Value::from(input), facts).unwrap();
    let mut script = Script::read(&read(script).unwrap().to_value()).unwrap();
    let mut requests = String::new();
    let mut answer = |call: &branchpoint_runners::Call| {
        let _ = writeln!(requests, "{:?}", call.input);
        script.simulate(call)
    };
    host.run_until_idle(&mut answer);
    if let Some(choice) = vote {
        let request = host.requested_approvals()[0].request;
        host.vote(request, "ada", choice, None).unwrap();
        host.run_until_idle(&mut answer);
    }
    let notes = format!("{:?}", host.notes());
    Ended { result: host.result().expect("the run has ended").clone(), requests, notes }
}

fn step(policy: &str, more: &str) -> String {
    format!(
        "steps:\n  - id: a\n    step_type: http\n    url: https://example.org/{{{{input}}}}\n    policies: [{{name: p, {policy}}}]\n    {more}\n"
    )
}

#[test]
fn a_policy_that_blocks_an_input_sends_nothing() {
    let source = step("on: input, if: 'input contains \"x\"', then: block, message: no x", "");
    let ended = run(&source, "{a: [fine]}", "xy", None);
    assert_eq!(ended.error(), "policy_blocked the policy `p` of the step `a`: no x");
    assert_eq!(ended.requests, "");
    assert_eq!(run(&source, "{a: [fine]}", "y", None).output(), "fine");
}

#[test]
fn a_policy_that_blocks_an_output_is_an_error_of_the_step() {
    let policy = "on: output, if: 'input contains \"bad\"', then: block";
    assert_eq!(run(&step(policy, ""), "{a: [bad]}", "x", None).error().split(' ').next(), Some("policy_blocked"));
    assert_eq!(run(&step(policy, "on_error: continue"), "{a: [bad]}", "x", None).output(), "");
    let handler = "on_error: [{id: h, step_type: text, template: 'was {{error.kind}}'}]";
    assert_eq!(run(&step(policy, handler), "{a: [bad]}", "x", None).output(), "was policy_blocked");
    // The output of the handler is an output of the step.
    let handler = "on_error: [{id: h, step_type: text, template: 'still bad'}]";
    assert_eq!(run(&step(policy, handler), "{a: [bad]}", "x", None).error().split(' ').next(), Some("policy_blocked"));
}

#[test]
fn a_policy_that_cannot_be_evaluated_blocks() {
    for on in ["input", "output"] {
        let source = step(&format!("on: {on}, if: 'input > 5', then: flag"), "");
        let error = run(&source, "{a: [text]}", "text", None).error();
        assert!(error.starts_with("policy_error the policy `p` of the step `a`: "), "{error}");
    }
    let source = step("on: output, judge: rude?, then: block", "");
    let error = run(&source, "{a: [text], a.p: [{$error: down}]}", "x", None).error();
    assert!(error.starts_with("policy_error") && error.contains("down"), "{error}");
}

#[test]
fn a_judge_decides_from_a_score_of_one_half() {
    let source = step("on: output, judge: rude?, then: block", "");
    assert_eq!(run(&source, "{a: [text], a.p: [{score: 0.49, explanation: e}]}", "x", None).output(), "text");
    let ended = run(&source, "{a: [text], a.p: [{score: 0.5, explanation: e}]}", "x", None);
    assert!(ended.error().starts_with("policy_blocked"), "{}", ended.error());
}

#[test]
fn a_policy_with_an_approval_continues_only_if_approved() {
    let source = step("on: input, if: 'true', then: ask, message: Send it?", "");
    assert_eq!(run(&source, "{a: [sent]}", "x", Some("approve")).output(), "sent");
    let denied = run(&source, "{a: [sent]}", "x", Some("deny"));
    assert_eq!((denied.error().split(' ').next(), &*denied.requests), (Some("policy_blocked"), ""));
}

#[test]
fn flags_are_in_the_result_and_name_their_step() {
    let source = "policies: [{name: p, on: output, if: 'true', then: flag, message: m}]\nsteps:\n  - {id: l, step_type: for_each, input_template: '{{input}}', body: [{id: t, step_type: text, template: x}]}\n";
    let ended = run(source, "{}", "[1, 2]", None);
    let flags = ended.result.get("flags").and_then(Value::as_list).expect("there are flags");
    assert_eq!(flags.len(), 2, "one for each iteration");
    assert_eq!(flags[0].to_string(), r#"{"step":"t","policy":"p","on":"output","message":"m"}"#);
}

#[test]
fn a_json_value_stays_json_where_its_masked_text_is_json() {
    let policy = "on: output, then: mask, mask: 'ab+'";
    assert_eq!(run(&step(policy, ""), r#"{a: [{"k": "abb", "n": 1}]}"#, "x", None).output(), r#"{"k":"***","n":1}"#);
    assert_eq!(
        run(&step("on: output, then: mask, mask: '1'", ""), "{a: [{n: 1}]}", "x", None).output(),
        r#"{"n":***}"#
    );
}

/// The policies of a document whose first step gives the secret word.
const MASKED: &str = r#"
policies:
  - {name: in, on: input, then: mask, mask: 'S[0-9]+E'}
  - {name: out, on: output, if: 'input contains "S"', then: mask, mask: 'S[0-9]+E'}
steps:
  - {id: first, step_type: http, url: "https://example.org/{{input}}"}
  - id: loop
    step_type: for_each
    input_template: '["{{step.first.output}}", "b"]'
    body: [{id: each, step_type: http, method: POST, url: "https://example.org", body: "{{input}} {{step.first.output}}"}]
  - {id: last, step_type: text, template: "{{step.first.output}} {{step.loop.output}} {{step.first.input}}"}
"#;

#[test]
fn nothing_after_a_mask_has_the_value() {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..32 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (word, around) = (format!("S{seed}E"), "ab ".repeat((seed >> 60) as usize));
        let text = format!("{around}{word} {around}");
        let script = format!("{{first: ['{text}'], each: ['{text}', '{text}']}}");
        let ended = run(MASKED, &script, &text, None);
        assert!(!ended.requests.contains(&word), "{}", ended.requests);
        assert!(!ended.result.to_string().contains(&word), "{}", ended.result);
        assert!(!ended.notes.contains(&word), "{}", ended.notes);
        assert!(ended.output().contains("***"), "{}", ended.output());
    }
}
