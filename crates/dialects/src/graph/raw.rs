//! A graph as written, with deprecated spellings mapped to current ones. Errors of structure are reported while it is read;
//! expressions are compiled during lowering.

mod nodes;
pub(super) mod tables;

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_expr::{Kind, Located, Span};

use crate::DocumentKinds as _;
use crate::fields::{Access, Path};
use crate::inputs::{self, DeclaredInputs, Names};
use crate::report::{Report, start_of};

use tables::{CONNECTION, DOCUMENT, GRAPH, PART};

pub(super) use nodes::{Agent, Node, NodeData};

/// The handle that makes the target a tool of the source.
pub(super) const SUBAGENT: &str = "subagent";

/// Nodes and connections, in document order.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) connections: Vec<Connection>,
    /// By node, the positions of the connections that leave it.
    out: Vec<Vec<usize>>,
    /// The span for missing fields.
    pub(super) span: Span,
    /// Whether a tool that is not configured prevents a run.
    pub(super) strict_tools: bool,
    /// The declared inputs, if any are.
    pub(super) inputs: Option<DeclaredInputs>,
}

/// A connection between two nodes that exist, by position.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) source: usize,
    pub(super) target: usize,
    /// The handle of the source; none if the document has none.
    pub(super) handle: Option<Arc<str>>,
    /// The handle of the target.
    pub(super) into: Option<Arc<str>>,
    pub(super) span: Span,
}

impl Connection {
    /// Whether this makes the target a tool of the source instead of its successor.
    pub(super) fn is_subagent(&self) -> bool {
        self.handle.as_deref() == Some(SUBAGENT)
    }

    /// Whether it leaves the source at this handle.
    pub(super) fn is_from(&self, handle: &str) -> bool {
        self.handle.as_deref() == Some(handle)
    }
}

impl Graph {
    /// Reads a document; none if it is not an object with two lists.
    pub(super) fn read(document: &Located, report: &mut Report) -> Option<Self> {
        if !report.check(GRAPH).object(Path::Root(""), document, &[DOCUMENT]) {
            return None;
        }
        let [nodes, connections] = ["nodes", "connections"].map(|key| document.get(key).and_then(Located::items));
        let (nodes, connections) = (nodes?, connections?);
        let nodes = Node::read_all(nodes, report);
        let by_id = nodes.iter().enumerate().rev().map(|(at, node)| (&*node.id, at)).collect();
        let connections: Vec<_> =
            connections.iter().enumerate().filter_map(|item| connection(item, &by_id, report)).collect();
        let mut out = vec![Vec::new(); nodes.len()];
        for (at, connection) in connections.iter().enumerate() {
            out[connection.source].push(at);
        }
        let inputs = inputs::read(document, Names::Input, &mut report.findings);
        let strict_tools = document.flag("strict_tools").unwrap_or(false);
        Some(Self { nodes, connections, out, span: start_of(document), strict_tools, inputs })
    }

    /// The connections that leave a node, in document order.
    pub(super) fn leaving(&self, node: usize) -> impl DoubleEndedIterator<Item = &Connection> {
        self.out[node].iter().map(|at| &self.connections[*at])
    }
}

/// Nodes by id; of two with one id, the first.
type ById<'n> = BTreeMap<&'n str, usize>;

fn connection((at, item): (usize, &Located), nodes: &ById<'_>, report: &mut Report) -> Option<Connection> {
    if !report.check(PART).object(Path::Item(&Path::Root("connections"), at), item, &[CONNECTION]) {
        return None;
    }
    let [source, target] = ["source", "target"].map(|key| end(item.given(key)?, nodes, report));
    // Empty text is not a handle.
    let handle = |key: &str| item.str(key).filter(|text| !text.is_empty()).cloned();
    let (handle, into) = (handle("sourceHandle"), handle("targetHandle"));
    Some(Connection { source: source?, target: target?, handle, into, span: item.span })
}

/// The node at one end of a connection.
fn end(found: &Located, nodes: &ById<'_>, report: &mut Report) -> Option<usize> {
    let id = found.text().map_or("", |text| &**text);
    let node = nodes.get(id).copied().filter(|_| !id.is_empty());
    if node.is_none() {
        let message = format!("there is no node `{}`", found.to_value());
        report.unknown(Kind::BrokenConnection, found.span, message, id, nodes.keys().copied());
        report.help_latest("connect nodes by their `id`, or add the node");
    }
    node
}
