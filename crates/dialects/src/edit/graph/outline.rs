//! The nodes and the connections of a graph with their paths.

use std::collections::BTreeSet;
use std::sync::Arc;

use branchpoint_expr::{Located, Span};

use crate::edit::{EditError, EditErrorKind};
use crate::fields::Access as _;
use crate::path::Segment;

pub(super) struct Outline {
    pub(super) nodes: Vec<Node>,
    pub(super) connections: Vec<Connection>,
}

pub(super) struct Node {
    pub(super) id: Arc<str>,
    pub(super) kind: Arc<str>,
    /// The number of conditions of an `if`.
    pub(super) conditions: usize,
    /// Where it is drawn.
    pub(super) place: Option<(f64, f64)>,
    pub(super) index: usize,
    pub(super) path: Vec<Segment>,
}

pub(super) struct Connection {
    pub(super) source: Arc<str>,
    pub(super) target: Arc<str>,
    /// Empty if the connection has none.
    pub(super) handle: Arc<str>,
    pub(super) index: usize,
    pub(super) path: Vec<Segment>,
    pub(super) span: Span,
}

impl Node {
    /// The handles by which a run leaves it.
    pub(super) fn handles(&self) -> Vec<String> {
        match &*self.kind {
            "start" | "agent" => vec!["output".to_owned()],
            "approval" | "input" => vec!["approve".to_owned(), "reject".to_owned()],
            "if" => {
                let conditions = (0..self.conditions).map(|index| format!("condition-{index}"));
                conditions.chain(["false".to_owned()]).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl Connection {
    pub(super) fn is_subagent(&self) -> bool {
        &*self.handle == "subagent"
    }

    pub(super) fn handle_or_output(&self) -> &str {
        if self.handle.is_empty() { "output" } else { &self.handle }
    }

    /// Whether it leaves its source by a handle. `true` is an older name of `condition-0`.
    pub(super) fn leaves_by(&self, handle: &str) -> bool {
        self.handle_or_output() == handle
            || handle.is_empty() && !self.is_subagent()
            || handle == "condition-0" && &*self.handle == "true"
    }
}

impl Outline {
    pub(super) fn of(document: &Located) -> Self {
        let text = |value: &Located, key: &str| value.str(key).cloned().unwrap_or_else(|| "".into());
        let node = |(index, item): (usize, &Located)| Node {
            id: text(item, "id"),
            kind: text(item, "type"),
            conditions: conditions(item),
            place: item.number("x").zip(item.number("y")),
            index,
            path: vec!["nodes".into(), index.into()],
        };
        let connection = |(index, item): (usize, &Located)| Connection {
            source: text(item, "source"),
            target: text(item, "target"),
            handle: text(item, "sourceHandle"),
            index,
            path: vec!["connections".into(), index.into()],
            span: item.span,
        };
        Self {
            nodes: document.list("nodes").iter().enumerate().map(node).collect(),
            connections: document.list("connections").iter().enumerate().map(connection).collect(),
        }
    }

    pub(super) fn node(&self, id: &str) -> Result<&Node, EditError> {
        self.nodes.iter().find(|node| &*node.id == id && !id.is_empty()).ok_or_else(|| EditError::step(id))
    }

    pub(super) fn ids(&self) -> BTreeSet<Arc<str>> {
        self.nodes.iter().map(|node| node.id.clone()).collect()
    }

    /// The connections that leave a node.
    pub(super) fn leaving<'o>(&'o self, id: &str) -> impl Iterator<Item = &'o Connection> {
        let id: Arc<str> = id.into();
        self.connections.iter().filter(move |connection| connection.source == id)
    }

    /// The connection of two nodes by a handle, or by any.
    pub(super) fn connection<'o>(
        &'o self,
        source: &str,
        handle: Option<&str>,
        target: &str,
    ) -> Result<&'o Connection, EditError> {
        self.node(source)?;
        self.node(target)?;
        let is_it = |connection: &&'o Connection| {
            &*connection.target == target && handle.is_none_or(|handle| connection.leaves_by(handle))
        };
        self.leaving(source).find(is_it).ok_or_else(|| {
            let by = handle.map(|handle| format!(" by the handle `{handle}`")).unwrap_or_default();
            let message = format!("`{source}` is not connected to `{target}`{by}.");
            EditError::new(EditErrorKind::UnknownConnection, message)
        })
    }

    /// An id that no node has.
    pub(super) fn checked_id(&self, id: &str) -> Result<String, EditError> {
        if id.trim().is_empty() {
            return Err(EditError::new(EditErrorKind::InvalidId, "An id of a node is text that is not blank."));
        }
        if self.nodes.iter().any(|node| &*node.id == id) {
            let message = format!("There is a node `{id}` already.");
            return Err(EditError::new(EditErrorKind::DuplicateId, message).with_help("Choose another id."));
        }
        Ok(id.to_owned())
    }
}

/// The number of conditions of an `if`; an older document has one in `condition`.
fn conditions(node: &Located) -> usize {
    let Some(data) = node.get("data") else { return 0 };
    match data.list("conditions").len() {
        0 => usize::from(data.str("condition").is_some()),
        count => count,
    }
}
