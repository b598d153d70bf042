//! Errors and warnings of the validator.

use branchpoint_core::effect::Kind;
use branchpoint_core::ir::builder::{Builder, ROOT, ScopeSpec, effect};
use branchpoint_core::ir::{
    Arm, Backoff, Defect, DefectKind, Effect, Entries, Exit, ExprId, Home, OnEarly, Op, PlaceId, Program, Retry,
    ScopeId, SlotId, Status, StepId, Verdict, Want, WarningKind, Write, validate,
};
use branchpoint_expr::{Dialect, Value};

use crate::tour::tour;

/// Builds a program. `start` gets the place that ends the run and returns the first place.
fn build(start: impl FnOnce(&mut Builder, PlaceId) -> PlaceId) -> Result<Program, Vec<Defect>> {
    let mut b = Builder::new();
    let nothing = b.value(Value::Null);
    let end = b.close(Status::Completed, nothing);
    let first = start(&mut b, end);
    b.begin(ROOT, &[first]);
    b.finish()
}

#[track_caller]
fn check_rejected(kind: DefectKind, start: impl FnOnce(&mut Builder, PlaceId) -> PlaceId) -> Vec<Defect> {
    let wrong = build(start).expect_err("the program is refused");
    assert!(wrong.iter().all(|wrong| wrong.kind == kind), "expected {kind:?}: {wrong:?}");
    wrong
}

/// Checks the defects of the tour after a change.
#[track_caller]
fn broken(kind: DefectKind, change: impl FnOnce(&mut Program)) {
    let mut program = tour();
    change(&mut program);
    let wrong = validate(&program).expect_err("the program is refused");
    assert!(wrong.iter().any(|wrong| wrong.kind == kind), "expected {kind:?}: {wrong:?}");
}

#[test]
fn a_program_that_uses_everything_is_valid_without_warnings() {
    assert_eq!(validate(&tour()), Ok(vec![]));
}

#[test]
fn unknown_ids_are_rejected() {
    let place = |program: &mut Program, op| program.places[0].op = op;
    broken(DefectKind::NoSuchId, |p| place(p, Op::Fork { to: vec![PlaceId(999)] }));
    broken(DefectKind::NoSuchId, |p| place(p, Op::Enter(ScopeId(99))));
    broken(DefectKind::NoSuchId, |p| place(p, Op::Leave { scope: ScopeId(99), how: Exit::Done(None) }));
    broken(DefectKind::NoSuchId, |p| place(p, Op::Leave { scope: ScopeId(1), how: Exit::Goto(PlaceId(999)) }));
    broken(DefectKind::NoSuchId, |p| place(p, Op::Leave { scope: ROOT, how: Exit::Fail(ExprId(999)) }));
    broken(DefectKind::NoSuchId, |p| {
        place(p, Op::Set { writes: vec![Write::Clear(SlotId(999))], next: PlaceId(0), fail: None });
    });
    broken(DefectKind::NoSuchId, |p| {
        place(p, Op::Meet { edges: vec![(SlotId(0), PlaceId(999))], next: PlaceId(0), none: PlaceId(0) });
    });
    broken(DefectKind::NoSuchId, |p| p.exprs.truncate(1));
    broken(DefectKind::NoSuchId, |p| p.conditions.clear());
    broken(DefectKind::NoSuchId, |p| p.effects.clear());
    broken(DefectKind::NoSuchId, |p| p.signals.clear());
    broken(DefectKind::NoSuchId, |p| p.steps.truncate(1));
    broken(DefectKind::NoSuchId, |p| p.steps[0].parent = Some(StepId(99)));
    broken(DefectKind::NoSuchId, |p| p.slots.truncate(2));
    broken(DefectKind::NoSuchId, |p| p.slots[0].home = Home::Frame(ScopeId(99), 0));
    broken(DefectKind::NoSuchId, |p| p.scopes[1].next = PlaceId(999));
    broken(DefectKind::NoSuchId, |p| p.scopes[1].parent = Some(ScopeId(99)));
    broken(DefectKind::NoSuchId, |p| p.scopes[1].start = Entries::Branches(vec![PlaceId(999)]));
    broken(DefectKind::NoSuchId, |p| p.on_cancel = Some(PlaceId(999)));
    broken(DefectKind::NoEntries, |p| p.scopes.clear());
}

