//! `branchpoint approvals`.

use std::sync::Arc;

use branchpoint_expr::{Dialect, Value};
use branchpoint_host::host::{DrivenRuns, Host};
use branchpoint_host::{CallLimits, Driver};
use branchpoint_runners::{Answer, AnswerFuture, Call, CancellationToken, Runner};

use super::{Bench, has, json};

#[test]
fn a_run_continues_after_enough_votes_and_the_trace_shows_the_voters() {
    let bench = Bench::new();
    bench.asks("letter");
    has(&bench.expect(0, &["approvals", "list"]).0, &["letter/", "review", "ask", "ada, bob"]);
    let (stdout, stderr) = bench.expect(0, &["approvals", "approve", "letter", "--as", "ada", "--comment", "fine"]);
    has(&stderr, &["Recorded ada's vote (1 of 2).", "waiting for approvals"]);
    assert_eq!(stdout, "");
    has(
        &bench.expect(0, &["approvals", "show", "letter"]).0,
        &["Send hello the letter?", "ada approve \"fine\"", "2 votes"],
    );
    has(&bench.expect(0, &["approvals", "list"]).0, &["  bob"]);
    assert_eq!(bench.json(&["approvals", "list", "--mine", "--as", "ada", "--json"]), serde_json::json!([]));
    has(&bench.expect(0, &["approvals", "list", "--mine", "--as", "ada"]).1, &["Nothing waits for ada."]);
    assert_eq!(bench.json(&["runs", "list", "--json"])[0]["waits_for"], "ask: bob", "ada has voted");
    has(&bench.expect(0, &["approvals", "show", "letter/ask"]).0, &["Send hello the letter?"]);
    has(&bench.expect(1, &["approvals", "approve", "letter", "--as", "ada"]).1, &["already voted for `approve`"]);
    has(
        &bench.expect(1, &["approvals", "approve", "letter", "--as", "eve"]).1,
        &["Rejected: eve is not an approver (approvers: ada, bob)"],
    );
    has(&bench.expect(1, &["approvals", "vote", "letter", "Approve", "--as", "bob"]).1, &["unknown choice", "deny"]);
    has(&bench.expect(0, &["approvals", "approve", "letter", "--as", "bob"]).1, &["Run `letter` completed"]);
    let (stdout, _) = bench.expect(0, &["runs", "trace", "letter"]);
    has(&stdout, &["ask → approve: 2 votes for `approve` (ada, bob), 2 required", "from ada: vote"]);
    has(&bench.expect(1, &["approvals", "approve", "letter", "--as", "bob"]).1, &["no open approval", "completed"]);
}

/// Asks ada and bob for a minute.
const BRIEF: &str = r#"name: brief
steps:
  - {id: ask, step_type: human_in_the_loop, prompt_template: "Now?", timeout_seconds: 60, timeout_outcome: emit_timeout}
  - {id: end, step_type: text, template: "{{step.ask.output.outcome}}"}
"#;

