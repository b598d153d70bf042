//! Whole runs: start, cancellation, failure, limits.

use branchpoint_core::ir::builder::{ROOT, ScopeSpec};
use branchpoint_core::ir::{Failure, Limits, Status};
use branchpoint_core::{Event, Rejected, Stamp, State, Usage, advance};
use branchpoint_expr::{Object, Value};

use crate::host::{Host, Make, retry};

fn start() -> Event {
    Event::Start {
        input: Value::Null,
        facts: Object::default(),
        depth: 0,
        max_ops: 0,
        budget: branchpoint_core::ir::BudgetLimits::default(),
    }
}

#[test]
fn the_first_event_is_the_start_and_no_other_is() {
    let mut make = Make::new();
    let work = make.effect("work", make.end);
    let program = make.program(work);
    let early = advance(&program, &mut State::new(), &Stamp::default(), Event::Continue);
    assert_eq!(early, Err(Rejected::NotStarted));
    let mut host = Host::start(program);
    assert_eq!(host.hand(start()), Err(Rejected::StartedAlready));
}

#[test]
fn a_start_carries_the_facts_that_the_program_names() {
    let mut make = Make::new();
    make.b.fact("account");
    let program = make.program_of_end();
    let started = advance(&program, &mut State::new(), &Stamp::default(), start());
    assert_eq!(started, Err(Rejected::MissingFact("account".into())));
}

#[test]
fn a_finished_run_accepts_nothing() {
    let mut host = Host::start(Make::new().program_of_end());
    for event in [start(), Event::Continue, Event::Cancel { reason: None }] {
        assert_eq!(host.hand(event), Err(Rejected::Ended));
    }
}

#[test]
fn a_cancel_withdraws_everything() {
    let mut make = Make::new();
    let work = make.effect("work", make.end);
    let mut host = make.run(work);
    host.hand(Event::Cancel { reason: Some("enough".into()) }).unwrap();
    assert_eq!(host.withdrawn, ["work"]);
    let (status, result) = host.end.unwrap();
    assert_eq!((status, result.get("reason")), (Status::Cancelled, Some(&Value::from("enough"))));
}

/// A run with a cleanup.
fn with_cleanup() -> Host {
    let mut make = Make::new();
    let result = make.b.read(make.v);
    let close = make.b.close(Status::Cancelled, result);
    let cleanup = make.effect("cleanup", close);
    make.b.on_cancel(cleanup);
    let work = make.effect("work", make.end);
    let mut host = make.run(work);
    host.hand(Event::Cancel { reason: None }).unwrap();
    assert_eq!((host.flying(), &host.withdrawn[..]), (vec!["cleanup"], &["work".to_owned()][..]));
    host
}

#[test]
fn a_cancelled_run_executes_its_cleanup() {
    let mut host = with_cleanup();
    host.answer("cleanup", "bye");
    assert_eq!(host.end, Some((Status::Cancelled, Value::from("bye"))));
}

#[test]
fn a_second_cancellation_ends_the_cleanup() {
    let mut host = with_cleanup();
    host.hand(Event::Cancel { reason: None }).unwrap();
    assert_eq!(host.withdrawn, ["work", "cleanup"]);
    assert_eq!(host.end.unwrap().0, Status::Cancelled);
}

#[test]
fn the_failure_of_a_run_is_handled_once() {
    let mut make = Make::new();
    let result = make.b.read(make.r);
    let close = make.b.close(Status::Failed, result);
    let cleanup = make.effect("cleanup", close);
    let fail = Failure { to: cleanup, error: Some(make.r) };
    make.b.root(ScopeSpec { fail: Some(fail), ..ScopeSpec::default() });
    let work = make.effect("work", make.end);
    let program = make.program(work);
    let mut host = Host::start(program.clone());
    host.fail("work", false);
    host.answer("cleanup", 1);
    host.failed_with("boom");
    let mut host = Host::start(program);
    host.fail("work", false);
    host.fail("cleanup", false);
    host.failed_with("boom");
}

#[test]
fn a_retried_run_keeps_its_input() {
    let mut make = Make::new();
    make.b.root(ScopeSpec { retry: Some(retry(2, 10)), time_limit_ms: Some(50), ..ScopeSpec::default() });
    let count = make.b.slot(ROOT, "count", Some(Value::Int(0)));
    make.b.name(ROOT, &["count"], count);
    let input = make.b.input();
    make.b.name(ROOT, &["input"], input);
    let work = make.effect("work", make.end);
    let show = make.set(ROOT, make.v, "[input, count]", work);
    let start = make.set(ROOT, count, "count + 1", show);
    let mut host = make.run(start);
    host.fail("work", false);
    host.pass(10);
    assert_eq!(host.inputs, ["work [\"input\",1]", "work [\"input\",1]"]);
    host.pass(40);
    assert_eq!(host.withdrawn, ["work"]);
    host.failed_with("timeout");
}

#[test]
fn a_cancellation_between_attempts_of_the_run_prevents_the_next_attempt() {
    let mut make = Make::new();
    make.b.root(ScopeSpec { retry: Some(retry(2, 10)), ..ScopeSpec::default() });
    let cleanup = make.effect("cleanup", make.end);
    make.b.on_cancel(cleanup);
    let work = make.effect("work", make.end);
    let mut host = make.run(work);
    host.fail("work", false);
    host.hand(Event::Cancel { reason: None }).unwrap();
    assert!(host.timers.is_empty(), "no attempt follows");
    assert_eq!(host.flying(), ["cleanup"]);
    host.fail("cleanup", false);
    let (status, _) = host.end.expect("it has ended");
    assert_eq!(status, Status::Cancelled, "whatever the outcome of its cleanup");
}

