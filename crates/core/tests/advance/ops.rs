//! How many ops a call and a run may execute.

use branchpoint_core::ir::{Limits, Program, Status};
use branchpoint_core::{Event, Stamp, State, advance};
use branchpoint_expr::{Object, Value};

use crate::loops::looped;

fn start(max_ops: u64) -> Event {
    Event::Start { input: Value::Null, facts: Object::default(), depth: 0, max_ops }
}

/// Runs to the end with so much fuel for each call; the state, and how many calls it took.
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
        assert_eq!(state.ops(), own.ops(), "the same work, whatever its pieces");
    }
}

#[test]
fn a_run_ends_at_the_operators_limit_of_ops() {
    let (make, enter) = looped(u32::MAX, 50);
    let program = make.program(enter);
    for fuel in [1, 7, 0] {
        let (state, _) = run_to_end(&program, fuel, 1_000);
        assert_eq!(error_kind(&state), (Status::Failed, "op_limit".into()));
        assert_eq!(state.ops(), 1_001, "it ends at the op that is one too many");
    }
}

#[test]
fn the_smaller_of_two_limits_counts() {
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
