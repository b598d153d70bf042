//! Size limits of one value, and of all values of a run.

use branchpoint_core::codec::encode_state;
use branchpoint_core::ir::builder::{ROOT, ScopeSpec};
use branchpoint_core::ir::{Arm, Failure, Limits, OnEarly, OnFail, PlaceId, Program, Write};
use branchpoint_core::{Event, Rejected, Stamp, State, Usage, advance};
use branchpoint_expr::{Dialect, Value};

use crate::host::{Host, Make, effect, retry};

fn value_limit(value_bytes: u64) -> Limits {
    Limits { value_bytes, ..Limits::default() }
}

fn state_limit(state_bytes: u64) -> Limits {
    Limits { state_bytes, ..Limits::default() }
}

/// A text of that size.
fn text(bytes: usize) -> Value {
    Value::from("x".repeat(bytes - 8))
}

/// Sets `r` to `[r, r]` without end. The handler of the failure returns the kind of the error and the size of `r`.
fn doubling(make: &mut Make) -> PlaceId {
    let error = make.b.slot(ROOT, "error", None);
    make.b.name(ROOT, &["error"], error);
    let caught = make.set(ROOT, make.r, "[error.kind, len(toJSON(r))]", make.end);
    let again = make.b.reserve();
    let doubled = make.b.expr(ROOT, "[r, r]", Dialect::Machine).unwrap();
    make.b.at(again).set([Write::Put(make.r, doubled)], again, Some(Failure { to: caught, error: Some(error) }));
    make.set(ROOT, make.r, "0", again)
}

