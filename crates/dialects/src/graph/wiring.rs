//! Where execution can go: which connections are followed when, which never are, and what they reach.

use std::collections::BTreeSet;

use branchpoint_expr::Kind;

use super::raw::{Connection, Graph, What};
use crate::DocumentKinds as _;
use crate::report::Report;

/// The ways out of one node.
#[derive(Debug)]
pub(super) enum Way {
    /// All of them, whatever they are called.
    Every,
    /// Those of the n-th condition.
    Condition(usize),
    /// Those of an `if` whose conditions do not match.
    Otherwise,
    /// Those of a person's answer.
    Approve,
    Reject,
}

impl Graph {
    /// The nodes that follow a node on one of its ways, in the order of the connections. A node that is connected twice
    /// follows twice.
    pub(super) fn after(&self, node: usize, way: &Way) -> Vec<usize> {
        let on_way = |connection: &&Connection| match way {
            Way::Every => true,
            Way::Condition(0) => connection.is_from("condition-0") || connection.is_from("true"),
            Way::Condition(index) => connection.is_from(&format!("condition-{index}")),
            Way::Otherwise => connection.is_from("false"),
            Way::Approve => connection.is_from("approve"),
            Way::Reject => connection.is_from("reject"),
        };
        let leading = self.leaving(node).filter(|connection| !connection.is_subagent());
        leading.filter(on_way).map(|connection| connection.target).collect()
    }

    /// The ways out of a node.
    pub(super) fn ways(&self, node: usize) -> Vec<Way> {
        match &self.nodes[node].what {
            What::Start(_) | What::Agent(_) => vec![Way::Every],
            What::If(conditions) => {
                (0..conditions.len()).map(Way::Condition).chain(std::iter::once(Way::Otherwise)).collect()
            }
            What::Approval(_) => vec![Way::Approve, Way::Reject],
            What::End | What::Refused => Vec::new(),
        }
    }

    /// The nodes that execution can reach from a node, itself included.
    pub(super) fn reachable(&self, from: usize) -> BTreeSet<usize> {
        let mut reached = BTreeSet::from([from]);
        let mut open = vec![from];
        while let Some(node) = open.pop() {
            for next in self.ways(node).iter().flat_map(|way| self.after(node, way)) {
                if reached.insert(next) {
                    open.push(next);
                }
            }
        }
        reached
    }

    /// The one start. Nothing runs on a graph with none or several.
    pub(super) fn start(&self) -> Option<usize> {
        self.nodes.iter().position(|node| matches!(node.what, What::Start(_)))
    }
}

/// Exactly one start.
pub(super) fn check_start(graph: &Graph, report: &mut Report) {
    let mut starts = graph.nodes.iter().filter(|node| matches!(node.what, What::Start(_)));
    if starts.next().is_none() {
        let help = "add a node of type `start` and connect it to what runs first";
        report.error(Kind::MissingStart, graph.span, "the graph has no start", help);
    }
    for node in starts {
        let message = format!("`{}` is a second start", node.id);
        report.error(Kind::MultipleStarts, node.span, message, "keep one node of type `start`");
    }
}

/// What loads and is hardly meant: connections that are never followed, nodes that are never reached.
pub(super) fn warn(graph: &Graph, report: &mut Report) {
    for connection in graph.connections.iter().filter(|connection| !connection.is_subagent()) {
        let source = &graph.nodes[connection.source];
        let followed = match &source.what {
            What::Start(_) | What::Agent(_) | What::Refused => true,
            What::If(conditions) => is_if_handle(connection, conditions.len()),
            What::Approval(_) => connection.is_from("approve") || connection.is_from("reject"),
            What::End => false,
        };
        if !followed {
            let handle = connection.handle.as_deref().unwrap_or("(none)");
            let message = format!("nothing leaves `{}` by the handle `{handle}`", source.id);
            report.warn(Kind::DeadConnection, connection.span, message, ways_in_words(&source.what));
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

fn ways_in_words(what: &What) -> &'static str {
    match what {
        What::If(_) => "an `if` is left by `condition-0`, `condition-1`, … for its conditions, and by `false`",
        What::Approval(_) => "an approval is left by `approve` and `reject`",
        _ => "an `end` ends its branch",
    }
}
