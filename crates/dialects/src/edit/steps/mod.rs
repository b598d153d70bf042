//! Edits of step trees.

mod outline;
mod paste;
mod position;
mod references;
mod reorder;

use std::collections::{BTreeMap, BTreeSet};

use branchpoint_expr::{Located, Object};

use super::draft::Draft;
use super::fragment::Fragment;
use super::{Affected, EditError, EditErrorKind, Edited, Operation, Position, palette, values};
use crate::path::{Segment, extended};
use crate::steps::{has_chain_below, is_id, is_leaf};

use outline::Outline;
use position::{children_list, nothing_below, place};

/// The fields of a step with the steps inside of it, which stand behind its other fields.
pub(super) const STEP_LISTS: [&str; 11] = [
    "child_steps",
    "steps",
    "then_steps",
    "else_steps",
    "then",
    "elif",
    "else",
    "cases",
    "branches",
    "body",
    "on_error",
];

/// Lists that mean the same when they are empty as when they are absent.
const OPTIONAL_LISTS: [&str; 6] = ["child_steps", "steps", "else", "else_steps", "on_error", "on_budget"];

/// The largest number of steps that are removed at once; each is removed on its own.
const MOST_REMOVED: usize = 200;

pub(super) fn edit(draft: &mut Draft<'_>, operation: &Operation) -> Result<Edited, EditError> {
    match operation {
        Operation::Add { step_type, position, id, fields } => add(draft, step_type, position, id.as_deref(), fields),
        Operation::Remove { steps, with_children } => remove(draft, steps, *with_children),
        Operation::Move { step, position } => move_step(draft, step, position),
        Operation::Rename { step, id } => rename(draft, step, id),
        Operation::SetField { step, path, value } => {
            if let ([Segment::Key(key)], Some(step), Some(id)) = (&path[..], step, value.as_str())
                && &**key == "id"
            {
                return rename(draft, step, id);
            }
            let path = field_path(draft, step.as_deref(), path)?;
            values::set(draft, &path, &values::located(value))?;
            Ok(selecting(step.as_deref()))
        }
        Operation::RemoveField { step, path } => {
            let path = field_path(draft, step.as_deref(), path)?;
            draft.remove(&path)?;
            Ok(selecting(step.as_deref()))
        }
        Operation::Reorder { step, from, to } => {
            reorder::reorder(draft, step, *from, *to)?;
            Ok(selecting(Some(step)))
        }
        Operation::Paste { fragment, position } => paste::paste(draft, fragment, position),
        Operation::Connect { .. } | Operation::Disconnect { .. } | Operation::SetPositions(_) => {
            let message = "The steps of a tree have no connections and positions of their own.";
            Err(EditError::new(EditErrorKind::UnsupportedOperation, message).with_help("Move the step instead."))
        }
    }
}

fn selecting(step: Option<&str>) -> Edited {
    Edited { selected: step.map(str::to_owned), ..Edited::default() }
}

fn add(
    draft: &mut Draft<'_>,
    step_type: &str,
    position: &Position,
    id: Option<&str>,
    fields: &Object,
) -> Result<Edited, EditError> {
    let outline = Outline::of(&draft.document);
    let mut ids = outline.ids();
    let id = match id {
        Some(id) => checked_id(id, &ids)?,
        None => unique_id(step_type, &ids),
    };
    ids.insert(id.as_str().into());
    let place = place(draft, &outline, position)?;
    let context = palette::Context { ids: &ids, merge: merge_of(&outline), before: step_before(&outline, &place) };
    let sample = palette::step(step_type, &id, &context).ok_or_else(|| unknown_type(step_type))?;
    if place.above.is_some() && is_leaf(step_type) {
        let message = format!("A {step_type} step ends its line, so it cannot stand between two steps.");
        return Err(EditError::new(EditErrorKind::InvalidPosition, message).with_help("Add it below the last step."));
    }
    insert(draft, &place, &[Fragment::of(&values::with_fields(sample, fields))])?;
    Ok(selecting(Some(&id)))
}

pub(super) fn unknown_type(step_type: &str) -> EditError {
    EditError::new(EditErrorKind::UnknownType, format!("There is no type of step `{step_type}`."))
}

/// A merge that a new join can name.
fn merge_of(outline: &Outline) -> Option<String> {
    outline.steps.iter().find(|step| &*step.kind == "merge").map(|step| step.id.to_string())
}

/// The step that a new retry can go back to: the one before it, or the one around it.
fn step_before(outline: &Outline, place: &position::Place) -> Option<String> {
    let before = place.index.checked_sub(1).map(|index| extended(&place.list, index));
    let before = before.filter(|_| outline.is_chain(&place.list)).and_then(|path| outline.at(&path));
    let around =
        || outline.steps.iter().filter(|step| place.list.starts_with(&step.path)).max_by_key(|step| step.path.len());
    before.or_else(around).map(|step| step.id.to_string())
}