#[test]
fn a_value_that_doubles_fails_the_step_that_makes_it_too_large() {
    let mut make = Make::new();
    make.b.limits(value_limit(1_000));
    let start = doubling(&mut make);
    // 2^5 numbers and 2^5 - 1 lists, of eight bytes each; one more time is more than 1,000.
    make.run(start).completed_with(r#"["value_limit",125]"#);
}

#[test]
fn a_value_that_doubles_has_a_limit_by_default() {
    let mut make = Make::new();
    let again = make.b.reserve();
    let doubled = make.b.expr(ROOT, "[r, r]", Dialect::Machine).unwrap();
    let count = make.b.effect(effect("count"));
    let input = make.b.value(0);
    let call = make.b.do_(count, input, None, again, None);
    make.b.at(again).set([Write::Put(make.r, doubled)], call, None);
    let start = make.set(ROOT, make.r, "0", again);
    let program = make.program(start);
    let mut host = Host::start(program);
    while host.end.is_none() {
        // The state is not encoded between the steps, because that is slow near the limit.
        let (effect, attempt) = host.find("count");
        let event = Event::Settled { effect, attempt, result: Ok(Value::Null), usage: Usage::default() };
        let outcome = advance(&host.program, &mut host.state, &Stamp { now_ms: 1_000, ..Stamp::default() }, event);
        host.flights.clear();
        host.take(&outcome.unwrap().commands);
    }
    assert_eq!(host.inputs.len(), 22, "2^22 numbers of eight bytes, and the lists around them, are 64 MiB");
    host.failed_with("value_limit");
}

#[test]
fn an_append_that_makes_a_list_too_large_is_undone() {
    let mut make = Make::new();
    make.b.limits(value_limit(100));
    let piece = make.b.value(1);
    let again = make.b.reserve();
    let caught = Failure { to: make.end, error: None };
    make.b.at(again).set([Write::Push(make.r, piece)], again, Some(caught));
    make.run(again).completed_with("[1,1,1,1,1,1,1,1,1,1,1]");
}

#[test]
fn the_values_that_a_scope_collects_are_limited_together() {
    for (limit, ends) in [(200, true), (150, false)] {
        let mut make = Make::new();
        make.b.limits(value_limit(limit));
        let scope = make.scope(ScopeSpec::default());
        let branches = [make.branch(scope, "a"), make.branch(scope, "b")];
        let mut host = make.run_branches(scope, &branches);
        host.answer("a", text(90));
        host.answer("b", text(90));
        if ends { assert!(host.end.is_some()) } else { host.failed_with("value_limit") }
    }
}

#[test]
fn a_result_that_is_too_large_fails_its_call_without_a_retry() {
    let mut make = Make::new();
    make.b.limits(value_limit(100));
    let work =
        make.effect_with(branchpoint_core::ir::Effect { retry: Some(retry(3, 0)), ..effect("work") }, make.end, None);
    let mut host = make.run(work);
    host.answer("work", text(101));
    host.failed_with("value_limit");
    assert_eq!(host.inputs.len(), 1);
}

#[test]
fn an_input_that_is_too_large_is_not_sent() {
    let mut make = Make::new();
    make.b.limits(value_limit(100));
    let input = make.b.expr(ROOT, "[r, r]", Dialect::Machine).unwrap();
    let work = make.b.effect(effect("work"));
    let work = make.b.do_(work, input, None, make.end, None);
    let start = make.set(ROOT, make.r, "'12345678901234567890123456789012345678901234567890'", work);
    let host = make.run(start);
    host.failed_with("value_limit");
    assert!(host.inputs.is_empty());
}

#[test]
fn a_start_with_a_too_large_input_is_rejected() {
    let mut make = Make::new();
    make.b.limits(Limits { value_bytes: 100, state_bytes: 150, ..Limits::default() });
    let program = make.program_of(|make| make.end);
    let start = |input: Value, fact: Value| {
        let facts = [("fact".into(), fact)].into_iter().collect();
        let event =
            Event::Start { input, facts, depth: 0, max_ops: 0, budget: branchpoint_core::ir::BudgetLimits::default() };
        advance(&program, &mut State::new(), &Stamp::default(), event).map(drop)
    };
    assert_eq!(start(text(100), Value::Null), Ok(()));
    assert_eq!(start(text(101), Value::Null), Err(Rejected::TooLarge(100)));
    assert_eq!(start(Value::Null, text(100)), Err(Rejected::TooLarge(100)));
}

#[test]
fn signals_are_rejected_when_they_are_too_large_or_the_run_has_no_room() {
    let mut make = Make::new();
    make.b.limits(Limits { value_bytes: 100, state_bytes: 300, ..Limits::default() });
    let signal = make.b.signal("go", OnEarly::Keep);
    let wait = make.b.wait([Arm::Signal { signal, check: None, into: Some(make.r), next: make.end }], None);
    let work = make.effect("work", wait);
    let mut host = make.run(work);
    assert_eq!(host.signal("go", text(101)), Err(Rejected::TooLarge(100)));
    host.signal("go", text(100)).unwrap();
    host.signal("go", text(100)).unwrap();
    assert_eq!(host.signal("go", text(100)), Err(Rejected::NoRoom(300)), "with the input of the call");
    assert!(host.end.is_none());
    host.answer("work", 1);
    assert!(host.end.is_some());
}

/// Many slots, each within the limit of one value.
fn slots(count: usize, limits: Limits) -> Host {
    let mut make = Make::new();
    make.b.limits(limits);
    let value = make.b.read(make.r);
    let writes: Vec<_> = (0..count).map(|n| Write::Put(make.b.slot(ROOT, &format!("s{n}"), None), value)).collect();
    let fill = make.b.set(writes, make.end, None);
    let start = make.set(ROOT, make.r, "'12345678901234567890123456789012345678901234567890'", fill);
    make.run(start)
}

#[test]
fn the_values_of_a_run_are_limited_together_and_exceeding_that_ends_it() {
    assert!(slots(10, state_limit(1_000)).end.is_some_and(|(status, _)| status.is_final()));
    slots(20, state_limit(1_000)).failed_with("state_limit");
    let host = slots(10, state_limit(1_000));
    assert_eq!(host.state.size_bytes(), 0, "a run that has ended keeps only its result");
}

#[test]
fn shared_values_of_branches_and_items_count_each_time() {
    let each = |width: u32| {
        let mut make = Make::new();
        make.b.limits(state_limit(2_000));
        let scope = make.scope(ScopeSpec { width, ..ScopeSpec::default() });
        let item = make.b.slot(scope, "item", None);
        let index = make.b.slot(scope, "index", None);
        let items = make.b.value(Value::from((0..100).map(Value::Int).collect::<Vec<_>>()));
        let place = make.branch(scope, "work");
        make.b.each(scope, items, item, index, place);
        let enter = make.b.enter(scope);
        let start = make.set(ROOT, make.v, "'12345678901234567890123456789012345678901234567890'", enter);
        make.run(start)
    };
    assert!(each(2).end.is_none(), "two at a time have small values");
    each(0).failed_with("state_limit");
}

#[test]
fn a_failure_that_is_kept_and_attempts_of_a_scope_are_counted_exactly() {
    // A debug assertion of `advance` recounts the size after each event of a small run.
    let mut make = Make::new();
    let scope =
        make.scope(ScopeSpec { on_fail: Some(OnFail::Keep), retry: Some(retry(2, 10)), ..ScopeSpec::default() });
    let branches = [make.branch(scope, "a"), make.branch(scope, "b")];
    let mut host = make.run_branches(scope, &branches);
    host.fail("a", false);
    host.answer("b", text(50));
    assert!(host.end.is_some());
    assert_eq!(host.state.size_bytes(), 0);
}

#[test]
fn the_size_of_a_run_is_part_of_its_snapshot() {
    let mut make = Make::new();
    let work = make.effect("work", make.end);
    let host = make.run(work);
    let held = host.state.size_bytes();
    assert!(held > 0);
    let bytes = encode_state(&host.state).unwrap();
    let back = branchpoint_core::codec::decode_state(&bytes).unwrap();
    assert_eq!(back.size_bytes(), held);
}

impl Make {
    fn program_of(self, start: impl FnOnce(&Self) -> PlaceId) -> Program {
        let start = start(&self);
        self.program(start)
    }
}
