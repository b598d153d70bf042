//! Cycles of places, their limits, and fuel.

use branchpoint_core::ir::builder::{ROOT, ScopeSpec};
use branchpoint_core::ir::{Exit, Mark, Status};
use branchpoint_core::{Event, NoteKind, Records, Rejected, Stamp, State, StepStatus, advance, steps};
use branchpoint_expr::{Dialect, Object, Value};

use crate::host::{Host, Make};

/// While true, at most `cap` rounds; a round counts and nothing else.
pub(crate) fn looped(cap: u32, fuel: u32) -> (Make, branchpoint_core::ir::PlaceId) {
    let mut make = Make::new();
    make.b.fuel(fuel);
    let scope = make.scope(ScopeSpec::default());
    let count = make.b.slot(scope, "count", Some(Value::Int(0)));
    make.b.name(scope, &["count"], count);
    let value = make.b.read(count);
    let done = make.b.leave(scope, Exit::Done(Some(value)));
    let capped = make.b.set([], done, None);
    let step = make.b.step("loop", "while", None, (0, 0));
    make.b.mark(capped, Mark::Warn(step, "loop_limit".into()));
    let test = make.b.reserve();
    let round = make.set(scope, count, "count + 1", test);
    let over = make.b.condition(scope, &format!("count >= {cap}"), Dialect::Machine).unwrap();
    make.b.at(test).decide([(over, capped)], round, None);
    make.b.begin(scope, &[test]);
    let enter = make.b.enter(scope);
    (make, enter)
}

#[test]
fn a_limit_ends_a_loop_with_a_warning() {
    let (make, enter) = looped(3, 1_000);
    let program = make.program(enter);
    let mut host = Host { more: false, ..Host::start(program) };
    host.completed_with("[3]");
    assert_eq!(host.hand(Event::Continue), Err(Rejected::Ended));
}

#[test]
fn the_warning_is_in_the_trace() {
    let (mut make, enter) = looped(2, 1_000);
    let wait = make.b.reserve();
    let delay = make.b.value(1);
    make.b.at(wait).wait([branchpoint_core::ir::Arm::After { delay_ms: delay, next: enter }], None);
    let mut host = make.run(wait);
    host.now_ms += 1;
    let timer = host.timers.pop_first().unwrap().0;
    let outcome = host.hand(Event::TimerFired(timer)).unwrap();
    assert!(outcome.trace.iter().any(|note| matches!(note.kind, NoteKind::Warned { .. })));
}

#[test]
fn fuel_limits_a_call_and_continue_resumes_it() {
    let (make, enter) = looped(10, 4);
    let mut host = make.run(enter);
    let mut calls = 0;
    while host.more {
        host.hand(Event::Continue).expect("there is more to do");
        calls += 1;
    }
    host.completed_with("[10]");
    assert!(calls > 4, "{calls} calls");
}

#[test]
fn an_endless_loop_does_not_block_a_call() {
    let (make, enter) = looped(u32::MAX, 50);
    let mut host = make.run(enter);
    for _ in 0..100 {
        assert!(host.more);
        host.hand(Event::Continue).unwrap();
    }
    host.hand(Event::Cancel { reason: None }).unwrap();
    assert!(host.end.is_some());
}

#[test]
fn a_run_whose_strands_all_wait_has_nothing_to_continue() {
    let mut make = Make::new();
    let work = make.effect("work", make.end);
    let mut host = make.run(work);
    assert_eq!(host.hand(Event::Continue), Err(Rejected::NothingToContinue));
}

#[test]
fn a_counter_lives_in_the_frame_it_counts_for() {
    // Two branches; the first goes back twice, which ends the strand that jumps. The counter must survive it.
    let mut make = Make::new();
    let n = make.b.slot(ROOT, "n", Some(Value::Int(0)));
    make.b.name(ROOT, &["n"], n);
    let scope = make.scope(ScopeSpec::default());
    let enter = make.b.reserve();
    let done = make.done(scope);
    let back = make.b.leave(scope, Exit::Goto(enter));
    let again = make.b.condition(scope, "n <= 2", Dialect::Machine).unwrap();
    let decide = make.b.decide([(again, back)], done, None);
    let count = make.set(scope, n, "n + 1", decide);
    let jumper = make.effect("jumper", count);
    let other = make.branch(scope, "other");
    make.b.begin(scope, &[jumper, other]);
    make.b.at(enter).enter(scope);
    let mut host = make.run(enter);
    for _ in 0..2 {
        host.answer("jumper", 1);
        assert_eq!(host.flying(), ["jumper", "other"]);
    }
    host.answer("jumper", 1);
    host.answer("other", 2);
    assert_eq!(host.withdrawn, ["other", "other"]);
    host.completed_with("[1,2]");
}

#[test]
fn a_failed_step_is_recorded_with_its_error_although_the_run_continues() {
    let mut make = Make::new();
    let step = make.b.step("s", "any", None, (0, 0));
    let (v, end) = (make.v, make.end);
    let error = make.b.value("why");
    let caught = make.b.set([], end, None);
    make.b.mark(caught, Mark::Fail(step, error));
    let begin = make.set(ROOT, v, "1", caught);
    make.b.mark(begin, Mark::Begin(step, None));
    let program = make.program(begin);
    let start = Event::Start {
        input: Value::Null,
        facts: Object::default(),
        depth: 0,
        max_ops: 0,
        budget: branchpoint_core::ir::BudgetLimits::default(),
    };
    let stamp = Stamp { record: true, ..Stamp::default() };
    let notes = advance(&program, &mut State::new(), &stamp, start).expect("it runs").trace;
    let records = steps(&program, &notes, Status::Completed);
    assert_eq!((&records[0].status, &records[0].error), (&StepStatus::Failed, &Some(Value::from("why"))));
}

#[test]
fn a_step_over_items_records_their_number() {
    let mut make = Make::new();
    let step = make.b.step("loop", "for_each", None, (0, 0));
    let scope = make.scope(ScopeSpec::default());
    let (item, index) = (make.b.slot(scope, "item", None), make.b.slot(scope, "index", None));
    let done = make.done(scope);
    let items = make.b.value(Value::from(vec![Value::Int(1), Value::Int(2)]));
    make.b.each(scope, items, item, index, done);
    let enter = make.b.enter(scope);
    let begin = make.set(ROOT, make.v, "1", enter);
    make.b.mark(begin, Mark::Begin(step, None));
    let program = make.program(begin);
    let start = Event::Start {
        input: Value::Null,
        facts: Object::default(),
        depth: 0,
        max_ops: 0,
        budget: branchpoint_core::ir::BudgetLimits::default(),
    };
    let stamp = Stamp { record: true, ..Stamp::default() };
    let notes = advance(&program, &mut State::new(), &stamp, start).expect("it runs").trace;
    let mut records = Records::of(&program);
    let changed: Vec<_> = notes.iter().map(|note| records.add(note)).collect();
    assert!(changed.contains(&Some(0)));
    assert_eq!(records.get(0).and_then(|record| record.items), Some(2));
}
