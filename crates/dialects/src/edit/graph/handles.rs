//! The conditions of an `if`. Connections name them by position, so they follow when conditions change places.

use branchpoint_expr::Located;

use super::outline::Outline;
use crate::edit::draft::Draft;
use crate::edit::{EditError, EditErrorKind, values};
use crate::path::{Segment, extended};

/// Moves a condition. Its connections follow.
pub(super) fn reorder(draft: &mut Draft<'_>, id: &str, from: usize, to: usize) -> Result<(), EditError> {
    let list = conditions(draft, id)?;
    let count = draft.get(&list).and_then(Located::items).map_or(0, <[_]>::len);
    if from >= count || to >= count {
        let message = format!("`{id}` has {count} conditions.");
        return Err(EditError::new(EditErrorKind::InvalidPosition, message));
    }
    let position = |index: usize| match index {
        _ if index == from => to,
        _ if from < index && index <= to => index - 1,
        _ if to <= index && index < from => index + 1,
        _ => index,
    };
    draft.move_item(&list, from, to)?;
    renumber(draft, id, position)
}

/// Removes a condition and its connections.
pub(super) fn remove(draft: &mut Draft<'_>, id: &str, index: usize) -> Result<(), EditError> {
    let list = conditions(draft, id)?;
    draft.remove(&extended(&list, index))?;
    let outline = Outline::of(&draft.document);
    let handle = format!("condition-{index}");
    let gone = outline.leaving(id).filter(|connection| connection.leaves_by(&handle));
    let gone: Vec<usize> = gone.map(|connection| connection.index).collect();
    if !gone.is_empty() {
        draft.remove_items(&["connections".into()], &gone)?;
    }
    renumber(draft, id, |other| if other > index { other - 1 } else { other })
}

fn conditions(draft: &Draft<'_>, id: &str) -> Result<Vec<Segment>, EditError> {
    let outline = Outline::of(&draft.document);
    let node = outline.node(id)?;
    if &*node.kind != "if" {
        let message = format!("`{id}` has no conditions.");
        return Err(EditError::new(EditErrorKind::InvalidPosition, message));
    }
    Ok(extended(&extended(&node.path, "data"), "conditions"))
}

/// Gives the connections of conditions the handles of their new positions.
fn renumber(draft: &mut Draft<'_>, id: &str, position: impl Fn(usize) -> usize) -> Result<(), EditError> {
    let outline = Outline::of(&draft.document);
    let changed = outline.leaving(id).filter_map(|connection| {
        let old = match &*connection.handle {
            "true" => 0,
            handle => handle.strip_prefix("condition-")?.parse().ok()?,
        };
        let new = position(old);
        let handle = values::text(&format!("condition-{new}"));
        (new != old).then(|| (extended(&connection.path, "sourceHandle"), handle))
    });
    let changed: Vec<_> = changed.collect();
    draft.set_all(&changed)
}
