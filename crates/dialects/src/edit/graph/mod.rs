//! Edits of graphs: nodes and the connections between them.

mod connect;
mod handles;
mod outline;
mod paste;

use std::collections::BTreeSet;

use branchpoint_expr::{Located, Object, Value};

use super::draft::Draft;
use super::fragment::Fragment;
use super::render::Notation;
use super::steps::{unique_id, unknown_type};
use super::{Affected, EditError, EditErrorKind, Edited, Operation, Position, palette, values};
use crate::graph::node_types;
use crate::path::{Segment, extended, path_text};

use outline::{Connection, Outline};

/// The distance between a new node and the one that it follows.
const BELOW: f64 = 120.0;

pub(super) fn edit(draft: &mut Draft<'_>, operation: &Operation) -> Result<Edited, EditError> {
    match operation {
        Operation::Add { step_type, position, id, fields } => add(draft, step_type, position, id.as_deref(), fields),
        Operation::Remove { steps, .. } => remove(draft, steps),
        Operation::Connect { source, handle, target } => {
            connect::connect(draft, source, handle.as_deref().unwrap_or(""), target)?;
            Ok(selecting(Some(source)))
        }
        Operation::Disconnect { source, handle, target } => {
            connect::disconnect(draft, source, handle.as_deref(), target)?;
            Ok(selecting(Some(source)))
        }
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
        Operation::RemoveField { step, path } => remove_field(draft, step.as_deref(), path),
        Operation::Reorder { step, from, to } => {
            handles::reorder(draft, step, *from, *to)?;
            Ok(selecting(Some(step)))
        }
        Operation::Paste { fragment, position } => paste::paste(draft, fragment, position),
        Operation::SetPositions(positions) => set_positions(draft, positions),
        Operation::Move { .. } => {
            let message = "A node of a graph is moved by its connections and its position.";
            Err(EditError::new(EditErrorKind::UnsupportedOperation, message))
        }
    }
}

fn selecting(step: Option<&str>) -> Edited {
    Edited { selected: step.map(str::to_owned), ..Edited::default() }
}

fn add(
    draft: &mut Draft<'_>,
    kind: &str,
    position: &Position,
    id: Option<&str>,
    fields: &Object,
) -> Result<Edited, EditError> {
    let outline = Outline::of(&draft.document);
    let known =
        node_types().find(|(name, ..)| *name == kind).map(|(name, ..)| name).ok_or_else(|| unknown_type(kind))?;
    if known == "start" && outline.nodes.iter().any(|node| &*node.kind == "start") {
        let message = "The graph has a start already.";
        return Err(EditError::new(EditErrorKind::InvalidPosition, message).with_help("A graph has exactly one start."));
    }
    let id = match id {
        Some(id) => outline.checked_id(id)?,
        None => unique_id(known, &outline.ids()),
    };
    let mut node = palette::node(known, &id);
    if let Some(data) = crate::path::at_mut(&mut node, &["data".into()]) {
        *data = values::with_fields(data.clone(), fields);
    }
    let place = place_on_canvas(&outline, position);
    draft.insert(&["nodes".into()], outline.nodes.len(), &[Fragment::of(&with_place(node, place))])?;
    attach(draft, &outline, &id, known, position)?;
    Ok(selecting(Some(&id)))
}