#[test]
fn an_overdue_approval_is_marked_and_expires_when_a_process_opens_the_run() {
    let bench = Bench::new();
    for id in ["late", "other"] {
        bench.start_ago(7_200_000, id, ("brief", BRIEF), Dialect::Steps, &json(r#"{"input": "x"}"#), "{}");
    }
    has(&bench.expect(0, &["approvals", "list"]).0, &["overdue by 1 h 59 min"]);
    has(&bench.expect(0, &["approvals", "show", "late"]).0, &[", overdue"]);
    assert_eq!(bench.json(&["approvals", "show", "late", "--json"])["overdue"], true);
    has(&bench.expect(0, &["runs", "list"]).0, &["ask: ada, bob (overdue)"]);
    has(
        &bench.expect(1, &["approvals", "approve", "late", "--as", "ada"]).1,
        &["Rejected: the deadline of `late/", "passed at"],
    );
    has(&bench.expect(0, &["runs", "show", "late"]).0, &["completed", "timeout"]);
    has(&bench.expect(1, &["approvals", "approve", "late", "--as", "ada"]).1, &["the deadline of `late/", "passed at"]);
    assert_eq!(bench.expect(0, &["runs", "resume", "other"]).0, "timeout\n");
}

#[test]
fn the_user_comes_from_the_environment() {
    let bench = Bench::new();
    bench.asks("letter");
    let environment = [("BRANCHPOINT_USER", "bob")];
    let output = crate::run_in(bench.folder.path(), &["approvals", "reject", "letter", "--json"], "", &environment);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("this is JSON");
    assert_eq!((&report["taken"], &report["status"]), (&true.into(), &"waiting_people".into()));
    let shown = bench.json(&["approvals", "show", "letter", "--json"]);
    assert_eq!((&shown["votes"][0]["user"], &shown["votes"][0]["choice"]), (&"bob".into(), &"deny".into()));
}

#[test]
fn only_the_owner_and_admins_withdraw_an_approval() {
    let bench = Bench::new();
    bench.asks("letter");
    has(&bench.expect(1, &["approvals", "cancel", "letter", "--as", "eve"]).1, &["eve may not", "ada, bob"]);
    has(&bench.expect(0, &["approvals", "cancel", "letter", "--as", "ada", "--reason", "late"]).1, &["completed"]);
    let trace = bench.json(&["runs", "trace", "letter", "--json"]).to_string();
    has(&trace, &["cancelled", "cancellation_reason", "late"]);
}

#[test]
fn approvals_of_graphs_are_answered() {
    let bench = Bench::new();
    let graph = r#"{"nodes": [
        {"id": "start", "type": "start", "data": {"initialInput": "the text"}},
        {"id": "review", "type": "approval", "data": {"prompt": "Publish this?"}},
        {"id": "end", "type": "end"}],
      "connections": [
        {"source": "start", "target": "review", "sourceHandle": "output", "targetHandle": "input"},
        {"source": "review", "target": "end", "sourceHandle": "approve", "targetHandle": "input"}]}"#;
    bench.start("g1", ("publish", graph), Dialect::Graph, &json("null"), "{}");
    has(&bench.expect(0, &["approvals", "list"]).0, &["g1/review", "publish", "anybody"]);
    has(&bench.expect(0, &["approvals", "show", "g1"]).0, &["Publish this?", "approve, reject"]);
    has(
        &bench.expect(0, &["runs", "show", "g1"]).0,
        &["review: anybody", "Publish this?", "branchpoint approvals vote g1/review approve"],
    );
    assert_eq!(bench.json(&["runs", "show", "g1", "--json"])["approvals"][0]["approval"], "g1/review");
    has(&bench.expect(1, &["approvals", "vote", "g1", "perhaps"]).1, &["accepts only approve or reject"]);
    has(&bench.expect(1, &["approvals", "cancel", "g1", "--as", "ada"]).1, &["cannot be cancelled"]);
    has(&bench.expect(1, &["approvals", "approve", "g1/other"]).1, &["g1/review"]);
    has(&bench.expect(0, &["approvals", "approve", "g1", "--as", "ada", "--comment", "ok"]).1, &["Run `g1` completed"]);
    has(&bench.expect(0, &["runs", "trace", "g1"]).0, &["from ada: resume"]);
}

/// A runner that performs no call.
struct Nowhere;

impl Runner for Nowhere {
    fn perform<'c>(&'c self, _: &'c Call, _: &'c CancellationToken) -> AnswerFuture<'c> {
        Box::pin(std::future::ready(Answer::failed("nowhere", "no runner is configured")))
    }

    fn fact(&self, _: &str) -> Value {
        Value::Null
    }
}

#[test]
fn a_vote_reaches_the_process_that_executes_the_run() {
    let bench = Bench::new();
    bench.asks("letter");
    let now_ms = jiff::Timestamp::now().as_millisecond();
    let host = Host::new(bench.store(), "worker", DrivenRuns::Requested, Arc::new(|_| Value::Null), now_ms);
    let host = host.expect("a host can be made");
    let run = host.store().run("letter").expect("the store can be read").expect("it is there").run;
    let worker = Driver::new(host, Arc::new(Nowhere), CallLimits::default());
    worker.resume(run).expect("the worker lives").expect("no other process drives the run");
    has(&bench.expect(0, &["runs", "show", "letter"]).0, &["driven by", "(worker)"]);
    has(&bench.expect(0, &["doctor"]).0, &["(worker) since"]);
    has(&bench.expect(1, &["runs", "resume", "letter"]).1, &["another process owns run `letter`", "runs watch letter"]);
    has(&bench.expect(0, &["approvals", "approve", "letter", "--as", "ada"]).1, &["resumes in another process"]);
    has(&bench.expect(1, &["approvals", "approve", "letter", "--as", "ada"]).1, &["already voted"]);
    has(&bench.expect(0, &["runs", "cancel", "letter"]).1, &["letter"]);
    has(&bench.expect(0, &["runs", "show", "letter"]).0, &["cancelled"]);
    worker.stop(std::time::Duration::ZERO).expect("the worker ends");
}
