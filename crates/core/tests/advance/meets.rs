//! Merges: skipped branches, inner frames, and a width of one.

use branchpoint_core::ir::builder::{ROOT, ScopeSpec};
use branchpoint_core::ir::{Exit, PlaceId, ScopeId, SlotId, Write};
use branchpoint_expr::{Dialect, Value};

use crate::host::{Host, Make, retry};

/// A scope with one edge, a merge in it, and the place that fills the edge and ends its strand.
struct Case {
    make: Make,
    scope: ScopeId,
    edge: SlotId,
    join: PlaceId,
    merge: PlaceId,
}

fn merge(spec: ScopeSpec) -> Case {
    let mut make = Make::new();
    let scope = make.scope(spec);
    let edge = make.b.slot(scope, "edge", None);
    make.b.name(scope, &["edge"], edge);
    let ended = make.b.leave(scope, Exit::Done(None));
    let value = make.b.read(make.v);
    let join = make.b.set([Write::Put(edge, value)], ended, None);
    let done = make.done(scope);
    let after = make.effect("after", done);
    let filled = make.set(scope, make.v, "[edge]", after);
    let empty = make.set(scope, make.v, "'nothing'", after);
    let merge = make.b.meet([(edge, join)], filled, empty);
    Case { make, scope, edge, join, merge }
}

impl Case {
    /// Decides by the result of an effect whether to fill the edge.
    fn gated(&mut self, kind: &str) -> PlaceId {
        let blocked = self.make.b.leave(self.scope, Exit::Done(None));
        let joins = self.make.b.condition(self.scope, "v == 1", Dialect::Machine).unwrap();
        let gate = self.make.b.decide([(joins, self.join)], blocked, None);
        self.make.effect(kind, gate)
    }

    fn run(self, branches: &[PlaceId]) -> Host {
        self.make.run_branches(self.scope, branches)
    }
}

#[test]
fn a_merge_waits_for_its_edge() {
    let mut case = merge(ScopeSpec::default());
    let branch = case.gated("gate");
    let merge = case.merge;
    let mut host = case.run(&[merge, branch]);
    assert_eq!(host.flying(), ["gate"]);
    host.answer("gate", 1);
    assert_eq!(host.inputs.last().unwrap(), "after [1]");
    host.answer("after", 9);
    host.completed_with("[9,null]");
}

#[test]
fn a_skipped_branch_settles_its_edge_without_filling_it() {
    let mut case = merge(ScopeSpec::default());
    let branch = case.gated("gate");
    let merge = case.merge;
    let mut host = case.run(&[merge, branch]);
    host.answer("gate", 0);
    assert_eq!(host.inputs.last().unwrap(), "after \"nothing\"");
}

#[test]
fn under_a_width_of_one_a_merge_gives_up_its_place() {
    let mut case = merge(ScopeSpec { width: 1, ..ScopeSpec::default() });
    let branch = case.gated("gate");
    let merge = case.merge;
    let mut host = case.run(&[merge, branch]);
    assert_eq!(host.flying(), ["gate"], "the second branch has begun");
    host.answer("gate", 1);
    assert_eq!(host.inputs.last().unwrap(), "after [1]");
}

#[test]
fn a_branch_that_has_not_begun_counts_as_being_at_its_entry() {
    let mut case = merge(ScopeSpec { width: 1, ..ScopeSpec::default() });
    let (first, branch) = (case.make.branch(case.scope, "first"), case.gated("gate"));
    let merge = case.merge;
    let mut host = case.run(&[merge, first, branch]);
    assert_eq!(host.flying(), ["first"]);
    host.answer("first", 0);
    assert_eq!(host.flying(), ["gate"], "the merge still waits");
    host.answer("gate", 1);
    assert_eq!(host.inputs.last().unwrap(), "after [1]");
}

/// The gate in a frame of its own.
fn nested(case: &mut Case, spec: ScopeSpec) -> PlaceId {
    let outer_done = case.make.b.leave(case.scope, Exit::Done(None));
    let inner = case.make.b.scope(case.scope, ScopeSpec { next: Some(outer_done), ..spec });
    let done = case.make.b.leave(inner, Exit::Done(None));
    let value = case.make.b.read(case.make.v);
    let join = case.make.b.set([Write::Put(case.edge, value)], done, None);
    let gate = case.make.effect("gate", join);
    case.make.b.begin(inner, &[gate]);
    // The merge was built for a join in its own frame; this one fills the same edge from inside another.
    case.join = join;
    case.make.b.enter(inner)
}