#[test]
fn a_defect_names_its_place() {
    let mut program = tour();
    program.places[3].op = Op::Enter(ScopeId(99));
    let wrong = validate(&program).expect_err("the program is refused");
    assert_eq!(wrong[0].place, Some(PlaceId(3)));
    assert_eq!(wrong[0].to_string(), "p3: scope 99 does not exist; the program has 3");
}

#[test]
fn scopes_are_a_tree_under_the_root() {
    broken(DefectKind::ScopeTree, |p| p.scopes[1].parent = None);
    broken(DefectKind::ScopeTree, |p| p.scopes[1].parent = Some(ScopeId(1)));
    broken(DefectKind::ScopeTree, |p| {
        p.scopes[1].parent = Some(ScopeId(2));
        p.scopes[2].parent = Some(ScopeId(1));
    });
    broken(DefectKind::ScopeTree, |p| p.scopes[0].parent = Some(ScopeId(1)));
}

#[test]
fn a_place_runs_in_one_scope() {
    let wrong = check_rejected(DefectKind::TwoScopes, |b, end| {
        let scope = b.scope(ROOT, ScopeSpec { next: Some(end), ..ScopeSpec::default() });
        // The branch jumps out of its frame instead of leaving it.
        let jump = b.set([], end, None);
        b.begin(scope, &[jump]);
        b.enter(scope)
    });
    assert_eq!(wrong.len(), 1);
    check_rejected(DefectKind::TwoScopes, |b, end| {
        let scope = b.scope(ROOT, ScopeSpec { next: Some(end), ..ScopeSpec::default() });
        b.begin(scope, &[end]);
        b.enter(scope)
    });
    // An exit leads into the enclosing scope, not into the scope itself.
    check_rejected(DefectKind::TwoScopes, |b, end| {
        let scope = b.scope(ROOT, ScopeSpec { next: Some(end), ..ScopeSpec::default() });
        let inside = b.reserve();
        let out = b.leave(scope, Exit::Goto(inside));
        b.at(inside).set([], out, None);
        b.begin(scope, &[inside]);
        b.enter(scope)
    });
}

#[test]
fn a_scope_is_entered_in_its_parent() {
    check_rejected(DefectKind::EnteredOutside, |b, end| {
        let outer = b.scope(ROOT, ScopeSpec { next: Some(end), ..ScopeSpec::default() });
        let inner = b.scope(outer, ScopeSpec::default());
        let after = b.next(inner);
        b.at(after).leave(ROOT, Exit::Done(None));
        let done = b.leave(inner, Exit::Done(None));
        b.begin(inner, &[done]);
        b.begin(outer, &[end]);
        b.enter(inner)
    });
    broken(DefectKind::EnteredOutside, |p| p.places[0].op = Op::Enter(ROOT));
}

#[test]
fn a_scope_is_left_where_it_is_open() {
    check_rejected(DefectKind::LeftOutside, |b, end| {
        let scope = b.scope(ROOT, ScopeSpec { next: Some(end), ..ScopeSpec::default() });
        let done = b.leave(scope, Exit::Done(None));
        b.begin(scope, &[done]);
        let enter = b.enter(scope);
        let stray = b.leave(scope, Exit::Done(None));
        b.fork([enter, stray])
    });
    // Leaving an outer scope is valid.
    let program = build(|b, end| {
        let outer = b.scope(ROOT, ScopeSpec { next: Some(end), ..ScopeSpec::default() });
        let inner = b.scope(outer, ScopeSpec::default());
        let out = b.leave(outer, Exit::Goto(end));
        b.begin(inner, &[out]);
        let after = b.next(inner);
        b.at(after).leave(outer, Exit::Done(None));
        let enter = b.enter(inner);
        b.begin(outer, &[enter]);
        b.enter(outer)
    });
    assert!(program.is_ok(), "{program:?}");
}

