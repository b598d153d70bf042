//! Limits of the ops of a call and of a run.

use branchpoint_core::ir::builder::{ROOT, ScopeSpec};
use branchpoint_core::ir::{Exit, Limits, Mark, Program, Status};
use branchpoint_core::{Event, Stamp, State, advance};
use branchpoint_expr::{Dialect, Object, Value};

use crate::host::Make;
use crate::loops::looped;

fn start(max_ops: u64) -> Event {
    Event::Start {
        input: Value::Null,
        facts: Object::default(),
        depth: 0,
        max_ops,
        budget: branchpoint_core::ir::BudgetLimits::default(),
    }
}

/// Runs to the end with this fuel for each call. Returns the state and the number of calls.
fn run_to_end(program: &Program, fuel: u32, max_ops: u64) -> (State, u32) {
    let (mut state, stamp) = (State::new(), Stamp { fuel, ..Stamp::default() });
    let mut outcome = advance(program, &mut state, &stamp, start(max_ops)).expect("a run can start");
    let mut calls = 1;
    while outcome.more {
        outcome = advance(program, &mut state, &stamp, Event::Continue).expect("there is more to do");
        calls += 1;
    }
    (state, calls)
}

fn error_kind(state: &State) -> (Status, String) {
    let (status, result) = state.result().expect("it has ended");
    (status, result.get("kind").map(ToString::to_string).unwrap_or_default())
}

#[test]
fn a_stamp_grants_less_fuel_than_the_program_and_never_more() {
    let (make, enter) = looped(100, 40);
    let program = make.program(enter);
    let (own, calls) = run_to_end(&program, 0, 0);
    for (fuel, more) in [(10, true), (40, false), (1_000, false)] {
        let (state, granted) = run_to_end(&program, fuel, 0);
        assert_eq!((granted > calls, state.result()), (more, own.result()), "fuel {fuel}");
        assert_eq!(state.ops(), own.ops(), "the same work, whatever its slices");
    }
}

#[test]
fn a_run_ends_at_the_operators_limit_of_ops() {
    let (make, enter) = looped(u32::MAX, 50);
    let program = make.program(enter);
    for fuel in [1, 7, 0] {
        let (state, _) = run_to_end(&program, fuel, 1_000);
        assert_eq!(error_kind(&state), (Status::Failed, "op_limit".into()));
        assert_eq!(state.ops(), 1_001, "it ends at the first op above the limit");
    }
}

#[test]
fn the_smaller_of_two_limits_applies() {
    for (of_program, of_operator, ops) in [(200, 1_000, 201), (1_000, 200, 201), (200, 0, 201)] {
        let (mut make, enter) = looped(u32::MAX, 50);
        make.b.limits(Limits { ops: of_program, ..Limits::default() });
        let (state, _) = run_to_end(&make.program(enter), 0, of_operator);
        assert_eq!(error_kind(&state), (Status::Failed, "op_limit".into()));
        assert_eq!(state.ops(), ops);
        let message = state.result().and_then(|(_, error)| error.get("message")).map(ToString::to_string);
        assert!(message.expect("it says why").contains("200 operations"));
    }
}

#[test]
fn a_run_within_its_limit_is_not_changed_by_it() {
    let (make, enter) = looped(10, 50);
    let program = make.program(enter);
    let (free, _) = run_to_end(&program, 0, 0);
    let (bounded, _) = run_to_end(&program, 0, free.ops());
    assert_eq!(bounded.result(), free.result());
}

/// `rounds` rounds whose condition reads a list of 20,000 parts; the marks read it too.
fn looped_over_a_list(rounds: u32) -> Program {
    let mut make = Make::new();
    make.b.fuel(100);
    let scope = make.scope(ScopeSpec::default());
    let list = make.b.slot(ROOT, "list", Some(Value::from(vec![Value::Int(1); 20_000])));
    let count = make.b.slot(scope, "count", Some(Value::Int(0)));
    make.b.name(scope, &["list"], list);
    make.b.name(scope, &["count"], count);
    let value = make.b.read(count);
    let done = make.b.leave(scope, Exit::Done(Some(value)));
    let step = make.b.step("loop", "while", None, (0, 0));
    let test = make.b.reserve();
    let round = make.set(scope, count, "count + 1", test);
    let sum = make.b.formula("sum(list)", Dialect::Machine, &[("list", list)], &[]);
    make.b.mark(round, Mark::Begin(step, Some(sum)));
    let more = format!("len(filter(list, # == 1)) > 0 && count < {rounds}");
    let more = make.b.condition(scope, &more, Dialect::Machine).unwrap();
    make.b.at(test).decide([(more, round)], done, None);
    make.b.begin(scope, &[test]);
    let enter = make.b.enter(scope);
    make.program(enter)
}

#[test]
fn large_evaluations_count_as_ops() {
    let program = looped_over_a_list(10);
    let (state, calls) = run_to_end(&program, 0, 0);
    assert!(state.ops() >= 200, "20,000 parts in each of ten rounds, but {} ops", state.ops());
    assert!(calls > 1, "a call ends when its fuel is used up by evaluations");
    let (state, _) = run_to_end(&program, 0, 150);
    assert_eq!(error_kind(&state), (Status::Failed, "op_limit".into()));
}

#[test]
fn recording_counts_no_ops() {
    let program = looped_over_a_list(2);
    let [plain, recorded] = [false, true].map(|record| {
        let (mut state, stamp) = (State::new(), Stamp { record, ..Stamp::default() });
        let mut outcome = advance(&program, &mut state, &stamp, start(0)).expect("a run can start");
        while outcome.more {
            outcome = advance(&program, &mut state, &stamp, Event::Continue).expect("there is more to do");
        }
        (state.ops(), outcome.check)
    });
    assert_eq!(plain, recorded);
}
