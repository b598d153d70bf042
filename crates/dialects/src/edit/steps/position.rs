//! Where a step is added or moved: from a position on the canvas to a list in the document.

use branchpoint_expr::Located;

use super::outline::{Outline, OutlineStep};
use crate::edit::draft::Draft;
use crate::edit::{EditError, EditErrorKind, Position};
use crate::path::{Segment, extended};
use crate::steps::{has_chain_below, is_leaf};

/// A place in a document.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) list: Vec<Segment>,
    pub(super) index: usize,
    /// The step that is at the place now and comes below the new step: between steps that run side by side, an edge leads to only one.
    pub(super) above: Option<String>,
}

/// The place of a position.
pub(super) fn place(draft: &Draft<'_>, outline: &Outline, position: &Position) -> Result<Place, EditError> {
    let length = |list: &[Segment]| draft.get(list).and_then(Located::items).map_or(0, <[_]>::len);
    let in_list = |list: Vec<Segment>, index: usize| Place { list, index, above: None };
    match position {
        Position::Start => Ok(in_list(root_list(draft, outline), 0)),
        Position::End => {
            let list = root_list(draft, outline);
            let index = length(&list);
            Ok(in_list(list, index))
        }
        Position::Before(id) => outline.step(id).map(|step| in_list(step.list.clone(), step.index)),
        Position::After(id) => outline.step(id).map(|step| in_list(step.list.clone(), step.index + 1)),
        Position::Below { step: id, branch: None } => below(draft, outline, outline.step(id)?),
        Position::Below { step: id, branch: Some(branch) } => {
            branch_list(draft, outline.step(id)?, branch).map(|list| in_list(list, 0))
        }
        Position::Edge { from, branch, to } => edge(draft, outline, from, branch.as_deref(), to),
        Position::Branch { step: id, branch, index } => {
            let list = branch_list(draft, outline.step(id)?, branch)?;
            let length = length(&list);
            let index = index.unwrap_or(length);
            if index > length {
                let message = format!("The branch `{branch}` of `{id}` has {length} steps.");
                return Err(EditError::new(EditErrorKind::InvalidPosition, message));
            }
            Ok(in_list(list, index))
        }
        Position::Free { .. } => {
            let message = "A step of a tree has no place of its own on the canvas.";
            Err(EditError::new(EditErrorKind::InvalidPosition, message).with_help("Choose an edge or a branch."))
        }
    }
}

/// The place on an edge.
fn edge(draft: &Draft<'_>, outline: &Outline, from: &str, branch: Option<&str>, to: &str) -> Result<Place, EditError> {
    let target = outline.find(to);
    let Some(source) = outline.find(from) else {
        if !is_end_node(from, "start") {
            return Err(EditError::step(from));
        }
        return Ok(Place { list: root_list(draft, outline), index: 0, above: None });
    };
    if target.is_none() && !is_end_node(to, "end") {
        return Err(EditError::step(to));
    }
    let is_inside = target.is_some_and(|target| target.path != source.path && target.is_in(&source.path));
    if let Some(target) = target.filter(|_| is_inside) {
        // The edge leads to the first step of a list, or to one of several that run side by side.
        let first = outline.steps.iter().filter(|step| target.is_in(&step.path) && step.is_in(&source.path));
        let child = first.filter(|step| step.path != source.path).min_by_key(|step| step.path.len()).unwrap_or(target);
        let above = (!outline.is_chain(&child.list)).then(|| child.id.to_string());
        return Ok(Place { list: child.list.clone(), index: child.index, above });
    }
    if let Some(branch) = branch {
        let list = branch_list(draft, source, branch)?;
        let is_empty = draft.get(&list).and_then(Located::items).is_none_or(<[_]>::is_empty);
        // The branch of a step that is not empty leads to its first step, which is inside.
        if is_empty {
            return Ok(Place { list, index: 0, above: None });
        }
    }
    after(draft, outline, source)
}

/// Whether an id is that of the start or an end of a drawing: `start~2` if a step has the id `start`.
fn is_end_node(id: &str, name: &str) -> bool {
    id.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('~'))
}

/// The place of what runs next after a step.
fn below(draft: &Draft<'_>, outline: &Outline, step: &OutlineStep) -> Result<Place, EditError> {
    let children = children_list(draft, step);
    let has_children = draft.get(&children).and_then(Located::items).is_some_and(|items| !items.is_empty());
    if has_children && has_chain_below(&step.kind) {
        return Ok(Place { list: children, index: 0, above: None });
    }
    after(draft, outline, step)
}

