//! A graph as a picture: its nodes, and its connections with the answer or the condition that each belongs to.

use branchpoint_core::ir::picture::{Arrow, Node, NodeShape, Picture};
use branchpoint_expr::{Condition, Dialect, Located, Options};

use super::raw::{Graph, NodeData};
use super::wiring::NodeBranch;
use crate::picture::{condition_text, end};

/// The picture of a graph; none if the document is not a graph.
pub(crate) fn picture(document: &Located, source: &str) -> Option<Picture> {
    let graph = super::read(document).0?;
    let mut nodes: Vec<Node> = graph.nodes.iter().map(node).collect();
    let finish = nodes.len();
    let mut arrows = Vec::new();
    for from in 0..graph.nodes.len() {
        let mut arrow =
            |to: usize, label: &str| arrows.push(Arrow { from, to, label: label.to_owned(), failure: false });
        let node_branches = graph.node_branches(from);
        for node_branch in &node_branches {
            let label = label(&graph, from, node_branch, source);
            let after = graph.after(from, node_branch);
            for to in &after {
                arrow(*to, &label);
            }
            if after.is_empty() {
                arrow(finish, &label);
            }
        }
        if node_branches.is_empty() {
            arrow(finish, "");
        }
        let tools = graph.leaving(from).filter(|connection| connection.is_subagent());
        for connection in tools {
            arrow(connection.target, "tool");
        }
    }
    // A tool returns to its caller, so a tool without connections is not an end.
    let tools: Vec<usize> = graph.connections.iter().filter(|one| one.is_subagent()).map(|one| one.target).collect();
    arrows.retain(|arrow| arrow.to != finish || !tools.contains(&arrow.from));
    nodes.push(end("end"));
    Some(Picture { nodes, arrows })
}

fn node(node: &super::raw::Node) -> Node {
    let shape = match &node.data {
        NodeData::If(_) => NodeShape::Decision,
        NodeData::Approval(..) => NodeShape::People,
        NodeData::Start(_) | NodeData::End => NodeShape::End,
        NodeData::Agent(_) | NodeData::Refused => NodeShape::Work,
    };
    Node { title: node.id.clone(), kind: node.kind.into(), shape }
}

fn label(graph: &Graph, node: usize, node_branch: &NodeBranch, source: &str) -> String {
    match (node_branch, &graph.nodes[node].data) {
        (NodeBranch::Condition(index), NodeData::If(conditions)) => {
            let compiled = conditions
                .get(*index)
                .and_then(|entry| Condition::text_match(entry, Options::dialect(Dialect::Graph)).ok());
            compiled.map_or_else(|| format!("condition-{index}"), |condition| condition_text(&condition, source))
        }
        (NodeBranch::Otherwise, _) => "else".to_owned(),
        (NodeBranch::Approve, _) => "approve".to_owned(),
        (NodeBranch::Reject, _) => "reject".to_owned(),
        (NodeBranch::Every | NodeBranch::Condition(_), _) => String::new(),
    }
}