#[test]
fn only_the_root_closes_a_run_and_cannot_be_left_by_a_jump() {
    check_rejected(DefectKind::BadExit, |b, end| {
        let scope = b.scope(ROOT, ScopeSpec { next: Some(end), ..ScopeSpec::default() });
        let result = b.value(1);
        let close = b.leave(scope, Exit::Close(Verdict { status: Status::Completed, result }));
        b.begin(scope, &[close]);
        b.enter(scope)
    });
    check_rejected(DefectKind::BadExit, |b, end| b.leave(ROOT, Exit::Goto(end)));
}

/// A scope with a slot of its own, and a place after it.
fn with_slot(b: &mut Builder) -> (ScopeId, SlotId, PlaceId) {
    let scope = b.scope(ROOT, ScopeSpec::default());
    let slot = b.slot(scope, "inner", None);
    b.name(ROOT, &["input"], slot);
    let done = b.leave(scope, Exit::Done(None));
    b.begin(scope, &[done]);
    let enter = b.enter(scope);
    (scope, slot, enter)
}

#[test]
fn a_slot_is_used_only_inside_its_scope() {
    // Written, read by an expression, read by a condition, and filled by the scope itself, all outside its frame.
    check_rejected(DefectKind::SlotNotAlive, |b, end| {
        let (scope, slot, enter) = with_slot(b);
        let next = b.next(scope);
        b.at(next).set([Write::Clear(slot)], end, None);
        enter
    });
    check_rejected(DefectKind::SlotNotAlive, |b, _| {
        let (scope, slot, enter) = with_slot(b);
        let value = b.read(slot);
        let next = b.next(scope);
        b.at(next).close(Status::Completed, value);
        enter
    });
    check_rejected(DefectKind::SlotNotAlive, |b, end| {
        let (scope, _, enter) = with_slot(b);
        let guard = b.condition(ROOT, "input == 1", Dialect::Steps).expect("it compiles");
        let next = b.next(scope);
        b.at(next).decide([(guard, end)], end, None);
        enter
    });
    broken(DefectKind::SlotNotAlive, |p| {
        let own = p.scopes[1].slots[0];
        p.scopes[1].into = Some(own);
    });
    // It can be used in its frame and in inner frames.
    let program = build(|b, end| {
        let outer = b.scope(ROOT, ScopeSpec { next: Some(end), ..ScopeSpec::default() });
        let slot = b.slot(outer, "x", None);
        let inner = b.scope(outer, ScopeSpec { into: Some(slot), ..ScopeSpec::default() });
        let done = b.leave(inner, Exit::Done(None));
        let clear = b.set([Write::Clear(slot)], done, None);
        b.begin(inner, &[clear]);
        let value = b.read(slot);
        let next = b.next(inner);
        b.at(next).leave(outer, Exit::Done(Some(value)));
        let enter = b.enter(inner);
        b.begin(outer, &[enter]);
        b.enter(outer)
    });
    assert!(program.is_ok(), "{program:?}");
}

#[test]
fn only_checks_read_the_payload_and_views_read_only_the_root() {
    check_rejected(DefectKind::SlotNotAlive, |b, _| {
        let payload = b.payload();
        let value = b.read(payload);
        b.close(Status::Completed, value)
    });
    check_rejected(DefectKind::SlotNotAlive, |b, end| {
        let local = b.local("mine");
        let value = b.read(local);
        b.view("peek", value);
        end
    });
    check_rejected(DefectKind::SlotReadOnly, |b, end| {
        let now = b.now();
        b.set([Write::Clear(now)], end, None)
    });
}

