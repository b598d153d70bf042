//! Decisions and pure writes.

use branchpoint_core::NoteKind;
use branchpoint_core::ir::builder::ROOT;
use branchpoint_core::ir::{DecisionKind, Failure, Write};
use branchpoint_expr::{Dialect, Value};

use crate::host::{Host, Make};

/// Decides by the result of an effect: above 10, above 5, or neither.
fn decided(answer: impl Into<Value>) -> Host {
    let mut make = Make::new();
    let to = ["'big'", "'some'", "'few'"].map(|text| make.set(ROOT, make.r, text, make.end));
    let guards = ["v > 10", "v > 5"].map(|text| make.b.condition(ROOT, text, Dialect::Machine).unwrap());
    let fail = Failure { to: make.set(ROOT, make.r, "'error'", make.end), error: None };
    let decide = make.b.decide([(guards[0], to[0]), (guards[1], to[1])], to[2], Some(fail));
    let work = make.effect("work", decide);
    let mut host = make.run(work);
    host.answer("work", answer);
    host
}

#[test]
fn the_first_guard_that_holds_wins() {
    decided(11).completed_with("\"big\"");
    decided(6).completed_with("\"some\"");
    decided(1).completed_with("\"few\"");
}

#[test]
fn an_error_never_picks_an_arm() {
    decided("many").completed_with("\"error\"");
}

#[test]
fn a_decision_is_recorded_with_its_reasons() {
    let mut make = Make::new();
    let guard = make.b.condition(ROOT, "1 == 1", Dialect::Machine).unwrap();
    let decide = make.b.decide([(guard, make.end)], make.end, None);
    let step = make.b.step("choose", "decision", None, (0, 1));
    let decision = make.b.decision(step, DecisionKind::Branch);
    let then = make.b.branch(decision, "then", Some(guard), None);
    make.b.decides(decide, decision, [Some(then), None]);
    // Decisions that lowering adds are not recorded.
    let decide = make.b.decide([(guard, decide)], make.end, None);
    let work = make.effect("work", decide);
    let mut host = make.run(work);
    let (effect, (_, attempt)) = host.flights.first_key_value().map(|(no, flight)| (*no, flight.clone())).unwrap();
    let usage = branchpoint_core::Usage::default();
    let settled = branchpoint_core::Event::Settled { effect, attempt, result: Ok(Value::Null), usage };
    let outcome = host.hand(settled).unwrap();
    let decided: Vec<_> = outcome.trace.iter().filter(|note| matches!(note.kind, NoteKind::Decided(_))).collect();
    assert_eq!(decided.len(), 1, "{decided:?}");
}

/// `a` and `b` are written, then `c` in a way that may fail.
fn written(last: &str) -> Host {
    let mut make = Make::new();
    let mut slot = |name: &str, first| {
        let slot = make.b.slot(ROOT, name, first);
        make.b.name(ROOT, &[name], slot);
        slot
    };
    let (a, b) = (slot("a", Some(Value::Int(1))), slot("b", None));
    let show = make.set(ROOT, make.r, "[a, b]", make.end);
    let mut expr = |text: &str| make.b.expr(ROOT, text, Dialect::Machine).unwrap();
    let (two, a_again, last) = (expr("2"), expr("a + 1"), expr(last));
    let writes = [Write::Put(a, two), Write::Push(b, a_again), Write::Push(b, last)];
    let set = make.b.set(writes, show, Some(Failure { to: show, error: None }));
    make.run(set)
}

#[test]
fn writes_are_in_order_and_see_the_ones_before() {
    written("a + 2").completed_with("[2,[3,4]]");
}

#[test]
fn writes_are_all_or_nothing() {
    written("b + 1").completed_with("[1,null]");
}

#[test]
fn appending_to_an_unset_slot_has_the_size_limit_too() {
    let mut make = Make::new();
    let other = make.b.slot(ROOT, "other", None);
    let (r, read_r, read_other) = (make.r, make.b.read(make.r), make.b.read(other));
    let (there, back) = (make.b.reserve(), make.b.reserve());
    make.b.at(there).set([Write::Clear(other), Write::Push(other, read_r)], back, None);
    make.b.at(back).set([Write::Clear(r), Write::Push(r, read_other)], there, None);
    make.run(there).failed_with("depth_limit");
}
