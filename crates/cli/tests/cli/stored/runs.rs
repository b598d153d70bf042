//! `branchpoint runs`.

use std::process::Stdio;

use branchpoint_expr::Dialect;

use super::{Bench, CALLER, FLAKY, REVIEW, has, json};

#[test]
fn runs_are_listed_with_their_waiting_steps() {
    let bench = Bench::new();
    bench.asks("letter-1");
    bench.start("small-2", ("review", REVIEW), Dialect::Steps, &json(r#"{"input": "x", "amount": 5}"#), "{}");
    let (stdout, _) = bench.expect(0, &["runs", "list"]);
    has(&stdout, &["RUN", "letter-1", "waiting_people", "ask: ada, bob", "small-2", "completed"]);
    let listed = bench.json(&["runs", "list", "--json", "--status", "waiting_people", "--since", "1h"]);
    assert_eq!(listed.as_array().expect("this is a list").len(), 1);
    assert_eq!(listed[0]["run"], "letter-1");
    bench.expect(0, &["runs", "list", "--workflow", "other"]);
    let (_, stderr) = bench.expect(0, &["runs", "list", "--limit", "1"]);
    has(&stderr, &["There are more"]);
}

#[test]
fn runs_are_found_by_words_of_their_input_and_result() {
    let bench = Bench::new();
    let input = |text: &str| json(&format!(r#"{{"input": "{text}", "amount": 5}}"#));
    bench.start("one", ("review", REVIEW), Dialect::Steps, &input("blue whale"), "{}");
    bench.start("two", ("review", REVIEW), Dialect::Steps, &input("blue sky"), "{}");
    let listed = |words: &str| {
        let listed = bench.json(&["runs", "list", "--json", "--search", words]);
        let ids = listed.as_array().expect("this is a list").iter().map(|run| run["run"].to_string());
        ids.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(listed("WHALE blue"), r#""one""#);
    assert_eq!(listed("blue"), r#""two" "one""#);
    assert_eq!(listed("whale sky"), "");
    assert_eq!(listed("too small sky"), r#""two""#, "the result is too small to ask");
    assert_eq!(listed("OR NOT \"* ("), "", "words are never query syntax");
    bench.expect(0, &["prune", "--older-than", "0s"]);
    assert_eq!(listed("blue"), "");
    let many: Vec<String> = (0..2_000).map(|word| format!("w{word}")).collect();
    has(&bench.expect(1, &["runs", "list", "--search", &many.join(" ")]).1, &["2000 different words"]);
}

#[test]
fn runs_are_selected_by_parts_of_their_ids() {
    let bench = Bench::new();
    bench.asks("letter-1");
    bench.asks("letter-2");
    has(&bench.expect(0, &["runs", "show", "er-2"]).0, &["letter-2", "waiting_people", "approvals vote letter-2/"]);
    has(&bench.expect(1, &["runs", "show", "letter"]).1, &["several runs", "letter-1", "letter-2", "write more"]);
    has(&bench.expect(1, &["runs", "show", "lettre-1"]).1, &["no run `lettre-1`", "did you mean", "letter-"]);
    has(&bench.expect(1, &["runs", "show", "nothing-like-it"]).1, &["runs list --all"]);
    let store = bench.folder.path().join("absent.db");
    let arguments = ["runs", "list", "--store", &store.display().to_string()];
    has(&bench.expect(1, &arguments).1, &["there is no store", "--store"]);
    assert!(!store.exists(), "a store is not made just to look into it");
}

#[test]
fn a_trace_shows_branches_their_reasons_and_the_steps_not_executed() {
    let bench = Bench::new();
    bench.start("small", ("review", REVIEW), Dialect::Steps, &json(r#"{"input": "x", "amount": 5}"#), "{}");
    let (stdout, _) = bench.expect(0, &["runs", "trace", "small"]);
    has(&stdout, &["run small of review: completed", "✓   note (text)", "hello x", "tier (conditional)", "→ else"]);
    has(&stdout, &["metadata.amount", "✓     small (text)", "–     ask (human_in_the_loop): not chosen"]);
    let trace = bench.json(&["runs", "trace", "small", "--json"]);
    let tier = &trace["steps"][1];
    assert_eq!((&tier["step"], &tier["branch"]), (&"tier".into(), &"else".into()));
    let inner = tier["steps"].as_array().expect("this is a list");
    let stood: Vec<String> = inner.iter().map(|step| format!("{} {}", step["step"], step["status"])).collect();
    assert_eq!(stood, [r#""ask" "skipped""#, r#""small" "completed""#]);
}

#[test]
fn an_explanation_shows_operands_and_the_line() {
    let bench = Bench::new();
    bench.asks("letter");
    let (stdout, _) = bench.expect(0, &["runs", "explain", "letter", "tier"]);
    has(
        &stdout,
        &["review.yaml:4", "tier → then (branch 1 of 2)", "metadata.amount > 100 → ask  (review.yaml:6:9)", "is 250"],
    );
    has(&bench.expect(0, &["runs", "explain", "letter", "note"]).0, &["Output:", "No decisions"]);
    has(&bench.expect(1, &["runs", "explain", "letter", "nope"]).1, &["no step `nope`", "tier"]);
    has(&bench.expect(1, &["runs", "explain", "letter", "tier", "--iteration", "3"]).1, &["no such iteration"]);
}

#[test]
fn a_decision_is_evaluated_again_with_other_values() {
    let bench = Bench::new();
    bench.asks("letter");
    let explain = ["runs", "explain", "letter", "tier", "--with"];
    let with = |change: &'static str| [&explain[..], &[change]].concat();
    let (stdout, _) = bench.expect(0, &with("metadata.amount=50"));
    has(&stdout, &["Another branch", "It was: tier → then (branch 1 of 2)", "tier → else (branch 2 of 2)", "is 50"]);
    has(&stdout, &["review.yaml:6:9"]);
    has(&bench.expect(0, &with("metadata.amount=101")).0, &["The same branch", "is 101, more than 100"]);
    let (_, stderr) = bench.expect(1, &with("metadata.amout=50"));
    has(&stderr, &["does not read `metadata.amout`; did you mean `metadata.amount`?", "it reads metadata.amount"]);
    has(&bench.expect(1, &with("metadata.amount")).1, &["has no `=`"]);
    has(&bench.expect(1, &["runs", "explain", "letter", "note", "--with", "input=1"]).1, &["made no decision"]);
    let json = bench.json(&[&with("metadata.amount=50")[..], &["--json"]].concat());
    assert_eq!((&json[0]["was"]["chosen"], &json[0]["would_be"]["chosen"]), (&"then".into(), &"else".into()));
}

#[test]
fn a_transition_is_evaluated_again_with_other_values() {
    let document = "name: sign
states:
  initial: check
  check:
    command: echo ok
    transitions:
      - {when: 'inputs.amount > 100', goto: ask}
    on_success: done
  ask: {type: terminal, message: ask first}
  done: {type: terminal}
";
    let bench = Bench::new();
    bench.start("small", ("sign", document), Dialect::Machine, &json(r#"{"amount": 50}"#), "{}");
    bench.expect(0, &["runs", "resume", "small"]);
    has(&bench.expect(0, &["runs", "trace", "small"]).0, &["→ done (no condition matched; the state succeeded"]);
    let (stdout, _) = bench.expect(0, &["runs", "explain", "small", "check"]);
    has(&stdout, &["check → done (branch 2 of 3)", "✗ ask: inputs.amount > 100  (sign.yaml:7:17)", "is 50"]);
    let (stdout, _) = bench.expect(0, &["runs", "explain", "small", "check", "--with", "inputs.amount=250"]);
    has(&stdout, &["Another branch", "It was: check → done (branch 2 of 3)", "check → ask (branch 1 of 3)", "is 250"]);
}

#[test]
fn every_decision_of_a_step_or_a_selected_one_is_evaluated_again() {
    let document = "name: poll
states:
  initial: poll
  poll: {type: while, while: 'inputs.n > 0 && loop.Index < 2', body: [ask], on_complete: done}
  ask: {command: echo ok}
  done: {type: terminal}
";
    let bench = Bench::new();
    bench.start("rounds", ("poll", document), Dialect::Machine, &json(r#"{"n": 1}"#), "{}");
    bench.expect(0, &["runs", "resume", "rounds"]);
    let explain = ["runs", "explain", "rounds", "poll", "--with", "inputs.n=0"];
    let verdicts = ["Decision 1: Another branch", "Decision 2: Another branch", "Decision 3: The same branch"];
    has(&bench.expect(0, &explain).0, &verdicts);
    let (stdout, _) = bench.expect(0, &[&explain[..], &["--decision", "2"]].concat());
    has(&stdout, &["Another branch with these values. It was: poll → continue (round 2 of 100)"]);
    assert!(!stdout.contains("Decision 1"), "{stdout}");
    has(&bench.expect(1, &[&explain[..], &["--decision", "9"]].concat()).1, &["step `poll` has no decision 9"]);
    let unread = ["runs", "explain", "rounds", "poll", "--with", "inputs.m=0"];
    has(&bench.expect(1, &unread).1, &["does not read `inputs.m`", "it reads inputs.n, loop.Index"]);
    let trace = json(&bench.expect(0, &["runs", "trace", "rounds", "--json"]).0).to_string();
    assert!(trace.contains(r#""decisions":"#) && !trace.contains(r#""decided":["#), "{trace}");
}

#[test]
fn an_abandoned_run_is_resumed() {
    let bench = Bench::new();
    let flag = bench.folder.path().join("flag");
    let input = json(&format!(r#"{{"flag": "{}", "TOKEN_x": "canary-42"}}"#, flag.display()));
    bench.start("left", ("flaky", FLAKY), Dialect::Machine, &input, "{}");
    has(&bench.expect(0, &["runs", "list"]).0, &["abandoned"]);
    has(&bench.expect(0, &["doctor"]).0, &["warning  runs", "1 abandoned runs"]);
    has(
        &bench.expect(3, &["runs", "resume", "left"]).1,
        &["first", "`second` [exit_code]: second has failed", "runs trace left"],
    );
    has(&bench.expect(1, &["runs", "resume", "left"]).1, &["has ended: failed", "runs retry left"]);
    let (stdout, _) = bench.expect(0, &["runs", "explain", "left", "second"]);
    has(&stdout, &["flaky.yaml:6", "exit code 1", "second → bad", "the state failed (on_failure)"]);
    for command in ["show", "trace"] {
        let (stdout, stderr) = bench.expect(0, &["runs", command, "left"]);
        assert!(!stdout.contains("canary-42") && !stderr.contains("canary-42"), "{stdout}");
        has(&stdout, &["left"]);
    }
    has(&bench.expect(0, &["runs", "show", "left"]).0, &["***"]);
}

#[test]
fn a_retry_repeats_the_failed_call_in_a_new_run() {
    let bench = Bench::new();
    let flag = bench.folder.path().join("flag");
    let input = json(&format!(r#"{{"flag": "{}", "TOKEN_x": "t"}}"#, flag.display()));
    bench.start("flaky", ("flaky", FLAKY), Dialect::Machine, &input, "{}");
    bench.expect(3, &["runs", "resume", "flaky"]);
    bench.expect(3, &["runs", "retry", "flaky", "--id", "again-1"]);
    std::fs::write(&flag, "").expect("there is room");
    let (stdout, stderr) = bench.expect(0, &["runs", "retry", "flaky", "--id", "again-2"]);
    has(&stdout, &["all is well"]);
    has(&stderr, &["again-2", "continues from event", "of run `flaky`"]);
    let one = |trace: &serde_json::Value| trace["steps"][0]["attempts"].as_array().map(Vec::len);
    assert_eq!(one(&bench.json(&["runs", "trace", "again-2", "--json"])), Some(1), "what went well is not done again");
    has(&bench.expect(1, &["runs", "retry", "flaky", "--id", "again-2"]).1, &["run `again-2` already exists"]);
    has(&bench.expect(1, &["runs", "retry", "again-2"]).1, &["has not failed", "runs fork"]);
    let report = bench.json(&["runs", "fork", "flaky", "--at", "second", "--json"]);
    assert_eq!(report["status"], "completed");
    has(&bench.expect(1, &["runs", "fork", "flaky", "--at", "third"]).1, &["no step `third`"]);
    has(&bench.expect(1, &["runs", "fork", "flaky", "--at", "done"]).1, &["has not begun"]);
}

#[test]
fn called_runs_are_part_of_the_trace() {
    let bench = Bench::new();
    bench.start("outer", ("caller", CALLER), Dialect::Machine, &json("{}"), "{}");
    bench.expect(0, &["runs", "resume", "outer"]);
    let (stdout, _) = bench.expect(0, &["runs", "trace", "outer"]);
    has(&stdout, &["run outer of caller: completed", "call (call_workflow)", "of callee: completed", "speak"]);
    let trace = bench.json(&["runs", "trace", "outer", "--json"]);
    assert_eq!(trace["steps"][0]["runs"][0]["part"], "callee");
    has(&bench.expect(0, &["runs", "show", "outer"]).0, &["CALLED RUN", "callee"]);
    let listed = bench.json(&["runs", "list", "--all", "--json"]);
    assert_eq!(listed.as_array().map(Vec::len), Some(2));
}

#[test]
fn a_run_is_cancelled() {
    let bench = Bench::new();
    bench.asks("letter");
    has(&bench.expect(0, &["runs", "cancel", "letter", "--reason", "not today"]).1, &["is cancelled"]);
    has(&bench.expect(0, &["runs", "show", "letter"]).0, &["cancelled"]);
    has(&bench.expect(0, &["runs", "trace", "letter"]).0, &["cancel: not today"]);
    has(&bench.expect(1, &["runs", "cancel", "letter"]).1, &["has ended already: cancelled"]);
    has(&bench.expect(0, &["approvals", "list"]).1, &["Nothing waits"]);
}

#[test]
fn watching_an_ended_run_shows_all_its_steps() {
    let bench = Bench::new();
    bench.start("small", ("review", REVIEW), Dialect::Steps, &json(r#"{"input": "x", "amount": 5}"#), "{}");
    has(&bench.expect(0, &["runs", "watch", "small"]).1, &["note (text)", "has ended: completed"]);
    let (stdout, _) = bench.expect(0, &["runs", "watch", "small", "--json"]);
    assert_eq!(stdout.lines().count(), 3, "{stdout}");
}

#[test]
fn a_run_that_waits_for_people_is_exit_5() {
    let bench = Bench::new();
    bench.asks("letter");
    has(
        &bench.expect(5, &["runs", "resume", "letter"]).1,
        &["waiting for approvals", "To answer: branchpoint approvals vote"],
    );
    let (stdout, _) = bench.expect(5, &["runs", "fork", "letter", "--at", "ask", "--id", "copy", "--json"]);
    has(&stdout, &["\"copy\"", "waiting_people"]);
    has(&bench.expect(0, &["approvals", "list"]).0, &["letter/", "copy/"]);
}

#[test]
fn a_run_is_watched_while_another_process_executes_it() {
    let bench = Bench::new();
    let input = json(r#"{"flag": "absent", "TOKEN_x": "canary-42"}"#);
    bench.start("left", ("flaky", FLAKY), Dialect::Machine, &input, "{}");
    let mut watch = crate::quiet(env!("CARGO_BIN_EXE_branchpoint"));
    watch.current_dir(bench.folder.path()).args(["runs", "watch", "left"]);
    watch.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let watch = watch.spawn().expect("the program starts");
    bench.expect(3, &["runs", "resume", "left"]);
    let watched = watch.wait_with_output().expect("it ends with the run");
    let report = String::from_utf8_lossy(&watched.stderr).into_owned();
    assert_eq!(watched.status.code(), Some(3), "{report}");
    has(&report, &["first (command)", "second (command)", "has ended: failed"]);
}

#[test]
fn watching_ends_when_the_run_waits() {
    let bench = Bench::new();
    bench.asks("letter");
    let (_, stderr) = bench.expect(5, &["runs", "watch", "letter"]);
    has(&stderr, &["Run `letter` waits for people", "--keep", "branchpoint approvals vote letter/"]);
    let later = "name: later\nsteps:\n  - {id: pause, step_type: wait, duration: 1h}\n";
    bench.start("later", ("later", later), Dialect::Steps, &json(r#"{"input": "x"}"#), "{}");
    has(&bench.expect(5, &["runs", "watch", "later"]).1, &["Run `later` waits until"]);
}

#[test]
fn the_command_that_continues_a_run_is_quoted_for_a_shell() {
    let bench = Bench::new();
    bench.asks("it's $(one)");
    let (_, stderr) = bench.expect(1, &["runs", "retry", "it's $(one)"]);
    has(&stderr, &[r"branchpoint runs resume 'it'\''s $(one)'"]);
}