#[test]
fn the_tables_of_slots_and_scopes_must_agree() {
    broken(DefectKind::SlotHome, |p| p.scopes[0].slots.swap(0, 1));
    broken(DefectKind::SlotHome, |p| {
        let slot = p.scopes[1].slots[0];
        p.scopes[0].slots.push(slot);
    });
    broken(DefectKind::SlotHome, |p| {
        let Entries::Each { item, index, .. } = &mut p.scopes[1].start else { panic!("the first scope has items") };
        *item = *index;
    });
    broken(DefectKind::SlotHome, |p| {
        let root = p.scopes[0].slots[0];
        let Entries::Each { item, .. } = &mut p.scopes[1].start else { panic!("the first scope has items") };
        *item = root;
    });
    check_rejected(DefectKind::SlotHome, |b, end| {
        let scope = b.scope(ROOT, ScopeSpec { next: Some(end), ..ScopeSpec::default() });
        let (item, index) = (b.local("item"), b.local("index"));
        let (items, done) = (b.value(vec![]), b.leave(scope, Exit::Done(None)));
        b.each(scope, items, item, index, done);
        b.enter(scope)
    });
}

#[test]
fn numbers_out_of_range_are_rejected() {
    let retry = Retry { max_attempts: 1, delay_ms: 0, backoff: Backoff::Constant, max_delay_ms: 0, jitter: 0.0 };
    for odd in [
        Retry { max_attempts: 0, ..retry },
        Retry { jitter: 1.5, ..retry },
        Retry { jitter: f64::NAN, ..retry },
        Retry { backoff: Backoff::Exponential(f64::INFINITY), ..retry },
        Retry { backoff: Backoff::Exponential(-1.0), ..retry },
    ] {
        broken(DefectKind::Number, |p| p.scopes[1].retry = Some(odd));
        check_rejected(DefectKind::Number, |b, end| {
            b.effect(Effect { retry: Some(odd), ..effect(Kind::Model) });
            end
        });
    }
    broken(DefectKind::Number, |p| p.scopes[1].want = Want::First(0));
    broken(DefectKind::Number, |p| p.fuel = 0);
    broken(DefectKind::NoEntries, |p| p.scopes[0].start = Entries::Branches(vec![]));
    check_rejected(DefectKind::NoArms, |b, _| b.wait([], None));
    check_rejected(DefectKind::NameTwice, |b, end| {
        b.signal("go", OnEarly::Keep);
        b.signal("go", OnEarly::Reject);
        end
    });
}

/// A fan-out with two branches and an edge for each; `branches` creates the branches.
fn fan(
    b: &mut Builder,
    end: PlaceId,
    branches: impl FnOnce(&mut Builder, [SlotId; 2], ExprId, PlaceId) -> Vec<PlaceId>,
) -> PlaceId {
    let fan = b.scope(ROOT, ScopeSpec { next: Some(end), ..ScopeSpec::default() });
    let edges = [b.slot(fan, "e", None), b.slot(fan, "f", None)];
    let one = b.value(1);
    let done = b.leave(fan, Exit::Done(None));
    let places = branches(b, edges, one, done);
    b.begin(fan, &places);
    b.enter(fan)
}

#[test]
fn an_edge_is_an_empty_slot_of_a_frame_that_its_place_fills() {
    // Not filled there; a local; with a first value; filled from outside its frame.
    check_rejected(DefectKind::Edge, |b, end| {
        fan(b, end, |b, [e, f], one, done| {
            let fill = b.set([Write::Put(f, one)], done, None);
            vec![b.meet([(e, fill)], done, done), fill]
        })
    });
    check_rejected(DefectKind::Edge, |b, end| {
        fan(b, end, |b, _, one, done| {
            let local = b.local("mine");
            let fill = b.set([Write::Put(local, one)], done, None);
            vec![b.meet([(local, fill)], done, done), fill]
        })
    });
    check_rejected(DefectKind::Edge, |b, end| {
        let edge = b.slot(ROOT, "e", Some(Value::Null));
        let fill = b.set([Write::Put(edge, ExprId(0))], end, None);
        let meet = b.meet([(edge, fill)], end, end);
        b.fork([meet, fill])
    });
    let wrong = check_rejected(DefectKind::SlotNotAlive, |b, end| {
        let outside = b.reserve();
        let enter = fan(b, end, |b, [e, _], one, done| {
            b.at(outside).set([Write::Put(e, one)], end, None);
            vec![b.meet([(e, outside)], done, done)]
        });
        b.fork([enter, outside])
    });
    assert!(wrong[0].message.contains("slot `e`"), "{wrong:?}");
}

