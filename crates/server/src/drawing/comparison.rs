//! The drawing of two documents in one: the new one, with the nodes and edges that only the old one has.

use std::collections::BTreeMap;

use branchpoint_core::ir::Program;
use branchpoint_dialects::{ChangeKind, Changes};
use branchpoint_expr::Dialect;

use super::{Drawing, DrawingEdge, draw};

/// How parts of a drawing differ from the old document, by id: `added`, `changed` or `removed`.
pub(crate) type Marks = BTreeMap<String, &'static str>;

/// Draws an old and a new document, with the marks of nodes and of edges.
pub(crate) fn draw_compared(
    changes: &Changes,
    [old, new]: [(&Program, &str); 2],
    dialect: Dialect,
) -> (Drawing, Marks, Marks) {
    let before = draw(old.0, old.1, dialect.as_str());
    let mut drawing = draw(new.0, new.1, dialect.as_str());
    let renamed: BTreeMap<&str, &str> = changes
        .list
        .iter()
        .filter(|change| change.kind == ChangeKind::Renamed)
        .filter_map(|change| Some((change.was.as_deref()?, change.step.as_deref()?)))
        .collect();
    let new_id = |id: &str| renamed.get(id).map_or(id, |id| *id).to_owned();
    let old_ids: BTreeMap<String, usize> =
        before.nodes.iter().enumerate().map(|(at, node)| (new_id(&node.id), at)).collect();
    let mut marks = Marks::new();
    for node in &drawing.nodes {
        let is_changed = changes.list.iter().any(|change| change.step.as_deref() == Some(&*node.title));
        if !old_ids.contains_key(&node.id) {
            marks.insert(node.id.clone(), "added");
        } else if is_changed && !node.kind.is_empty() {
            marks.insert(node.id.clone(), "changed");
        }
    }
    let is_new = |id: &str| drawing.nodes.iter().any(|node| node.id == id);
    let removed: Vec<_> = before.nodes.iter().filter(|node| !is_new(&new_id(&node.id))).cloned().collect();
    for mut node in removed {
        marks.insert(node.id.clone(), "removed");
        node.parent = node.parent.map(|parent| new_id(&parent));
        // Its place is in the other text.
        node.span = None;
        drawing.nodes.push(node);
    }
    let key = |edge: &DrawingEdge| (edge.from.clone(), edge.from_branch.clone(), edge.to.clone(), edge.failure);
    let old_edges: Vec<DrawingEdge> = before
        .edges
        .into_iter()
        .map(|edge| DrawingEdge { from: new_id(&edge.from), to: new_id(&edge.to), ..edge })
        .collect();
    let mut edge_marks = Marks::new();
    for edge in &drawing.edges {
        if !old_edges.iter().any(|other| key(other) == key(edge)) {
            edge_marks.insert(edge.id.clone(), "added");
        }
    }
    let known: Vec<_> = drawing.edges.iter().map(key).collect();
    for (at, edge) in old_edges.into_iter().filter(|edge| !known.contains(&key(edge))).enumerate() {
        let id = format!("r{at}");
        edge_marks.insert(id.clone(), "removed");
        drawing.edges.push(DrawingEdge { id, ..edge });
    }
    drawing.hash = super::hash_of(&drawing.nodes, &drawing.edges);
    drawing.editable = false;
    (drawing, marks, edge_marks)
}
