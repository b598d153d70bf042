//! Scopes: completion, failures, width, items, time limits, retries, exits.

use branchpoint_core::ir::builder::{ROOT, ScopeSpec};
use branchpoint_core::ir::{Exit, Failure, OnFail, Want};
use branchpoint_expr::{Dialect, Value};

use crate::host::{Host, Make, retry};

/// Three parallel effects a, b, c.
fn three(spec: ScopeSpec) -> Host {
    let mut make = Make::new();
    let scope = make.scope(spec);
    let branches = ["a", "b", "c"].map(|kind| make.branch(scope, kind));
    make.run_branches(scope, &branches)
}

fn keep() -> ScopeSpec {
    ScopeSpec { on_fail: Some(OnFail::Keep), ..ScopeSpec::default() }
}

fn first(wanted: u32, on_fail: OnFail) -> ScopeSpec {
    ScopeSpec { want: Some(Want::First(wanted)), on_fail: Some(on_fail), ..ScopeSpec::default() }
}

#[test]
fn values_are_in_entry_order_whatever_arrived_first() {
    let mut host = three(ScopeSpec::default());
    assert_eq!(host.flying(), ["a", "b", "c"]);
    host.answer("c", 3);
    host.answer("a", 1);
    host.answer("b", 2);
    host.completed_with("[1,2,3]");
}

#[test]
fn a_failure_withdraws_the_other_entries() {
    let mut host = three(ScopeSpec::default());
    host.answer("a", 1);
    host.fail("b", false);
    assert_eq!(host.withdrawn, ["c"]);
    host.failed_with("boom");
}

#[test]
fn a_kept_failure_is_the_result_of_its_entry() {
    let mut host = three(keep());
    host.fail("b", false);
    host.answer("a", 1);
    host.answer("c", 3);
    host.completed_with("[1,null,3]");
}

#[test]
fn the_first_value_withdraws_the_other_entries() {
    let mut host = three(first(1, OnFail::Stop));
    host.answer("b", 2);
    assert_eq!(host.withdrawn, ["a", "c"]);
    host.completed_with("[null,2,null]");
}

#[test]
fn the_first_two_are_enough_and_failures_that_are_kept_do_not_count() {
    let mut host = three(first(2, OnFail::Keep));
    host.fail("a", false);
    host.answer("c", 3);
    assert!(host.end.is_none());
    host.answer("b", 2);
    host.completed_with("[null,2,3]");
}

#[test]
fn too_few_values_and_a_kept_failure_fail_the_frame() {
    let mut host = three(first(2, OnFail::Keep));
    host.fail("a", false);
    host.fail("b", false);
    host.answer("c", 3);
    host.failed_with("boom");
}

#[test]
fn width_limits_concurrent_entries() {
    let mut host = three(ScopeSpec { width: 2, ..ScopeSpec::default() });
    assert_eq!(host.flying(), ["a", "b"]);
    host.answer("b", 2);
    assert_eq!(host.flying(), ["a", "c"]);
    host.answer("a", 1);
    host.answer("c", 3);
    host.completed_with("[1,2,3]");
}

/// For each of 10, 20, 30: an effect whose input is the item.
fn each(spec: ScopeSpec, items: &str) -> Host {
    let mut make = Make::new();
    let scope = make.scope(spec);
    let (item, index) = (make.b.slot(scope, "item", None), make.b.slot(scope, "index", None));
    make.b.name(scope, &["item"], item);
    make.b.name(scope, &["index"], index);
    let work = make.branch(scope, "work");
    let start = make.set(scope, make.v, "[index, item]", work);
    let items = make.b.expr(ROOT, items, Dialect::Machine).unwrap();
    make.b.each(scope, items, item, index, start);
    let enter = make.b.enter(scope);
    make.run(enter)
}

#[test]
fn each_item_has_slots_of_its_own_and_a_place_in_the_result() {
    let mut host = each(ScopeSpec { width: 1, ..ScopeSpec::default() }, "[10, 20, 30]");
    for answer in 1..=3 {
        assert_eq!(host.flying().len(), 1);
        host.answer("work", answer);
    }
    assert_eq!(host.inputs, ["work [0,10]", "work [1,20]", "work [2,30]"]);
    host.completed_with("[1,2,3]");
}

#[test]
fn a_frame_without_items_closes_at_once() {
    each(ScopeSpec::default(), "[]").completed_with("[]");
}

#[test]
fn items_that_are_not_a_list_fail() {
    each(ScopeSpec::default(), "7").failed_with("wrong_kind");
}

#[test]
fn a_time_limit_fails_the_frame_and_withdraws_its_work() {
    let mut host = three(ScopeSpec { time_limit_ms: Some(50), ..ScopeSpec::default() });
    host.answer("a", 1);
    host.pass(49);
    assert!(host.end.is_none());
    host.pass(1);
    assert_eq!(host.withdrawn, ["b", "c"]);
    host.failed_with("timeout");
}

#[test]
fn a_time_limit_covers_all_attempts_of_the_frame() {
    let spec = ScopeSpec { time_limit_ms: Some(50), retry: Some(retry(9, 30)), ..ScopeSpec::default() };
    let mut host = three(spec);
    host.fail("a", false);
    assert_eq!((host.flying().len(), host.withdrawn.len()), (0, 2), "between attempts nothing is in flight");
    host.pass(30);
    assert_eq!(host.flying(), ["a", "b", "c"]);
    host.fail("c", false);
    host.pass(30);
    host.failed_with("timeout");
}