/// Connects a new node at its position.
fn attach(draft: &mut Draft<'_>, before: &Outline, id: &str, kind: &str, position: &Position) -> Result<(), EditError> {
    // The drawing ends a branch that leads nowhere with a node that is not in the document.
    let to_end = match position {
        Position::Edge { from, branch, to } if to == "end" && before.node(to).is_err() => {
            Some(Position::Below { step: from.clone(), branch: branch.clone() })
        }
        _ => None,
    };
    match to_end.as_ref().unwrap_or(position) {
        Position::Start | Position::End | Position::Free { .. } => Ok(()),
        Position::Below { step, branch } => {
            let handle = match branch {
                Some(handle) => handle.clone(),
                None => free_handle(before, step)?,
            };
            connect::connect(draft, step, &handle, id)
        }
        Position::Edge { from, branch, to } => {
            let edge = before.connection(from, branch.as_deref(), to)?;
            if edge.is_subagent() {
                let message = "Nothing can stand between an agent and its subagent.";
                return Err(EditError::new(EditErrorKind::InvalidPosition, message));
            }
            let Some(out) = main_handle(kind) else {
                let message = format!("Nothing can follow a node of the type `{kind}`.");
                return Err(EditError::new(EditErrorKind::InvalidPosition, message));
            };
            let target = extended(&edge.path, "target");
            draft.set(&target, &values::text(id))?;
            connect::connect(draft, id, out, to)
        }
        Position::Before(_) | Position::After(_) | Position::Branch { .. } => {
            let message = "The nodes of a graph are not in lists.";
            Err(EditError::new(EditErrorKind::InvalidPosition, message).with_help("Choose an edge or a node."))
        }
    }
}

/// The handle by which a run leaves a node unless it is edited.
fn main_handle(kind: &str) -> Option<&'static str> {
    match kind {
        "start" | "agent" => Some("output"),
        "if" => Some("false"),
        "approval" | "input" => Some("approve"),
        _ => None,
    }
}

/// The first handle of a node that is not connected.
fn free_handle(outline: &Outline, id: &str) -> Result<String, EditError> {
    let node = outline.node(id)?;
    let handles = node.handles();
    let is_free = |handle: &&String| !outline.leaving(id).any(|connection| connection.handle_or_output() == **handle);
    let handle = handles.iter().find(is_free).or(handles.first());
    handle.cloned().ok_or_else(|| {
        let message = format!("Nothing can follow `{id}`: it ends its branch.");
        EditError::new(EditErrorKind::InvalidPosition, message)
    })
}

/// Where a new node is drawn; none in a graph without positions.
fn place_on_canvas(outline: &Outline, position: &Position) -> Option<(f64, f64)> {
    let place_of = |id: &str| outline.nodes.iter().find(|node| *node.id == *id).and_then(|node| node.place);
    match position {
        Position::Free { x, y } => Some((*x, *y)),
        Position::Below { step, .. } => place_of(step).map(|(x, y)| (x, y + BELOW)),
        Position::Edge { from, to, .. } => {
            let (x, y) = place_of(from)?;
            let (other_x, other_y) = place_of(to).unwrap_or((x, y + 2.0 * BELOW));
            Some((f64::midpoint(x, other_x), f64::midpoint(y, other_y)))
        }
        _ => None,
    }
}

fn with_place(node: Located, place: Option<(f64, f64)>) -> Located {
    let Some((x, y)) = place else { return node };
    let place = [("x".into(), Value::from(x)), ("y".into(), Value::from(y))];
    values::with_fields(node, &place.into_iter().collect())
}

fn remove(draft: &mut Draft<'_>, ids: &[String]) -> Result<Edited, EditError> {
    let outline = Outline::of(&draft.document);
    let mut nodes = BTreeSet::new();
    for id in ids {
        nodes.insert(outline.node(id)?.index);
    }
    let is_gone = |id: &str| ids.iter().any(|gone| gone == id);
    let touching = |connection: &&Connection| is_gone(&connection.source) || is_gone(&connection.target);
    let connections: Vec<&Connection> = outline.connections.iter().filter(touching).collect();
    let affected = connections.iter().filter_map(|connection| {
        let (other, gone) = match (is_gone(&connection.source), is_gone(&connection.target)) {
            (false, true) => (&connection.source, &connection.target),
            (true, false) => (&connection.target, &connection.source),
            _ => return None,
        };
        Some(Affected {
            step: Some(other.to_string()),
            field: path_text(&connection.path),
            names: gone.to_string(),
            start: connection.span.start as usize,
            line: u32::try_from(connection.span.line_column(&draft.text).0).unwrap_or(u32::MAX),
        })
    });
    let affected = affected.collect();
    let selected = connections.iter().find(|connection| !is_gone(&connection.source)).map(|one| one.source.to_string());
    let items: Vec<usize> = connections.iter().map(|connection| connection.index).collect();
    if !items.is_empty() {
        draft.remove_items(&["connections".into()], &items)?;
    }
    draft.remove_items(&["nodes".into()], &nodes.into_iter().collect::<Vec<_>>())?;
    Ok(Edited { selected, affected, removed: ids.to_vec(), ..Edited::default() })
}

