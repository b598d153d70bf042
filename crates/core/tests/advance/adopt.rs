//! A waiting run adopts a changed program: its state is carried over by name, and it waits again.

use branchpoint_core::ir::builder::{Builder, ROOT};
use branchpoint_core::ir::{Arm, OnEarly, Program, Status, Write};
use branchpoint_core::{Command, Event, Outcome, Rejected, Stamp, State, advance, carry};
use branchpoint_expr::{Dialect, Object, Value};

/// A session that counts signals and waits. Its signals and slots are declared in the given order.
fn session(signals: &[&str], slots: &[&str], ttl_ms: i64) -> Program {
    let mut b = Builder::new();
    for slot in slots {
        let id = b.slot(ROOT, slot, Some(Value::Int(0)));
        b.name(ROOT, &[slot], id);
    }
    let rest = b.reserve();
    let mut arms = Vec::new();
    for name in signals {
        let position = slots.iter().position(|slot| slot == name).expect("every signal has its counter");
        let count = branchpoint_core::ir::SlotId(u32::try_from(position).expect("there are few"));
        let more = b.expr(ROOT, &format!("{name} + 1"), Dialect::Machine).expect("it compiles");
        let next = b.set([Write::Put(count, more)], rest, None);
        arms.push(Arm::Signal { signal: b.signal(name, OnEarly::Keep), check: None, into: None, next });
    }
    let nothing = b.value(Value::Null);
    let expired = b.close(Status::Completed, nothing);
    arms.push(Arm::After { delay_ms: b.value(ttl_ms), next: expired });
    b.at(rest).rest(arms, None);
    let counts = b.expr(ROOT, "[message, tool]", Dialect::Machine).expect("it compiles");
    b.view("counts", counts);
    b.begin(ROOT, &[rest]);
    b.finish().expect("the program is valid")
}

fn apply(program: &Program, state: &mut State, now_ms: i64, event: Event) -> Result<Outcome, Rejected> {
    advance(program, state, &Stamp { now_ms, ..Stamp::default() }, event)
}

fn signal(name: &str) -> Event {
    Event::Signal { name: name.into(), payload: Value::Null, sender: None, key: None }
}

fn counts(program: &Program, state: &State) -> String {
    let view = branchpoint_core::ir::ViewId(0);
    format!("{:?}", branchpoint_core::view(program, state, view).expect("it can be read"))
}

/// A session after two messages and one tool.
fn begun(program: &Program) -> State {
    let mut state = State::new();
    let start = Event::Start {
        input: Value::Null,
        facts: Object::default(),
        depth: 0,
        max_ops: 0,
        budget: branchpoint_core::ir::BudgetLimits::default(),
    };
    apply(program, &mut state, 0, start).expect("it starts");
    for (now_ms, name) in [(1, "message"), (2, "tool"), (3, "message")] {
        apply(program, &mut state, now_ms, signal(name)).expect("it is accepted");
    }
    assert_eq!(counts(program, &state), "[2,1]");
    state
}

#[test]
fn slots_are_carried_over_by_name() {
    let old = session(&["message", "tool"], &["message", "tool"], 1_000);
    let new = session(&["tool", "message"], &["more", "tool", "message"], 500);
    let mut state = begun(&old);
    let carried = carry(&old, &new, &state).expect("it rests");
    let outcome = apply(&new, &mut state, 10, Event::Adopt(Box::new(carried))).expect("it is taken");
    assert!(matches!(&outcome.commands[..], [Command::ClearTimer { .. }, Command::SetTimer { at_ms: 510, .. }]));
    assert_eq!(counts(&new, &state), "[2,1]");
    apply(&new, &mut state, 11, signal("tool")).expect("it goes on");
    assert_eq!(counts(&new, &state), "[2,2]");
}

#[test]
fn only_the_state_of_this_waiting_run_is_adopted() {
    let program = session(&["message", "tool"], &["message", "tool"], 1_000);
    let mut state = begun(&program);
    let mut refused = |carried: State| {
        assert_eq!(apply(&program, &mut state, 9, Event::Adopt(Box::new(carried))), Err(Rejected::NotResting));
    };
    refused(State::new());
    refused(state_of_another_run(&program));
    let (mut later, earlier) = (begun(&program), carry(&program, &program, &begun(&program)).expect("it rests"));
    apply(&program, &mut later, 4, signal("tool")).expect("it goes on");
    let stale = apply(&program, &mut later, 5, Event::Adopt(Box::new(earlier)));
    assert_eq!(stale, Err(Rejected::NotResting), "the adoption would undo later events");
}

fn state_of_another_run(program: &Program) -> State {
    let mut state = begun(program);
    apply(program, &mut state, 4, signal("tool")).expect("it goes on");
    carry(program, program, &state).expect("it rests")
}

#[test]
fn a_run_that_is_not_at_a_rest_is_not_carried() {
    let program = Builder::sample();
    assert!(matches!(carry(&program, &program, &State::new()), Err(Rejected::NotResting)));
}
