//! The expressions, conditions and slots that ops, decisions and scopes use.

use super::{Arm, ConditionId, Decision, Entries, Exit, ExprId, Mark, Op, Place, Scope, SlotId, Verdict, Write};

/// One use of an expression, condition or slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// An expression is evaluated.
    Value(ExprId),
    /// A condition is evaluated.
    Guard(ConditionId),
    /// A condition over the payload of a signal is evaluated.
    Check(ConditionId),
    /// A slot is written, or read as an edge.
    Slot(SlotId),
}

/// Visits all uses of a decision.
pub(super) fn of_decision(decision: &Decision, mut visit: impl FnMut(Use)) {
    let Decision { branches, count, items, attempt, error, answer, .. } = decision;
    for branch in branches {
        [branch.condition, branch.test].into_iter().flatten().map(Use::Guard).for_each(&mut visit);
        [branch.reason, branch.leads_to].into_iter().flatten().map(Use::Value).for_each(&mut visit);
    }
    let values = [
        count.map(|count| count.value),
        count.and_then(|count| count.limit),
        items.map(|items| items.count),
        items.and_then(|items| items.left_out),
        items.and_then(|items| items.failed),
        attempt.map(|attempt| attempt.number),
        attempt.map(|attempt| attempt.limit),
        *error,
        *answer,
    ];
    values.into_iter().flatten().map(Use::Value).for_each(visit);
}

/// Visits all uses of a place, without those of its decision.
pub(super) fn of_place(place: &Place, mut visit: impl FnMut(Use)) {
    for mark in &place.marks {
        if let Mark::Begin(_, Some(value))
        | Mark::End(_, Some(value))
        | Mark::Fail(_, value)
        | Mark::ContentType(_, value) = mark
        {
            visit(Use::Value(*value));
        }
    }
    match &place.op {
        Op::Do { input, into, .. } => {
            visit(Use::Value(*input));
            into.iter().copied().map(Use::Slot).for_each(&mut visit);
        }
        Op::Decide { arms, .. } => arms.iter().for_each(|(guard, _)| visit(Use::Guard(*guard))),
        Op::Set { writes, .. } => {
            for write in writes {
                match write {
                    Write::Put(slot, value) | Write::Push(slot, value) => {
                        visit(Use::Slot(*slot));
                        visit(Use::Value(*value));
                    }
                    Write::Clear(slot) => visit(Use::Slot(*slot)),
                }
            }
        }
        Op::Wait { arms, .. } => arms.iter().for_each(|arm| of_arm(arm, &mut visit)),
        Op::Leave { how, .. } => match how {
            Exit::Done(Some(value)) | Exit::Fail(value) | Exit::Close(Verdict { result: value, .. }) => {
                visit(Use::Value(*value));
            }
            Exit::Done(None) | Exit::Goto(_) => {}
        },
        Op::Meet { edges, .. } => edges.iter().for_each(|(slot, _)| visit(Use::Slot(*slot))),
        Op::Enter(_) | Op::Fork { .. } => {}
    }
    if let Op::Do { fail, .. } | Op::Decide { fail, .. } | Op::Set { fail, .. } | Op::Wait { fail, .. } = &place.op {
        fail.and_then(|fail| fail.error).into_iter().map(Use::Slot).for_each(visit);
    }
}

fn of_arm(arm: &Arm, visit: &mut impl FnMut(Use)) {
    let (value, into) = match arm {
        Arm::Signal { check, into, .. } => {
            check.iter().copied().map(Use::Check).for_each(&mut *visit);
            (None, *into)
        }
        Arm::Request { spec, into, .. } => (Some(*spec), *into),
        Arm::After { delay_ms: value, .. } | Arm::Until { at_ms: value, .. } => (Some(*value), None),
    };
    value.into_iter().map(Use::Value).chain(into.into_iter().map(Use::Slot)).for_each(visit);
}

/// Visits all uses of a scope by the strand that enters it, in the enclosing frame.
pub(super) fn of_scope(scope: &Scope, mut visit: impl FnMut(Use)) {
    if let Entries::Each { items, .. } = &scope.start {
        visit(Use::Value(*items));
    }
    let error = scope.fail.and_then(|fail| fail.error);
    [scope.into, scope.outcomes, error].into_iter().flatten().for_each(|slot| visit(Use::Slot(slot)));
}
