//! The checks of an editor before it runs a graph. The engine runs such graphs nevertheless.

use branchpoint_expr::{Diagnostic, Kind};

use super::raw::{Graph, NodeData};
use super::wiring::NodeBranch;
use crate::DocumentKinds as _;
use crate::report::Report;

/// The findings, in the order in which an editor shows them.
pub(super) fn check(graph: &Graph) -> Vec<Diagnostic> {
    let mut report = Report::default();
    let Some(start) = graph.start() else { return Vec::new() };
    let node = &graph.nodes[start];
    let reached = graph.reachable(start);
    if graph.after(start, &NodeBranch::Every).is_empty() {
        report.error(Kind::StartNotConnected, node.span, "nothing follows the start", "connect it to what runs first");
    } else if reached.len() == 1 {
        let help = "connect the start to another node";
        report.error(Kind::NothingReachable, node.span, "only the start can be reached", help);
    }
    for kind in [Kind::IfWithoutBranch, Kind::ApprovalWithoutBranch] {
        for node in reached.iter().filter(|node| lacks_branch(graph, **node, kind)) {
            let node = &graph.nodes[*node];
            let message = format!("no branch leaves `{}`", node.id);
            report.error(kind, node.span, message, "connect at least one of its handles");
        }
    }
    report.findings
}

fn lacks_branch(graph: &Graph, node: usize, kind: Kind) -> bool {
    let leaves = |known: &dyn Fn(&str) -> bool| {
        let mut edges = graph.leaving(node).filter(|edge| !edge.is_subagent());
        edges.any(|edge| edge.handle.as_deref().is_some_and(known))
    };
    match (&graph.nodes[node].data, kind) {
        (NodeData::If(_), Kind::IfWithoutBranch) => {
            !leaves(&|handle| handle.starts_with("condition-") || handle == "true" || handle == "false")
        }
        (NodeData::Approval(..), Kind::ApprovalWithoutBranch) => {
            !leaves(&|handle| handle == "approve" || handle == "reject")
        }
        _ => false,
    }
}
