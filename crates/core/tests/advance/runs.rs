//! Whole runs: start, cancel, failure, bounds.

use branchpoint_core::ir::builder::{ROOT, ScopeSpec};
use branchpoint_core::ir::{Failure, Limits, Status};
use branchpoint_core::{Event, Rejected, Stamp, State, Usage, advance};
use branchpoint_expr::{Object, Value};

use crate::host::{Host, Make, retry};

fn start() -> Event {
    Event::Start { input: Value::Null, facts: Object::default(), depth: 0, max_ops: 0 }
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

/// A run with a last word.
fn last_word() -> Host {
    let mut make = Make::new();
    let result = make.b.read(make.v);
    let close = make.b.close(Status::Cancelled, result);
    let farewell = make.effect("farewell", close);
    make.b.on_cancel(farewell);
    let work = make.effect("work", make.end);
    let mut host = make.run(work);
    host.hand(Event::Cancel { reason: None }).unwrap();
    assert_eq!((host.flying(), &host.withdrawn[..]), (vec!["farewell"], &["work".to_owned()][..]));
    host
}

#[test]
fn a_cancelled_run_may_say_its_last_word() {
    let mut host = last_word();
    host.answer("farewell", "bye");
    assert_eq!(host.end, Some((Status::Cancelled, Value::from("bye"))));
}

#[test]
fn a_second_cancel_does_not_wait_for_it() {
    let mut host = last_word();
    host.hand(Event::Cancel { reason: None }).unwrap();
    assert_eq!(host.withdrawn, ["work", "farewell"]);
    assert_eq!(host.end.unwrap().0, Status::Cancelled);
}

#[test]
fn the_failure_of_a_run_is_handled_once() {
    let mut make = Make::new();
    let result = make.b.read(make.r);
    let close = make.b.close(Status::Failed, result);
    let farewell = make.effect("farewell", close);
    let fail = Failure { to: farewell, error: Some(make.r) };
    make.b.root(ScopeSpec { fail: Some(fail), ..ScopeSpec::default() });
    let work = make.effect("work", make.end);
    let program = make.program(work);
    let mut host = Host::start(program.clone());
    host.fail("work", false);
    host.answer("farewell", 1);
    host.failed_with("boom");
    let mut host = Host::start(program);
    host.fail("work", false);
    host.fail("farewell", false);
    host.failed_with("boom");
}

#[test]
fn a_run_that_is_tried_again_keeps_what_it_was_started_with() {
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
fn a_cancel_between_attempts_of_the_run_is_not_undone_by_the_next() {
    let mut make = Make::new();
    make.b.root(ScopeSpec { retry: Some(retry(2, 10)), ..ScopeSpec::default() });
    let farewell = make.effect("farewell", make.end);
    make.b.on_cancel(farewell);
    let work = make.effect("work", make.end);
    let mut host = make.run(work);
    host.fail("work", false);
    host.hand(Event::Cancel { reason: None }).unwrap();
    assert!(host.timers.is_empty(), "no attempt is to come");
    assert_eq!(host.flying(), ["farewell"]);
    host.fail("farewell", false);
    let (status, _) = host.end.expect("it has ended");
    assert_eq!(status, Status::Cancelled, "whatever becomes of its last word");
}

/// Effects one after the other, without end, under these limits.
fn limited(limits: Limits) -> Host {
    let mut make = Make::new();
    make.b.limits(limits);
    let again = make.b.reserve();
    let input = make.b.read(make.v);
    let what = make.b.effect(crate::host::effect("work"));
    make.b.at(again).do_(what, input, None, again, None);
    make.run(again)
}

#[test]
fn effects_are_bounded() {
    let mut host = limited(Limits { effects: 2, ..Limits::default() });
    host.answer("work", 1);
    assert!(host.end.is_none());
    host.answer("work", 1);
    host.failed_with("exhausted");
}

#[test]
fn ops_are_bounded() {
    let mut host = limited(Limits { ops: 3, ..Limits::default() });
    for _ in 0..2 {
        host.answer("work", 1);
    }
    assert!(host.end.is_none());
    host.answer("work", 1);
    host.failed_with("op_limit");
}

#[test]
fn tokens_and_cost_are_bounded_before_the_next_effect() {
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
fn the_time_of_a_run_is_bounded() {
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

/// A run that calls another, `depth` runs deep, where two are allowed.
fn caller(depth: u32) -> Host {
    let mut make = Make::new();
    make.b.limits(Limits { depth: 2, ..Limits::default() });
    let fail = Failure { to: make.end, error: Some(make.r) };
    let call = make.effect_with(crate::host::effect("run"), make.end, Some(fail));
    let program = make.program(call);
    let start = Event::Start { input: Value::Null, facts: Object::default(), depth, max_ops: 0 };
    Host::start_with(program, start)
}

#[test]
fn runs_call_each_other_only_so_deep() {
    assert_eq!(caller(1).flying(), ["run"]);
    let host = caller(2);
    assert!(host.flying().is_empty(), "the call is not made");
    let (status, error) = host.end.expect("the error is handled");
    let kind = error.get("kind").and_then(Value::as_str);
    assert_eq!((status, kind), (Status::Completed, Some("call_depth")));
}

#[test]
fn what_was_begun_is_finished_before_anything_else_comes() {
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
fn a_program_of_unknown_semantics_is_refused() {
    let mut program = Make::new().program_of_end();
    program.semantics = 99;
    let refused = advance(&program, &mut State::new(), &Stamp::default(), start());
    assert_eq!(refused, Err(Rejected::UnknownSemantics(99)));
}

#[test]
fn budgets_hold_for_further_attempts() {
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