/// Inserts steps at a place. A step that is there comes below the new one.
fn insert(draft: &mut Draft<'_>, place: &position::Place, steps: &[Fragment]) -> Result<(), EditError> {
    draft.insert(&place.list, place.index, steps)?;
    if place.above.is_some() {
        let holder = extended(&place.list, place.index);
        let old = extended(&place.list, place.index + 1);
        let outline = Outline::of(&draft.document);
        let new = outline.at(&holder).expect("it was just inserted");
        let children = children_list(draft, new);
        let index = draft.get(&children).and_then(Located::items).map_or(0, <[_]>::len);
        let fragment = draft.fragment(&old).ok_or_else(EditError::notation)?;
        draft.insert(&children, index, &[fragment])?;
        draft.remove(&old)?;
    }
    Ok(())
}

fn remove(draft: &mut Draft<'_>, ids: &[String], with_children: bool) -> Result<Edited, EditError> {
    if ids.len() > MOST_REMOVED {
        let message = format!("At most {MOST_REMOVED} steps can be removed at once.");
        return Err(EditError::new(EditErrorKind::InvalidPosition, message));
    }
    let before = Outline::of(&draft.document);
    let first = before.step(ids.first().map_or("", String::as_str))?;
    let selected = neighbour(&before, first, ids);
    let uses = references::references(draft, &before);
    for id in ids {
        before.step(id)?;
        // It may have been removed with a step around it.
        let outline = Outline::of(&draft.document);
        if outline.find(id).is_some() {
            remove_one(draft, &outline, id, with_children)?;
        }
    }
    let remaining = Outline::of(&draft.document).ids();
    let removed: BTreeSet<&str> =
        before.steps.iter().map(|step| &*step.id).filter(|id| !remaining.contains(*id)).collect();
    let names_removed = |one: &&Affected| {
        removed.contains(&*one.names) && one.step.as_deref().is_none_or(|step| !removed.contains(step))
    };
    let affected = uses.iter().filter(names_removed).cloned().collect();
    let removed = before.steps.iter().map(|step| step.id.to_string()).filter(|id| removed.contains(&**id)).collect();
    Ok(Edited { selected, affected, removed, ..Edited::default() })
}

/// The step before a removed one, after it, or around it.
fn neighbour(outline: &Outline, step: &outline::OutlineStep, removed: &[String]) -> Option<String> {
    let in_list = |index: usize| outline.at(&extended(&step.list, index));
    let before = step.index.checked_sub(1).and_then(in_list);
    let around = step.parent.map(|parent| &outline.steps[parent]);
    let mut near = [before, in_list(step.index + 1), around].into_iter().flatten();
    near.find(|near| !removed.iter().any(|id| **id == *near.id)).map(|near| near.id.to_string())
}

fn remove_one(draft: &mut Draft<'_>, outline: &Outline, id: &str, with_children: bool) -> Result<(), EditError> {
    let step = outline.step(id)?;
    let children = children_list(draft, step);
    let count = draft.get(&children).and_then(Located::items).map_or(0, <[_]>::len);
    if count > 0 && !with_children {
        let runs_in_line = count == 1 || has_chain_below(&step.kind);
        if outline.is_chain(&step.list) != runs_in_line && count > 1 {
            let how = if runs_in_line { "one after the other" } else { "side by side" };
            let message =
                format!("`{id}` has {count} steps below it that run {how}, which is not possible in its place.");
            let help = "Remove them with it, or move them first.";
            return Err(EditError::new(EditErrorKind::HasChildren, message).with_help(help));
        }
        let children = (0..count).map(|at| draft.fragment(&extended(&children, at)));
        let children = children.collect::<Option<Vec<_>>>().ok_or_else(EditError::notation)?;
        draft.insert(&step.list, step.index + 1, &children)?;
    }
    take_out(draft, &step.list, step.index)
}

/// Removes a step from its list. A list that may be absent is removed with its last step, unless a comment is beside it.
fn take_out(draft: &mut Draft<'_>, list: &[Segment], index: usize) -> Result<(), EditError> {
    draft.remove_items(list, &[index])?;
    let is_empty = draft.get(list).and_then(Located::items).is_some_and(<[_]>::is_empty);
    let is_in_step = list.len() > 1 && Outline::of(&draft.document).at(&list[..list.len() - 1]).is_some();
    let Some(Segment::Key(key)) = list.last().filter(|_| is_empty && is_in_step) else { return Ok(()) };
    if !OPTIONAL_LISTS.contains(&&**key) {
        return Ok(());
    }
    if draft.has_comments(list) {
        // An empty list of handlers is an error.
        return if &**key == "on_error" { draft.set(list, &values::text("fail")) } else { Ok(()) };
    }
    draft.remove(list)
}

