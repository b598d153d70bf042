//! Tests of the places from which an edge can be reached.

use super::*;
use crate::ir::builder::{Builder, ROOT, ScopeSpec};
use crate::ir::{Failure, SlotId, Write, print};

/// A program with one merge and named places.
struct Fixture {
    b: Builder,
    end: PlaceId,
    scope: ScopeId,
    edge: SlotId,
    /// The place that fills the edge.
    fill: PlaceId,
    marked: Vec<(&'static str, PlaceId)>,
}

impl Fixture {
    fn new() -> Self {
        let mut b = Builder::new();
        let nothing = b.value(0);
        let end = b.close(crate::ir::Status::Completed, nothing);
        let scope = b.scope(ROOT, ScopeSpec { next: Some(end), ..ScopeSpec::default() });
        let edge = b.slot(scope, "edge", None);
        let fill = b.reserve();
        Self { b, end, scope, edge, fill, marked: Vec::new() }
    }

    /// Names a place by a step, because the builder renumbers places but not steps.
    fn mark(&mut self, name: &'static str, place: PlaceId) -> PlaceId {
        let step = self.b.step(name, "", None, (0, 0));
        self.b.mark(place, crate::ir::Mark::Begin(step, None));
        self.marked.push((name, place));
        place
    }

    fn step(&mut self, name: &'static str, next: PlaceId) -> PlaceId {
        let place = self.b.set([], next, None);
        self.mark(name, place)
    }

    fn done(&mut self, scope: ScopeId) -> PlaceId {
        self.b.leave(scope, Exit::Done(None))
    }

