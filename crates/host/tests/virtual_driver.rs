//! The virtual driver: when the clock advances, and in which order calls, timers and requests are processed.

mod programs;

use branchpoint_core::effect::Kind;
use branchpoint_core::ir::builder::{Builder, ROOT, ScopeSpec, effect};
use branchpoint_core::ir::{Arm, Backoff, Effect, Exit, Failure, Program, Retry, Status};
use branchpoint_core::{NoteKind, Rejected, State, VoteRejection, replay};
use branchpoint_expr::{Dialect, Object, Value};
use branchpoint_host::{Script, VirtualDriver};
use programs::{json, one_call};

const START_MS: i64 = 1_000;

fn retry(max_attempts: u32, delay_ms: u64) -> Retry {
    Retry { max_attempts, delay_ms, backoff: Backoff::Linear, max_delay_ms: 0, jitter: 0.0 }
}

fn script(text: &str) -> Script {
    Script::read(&json(text)).expect("this is a script")
}

fn started(program: &Program) -> VirtualDriver<'_> {
    let mut run = VirtualDriver::new(program, START_MS);
    run.start(Value::Null, Object::default()).expect("a run can start");
    run
}

#[track_caller]
fn check(program: &Program, entries: &str, status: Status, result: &str, took_ms: i64) {
    let mut run = started(program);
    let mut script = script(&format!(r#"{{"ask": {entries}}}"#));
    run.run_until_idle(&mut |call| script.simulate(call));
    let got = run.result().map(|result| result.get("kind").unwrap_or(result).to_string());
    assert_eq!((run.status(), got.as_deref(), run.now_ms() - START_MS), (status, Some(result), took_ms));
    let (state, notes) = replay(program, State::new(), run.journal()).expect("the journal can be folded again");
    assert_eq!((&state, notes.as_slice()), (run.state(), run.notes()), "the journal is the truth");
}

#[test]
fn the_clock_advances_over_pauses_before_retries() {
    let program = one_call(Effect { retry: Some(retry(3, 1_000)), ..effect(Kind::Model) });
    check(&program, r#"["at once"]"#, Status::Completed, "at once", 0);
    check(&program, r#"[{"$error": "no"}, {"$error": "no"}, "third"]"#, Status::Completed, "third", 3_000);
    check(&program, r#"[{"$error": "no", "$kind": "odd"}]"#, Status::Failed, "odd", 3_000);
}

#[test]
fn a_call_that_hangs_takes_the_limit_of_its_attempt() {
    let program = one_call(Effect { attempt_limit_ms: Some(500), retry: Some(retry(2, 0)), ..effect(Kind::Model) });
    check(&program, r#"[{"$hang": true}, "late"]"#, Status::Completed, "late", 500);
    check(&program, r#"[{"$hang": true}]"#, Status::Failed, "timeout", 1_000);
}

#[test]
fn a_call_without_an_entry_fails_and_is_not_repeated() {
    let program = one_call(Effect { retry: Some(retry(3, 1_000)), ..effect(Kind::Model) });
    let mut run = started(&program);
    run.run_until_idle(&mut |call| Script::default().simulate(call));
    assert_eq!((run.status(), run.now_ms()), (Status::Failed, START_MS));
}

#[test]
fn scripts_can_answer_with_the_request() {
    check(&one_call(effect(Kind::Model)), r#"{"$prompt": true}"#, Status::Completed, "hello", 0);
    let sent = r#"{"method":null,"url":"https://a","headers":{},"body":null}"#;
    check(&one_call(effect(Kind::Http)), r#"{"$request": true}"#, Status::Completed, sent, 0);
    check(&one_call(effect(Kind::Http)), r#"{"$status": 500}"#, Status::Failed, "http_status", 0);
    check(&one_call(effect(Kind::Process)), r#"{"$exit": 0, "stdout": "x"}"#, Status::Completed, "x", 0);
    check(&one_call(effect(Kind::Tool)), "[[1, 2]]", Status::Completed, "[1,2]", 0);
}

/// Waits a second, then requests an approval with a timeout of two seconds.
fn waits_and_asks() -> Program {
    let mut b = Builder::new();
    let outcome = b.slot(ROOT, "outcome", None);
    b.name(ROOT, &["outcome"], outcome);
    let result = b.expr(ROOT, "outcome.outcome", Dialect::Session).expect("this compiles");
    let end = b.close(Status::Completed, result);
    let spec = r#"{"recipients": ["u1"], "choices": ["yes"], "timeout_ms": 2000, "reminder_ms": 500}"#;
    let spec = b.value(json(spec));
    let ask = b.wait([Arm::Request { spec, into: Some(outcome), next: end, expired: None }], None);
    let delay_ms = b.value(1_000);
    let wait = b.wait([Arm::After { delay_ms, next: ask }], None);
    b.begin(ROOT, &[wait]);
    b.finish().expect("the program is valid")
}

#[test]
fn waits_and_requests_stay_until_the_clock_is_advanced() {
    let program = waits_and_asks();
    let mut run = started(&program);
    let mut empty = Script::default();
    run.run_until_idle(&mut |call| empty.simulate(call));
    assert_eq!((run.status(), run.now_ms()), (Status::WaitingTimer, START_MS));
    run.advance_clock(1_700, &mut |call| empty.simulate(call));
    assert_eq!((run.status(), run.now_ms()), (Status::WaitingPeople, START_MS + 1_700));
    let requested = &run.requested_approvals()[0];
    assert_eq!((requested.requested_ms, &requested.reminded_ms[..], requested.is_open), (2_000, &[2_500][..], true));
    let request = requested.request;
    assert_eq!(run.vote(request, "u2", "yes", None), Err(Rejected::Vote(VoteRejection::NotRecipient)));
    run.vote(request, "u1", "yes", Some("fine")).expect("the vote is accepted");
    run.run_until_idle(&mut |call| empty.simulate(call));
    assert_eq!((run.status(), run.result()), (Status::Completed, Some(&Value::from("yes"))));
    assert!(!run.requested_approvals()[0].is_open);
}

#[test]
fn requests_time_out_and_can_be_cancelled() {
    let program = waits_and_asks();
    let mut empty = Script::default();
    let mut run = started(&program);
    run.advance_clock_to(START_MS + 3_000, &mut |call| empty.simulate(call));
    assert_eq!(run.result(), Some(&Value::from("timeout")));
    let mut run = started(&program);
    run.advance_clock_to(START_MS + 1_000, &mut |call| empty.simulate(call));
    run.cancel_request(run.requested_approvals()[0].request, Some("why not")).expect("it is open");
    run.run_until_idle(&mut |call| empty.simulate(call));
    assert_eq!(run.result(), Some(&Value::from("cancelled")));
    let mut run = started(&program);
    run.cancel(Some("enough")).expect("it runs");
    assert_eq!(run.status(), Status::Cancelled);
}

#[test]
fn the_clock_advances_to_the_time_limit_around_a_hanging_call() {
    let mut b = Builder::new();
    let error = b.slot(ROOT, "error", None);
    let result = b.read(error);
    let end = b.close(Status::Failed, result);
    let spec = ScopeSpec {
        time_limit_ms: Some(700),
        next: Some(end),
        fail: Some(Failure { to: end, error: Some(error) }),
        ..ScopeSpec::default()
    };
    let scope = b.scope(ROOT, spec);
    let step = b.step("ask", "ask", None, (0, 0));
    let effect = b.effect(Effect { step: Some(step), ..effect(Kind::Tool) });
    let done = b.leave(scope, Exit::Done(None));
    let nothing = b.value(Value::Null);
    let ask = b.do_(effect, nothing, None, done, None);
    b.begin(scope, &[ask]);
    let enter = b.enter(scope);
    b.begin(ROOT, &[enter]);
    check(&b.finish().expect("the program is valid"), r#"[{"$hang": true}]"#, Status::Failed, "timeout", 700);
}

#[test]
fn answers_are_distinguished_by_the_iteration_path() {
    let mut b = Builder::new();
    let answers = b.slot(ROOT, "answers", None);
    let result = b.read(answers);
    let end = b.close(Status::Completed, result);
    let scope = b.scope(ROOT, ScopeSpec { into: Some(answers), next: Some(end), ..ScopeSpec::default() });
    let (item, index) = (b.slot(scope, "item", None), b.slot(scope, "index", None));
    let answer = b.slot(scope, "answer", None);
    let step = b.step("ask", "ask", None, (0, 0));
    let effect = b.effect(Effect { step: Some(step), ..effect(Kind::Tool) });
    let value = b.read(answer);
    let done = b.leave(scope, Exit::Done(Some(value)));
    let input = b.read(item);
    let ask = b.do_(effect, input, Some(answer), done, None);
    let items = b.value(json("[7, 8]"));
    b.each(scope, items, item, index, ask);
    let enter = b.enter(scope);
    b.begin(ROOT, &[enter]);
    let program = b.finish().expect("the program is valid");
    let entries = r#"{"$by_path": {"1": ["second"], "0": ["first"]}}"#;
    check(&program, entries, Status::Completed, r#"["first","second"]"#, 0);
    let mut run = started(&program);
    let mut script = script(&format!(r#"{{"ask": {entries}}}"#));
    run.run_until_idle(&mut |call| script.simulate(call));
    let attempts = run.notes().iter().filter(|note| matches!(note.kind, NoteKind::Attempt { .. })).count();
    assert_eq!(attempts, 2);
}

#[test]
fn invalid_scripts_are_rejected() {
    for (text, expect) in [
        ("[1]", "a script must be an object"),
        (r#"{"a": []}"#, "no answer for step `a`"),
        (r#"{"a": {"$by_path": []}}"#, "`$by_path` of step `a`"),
    ] {
        let rejection = Script::read(&json(text)).expect_err("this is not a script").to_string();
        assert!(rejection.contains(expect), "{text}: {rejection}");
    }
}