fn move_step(draft: &mut Draft<'_>, id: &str, position: &Position) -> Result<Edited, EditError> {
    let outline = Outline::of(&draft.document);
    let step = outline.step(id)?;
    let to = place(draft, &outline, position)?;
    if to.list.starts_with(&step.path) {
        let message = format!("`{id}` cannot be moved into itself.");
        return Err(EditError::new(EditErrorKind::IntoItself, message));
    }
    let is_here = to.list == step.list && (to.index == step.index || to.index == step.index + 1);
    if to.above.as_deref() == Some(id) || is_here && to.above.is_none() {
        return Ok(selecting(Some(id)));
    }
    if to.above.is_some() && is_leaf(&step.kind) {
        return Err(nothing_below(step));
    }
    let fragment = draft.fragment(&step.path).ok_or_else(EditError::notation)?;
    draft.insert(&to.list, to.index, &[fragment])?;
    let old = shifted(&step.path, &to.list, to.index);
    let (last, list) = old.split_last().expect("a step is in a list");
    let Segment::Index(index) = last else { return Err(EditError::notation()) };
    take_out(draft, list, *index)?;
    if let Some(above) = to.above {
        let outline = Outline::of(&draft.document);
        let (new, below) = (outline.step(id)?, outline.step(&above)?);
        let children = children_list(draft, new);
        let count = draft.get(&children).and_then(Located::items).map_or(0, <[_]>::len);
        let fragment = draft.fragment(&below.path).ok_or_else(EditError::notation)?;
        draft.insert(&children, count, &[fragment])?;
        let old = shifted(&below.path, &children, count);
        draft.remove(&old)?;
    }
    Ok(selecting(Some(id)))
}

/// A path after an insertion into a list.
fn shifted(path: &[Segment], list: &[Segment], index: usize) -> Vec<Segment> {
    let mut path = path.to_vec();
    if path.starts_with(list)
        && let Some(Segment::Index(at)) = path.get_mut(list.len())
        && *at >= index
    {
        *at += 1;
    }
    path
}

fn rename(draft: &mut Draft<'_>, step: &str, id: &str) -> Result<Edited, EditError> {
    let outline = Outline::of(&draft.document);
    outline.step(step)?;
    if step == id {
        return Ok(selecting(Some(id)));
    }
    checked_id(id, &outline.ids())?;
    let affected = references::rename(draft, &BTreeMap::from([(step.into(), id.to_owned())]))?;
    Ok(Edited { selected: Some(id.to_owned()), affected, ..Edited::default() })
}

/// The path of a field in the document. Steps are not set as fields.
fn field_path(draft: &Draft<'_>, step: Option<&str>, path: &[Segment]) -> Result<Vec<Segment>, EditError> {
    let outline = Outline::of(&draft.document);
    let holder = match step {
        Some(step) => outline.step(step)?.path.clone(),
        None => outline.root.clone(),
    };
    let is_steps =
        step.is_none() && matches!(path, [Segment::Key(key), ..] if ["steps", "child_steps"].contains(&&**key));
    if path.is_empty() || is_steps {
        return Err(EditError::path(path).with_help("Name a field of the step or of the workflow."));
    }
    Ok(holder.into_iter().chain(path.iter().cloned()).collect())
}

/// An id that a step can have and no other one has.
fn checked_id(id: &str, ids: &BTreeSet<std::sync::Arc<str>>) -> Result<String, EditError> {
    if !is_id(id) {
        let message = format!("`{id}` cannot be an id.");
        let help = "An id has letters, digits, `_` and `-`.";
        return Err(EditError::new(EditErrorKind::InvalidId, message).with_help(help));
    }
    if ids.contains(id) {
        let message = format!("There is a step `{id}` already.");
        return Err(EditError::new(EditErrorKind::DuplicateId, message).with_help("Choose another id."));
    }
    Ok(id.to_owned())
}

/// The id with the first number that makes it unique: `draft`, `draft_2`, `draft_3`.
pub(super) fn unique_id(base: &str, ids: &BTreeSet<std::sync::Arc<str>>) -> String {
    let numbered = (2..).map(|number| format!("{base}_{number}"));
    let mut all = std::iter::once(base.to_owned()).chain(numbered);
    all.find(|id| !ids.contains(&**id)).expect("there are more numbers than steps")
}
