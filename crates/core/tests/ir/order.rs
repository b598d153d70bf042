//! The order of places: document order, whatever the order of their creation.

use branchpoint_core::ir::builder::{Builder, ROOT, ScopeSpec};
use branchpoint_core::ir::{Exit, Op, PlaceId, Program, Status, Write, print};
use branchpoint_expr::{Dialect, Value};

/// A loop in a scope with a decision in its body, then an end. The parts are created in the given order.
fn program(making: [usize; 7]) -> Program {
    let mut b = Builder::new();
    let n = b.slot(ROOT, "n", Some(Value::Int(0)));
    b.name(ROOT, &["input"], n);
    let more = b.expr(ROOT, "input + 1", Dialect::Steps).expect("it compiles");
    let odd = b.condition(ROOT, "input % 2 == 1", Dialect::Steps).expect("it compiles");
    let small = b.condition(ROOT, "input < 10", Dialect::Steps).expect("it compiles");
    let (result, zero) = (b.read(n), b.value(0));
    let [enter, head, count, side, join, out]: [PlaceId; 6] = std::array::from_fn(|_| b.reserve());
    let looping = b.scope(ROOT, ScopeSpec::default());
    for part in making {
        match part {
            0 => b.at(enter).enter(looping),
            1 => b.at(head).decide([(small, count)], out, None),
            2 => b.at(count).decide([(odd, side)], join, None),
            3 => b.at(side).set([Write::Put(n, zero)], join, None),
            4 => b.at(join).set([Write::Put(n, more)], head, None),
            5 => b.at(out).leave(looping, Exit::Done(None)),
            _ => {
                let next = b.next(looping);
                b.at(next).close(Status::Completed, result)
            }
        };
    }
    b.begin(looping, &[head]);
    b.begin(ROOT, &[enter]);
    b.finish().expect("it is valid")
}

#[test]
fn the_order_of_creation_does_not_matter() {
    let forwards = print(&program([0, 1, 2, 3, 4, 5, 6]));
    assert_eq!(print(&program([6, 5, 4, 3, 2, 1, 0])), forwards);
    assert_eq!(print(&program([3, 0, 5, 2, 6, 1, 4])), forwards);
}

#[test]
fn only_the_edge_that_closes_a_cycle_leads_back() {
    let program = program([4, 6, 2, 0, 5, 3, 1]);
    let ops: Vec<_> = program.places.iter().map(|place| &place.op).collect();
    // Enter, head, the decision of the body, its one branch, the place where both branches join, the exit, the end.
    assert!(matches!(ops[0], Op::Enter(_)));
    assert!(matches!(ops[1], Op::Decide { arms, otherwise: PlaceId(5), .. } if arms[0].1 == PlaceId(2)));
    assert!(matches!(ops[2], Op::Decide { arms, otherwise: PlaceId(4), .. } if arms[0].1 == PlaceId(3)));
    assert!(matches!(ops[3], Op::Set { next: PlaceId(4), .. }));
    assert!(matches!(ops[4], Op::Set { next: PlaceId(1), .. }));
    assert!(matches!(ops[5], Op::Leave { how: Exit::Done(None), .. }));
    assert!(matches!(ops[6], Op::Leave { how: Exit::Close(_), .. }));
    assert_eq!(program.scopes[1].next, PlaceId(6));
}

/// A handler that leads into the middle of a loop must not become the loop's beginning.
#[test]
fn the_handler_of_a_cancellation_comes_after_the_body_it_leads_into() {
    let mut b = Builder::new();
    let n = b.slot(ROOT, "n", None);
    let one = b.value(1);
    let (head, middle) = (b.reserve(), b.reserve());
    b.at(middle).set([Write::Push(n, one)], head, None);
    b.at(head).set([Write::Put(n, one)], middle, None);
    let cancel = b.set([Write::Clear(n)], middle, None);
    b.on_cancel(cancel);
    b.begin(ROOT, &[head]);
    let program = b.finish().expect("it is valid");
    assert_eq!(program.on_cancel, Some(PlaceId(2)));
    assert!(matches!(program.places[0].op, Op::Set { next: PlaceId(1), .. }));
    assert!(matches!(program.places[1].op, Op::Set { next: PlaceId(0), .. }));
}

/// A cycle that is entered in its middle has no beginning of its own, so the front-end marks the back edge.
#[test]
fn a_marked_back_edge_leads_to_an_earlier_place() {
    let mut b = Builder::new();
    let n = b.slot(ROOT, "n", Some(Value::Int(0)));
    let one = b.value(1);
    let (first, second, back) = (b.reserve(), b.reserve(), b.reserve());
    b.at(first).set([Write::Put(n, one)], second, None);
    b.at(second).set([Write::Put(n, one)], back, None);
    b.at(back).set([Write::Push(n, one)], first, None);
    b.mark_back_edge(back);
    // The middle is an entrance too, and is visited first.
    b.begin(ROOT, &[first, second]);
    let program = b.finish().expect("it is valid");
    assert!(matches!(program.places[0].op, Op::Set { next: PlaceId(1), .. }));
    assert!(matches!(program.places[1].op, Op::Set { next: PlaceId(2), .. }));
    assert!(matches!(program.places[2].op, Op::Set { next: PlaceId(0), .. }));
}

/// The layout of a long chain must not overflow the stack.
#[test]
fn a_chain_of_a_hundred_thousand_places_is_laid_out() {
    let mut b = Builder::new();
    let nothing = b.value(Value::Null);
    let mut next = b.close(Status::Completed, nothing);
    for _ in 0..100_000 {
        next = b.set([], next, None);
    }
    b.begin(ROOT, &[next]);
    let program = b.finish().expect("it is valid");
    assert!(matches!(program.places[0].op, Op::Set { next: PlaceId(1), .. }));
}