#[test]
fn a_retried_frame_begins_with_new_slots() {
    let mut make = Make::new();
    let scope = make.scope(ScopeSpec { retry: Some(retry(2, 0)), ..ScopeSpec::default() });
    let count = make.b.slot(scope, "count", Some(Value::Int(0)));
    make.b.name(scope, &["count"], count);
    let done = make.done(scope);
    let work = make.effect("work", done);
    let show = make.set(scope, make.v, "count", work);
    let start = make.set(scope, count, "count + 1", show);
    let mut host = make.run_branches(scope, &[start]);
    host.fail("work", false);
    host.pass(0);
    assert_eq!(host.inputs, ["work 1", "work 1"], "slots of the frame die with the attempt");
    host.fail("work", false);
    host.failed_with("boom");
}

#[test]
fn a_failure_continues_at_its_handler() {
    let mut make = Make::new();
    let fail = Failure { to: make.end, error: Some(make.r) };
    let scope = make.b.scope(ROOT, ScopeSpec { next: Some(make.end), fail: Some(fail), ..ScopeSpec::default() });
    let branch = make.branch(scope, "a");
    let mut host = make.run_branches(scope, &[branch]);
    host.fail("a", false);
    host.completed_with(r#"{"kind":"boom","message":"it broke","step":null}"#);
}

#[test]
fn a_jump_out_of_a_frame_closes_it_and_those_inside() {
    let mut make = Make::new();
    let outer = make.scope(ScopeSpec::default());
    let after = make.b.reserve();
    let inner = make.b.scope(outer, ScopeSpec { next: Some(after), ..ScopeSpec::default() });
    let outside = make.set(ROOT, make.r, "'jumped'", make.end);
    let jump = make.b.leave(outer, Exit::Goto(outside));
    let jumper = make.effect("jumper", jump);
    let sibling = make.branch(inner, "sibling");
    make.b.begin(inner, &[jumper, sibling]);
    let enter = make.b.enter(inner);
    let cousin = make.branch(outer, "cousin");
    make.b.at(after).leave(outer, Exit::Done(None));
    let mut host = make.run_branches(outer, &[enter, cousin]);
    host.answer("jumper", 1);
    assert_eq!(host.withdrawn, ["sibling", "cousin"]);
    host.completed_with("\"jumped\"");
}

#[test]
fn a_run_can_be_closed_from_any_depth() {
    let mut make = Make::new();
    let scope = make.scope(ScopeSpec::default());
    let result = make.b.value("early");
    let close = make.b.close(branchpoint_core::ir::Status::Completed, result);
    let closer = make.effect("closer", close);
    let other = make.branch(scope, "other");
    let mut host = make.run_branches(scope, &[closer, other]);
    host.answer("closer", 1);
    assert_eq!(host.withdrawn, ["other"]);
    host.completed_with("\"early\"");
}

#[test]
fn a_fork_continues_at_each_place_and_its_entry_ends_with_the_last_strand() {
    let mut make = Make::new();
    let scope = make.scope(ScopeSpec::default());
    let (a, b) = (make.branch(scope, "a"), make.branch(scope, "b"));
    let fork = make.b.fork([a, b]);
    let mut host = make.run_branches(scope, &[fork]);
    assert_eq!(host.flying(), ["a", "b"]);
    host.answer("b", 2);
    assert!(host.end.is_none());
    host.answer("a", 1);
    host.completed_with("[1]");
}

/// A number of items that each wait for a long time.
fn waiting_items(count: i64, spec: ScopeSpec) -> Host {
    let mut make = Make::new();
    let scope = make.scope(spec);
    let (item, index) = (make.b.slot(scope, "item", None), make.b.slot(scope, "index", None));
    let done = make.done(scope);
    let delay_ms = make.b.value(1_000_000);
    let wait = make.b.wait([branchpoint_core::ir::Arm::After { delay_ms, next: done }], None);
    let items = make.b.value(Value::from((0..count).map(Value::Int).collect::<Vec<_>>()));
    make.b.each(scope, items, item, index, wait);
    let enter = make.b.enter(scope);
    make.run(enter)
}

#[test]
fn waiting_items_keep_their_place_in_the_width() {
    let host = waiting_items(20_000, ScopeSpec { width: 100, ..ScopeSpec::default() });
    assert_eq!(host.timers.len(), 100);
}

#[test]
fn the_first_of_very_many_items_withdraws_the_others() {
    let mut make = Make::new();
    let scope = make.scope(first(1, OnFail::Stop));
    let (item, index) = (make.b.slot(scope, "item", None), make.b.slot(scope, "index", None));
    let value = make.b.read(index);
    let done = make.b.leave(scope, Exit::Done(Some(value)));
    let items = make.b.value(Value::from((0..50_000).map(Value::Int).collect::<Vec<_>>()));
    make.b.each(scope, items, item, index, done);
    let enter = make.b.enter(scope);
    let (status, _) = make.run(enter).end.expect("it has ended");
    assert_eq!(status, branchpoint_core::ir::Status::Completed);
}