#[test]
fn merges_do_not_wait_for_each_other() {
    // Each branch fills the other's edge after its own merge.
    let wrong = check_rejected(DefectKind::MeetCycle, |b, end| {
        fan(b, end, |b, [e, f], one, done| {
            let fill_e = b.set([Write::Put(e, one)], done, None);
            let fill_f = b.set([Write::Put(f, one)], done, None);
            vec![b.meet([(f, fill_f)], fill_e, done), b.meet([(e, fill_e)], fill_f, done)]
        })
    });
    assert!(wrong[0].message.contains("wait for each other"), "{wrong:?}");
    // Merges one after the other are valid, and so is a merge whose edge comes after it only by a back edge.
    let program = build(|b, end| {
        fan(b, end, |b, [e, f], one, done| {
            let second_fill = b.set([Write::Put(f, one)], done, None);
            let second = b.meet([(f, second_fill)], done, done);
            let fill = b.reserve();
            let again = b.set([Write::Clear(e)], fill, None);
            let first = b.meet([(e, fill)], second, again);
            b.at(fill).set([Write::Put(e, one)], first, None);
            vec![fill, second_fill]
        })
    });
    assert!(program.is_ok(), "{program:?}");
}

/// The frame of the merge closes only after the merge, so the edge would never be filled.
#[test]
fn a_merge_cannot_wait_for_a_place_after_its_own_frame() {
    let merge_inside = |edge_first: bool| {
        build(|b, end| {
            fan(b, end, |b, [e, _], one, done| {
                let fan = ScopeId(1);
                let inner = b.scope(fan, ScopeSpec::default());
                let (after, out) = (b.next(inner), b.leave(inner, Exit::Done(None)));
                let fill = b.reserve();
                let meet = b.meet([(e, fill)], out, out);
                b.begin(inner, &[meet]);
                let enter = b.enter(inner);
                if edge_first {
                    b.at(fill).set([Write::Put(e, one)], enter, None);
                    // Another round is a back edge, for which merges do not wait.
                    b.at(after).set([Write::Clear(e)], fill, None);
                    vec![fill]
                } else {
                    b.at(fill).set([Write::Put(e, one)], done, None);
                    b.at(after).set([], fill, None);
                    vec![enter]
                }
            })
        })
    };
    assert!(merge_inside(true).is_ok());
    let wrong = merge_inside(false).expect_err("the program is refused");
    assert_eq!(wrong.iter().map(|wrong| wrong.kind).collect::<Vec<_>>(), [DefectKind::MeetCycle]);
    assert!(wrong[0].message.contains("after the enclosing scope s2"), "{wrong:?}");
}

#[track_caller]
fn check_warnings(expect: &[(WarningKind, u32)], start: impl FnOnce(&mut Builder, PlaceId) -> PlaceId) {
    let program = build(start).expect("it is valid");
    let warnings = validate(&program).expect("it is valid");
    let actual: Vec<_> = warnings.iter().map(|warning| (warning.kind, warning.place.0)).collect();
    assert_eq!(actual, expect, "{}", branchpoint_core::ir::print(&program));
}