    /// Checks from which named places the edge of a merge can be reached, with branches that run in parallel to it.
    #[track_caller]
    fn check(mut self, branches: &[PlaceId], expect: &[&str]) {
        let (done, one) = (self.done(self.scope), self.b.value(1));
        self.b.at(self.fill).set([Write::Put(self.edge, one)], done, None);
        let meet = self.b.meet([(self.edge, self.fill)], done, done);
        let meet = self.mark("meet", meet);
        self.b.begin(self.scope, &[&[meet], branches].concat());
        let enter = self.b.enter(self.scope);
        let enter = self.mark("enter", enter);
        self.b.begin(ROOT, &[enter]);
        let program = self.b.finish().unwrap_or_else(|wrong| panic!("{wrong:?}"));
        let reach = Reachability::new(&program);
        let (_, to, within) = edges(&program).next().expect("there is an edge");
        let can: Vec<_> = (0..)
            .map(PlaceId)
            .zip(&program.places)
            .filter(|(from, _)| reach.can_reach(*from, to, within))
            .flat_map(|(_, place)| &place.marks)
            .map(|mark| match mark {
                crate::ir::Mark::Begin(step, _) => &*program.steps[step.index()].id,
                _ => unreachable!("only beginnings are marked"),
            })
            .collect();
        assert_eq!(can, expect, "\n{}", print(&program));
    }
}

#[test]
fn places_before_the_edge_count_and_places_after_it_do_not() {
    let mut w = Fixture::new();
    let done = w.done(w.scope);
    let other = w.step("other", done);
    let near = w.step("near", w.fill);
    let far = w.step("far", near);
    w.check(&[far, other], &["far", "near"]);
}

#[test]
fn the_filling_place_itself_counts() {
    let mut w = Fixture::new();
    let fill = w.fill;
    w.mark("fill", fill);
    w.check(&[fill], &["fill"]);
}

#[test]
fn a_jump_back_does_not_count() {
    let mut w = Fixture::new();
    let head = w.b.reserve();
    let never = w.b.condition(ROOT, "false", branchpoint_expr::Dialect::Steps).expect("it compiles");
    let tail = w.step("tail", head);
    w.b.at(head).decide([(never, tail)], w.fill, None);
    w.mark("head", head);
    w.check(&[head], &["head"]);
}

#[test]
fn next_and_fail_of_an_inner_scope_count_from_inside_it() {
    for by_failure in [false, true] {
        let mut w = Fixture::new();
        let after = w.done(w.scope);
        let mut spec = ScopeSpec { next: Some(w.fill), ..ScopeSpec::default() };
        if by_failure {
            spec = ScopeSpec { next: Some(after), fail: Some(Failure { to: w.fill, error: None }), ..spec };
        }
        let inner = w.b.scope(w.scope, spec);
        let deep = w.b.scope(inner, ScopeSpec::default());
        let done = w.done(deep);
        let deepest = w.step("deepest", done);
        w.b.begin(deep, &[deepest]);
        let next = w.b.next(deep);
        w.b.at(next).leave(inner, Exit::Done(None));
        let enter = w.b.enter(deep);
        let inside = w.step("inside", enter);
        w.b.begin(inner, &[inside]);
        let enter = w.b.enter(inner);
        let branch = w.step("branch", enter);
        w.check(&[branch], &["branch", "inside", "deepest"]);
    }
}

/// A strand in a loop continues only over the back edge. The loop has a scope, whose `next` counts.
#[test]
fn the_place_after_a_loop_counts_from_inside_the_loop() {
    let mut w = Fixture::new();
    let looping = w.b.scope(w.scope, ScopeSpec { next: Some(w.fill), ..ScopeSpec::default() });
    let never = w.b.condition(ROOT, "false", branchpoint_expr::Dialect::Steps).expect("it compiles");
    let out = w.done(looping);
    let head = w.b.reserve();
    let body = w.step("body", head);
    w.b.at(head).decide([(never, out)], body, None);
    w.b.begin(looping, &[head]);
    let enter = w.b.enter(looping);
    let enter = w.mark("loop", enter);
    w.check(&[enter], &["loop", "body"]);
}

#[test]
fn an_exit_of_an_inner_scope_counts_if_it_leads_forward() {
    let mut w = Fixture::new();
    let done = w.done(w.scope);
    let inner = w.b.scope(w.scope, ScopeSpec { next: Some(done), ..ScopeSpec::default() });
    let out = w.b.leave(inner, Exit::Goto(w.fill));
    let jumps = w.mark("jumps", out);
    let stays = w.done(inner);
    let stays = w.mark("stays", stays);
    w.b.begin(inner, &[jumps, stays]);
    let enter = w.b.enter(inner);
    let enter = w.mark("branch", enter);
    w.check(&[enter], &["branch", "jumps"]);
}

#[test]
fn an_exit_of_the_frame_does_not_count() {
    let mut w = Fixture::new();
    // Leaves the frame of the merge for a place before it, which would enter it again.
    let again = w.b.reserve();
    let out = w.b.leave(w.scope, Exit::Goto(again));
    let out = w.mark("out", out);
    let fresh = w.b.enter(w.scope);
    w.b.at(again).fork([fresh, w.end]);
    let fill = w.fill;
    w.check(&[out, fill], &[]);
}

#[test]
fn an_edge_in_an_inner_frame_can_be_reached_from_where_it_is_entered() {
    let mut w = Fixture::new();
    let done = w.done(w.scope);
    let inner = w.b.scope(w.scope, ScopeSpec { next: Some(done), ..ScopeSpec::default() });
    let leaves = w.done(inner);
    let passed = w.step("passed", leaves);
    let (edge, one) = (w.edge, w.b.value(1));
    let fill = w.b.set([Write::Put(edge, one)], passed, None);
    let before = w.step("before", fill);
    w.b.begin(inner, &[before]);
    let enter = w.b.enter(inner);
    let enter = w.mark("branch", enter);
    let meet = w.b.meet([(edge, fill)], done, done);
    // The first edge of this program is the one of this merge, because its branch comes first.
    w.check_inner(meet, enter);
}

impl Fixture {
    #[track_caller]
    fn check_inner(mut self, meet: PlaceId, branch: PlaceId) {
        let (done, one) = (self.done(self.scope), self.b.value(2));
        self.b.at(self.fill).set([Write::Put(self.edge, one)], done, None);
        self.b.begin(self.scope, &[meet, branch]);
        let enter = self.b.enter(self.scope);
        self.b.begin(ROOT, &[enter]);
        let program = self.b.finish().unwrap_or_else(|wrong| panic!("{wrong:?}"));
        let reach = Reachability::new(&program);
        let (_, to, within) = edges(&program).next().expect("there is an edge");
        let can = |name: &str| {
            let step = program.steps.iter().position(|step| &*step.id == name).expect("it is marked");
            let place = program.places.iter().position(|place| {
                place.marks.iter().any(|mark| matches!(mark, crate::ir::Mark::Begin(at, _) if at.index() == step))
            });
            let place = u32::try_from(place.expect("it is there")).expect("it is small");
            reach.can_reach(PlaceId(place), to, within)
        };
        assert_eq!([can("branch"), can("before"), can("passed")], [true, true, false], "\n{}", print(&program));
    }
}

#[test]
fn a_program_without_merges_computes_nothing() {
    assert!(Reachability::new(&Builder::sample()).0.is_empty());
}
