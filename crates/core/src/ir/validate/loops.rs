//! Warnings about cycles that may never end and about unreachable places.
//!
//! A place runs in one scope, so all places of a cycle of jumps are in one scope. A cycle over frames closes them.

use super::super::{Entries, Exit, Index, Op, PlaceId, Program, ScopeId, Write, flow};
use super::{Warning, WarningKind};

pub(super) fn warnings(program: &Program, homes: &[Option<ScopeId>]) -> Vec<Warning> {
    let unreachable = (0..).map(PlaceId).take(program.places.len()).filter(|place| homes[place.index()].is_none());
    let message = "the place is unreachable";
    let mut warnings: Vec<_> =
        unreachable.map(|place| Warning { kind: WarningKind::Unreachable, place, message: message.into() }).collect();
    let cycles = endless_cycles(program, homes);
    warnings.extend(cycles.into_iter().map(|place| {
        let message = "the cycle that begins here neither parks nor counts, so it may never end";
        Warning { kind: WarningKind::Spins, place, message: message.into() }
    }));
    warnings.sort_by_key(|warning| warning.place);
    warnings
}

/// The first place of every cycle that neither parks nor counts.
fn endless_cycles(program: &Program, homes: &[Option<ScopeId>]) -> Vec<PlaceId> {
    // Without the places that park or count, only endless cycles remain.
    let runs: Vec<bool> = (0..)
        .map(PlaceId)
        .zip(&program.places)
        .map(|(id, place)| homes[id.index()].is_some() && !parks(&place.op) && !counts(program, &place.op))
        .collect();
    let after: Vec<Vec<PlaceId>> = (0..)
        .map(PlaceId)
        .take(program.places.len())
        .map(|place| {
            let mut after = Vec::new();
            if runs[place.index()] {
                at_once(program, &program.place(place).op, |to| after.push(to));
                after.retain(|to| runs[to.index()]);
            }
            after
        })
        .collect();
    // A depth-first walk; an edge to a place that is still open closes a cycle.
    let mut seen = vec![VisitState::New; after.len()];
    let mut heads = Vec::new();
    for start in (0..).map(PlaceId).take(after.len()) {
        let mut stack = vec![(start, 0)];
        while let Some((place, next)) = stack.pop() {
            if next == 0 {
                if seen[place.index()] != VisitState::New {
                    if seen[place.index()] == VisitState::Open {
                        heads.push(place);
                    }
                    continue;
                }
                seen[place.index()] = VisitState::Open;
            }
            match after[place.index()].get(next) {
                Some(to) => stack.extend([(place, next + 1), (*to, 0)]),
                None => seen[place.index()] = VisitState::Done,
            }
        }
    }
    heads.sort_unstable();
    heads.dedup();
    heads
}

#[derive(Clone, Copy, PartialEq)]
enum VisitState {
    New,
    Open,
    Done,
}

fn parks(op: &Op) -> bool {
    matches!(op, Op::Do { .. } | Op::Wait { .. } | Op::Meet { .. })
}

/// Whether an op is a `Set` whose new value depends on the old one.
fn counts(program: &Program, op: &Op) -> bool {
    let Op::Set { writes, .. } = op else { return false };
    writes.iter().any(|write| match write {
        Write::Put(slot, expr) => {
            let mut reads_itself = false;
            program.exprs[expr.index()].each_slot(|read| reads_itself |= read == slot.0);
            reads_itself
        }
        Write::Push(..) => true,
        Write::Clear(_) => false,
    })
}

/// Visits the places that can follow immediately, without an event. A frame with entries closes through them.
fn at_once(program: &Program, op: &Op, mut visit: impl FnMut(PlaceId)) {
    match op {
        Op::Enter(scope) => {
            let record = program.scope(*scope);
            flow::entries(record).iter().copied().for_each(&mut visit);
            if matches!(&record.start, Entries::Each { .. }) || flow::entries(record).is_empty() {
                visit(record.next);
            }
        }
        Op::Leave { how: Exit::Done(_) | Exit::Fail(_) | Exit::Goto(_), .. } => flow::successors(program, op, visit),
        _ => flow::targets(op, visit),
    }
}
