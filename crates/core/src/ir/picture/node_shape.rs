//! The shapes of nodes, derived from the ops of their steps and from the arrows.

use super::super::{Arm, Entries, Mark, Op, PlaceId, Program, StepId};
use super::owners::Owners;
use super::{Arrow, NodeShape, of_step};

/// The shapes of all nodes.
pub(super) fn node_shapes(program: &Program, owners: &Owners, arrows: &[Arrow]) -> Vec<NodeShape> {
    let mut shapes = vec![NodeShape::Work; program.steps.len() + 3];
    for (place, record) in (0..).map(PlaceId).zip(&program.places) {
        if let Op::Meet { next, .. } = &record.op
            && let Some(step) = begun_after(program, *next)
        {
            shapes[of_step(step)] = NodeShape::Merge;
        }
        let Some(step) = owners.of(place) else { continue };
        match &record.op {
            Op::Wait { arms, .. } if arms.iter().any(|arm| matches!(arm, Arm::Request { .. })) => {
                shapes[of_step(step)] = NodeShape::People;
            }
            Op::Enter(scope) if matches!(program.scope(*scope).start, Entries::Each { .. }) => {
                shapes[of_step(step)] = NodeShape::Loop;
            }
            Op::Decide { .. } if shapes[of_step(step)] == NodeShape::Work => {
                shapes[of_step(step)] = NodeShape::Decision;
            }
            _ => {}
        }
    }
    // A step with a single branch does not show its decision.
    let mut branch_counts = vec![0_usize; shapes.len()];
    for arrow in arrows.iter().filter(|arrow| !arrow.failure) {
        branch_counts[arrow.from] += 1;
    }
    for (shape, branch_count) in shapes.iter_mut().zip(branch_counts) {
        if *shape == NodeShape::Decision && branch_count < 2 {
            *shape = NodeShape::Work;
        }
    }
    for arrow in arrows.iter().filter(|arrow| is_inside(program, arrow.from, arrow.to)) {
        shapes[arrow.to] = NodeShape::Loop;
    }
    shapes
}

/// The step that begins after a merge and the writes that combine its inputs.
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

/// Whether the step of one node is inside the step of the other.
pub(super) fn is_inside(program: &Program, inner: usize, outer: usize) -> bool {
    let step = |node: usize| node.checked_sub(1).and_then(|step| program.steps.get(step));
    let parent = |node: usize| step(node).and_then(|step| step.parent).map(of_step);
    std::iter::successors(parent(inner), |node| parent(*node)).any(|node| node == outer)
}