/// The place of what runs after a step and everything inside of it.
fn after(draft: &Draft<'_>, outline: &Outline, step: &OutlineStep) -> Result<Place, EditError> {
    if outline.is_chain(&step.list) {
        return Ok(Place { list: step.list.clone(), index: step.index + 1, above: None });
    }
    if is_leaf(&step.kind) {
        return Err(nothing_below(step));
    }
    let list = children_list(draft, step);
    let index = draft.get(&list).and_then(Located::items).map_or(0, <[_]>::len);
    Ok(Place { list, index, above: None })
}

pub(super) fn nothing_below(step: &OutlineStep) -> EditError {
    let message = format!("Nothing can run below `{}`: a {} step ends its line.", step.id, step.kind);
    EditError::new(EditErrorKind::InvalidPosition, message).with_help("Choose a place before it.")
}

/// The list of the steps of the document.
fn root_list(draft: &Draft<'_>, outline: &Outline) -> Vec<Segment> {
    named_list(draft, &outline.root, ["steps", "child_steps"])
}

/// The list of the children of a step.
pub(super) fn children_list(draft: &Draft<'_>, step: &OutlineStep) -> Vec<Segment> {
    named_list(draft, &step.path, ["child_steps", "steps"])
}

/// The list under the name that the author uses; the first if neither is there.
fn named_list(draft: &Draft<'_>, holder: &[Segment], names: [&str; 2]) -> Vec<Segment> {
    let is_used = |name: &str| draft.get(&extended(holder, name)).is_some_and(|list| !list.is_null());
    extended(holder, names.into_iter().find(|name| is_used(name)).unwrap_or(names[0]))
}

/// The list of the steps of a branch.
pub(super) fn branch_list(draft: &Draft<'_>, step: &OutlineStep, branch: &str) -> Result<Vec<Segment>, EditError> {
    let at = |key: &str| Ok(extended(&step.path, key));
    let entry = |list: &str, index: usize, key: &str| Ok(extended(&extended(&extended(&step.path, list), index), key));
    let named = |list: &str| {
        let entries = draft.get(&extended(&step.path, list)).and_then(Located::items).unwrap_or_default();
        let is_it = |entry: &&Located| entry.get("name").and_then(Located::text).is_some_and(|name| &**name == branch);
        entries.iter().position(|entry| is_it(&entry))
    };
    match (&*step.kind, branch) {
        ("if_else", "then") => at("then_steps"),
        ("conditional", "then") => at("then"),
        ("conditional", "else") => at("else"),
        ("if_else", "else") => at("else_steps"),
        ("for_each" | "while", "body") => at("body"),
        ("conditional", elif) if elif_index(elif).is_some() => {
            let index = elif_index(elif).unwrap_or_default();
            let count = draft.get(&extended(&step.path, "elif")).and_then(Located::items).map_or(0, <[_]>::len);
            if index < count { entry("elif", index, "then") } else { Err(unknown_branch(step, branch)) }
        }
        ("switch", name) => match named("cases") {
            Some(index) => entry("cases", index, "steps"),
            None if ["else", "none"].contains(&name) => at("else_steps"),
            None => Err(unknown_branch(step, branch)),
        },
        ("parallel", _) if named("branches").is_some() => {
            entry("branches", named("branches").unwrap_or_default(), "steps")
        }
        (_, "on_error") if draft.get(&extended(&step.path, "on_error")).is_none_or(|list| list.items().is_some()) => {
            at("on_error")
        }
        (_, "on_budget") => at("on_budget"),
        ("gate", "passed") | (_, "child_steps") if !is_leaf(&step.kind) => Ok(children_list(draft, step)),
        ("gate", "blocked") => {
            let message = format!("Nothing runs after `{}` when it blocks its line.", step.id);
            Err(EditError::new(EditErrorKind::InvalidPosition, message))
        }
        _ => Err(unknown_branch(step, branch)),
    }
}

/// The position of a further condition: `elif-0` is the first.
fn elif_index(branch: &str) -> Option<usize> {
    branch.strip_prefix("elif-")?.parse().ok()
}

fn unknown_branch(step: &OutlineStep, branch: &str) -> EditError {
    let message = format!("`{}` has no branch `{branch}`.", step.id);
    EditError::new(EditErrorKind::UnknownBranch, message)
}
