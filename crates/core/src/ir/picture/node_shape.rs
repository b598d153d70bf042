//! How boxes look: by what happens at the places of their steps, and by the arrows that meet there.

use super::super::{Arm, Entries, Mark, Op, PlaceId, Program, StepId};
use super::owners::Owners;
use super::{Arrow, NodeShape, of_step};

/// The looks of all boxes.
pub(super) fn looks(program: &Program, owners: &Owners, arrows: &[Arrow]) -> Vec<NodeShape> {
    let mut looks = vec![NodeShape::Work; program.steps.len() + 3];
    for (place, record) in (0..).map(PlaceId).zip(&program.places) {
        if let Op::Meet { next, .. } = &record.op
            && let Some(step) = begun_after(program, *next)
        {
            looks[of_step(step)] = NodeShape::Merge;
        }
        let Some(step) = owners.of(place) else { continue };
        match &record.op {
            Op::Wait { arms, .. } if arms.iter().any(|arm| matches!(arm, Arm::Request { .. })) => {
                looks[of_step(step)] = NodeShape::People;
            }
            Op::Enter(scope) if matches!(program.scope(*scope).start, Entries::Each { .. }) => {
                looks[of_step(step)] = NodeShape::Loop;
            }
            Op::Decide { .. } if looks[of_step(step)] == NodeShape::Work => looks[of_step(step)] = NodeShape::Decision,
            _ => {}
        }
    }
    // A step that decides and never has two ways decides about something else.
    let mut ways = vec![0_usize; looks.len()];
    for arrow in arrows.iter().filter(|arrow| !arrow.failure) {
        ways[arrow.from] += 1;
    }
    for (look, ways) in looks.iter_mut().zip(ways) {
        if *look == NodeShape::Decision && ways < 2 {
            *look = NodeShape::Work;
        }
    }
    for arrow in arrows.iter().filter(|arrow| is_inside(program, arrow.from, arrow.to)) {
        looks[arrow.to] = NodeShape::Loop;
    }
    looks
}

/// The step that begins after a merge, once what arrived was put together.
fn begun_after(program: &Program, mut place: PlaceId) -> Option<StepId> {
    // A chain of writes cannot be longer than the program.
    for _ in &program.places {
        let record = program.place(place);
        let begun = record.marks.iter().find_map(|mark| match mark {
            Mark::Begin(step, _) => Some(*step),
            _ => None,
        });
        match (&record.op, begun) {
            (_, Some(step)) => return Some(step),
            (Op::Set { next, .. }, None) => place = *next,
            _ => return None,
        }
    }
    None
}

/// Whether one box stands for a step inside of the other's.
pub(super) fn is_inside(program: &Program, inner: usize, outer: usize) -> bool {
    let step = |node: usize| node.checked_sub(1).and_then(|step| program.steps.get(step));
    let parent = |node: usize| step(node).and_then(|step| step.parent).map(of_step);
    std::iter::successors(parent(inner), |node| parent(*node)).any(|node| node == outer)
}
