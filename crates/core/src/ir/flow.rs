//! The control flow between places, shared by layout, validation and reachability.

use super::{Arm, Entries, Exit, Op, PlaceId, Program, Scope, ScopeId};

/// Visits every place of the same frame where a strand can continue after this op, in document order.
///
/// The entries of [`Op::Enter`] and the targets of [`Op::Leave`] are not included, because they are in other frames.
pub(super) fn targets(op: &Op, mut visit: impl FnMut(PlaceId)) {
    successes(op, &mut visit);
    if let Op::Do { fail, .. } | Op::Set { fail, .. } | Op::Decide { fail, .. } | Op::Wait { fail, .. } = op {
        fail.iter().map(|fail| fail.to).for_each(visit);
    }
}

/// Like [`targets`], without the handlers of failures.
pub(super) fn successes(op: &Op, mut visit: impl FnMut(PlaceId)) {
    match op {
        Op::Do { next, .. } | Op::Set { next, .. } => visit(*next),
        Op::Decide { arms, otherwise, .. } => {
            arms.iter().map(|(_, to)| *to).for_each(&mut visit);
            visit(*otherwise);
        }
        Op::Wait { arms, .. } => {
            for arm in arms {
                match arm {
                    Arm::Signal { next, .. } | Arm::After { next, .. } | Arm::Until { next, .. } => visit(*next),
                    Arm::Request { next, expired, .. } => {
                        visit(*next);
                        expired.map(&mut visit);
                    }
                }
            }
        }
        Op::Fork { to } => to.iter().copied().for_each(visit),
        Op::Meet { next, none, .. } => {
            visit(*next);
            visit(*none);
        }
        Op::Enter(_) | Op::Leave { .. } => {}
    }
}

/// The places where the entries of a scope begin.
pub(super) fn entries(scope: &Scope) -> &[PlaceId] {
    match &scope.start {
        Entries::Branches(places) => places,
        Entries::Each { place, .. } => std::slice::from_ref(place),
    }
}

/// The places where the strand that entered a scope continues: after the scope, after its failure, and when its budget is used up. The
/// root has only a handler of failures, which is in the root itself.
pub(super) fn exits(program: &Program, scope: ScopeId) -> impl Iterator<Item = PlaceId> {
    let record = program.scope(scope);
    let next = (scope != Program::ROOT).then_some(record.next);
    let exhausted = program.budget_of(scope).and_then(|budget| budget.exhausted);
    next.into_iter().chain(record.fail.into_iter().chain(exhausted).map(|fail| fail.to))
}

/// Visits every place that can follow an op in any frame, in reading order.
pub(super) fn successors(program: &Program, op: &Op, mut visit: impl FnMut(PlaceId)) {
    targets(op, &mut visit);
    match op {
        Op::Enter(scope) => {
            entries(program.scope(*scope)).iter().copied().for_each(&mut visit);
            exits(program, *scope).for_each(visit);
        }
        Op::Leave { how: Exit::Goto(to), .. } => visit(*to),
        Op::Leave { scope, how: Exit::Done(_) } if *scope != Program::ROOT => visit(program.scope(*scope).next),
        Op::Leave { scope, how: Exit::Fail(_) } => {
            program.scope(*scope).fail.map(|fail| fail.to).into_iter().for_each(visit);
        }
        _ => {}
    }
}

/// Visits every place that an op names.
pub(super) fn places_mut(op: &mut Op, mut visit: impl FnMut(&mut PlaceId)) {
    match op {
        Op::Do { next, .. } | Op::Set { next, .. } => visit(next),
        Op::Decide { arms, otherwise, .. } => {
            arms.iter_mut().map(|(_, to)| to).for_each(&mut visit);
            visit(otherwise);
        }
        Op::Wait { arms, .. } => {
            for arm in arms {
                match arm {
                    Arm::Signal { next, .. } | Arm::After { next, .. } | Arm::Until { next, .. } => visit(next),
                    Arm::Request { next, expired, .. } => {
                        visit(next);
                        expired.iter_mut().for_each(&mut visit);
                    }
                }
            }
        }
        Op::Fork { to } => to.iter_mut().for_each(&mut visit),
        Op::Leave { how: Exit::Goto(to), .. } => visit(to),
        Op::Meet { edges, next, none } => {
            edges.iter_mut().map(|(_, from)| from).for_each(&mut visit);
            visit(next);
            visit(none);
        }
        Op::Enter(_) | Op::Leave { .. } => {}
    }
    if let Op::Do { fail, .. } | Op::Decide { fail, .. } | Op::Set { fail, .. } | Op::Wait { fail, .. } = op {
        fail.iter_mut().map(|fail| &mut fail.to).for_each(visit);
    }
}