fn rename(draft: &mut Draft<'_>, step: &str, id: &str) -> Result<Edited, EditError> {
    let outline = Outline::of(&draft.document);
    let node = outline.node(step)?;
    if step == id {
        return Ok(selecting(Some(id)));
    }
    outline.checked_id(id)?;
    let mut places = vec![extended(&node.path, "id")];
    for connection in &outline.connections {
        let ends = [("source", &connection.source), ("target", &connection.target)];
        let named = ends.into_iter().filter(|(_, end)| &***end == step);
        places.extend(named.map(|(key, _)| extended(&connection.path, key)));
    }
    let text = values::text(id);
    draft.set_all(&places.iter().map(|path| (path.clone(), text.clone())).collect::<Vec<_>>())?;
    let affected = places.iter().skip(1).filter_map(|path| {
        let span = draft.get(path)?.span;
        Some(Affected {
            step: None,
            field: path_text(path),
            names: id.to_owned(),
            start: span.start as usize,
            line: u32::try_from(span.line_column(&draft.text).0).unwrap_or(u32::MAX),
        })
    });
    Ok(Edited { selected: Some(id.to_owned()), affected: affected.collect(), ..Edited::default() })
}

fn field_path(draft: &Draft<'_>, step: Option<&str>, path: &[Segment]) -> Result<Vec<Segment>, EditError> {
    let outline = Outline::of(&draft.document);
    let holder = match step {
        Some(step) => outline.node(step)?.path.clone(),
        None => Vec::new(),
    };
    let is_part = matches!(path, [Segment::Key(key), ..] if ["nodes", "connections"].contains(&&**key));
    if path.is_empty() || step.is_none() && is_part {
        return Err(EditError::path(path).with_help("Name a field of the node or of the graph."));
    }
    Ok(holder.into_iter().chain(path.iter().cloned()).collect())
}

fn remove_field(draft: &mut Draft<'_>, step: Option<&str>, path: &[Segment]) -> Result<Edited, EditError> {
    let in_document = field_path(draft, step, path)?;
    if let ([Segment::Key(data), Segment::Key(conditions), Segment::Index(index)], Some(step)) = (path, step)
        && (&**data, &**conditions) == ("data", "conditions")
    {
        handles::remove(draft, step, *index)?;
    } else {
        draft.remove(&in_document)?;
    }
    Ok(selecting(step))
}

fn set_positions(draft: &mut Draft<'_>, positions: &[(String, f64, f64)]) -> Result<Edited, EditError> {
    let outline = Outline::of(&draft.document);
    let mut places = Vec::new();
    for (id, x, y) in positions {
        if !x.is_finite() || !y.is_finite() {
            return Err(EditError::path(&["x".into()]));
        }
        let node = outline.node(id)?;
        for (key, value) in [("x", x), ("y", y)] {
            places.push((extended(&node.path, key), values::located(&Value::from(*value))));
        }
    }
    draft.set_all(&places)?;
    Ok(selecting(positions.first().filter(|_| positions.len() == 1).map(|(id, ..)| &**id)))
}

/// Whether a graph is written as JSON.
fn is_json(draft: &Draft<'_>) -> bool {
    draft.notation == Notation::Json
}
