//! The step of each place: the innermost step that has begun and not ended when a strand reaches the place.

use super::super::flow::{entries, exits, targets};
use super::super::{Exit, Index, Mark, Op, PlaceId, Program, StepId};

/// The steps of places, and the entrances of scopes.
pub(super) struct Owners {
    /// The innermost open step.
    owner: Vec<Option<StepId>>,
    /// The place that enters each scope.
    entrance: Vec<Option<PlaceId>>,
}

impl Owners {
    /// Follows the code in reading order. A place with several paths to it gets the steps of the first path.
    pub(super) fn new(program: &Program) -> Self {
        let mut walk = Walk {
            program,
            owners: Self { owner: vec![None; program.places.len()], entrance: vec![None; program.scopes.len()] },
            seen: vec![false; program.places.len()],
            stack: Vec::new(),
            outside: vec![Vec::new(); program.scopes.len()],
            late: Vec::new(),
        };
        walk.run();
        walk.owners
    }

    pub(super) fn of(&self, place: PlaceId) -> Option<StepId> {
        self.owner[place.index()]
    }

    /// The step of a scope: the owner of the place that enters the scope.
    pub(super) fn entering(&self, scope: super::super::ScopeId) -> Option<StepId> {
        self.entrance[scope.index()].and_then(|place| self.of(place))
    }
}

/// A place to visit, with the steps that are open before its marks.
type Next = (PlaceId, Vec<StepId>);

struct Walk<'p> {
    program: &'p Program,
    owners: Owners,
    seen: Vec<bool>,
    stack: Vec<Next>,
    /// The open steps at the entrance of each scope.
    outside: Vec<Vec<StepId>>,
    /// Targets of exits from scopes, visited last, because most are reached on other paths too.
    late: Vec<Next>,
}

impl Walk<'_> {
    fn run(&mut self) {
        let root = self.program.scope(Program::ROOT);
        self.late.extend(root.fail.map(|fail| (fail.to, Vec::new())));
        self.stack.extend(entries(root).iter().rev().map(|place| (*place, Vec::new())));
        while let Some((place, open)) =
            self.stack.pop().or_else(|| (!self.late.is_empty()).then(|| self.late.remove(0)))
        {
            if !std::mem::replace(&mut self.seen[place.index()], true) {
                self.visit(place, open);
            }
        }
    }

    fn visit(&mut self, place: PlaceId, mut open: Vec<StepId>) {
        let record = self.program.place(place);
        for mark in &record.marks {
            match mark {
                Mark::Begin(step, _) => open.push(*step),
                Mark::End(step, _) | Mark::Fail(step, _) => {
                    if let Some(at) = open.iter().rposition(|other| other == step) {
                        open.truncate(at);
                    }
                }
                Mark::Branch(..) | Mark::Warn(..) | Mark::Skip(..) | Mark::ContentType(..) => {}
            }
        }
        self.owners.owner[place.index()] = open.last().copied();
        let mut next = Vec::new();
        targets(&record.op, |to| next.push(to));
        match &record.op {
            Op::Enter(scope) => {
                self.owners.entrance[scope.index()] = Some(place);
                self.outside[scope.index()].clone_from(&open);
                next.extend(entries(self.program.scope(*scope)));
                next.extend(exits(self.program, *scope));
            }
            Op::Leave { scope, how: Exit::Goto(to) } => self.late.push((*to, self.outside[scope.index()].clone())),
            _ => {}
        }
        self.stack.extend(next.into_iter().rev().map(|to| (to, open.clone())));
    }
}
