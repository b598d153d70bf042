//! The order of conditions and branches.

use branchpoint_expr::Located;

use super::outline::{Outline, OutlineStep};
use crate::edit::draft::Draft;
use crate::edit::{EditError, EditErrorKind};
use crate::path::{Segment, extended};

/// The fields of a condition.
const CONDITION: [&str; 3] = ["if", "conditions", "match"];

/// Moves a branch to another position, with its condition and its steps.
pub(super) fn reorder(draft: &mut Draft<'_>, id: &str, from: usize, to: usize) -> Result<(), EditError> {
    let outline = Outline::of(&draft.document);
    let step = outline.step(id)?;
    let count = |key: &str| draft.get(&extended(&step.path, key)).and_then(Located::items).map_or(0, <[_]>::len);
    let (key, count) = match &*step.kind {
        "conditional" => ("elif", count("elif") + 1),
        "switch" => ("cases", count("cases")),
        "parallel" => ("branches", count("branches")),
        _ => ("conditions", count("conditions")),
    };
    if from >= count || to >= count {
        let message = format!("`{id}` has {count} branches that can change places.");
        return Err(EditError::new(EditErrorKind::InvalidPosition, message));
    }
    let list = extended(&step.path, key);
    if key != "elif" {
        return draft.move_item(&list, from, to);
    }
    // The first condition is in the step itself, so neighbours change places until the branch is where it belongs.
    let swaps: Vec<usize> = if from < to { (from..to).collect() } else { (to..from).rev().collect() };
    for first in swaps {
        match first.checked_sub(1) {
            Some(elif) => draft.move_item(&list, elif, elif + 1)?,
            None => swap_with_first(draft, step)?,
        }
    }
    Ok(())
}

/// Swaps the condition and the steps of a conditional with those of its first `elif`.
fn swap_with_first(draft: &mut Draft<'_>, step: &OutlineStep) -> Result<(), EditError> {
    let holders = [step.path.clone(), extended(&extended(&step.path, "elif"), 0)];
    let lists = [extended(&holders[0], "then"), extended(&holders[1], "then")];
    let count = |draft: &Draft<'_>, list: &[Segment]| draft.get(list).and_then(Located::items).map_or(0, <[_]>::len);
    let counts = [count(draft, &lists[0]), count(draft, &lists[1])];
    // First copy both lists behind each other, then remove the originals: so no list is ever empty without need.
    let mut copies = [Vec::new(), Vec::new()];
    for side in 0..2 {
        for at in 0..counts[side] {
            copies[side].push(draft.fragment(&extended(&lists[side], at)).ok_or_else(EditError::notation)?);
        }
    }
    for side in 0..2 {
        if !copies[1 - side].is_empty() {
            draft.insert(&lists[side], counts[side], &copies[1 - side])?;
        }
    }
    for side in 0..2 {
        if counts[side] > 0 {
            draft.remove_items(&lists[side], &(0..counts[side]).collect::<Vec<_>>())?;
        }
    }
    for key in CONDITION {
        let values = [0, 1].map(|side: usize| draft.get(&extended(&holders[side], key)).cloned());
        for side in 0..2 {
            let path = extended(&holders[side], key);
            match (&values[side], &values[1 - side]) {
                (_, Some(other)) => draft.set(&path, other)?,
                (Some(_), None) => draft.remove(&path)?,
                (None, None) => {}
            }
        }
    }
    Ok(())
}