fn inner_join(spec: ScopeSpec) -> Host {
    let mut case = merge(ScopeSpec::default());
    let enter = nested(&mut case, spec);
    let done = case.make.done(case.scope);
    let after = case.make.effect("after", done);
    let filled = case.make.set(case.scope, case.make.v, "[edge]", after);
    let empty = case.make.set(case.scope, case.make.v, "'nothing'", after);
    let merge = case.make.b.meet([(case.edge, case.join)], filled, empty);
    case.run(&[merge, enter])
}

#[test]
fn a_merge_waits_for_a_strand_in_an_inner_frame() {
    let mut host = inner_join(ScopeSpec::default());
    assert_eq!(host.flying(), ["gate"], "the merge has not fired over the inner frame");
    host.answer("gate", 5);
    assert_eq!(host.inputs.last().unwrap(), "after [5]");
}

#[test]
fn a_merge_waits_for_a_frame_before_its_next_attempt() {
    let mut host = inner_join(ScopeSpec { retry: Some(retry(2, 10)), ..ScopeSpec::default() });
    host.fail("gate", false);
    assert_eq!(host.flying(), Vec::<&str>::new(), "the merge waits for the attempt to come");
    host.pass(10);
    host.answer("gate", 5);
    assert_eq!(host.inputs.last().unwrap(), "after [5]");
}

#[test]
fn the_end_of_an_effect_may_leave_only_a_merge_in_its_entry() {
    // Width 1: the first branch has a merge, and an effect in a frame of its own. When the effect has ended, only the merge is left
    // there, and the second branch, for which it waits, must begin.
    let mut make = Make::new();
    let scope = make.scope(ScopeSpec { width: 1, ..ScopeSpec::default() });
    let edge = make.b.slot(scope, "edge", None);
    let outer_done = make.b.leave(scope, Exit::Done(None));
    let join = make.set(scope, edge, "1", outer_done);
    let inner = make.b.scope(scope, ScopeSpec { next: Some(outer_done), ..ScopeSpec::default() });
    let done = make.b.leave(inner, Exit::Done(None));
    let merge = make.b.meet([(edge, join)], done, done);
    let work = make.branch(inner, "work");
    make.b.begin(inner, &[merge, work]);
    let enter = make.b.enter(inner);
    let mut host = make.run_branches(scope, &[enter, join]);
    host.answer("work", 1);
    host.completed_with("[null,null]");
}

#[test]
fn a_merge_of_an_item_waits_only_for_the_same_item() {
    // Each item has its own merge and gate; the second item's gate is in flight when the first item's merge fires.
    let mut make = Make::new();
    let each = make.scope(ScopeSpec::default());
    let (item, index) = (make.b.slot(each, "item", None), make.b.slot(each, "index", None));
    let edge = make.b.slot(each, "edge", None);
    make.b.name(each, &["edge"], edge);
    make.b.name(each, &["index"], index);
    let done = make.done(each);
    let inner = make.b.scope(each, ScopeSpec { next: Some(done), ..ScopeSpec::default() });
    let end = make.b.leave(inner, Exit::Done(None));
    let join = make.set(inner, edge, "v", end);
    let gate = make.effect("gate", join);
    let after = make.effect("after", end);
    let show = make.set(inner, make.v, "[index, edge]", after);
    let merge = make.b.meet([(edge, join)], show, end);
    make.b.begin(inner, &[merge, gate]);
    let enter = make.b.enter(inner);
    let items = make.b.value(Value::from(vec![Value::Int(1), Value::Int(2)]));
    make.b.each(each, items, item, index, enter);
    let start = make.b.enter(each);
    let mut host = make.run(start);
    assert_eq!(host.flying(), ["gate", "gate"]);
    host.answer("gate", 7);
    assert_eq!(host.inputs.last().unwrap(), "after [0,7]");
    assert_eq!(host.flying(), ["gate", "after"]);
}

#[test]
fn merges_that_wait_for_each_other_are_invalid() {
    let mut make = Make::new();
    let scope = make.scope(ScopeSpec::default());
    let (one, other) = (make.b.slot(scope, "one", None), make.b.slot(scope, "other", None));
    let done = make.done(scope);
    let fill_one = make.set(scope, one, "1", done);
    let fill_other = make.set(scope, other, "1", done);
    let first = make.b.meet([(one, fill_one)], fill_other, done);
    let second = make.b.meet([(other, fill_other)], fill_one, done);
    make.b.begin(scope, &[first, second]);
    let enter = make.b.enter(scope);
    make.b.begin(ROOT, &[enter]);
    assert!(make.b.finish().is_err());
}
