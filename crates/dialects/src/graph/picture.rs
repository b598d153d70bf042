//! A graph as a picture: its nodes, and its connections with the answer or the condition that each belongs to.

use branchpoint_core::ir::picture::{Arrow, Node, NodeShape, Picture};
use branchpoint_expr::{Condition, Dialect, Located, Options};

use super::raw::{Graph, What};
use super::wiring::Way;
use crate::picture::{end, told};

/// The picture of a graph; none if its document is none.
pub(crate) fn picture(document: &Located, source: &str) -> Option<Picture> {
    let graph = super::read(document).0?;
    let mut nodes: Vec<Node> = graph.nodes.iter().map(node).collect();
    let finish = nodes.len();
    let mut arrows = Vec::new();
    for from in 0..graph.nodes.len() {
        let mut arrow =
            |to: usize, label: &str| arrows.push(Arrow { from, to, label: label.to_owned(), failure: false });
        let ways = graph.ways(from);
        for way in &ways {
            let label = label(&graph, from, way, source);
            let after = graph.after(from, way);
            for to in &after {
                arrow(*to, &label);
            }
            if after.is_empty() {
                arrow(finish, &label);
            }
        }
        if ways.is_empty() {
            arrow(finish, "");
        }
        let tools = graph.leaving(from).filter(|connection| connection.is_subagent());
        for connection in tools {
            arrow(connection.target, "tool");
        }
    }
    // A tool answers whoever called it; that it has no way on does not end anything.
    let tools: Vec<usize> = graph.connections.iter().filter(|one| one.is_subagent()).map(|one| one.target).collect();
    arrows.retain(|arrow| arrow.to != finish || !tools.contains(&arrow.from));
    nodes.push(end("end"));
    Some(Picture { nodes, arrows })
}

fn node(node: &super::raw::Node) -> Node {
    let look = match &node.what {
        What::If(_) => NodeShape::Decision,
        What::Approval(_) => NodeShape::People,
        What::Start(_) | What::End => NodeShape::End,
        What::Agent(_) | What::Refused => NodeShape::Work,
    };
    Node { title: node.id.clone(), kind: node.kind.into(), look }
}

fn label(graph: &Graph, node: usize, way: &Way, source: &str) -> String {
    match (way, &graph.nodes[node].what) {
        (Way::Condition(index), What::If(conditions)) => {
            let compiled = conditions
                .get(*index)
                .and_then(|entry| Condition::text_match(entry, Options::dialect(Dialect::Graph)).ok());
            compiled.map_or_else(|| format!("condition-{index}"), |condition| told(&condition, source))
        }
        (Way::Otherwise, _) => "else".to_owned(),
        (Way::Approve, _) => "approve".to_owned(),
        (Way::Reject, _) => "reject".to_owned(),
        (Way::Every | Way::Condition(_), _) => String::new(),
    }
}
