//! Nodes and connections that were copied as text.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_expr::{Located, Shape, Value};

use super::outline::Outline;
use super::{attach, is_json, place_on_canvas, selecting, unique_id};
use crate::edit::draft::Draft;
use crate::edit::fragment::Fragment;
use crate::edit::{EditError, EditErrorKind, Edited, Position, values};
use crate::fields::Access as _;
use crate::path::{Segment, extended};
use crate::read;

/// The largest number of nodes that are pasted at once.
const MOST_NODES: usize = 500;

/// How far a copy is drawn from its original.
const BESIDE: f64 = 40.0;

pub(super) fn paste(draft: &mut Draft<'_>, fragment: &str, position: &Position) -> Result<Edited, EditError> {
    let text = as_document(fragment).ok_or_else(invalid)?;
    let mut copied = Draft::new(&text).map_err(|_| invalid())?;
    let outline = Outline::of(&copied.document);
    let present = Outline::of(&draft.document);
    let has_start = present.nodes.iter().any(|node| &*node.kind == "start");
    // A graph has one start, so that of the copy is left out.
    let nodes: Vec<_> = outline.nodes.iter().filter(|node| !(has_start && &*node.kind == "start")).collect();
    if nodes.is_empty()
        || nodes.len() > MOST_NODES
        || nodes.iter().any(|node| node.id.is_empty() || node.kind.is_empty())
    {
        return Err(invalid());
    }
    let is_attached = !matches!(position, Position::Start | Position::End | Position::Free { .. });
    if is_attached && nodes.len() > 1 {
        let message = "Several nodes cannot be connected at once.";
        return Err(EditError::new(EditErrorKind::InvalidPosition, message).with_help("Paste them beside the others."));
    }
    let ids = new_ids(&present, &nodes.iter().map(|node| node.id.clone()).collect::<Vec<_>>());
    let first = nodes[0].place;
    let target = place_on_canvas(&present, position);
    let (mut changes, mut remaining) = (Vec::new(), Vec::new());
    for node in &nodes {
        changes.push((extended(&node.path, "id"), values::text(&ids[&node.id])));
        if let Some(place) = moved(node.place, first, target) {
            changes.extend(place_of(&node.path, place));
        }
    }
    for connection in &outline.connections {
        if let (Some(source), Some(target)) = (ids.get(&connection.source), ids.get(&connection.target)) {
            changes.push((extended(&connection.path, "source"), values::text(source)));
            changes.push((extended(&connection.path, "target"), values::text(target)));
            remaining.push(connection.path.clone());
        }
    }
    let paths: Vec<Vec<Segment>> = nodes.iter().map(|node| node.path.clone()).collect();
    let selected = ids[&nodes[0].id].clone();
    let kind = nodes[0].kind.to_string();
    copied.set_all(&changes)?;
    copy(draft, &copied, "nodes", present.nodes.len(), &paths)?;
    copy(draft, &copied, "connections", present.connections.len(), &remaining)?;
    if is_attached {
        attach(draft, &present, &selected, &kind, position)?;
    }
    Ok(selecting(Some(&selected)))
}

/// Inserts parts of a copy at the end of a list.
fn copy(
    draft: &mut Draft<'_>,
    copied: &Draft<'_>,
    list: &str,
    count: usize,
    paths: &[Vec<Segment>],
) -> Result<(), EditError> {
    let mut fragments = Vec::new();
    for path in paths {
        let written = copied.fragment(path).filter(|_| is_json(copied) == is_json(draft));
        fragments.push(match written {
            Some(written) => written,
            None => Fragment::of(copied.get(path).ok_or_else(invalid)?),
        });
    }
    if fragments.is_empty() { Ok(()) } else { draft.insert(&[list.into()], count, &fragments) }
}

/// New ids for those that the graph has.
fn new_ids(present: &Outline, copied: &[Arc<str>]) -> BTreeMap<Arc<str>, String> {
    let mut used = present.ids();
    let used_before = used.clone();
    used.extend(copied.iter().cloned());
    let mut ids = BTreeMap::new();
    for id in copied {
        let new = if used_before.contains(id) { unique_id(id, &used) } else { id.to_string() };
        used.insert(new.as_str().into());
        ids.insert(id.clone(), new);
    }
    ids
}

/// Where a copied node is drawn: the first one at the target, the others around it as before.
fn moved(place: Option<(f64, f64)>, first: Option<(f64, f64)>, target: Option<(f64, f64)>) -> Option<(f64, f64)> {
    match (place, first, target) {
        (Some((x, y)), Some((first_x, first_y)), Some((to_x, to_y))) => Some((to_x + x - first_x, to_y + y - first_y)),
        (None, _, target) => target,
        (Some((x, y)), ..) => Some((x + BESIDE, y + BESIDE)),
    }
}

fn place_of(path: &[Segment], (x, y): (f64, f64)) -> [(Vec<Segment>, Located); 2] {
    [("x", x), ("y", y)].map(|(key, value)| (extended(path, key), values::located(&Value::from(value))))
}

fn invalid() -> EditError {
    let message = "The text is not a node, a list of nodes, or an object with `nodes` and `connections`.";
    EditError::new(EditErrorKind::InvalidFragment, message).with_help("Copy whole nodes of a graph.")
}

/// The copied text as a graph.
fn as_document(fragment: &str) -> Option<String> {
    let value = read(fragment).ok()?;
    let is_node = |value: &Located| value.get("type").is_some() && value.get("id").is_some();
    match &value.shape {
        Shape::Object(_) if !value.list("nodes").is_empty() => return Some(fragment.to_owned()),
        Shape::Object(_) if is_node(&value) => {}
        Shape::List(items) if items.iter().all(is_node) => {}
        _ => return None,
    }
    let nodes = if value.is_object() { vec![value.to_value()] } else { value.to_value().as_list()?.to_vec() };
    Some(format!("{{\"nodes\": {:?}, \"connections\": []}}", Value::from(nodes)))
}