/// Effects one after the other, without end, under these limits.
fn limited(limits: Limits) -> Host {
    let mut make = Make::new();
    make.b.limits(limits);
    let again = make.b.reserve();
    let input = make.b.read(make.v);
    let work = make.b.effect(crate::host::effect("work"));
    make.b.at(again).do_(work, input, None, again, None);
    make.run(again)
}

#[test]
fn effects_are_limited() {
    let mut host = limited(Limits { effects: 2, ..Limits::default() });
    host.answer("work", 1);
    assert!(host.end.is_none());
    host.answer("work", 1);
    host.failed_with("exhausted");
}

#[test]
fn ops_are_limited() {
    let mut host = limited(Limits { ops: 3, ..Limits::default() });
    for _ in 0..2 {
        host.answer("work", 1);
    }
    assert!(host.end.is_none());
    host.answer("work", 1);
    host.failed_with("op_limit");
}

#[test]
fn tokens_and_cost_are_limited_before_the_next_effect() {
    for limits in [Limits { tokens: 10, ..Limits::default() }, Limits { cost_micros: 10, ..Limits::default() }] {
        let mut host = limited(limits);
        for (used, ended) in [(10, false), (1, true)] {
            let (effect, attempt) = (*host.flights.keys().next().unwrap(), 1);
            let usage = Usage { tokens: used, cost_micros: used };
            host.hand(Event::Settled { effect, attempt, result: Ok(Value::Null), usage }).unwrap();
            assert_eq!(host.end.is_some(), ended);
        }
        host.failed_with("exhausted");
    }
}

#[test]
fn the_time_of_a_run_is_limited() {
    let mut host = limited(Limits { wall_ms: 500, ..Limits::default() });
    host.pass(499);
    assert!(host.end.is_none());
    host.pass(1);
    assert_eq!(host.withdrawn, ["work"]);
    host.failed_with("exhausted");
}

impl Make {
    fn program_of_end(mut self) -> branchpoint_core::ir::Program {
        self.b.begin(ROOT, &[self.end]);
        self.b.finish().unwrap()
    }
}

/// A run at a depth that calls another run, with a nesting limit of two.
fn caller(depth: u32) -> Host {
    let mut make = Make::new();
    make.b.limits(Limits { depth: 2, ..Limits::default() });
    let fail = Failure { to: make.end, error: Some(make.r) };
    let call = make.effect_with(crate::host::effect("run"), make.end, Some(fail));
    let program = make.program(call);
    let start = Event::Start {
        input: Value::Null,
        facts: Object::default(),
        depth,
        max_ops: 0,
        budget: branchpoint_core::ir::BudgetLimits::default(),
    };
    Host::start_with(program, start)
}

#[test]
fn the_nesting_of_runs_is_limited() {
    assert_eq!(caller(1).flying(), ["run"]);
    let host = caller(2);
    assert!(host.flying().is_empty(), "the call is not made");
    let (status, error) = host.end.expect("the error is handled");
    let kind = error.get("kind").and_then(Value::as_str);
    assert_eq!((status, kind), (Status::Completed, Some("call_depth")));
}

#[test]
fn an_unfinished_event_is_finished_before_other_events() {
    let mut make = Make::new();
    make.b.fuel(1);
    let last = make.set(ROOT, make.r, "2", make.end);
    let first = make.set(ROOT, make.r, "1", last);
    let mut host = make.run(first);
    assert!(host.more);
    let payload = Value::Null;
    let signal = Event::Signal { name: "go".into(), payload, sender: None, key: None };
    assert_eq!(host.hand(signal), Err(Rejected::Unfinished));
    host.now_ms += 1;
    assert_eq!(host.hand(Event::Continue), Err(Rejected::Unfinished), "at its own time");
    host.now_ms -= 1;
    while host.more {
        host.hand(Event::Continue).expect("it goes on");
    }
    host.completed_with("2");
}

#[test]
fn a_program_of_unknown_semantics_is_rejected() {
    let mut program = Make::new().program_of_end();
    program.semantics = 99;
    let refused = advance(&program, &mut State::new(), &Stamp::default(), start());
    assert_eq!(refused, Err(Rejected::UnknownSemantics(99)));
}

#[test]
fn budgets_apply_to_retries() {
    let mut make = Make::new();
    make.b.limits(Limits { tokens: 10, ..Limits::default() });
    let work = branchpoint_core::ir::Effect { retry: Some(retry(100, 0)), ..crate::host::effect("work") };
    let work = make.effect_with(work, make.end, None);
    let mut host = make.run(work);
    let (effect, attempt) = host.find("work");
    let failed = branchpoint_core::AttemptError {
        kind: "cut".into(),
        message: "no answer".into(),
        retry: branchpoint_core::RetryHint::Soon,
        answered: false,
    };
    let usage = Usage { tokens: 11, cost_micros: 0 };
    host.hand(Event::Settled { effect, attempt, result: Err(failed), usage }).expect("it is in flight");
    host.failed_with("exhausted");
}
