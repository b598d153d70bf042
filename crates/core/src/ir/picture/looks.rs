//! How boxes look: by what happens at the places of their steps, and by the arrows that meet there.

use super::super::{Arm, Entries, Op, PlaceId, Program};
use super::owners::Owners;
use super::{Arrow, Look, of_step};

/// The looks of all boxes.
pub(super) fn looks(program: &Program, owners: &Owners, arrows: &[Arrow]) -> Vec<Look> {
    let mut looks = vec![Look::Work; program.steps.len() + 3];
    for (place, record) in (0..).map(PlaceId).zip(&program.places) {
        if let Op::Meet { next, .. } = &record.op
            && let Some(step) = owners.of(*next)
        {
            looks[of_step(step)] = Look::Merge;
        }
        let Some(step) = owners.of(place) else { continue };
        match &record.op {
            Op::Wait { arms, .. } if arms.iter().any(|arm| matches!(arm, Arm::Request { .. })) => {
                looks[of_step(step)] = Look::People;
            }
            Op::Enter(scope) if matches!(program.scope(*scope).start, Entries::Each { .. }) => {
                looks[of_step(step)] = Look::Loop;
            }
            Op::Decide { .. } if looks[of_step(step)] == Look::Work => looks[of_step(step)] = Look::Decision,
            _ => {}
        }
    }
    for (node, look) in looks.iter_mut().enumerate() {
        // A step that decides and never has two ways decides about something else.
        let ways = arrows.iter().filter(|arrow| arrow.from == node && !arrow.failure).count();
        if *look == Look::Decision && ways < 2 {
            *look = Look::Work;
        }
        if arrows.iter().any(|arrow| arrow.to == node && is_inside(program, arrow.from, node)) {
            *look = Look::Loop;
        }
    }
    looks
}

/// Whether one box stands for a step inside of the other's.
fn is_inside(program: &Program, inner: usize, outer: usize) -> bool {
    let step = |node: usize| node.checked_sub(1).and_then(|step| program.steps.get(step));
    let parent = |node: usize| step(node).and_then(|step| step.parent).map(of_step);
    std::iter::successors(parent(inner), |node| parent(*node)).any(|node| node == outer)
}
