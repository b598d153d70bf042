//! The branches of nodes: which connections are followed, which never are, and which nodes they reach.

use std::collections::BTreeSet;

use branchpoint_expr::Kind;

use super::raw::{Connection, Graph, NodeData};
use crate::DocumentKinds as _;
use crate::report::Report;

/// A branch of a node.
#[derive(Debug)]
pub(super) enum NodeBranch {
    /// All connections, regardless of their handles.
    Every,
    /// The connections of the n-th condition.
    Condition(usize),
    /// The connections of an `if` without a matching condition.
    Otherwise,
    /// The connections of a person's answer.
    Approve,
    Reject,
}

impl Graph {
    /// The nodes that follow a node on one of its branches, in the order of the connections. A node that is connected twice
    /// follows twice.
    pub(super) fn after(&self, node: usize, node_branch: &NodeBranch) -> Vec<usize> {
        let is_on_branch = |connection: &&Connection| match node_branch {
            NodeBranch::Every => true,
            NodeBranch::Condition(0) => connection.is_from("condition-0") || connection.is_from("true"),
            NodeBranch::Condition(index) => connection.is_from(&format!("condition-{index}")),
            NodeBranch::Otherwise => connection.is_from("false"),
            NodeBranch::Approve => connection.is_from("approve"),
            NodeBranch::Reject => connection.is_from("reject"),
        };
        let leading = self.leaving(node).filter(|connection| !connection.is_subagent());
        leading.filter(is_on_branch).map(|connection| connection.target).collect()
    }

    /// The branches of a node.
    pub(super) fn node_branches(&self, node: usize) -> Vec<NodeBranch> {
        match &self.nodes[node].data {
            NodeData::Start(_) | NodeData::Agent(_) => vec![NodeBranch::Every],
            NodeData::If(conditions) => {
                (0..conditions.len()).map(NodeBranch::Condition).chain(std::iter::once(NodeBranch::Otherwise)).collect()
            }
            NodeData::Approval(..) => vec![NodeBranch::Approve, NodeBranch::Reject],
            NodeData::End | NodeData::Refused => Vec::new(),
        }
    }

    /// The nodes that execution can reach from a node, itself included.
    pub(super) fn reachable(&self, from: usize) -> BTreeSet<usize> {
        let mut reached = BTreeSet::from([from]);
        let mut open = vec![from];
        while let Some(node) = open.pop() {
            for next in self.node_branches(node).iter().flat_map(|node_branch| self.after(node, node_branch)) {
                if reached.insert(next) {
                    open.push(next);
                }
            }
        }
        reached
    }

    /// The start. A graph with no start or several starts does not run.
    pub(super) fn start(&self) -> Option<usize> {
        self.nodes.iter().position(|node| matches!(node.data, NodeData::Start(_)))
    }
}

/// Exactly one start.
pub(super) fn check_start(graph: &Graph, report: &mut Report) {
    let mut starts = graph.nodes.iter().filter(|node| matches!(node.data, NodeData::Start(_)));
    if starts.next().is_none() {
        let help = "add a node of type `start` and connect it to what runs first";
        report.error(Kind::MissingStart, graph.span, "the graph has no start", help);
    }
    for node in starts {
        let message = format!("`{}` is a second start", node.id);
        report.error(Kind::MultipleStarts, node.span, message, "keep one node of type `start`");
    }
}

/// Warns about connections that are never followed and nodes that are never reached.
pub(super) fn warn(graph: &Graph, report: &mut Report) {
    for connection in graph.connections.iter().filter(|connection| !connection.is_subagent()) {
        let source = &graph.nodes[connection.source];
        let followed = match &source.data {
            NodeData::Start(_) | NodeData::Agent(_) | NodeData::Refused => true,
            NodeData::If(conditions) => is_if_handle(connection, conditions.len()),
            NodeData::Approval(..) => connection.is_from("approve") || connection.is_from("reject"),
            NodeData::End => false,
        };
        if !followed {
            let handle = connection.handle.as_deref().unwrap_or("(none)");
            let message = format!("nothing leaves `{}` by the handle `{handle}`", source.id);
            report.warn(Kind::DeadConnection, connection.span, message, branch_names_help(&source.data));
        }
    }
    let Some(start) = graph.start() else { return };
    let reached = graph.reachable(start);
    let tools: BTreeSet<_> =
        graph.connections.iter().filter(|edge| edge.is_subagent()).map(|edge| edge.target).collect();
    for (index, node) in graph.nodes.iter().enumerate() {
        if !reached.contains(&index) && !tools.contains(&index) {
            let message = format!("nothing leads to `{}`, so it never runs", node.id);
            report.warn(Kind::UnreachableNode, node.span, message, "connect it, or take it out");
        }
    }
}

fn is_if_handle(connection: &Connection, conditions: usize) -> bool {
    let Some(handle) = connection.handle.as_deref() else { return false };
    let number = handle.strip_prefix("condition-").and_then(|number| number.parse::<usize>().ok());
    let canonical = number.is_some_and(|number| number < conditions && handle == format!("condition-{number}"));
    handle == "false" || canonical || handle == "true" && conditions > 0
}

fn branch_names_help(data: &NodeData) -> &'static str {
    match data {
        NodeData::If(_) => "an `if` is left by `condition-0`, `condition-1`, … for its conditions, and by `false`",
        NodeData::Approval(..) => "an approval is left by `approve` and `reject`",
        _ => "an `end` ends its branch",
    }
}