#[test]
fn a_cycle_that_neither_parks_nor_counts_has_a_warning() {
    check_warnings(&[(WarningKind::Spins, 0), (WarningKind::Unreachable, 2)], |b, _| {
        let head = b.reserve();
        let body = b.set([], head, None);
        b.at(head).fork([body])
    });
    // It parks.
    check_warnings(&[(WarningKind::Unreachable, 2)], |b, _| {
        let (head, model, one) = (b.reserve(), b.effect(effect(Kind::Model)), b.value(1));
        let body = b.do_(model, one, None, head, None);
        b.at(head).fork([body])
    });
    // It counts.
    check_warnings(&[(WarningKind::Unreachable, 1)], |b, _| {
        let n = b.slot(ROOT, "n", Some(Value::Int(0)));
        b.name(ROOT, &["input"], n);
        let more = b.expr(ROOT, "input + 1", Dialect::Steps).expect("it compiles");
        let head = b.reserve();
        b.at(head).set([Write::Put(n, more)], head, None)
    });
    // A jump out of a frame and into it again is a cycle too.
    check_warnings(&[(WarningKind::Spins, 0)], |b, end| {
        let scope = b.scope(ROOT, ScopeSpec { next: Some(end), ..ScopeSpec::default() });
        let enter = b.enter(scope);
        let again = b.leave(scope, Exit::Goto(enter));
        b.begin(scope, &[again]);
        enter
    });
    // There may be no items, so a loop over them does not necessarily park.
    check_warnings(&[(WarningKind::Spins, 0), (WarningKind::Unreachable, 4)], |b, _| {
        let scope = b.scope(ROOT, ScopeSpec::default());
        let (item, index) = (b.slot(scope, "item", None), b.slot(scope, "index", None));
        let (items, model) = (b.value(vec![]), b.effect(effect(Kind::Model)));
        let done = b.leave(scope, Exit::Done(None));
        let work = b.do_(model, items, None, done, None);
        b.each(scope, items, item, index, work);
        let enter = b.enter(scope);
        let next = b.next(scope);
        b.at(next).set([], enter, None);
        enter
    });
}

#[test]
fn a_wait_needs_arms() {
    let program = build(|b, end| {
        let (go, delay) = (b.signal("go", OnEarly::Reject), b.value(5));
        b.wait(
            [Arm::Signal { signal: go, check: None, into: None, next: end }, Arm::After { delay_ms: delay, next: end }],
            None,
        )
    });
    assert_eq!(validate(&program.expect("it is valid")), Ok(vec![]));
}

#[test]
fn the_root_collects_no_results_and_a_run_ends_with_a_final_status() {
    broken(DefectKind::RootGathers, |p| p.scopes[0].want = Want::First(1));
    broken(DefectKind::RootGathers, |p| p.scopes[0].width = 3);
    broken(DefectKind::NameTwice, |p| p.signals[0].name = "vote".into());
    check_rejected(DefectKind::BadExit, |b, _| {
        let nothing = b.value(Value::Null);
        b.close(Status::WaitingPeople, nothing)
    });
}

/// A loop before a join, and a merge that waits for the join: in one scope, or the loop in a scope of its own.
fn loop_before_a_join(scoped: bool) -> Result<Program, Vec<Defect>> {
    build(|b, end| {
        let fan = b.scope(ROOT, ScopeSpec { next: Some(end), ..ScopeSpec::default() });
        let edge = b.slot(fan, "edge", None);
        let ended = b.leave(fan, Exit::Done(None));
        let value = b.value(1);
        let join = b.set([Write::Put(edge, value)], ended, None);
        let meet = b.meet([(edge, join)], ended, ended);
        let inner = if scoped { b.scope(fan, ScopeSpec { next: Some(join), ..ScopeSpec::default() }) } else { fan };
        let again = b.condition(fan, "1 == 2", Dialect::Machine).expect("it compiles");
        let (decide, body) = (b.reserve(), b.reserve());
        let out = if scoped { b.leave(inner, Exit::Done(None)) } else { join };
        b.at(decide).decide([(again, body)], out, None);
        let work = b.effect(effect(Kind::Tool));
        b.at(body).do_(work, value, None, decide, None);
        let first = if scoped {
            b.begin(inner, &[decide]);
            b.enter(inner)
        } else {
            decide
        };
        b.begin(fan, &[first, meet]);
        b.enter(fan)
    })
}

#[test]
fn a_loop_that_a_merge_waits_for_needs_a_scope_of_its_own() {
    loop_before_a_join(true).expect("the merge sees what comes after the loop");
    let wrong = loop_before_a_join(false).expect_err("the merge would fire too early");
    assert_eq!(wrong.iter().map(|wrong| wrong.kind).collect::<Vec<_>>(), [DefectKind::LoopWithoutScope]);
}
