//! The child nodes of a node, and how deeply nodes are nested.

use crate::program::{Code, Id, Node};

/// The maximum nesting of nodes. Expressions stay far below it; chains of template functions and blocks can reach it. Evaluation is
/// recursive, and every stack has room for this depth.
pub(crate) const MAX_NODE_DEPTH: u16 = 512;

impl Code {
    /// The child nodes of a node.
    pub(crate) fn children(&self, node: Node) -> Vec<Id> {
        match node {
            Node::Constant(_) | Node::Path(_) | Node::Local(_) | Node::Leave { .. } => Vec::new(),
            Node::Range { over, body, otherwise, .. } => vec![over, body, otherwise],
            Node::Coerced(part)
            | Node::Not(part)
            | Node::Negate(part)
            | Node::Plus(part)
            | Node::Filled(part)
            | Node::Bounded(part)
            | Node::Assign { value: part, .. }
            | Node::InSet { needle: part, .. }
            | Node::Matches { text: part, .. }
            | Node::Replace { text: part, .. } => vec![part],
            Node::Member { object, key, .. } => vec![object, key],
            Node::Project { list, rest, .. } => vec![list, rest],
            Node::Slice { object, from, to } => [Some(object), from, to].into_iter().flatten().collect(),
            Node::Compare(_) => unreachable!("callers pass comparisons before fusion"),
            Node::Binary(_, left, right)
            | Node::Both(left, right)
            | Node::Either(left, right)
            | Node::Coalesce(left, right)
            | Node::Elvis(left, right)
            | Node::Sequence(left, right) => vec![left, right],
            Node::Let { value, body, .. } => vec![value, body],
            Node::Conditional(condition, then, otherwise) => vec![condition, then, otherwise],
            Node::And(parts)
            | Node::Or(parts)
            | Node::Every(parts)
            | Node::Some(parts)
            | Node::List(parts)
            | Node::Object(parts)
            | Node::Template(parts)
            | Node::Call { arguments: parts, .. } => self.list(parts).to_vec(),
            Node::Fold { list, body, extra, .. } => [Some(list), body, extra].into_iter().flatten().collect(),
            Node::Clause(test) => {
                let test = &self.clauses[test as usize];
                [Some(test.left), test.right, test.now].into_iter().flatten().collect()
            }
        }
    }

    /// The depth of the deepest node. A node refers only to earlier nodes, so one pass is enough.
    pub(crate) fn node_depth(&self) -> u16 {
        self.depth_of(|node| node)
    }

    /// The depth after `read` is applied to every node.
    pub(crate) fn depth_of(&self, read: impl Fn(Node) -> Node) -> u16 {
        let mut depths: Vec<u16> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let below = self.children(read(*node)).into_iter().filter_map(|child| depths.get(child as usize)).max();
            depths.push(below.map_or(0, |depth| depth.saturating_add(1)));
        }
        depths.into_iter().max().unwrap_or(0)
    }
}
