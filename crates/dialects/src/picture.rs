//! Draws documents as pictures. Most are drawn from their programs; graphs and sessions are drawn from their documents.
//!
//! The program of a graph is one driver for all nodes, and that of a session a chain of decisions at every
//! event: neither resembles the document.

use branchpoint_core::ir::Program;
use branchpoint_core::ir::picture::{self, Node, NodeShape, Picture};
use branchpoint_expr::{Condition, Dialect};

use crate::{graph, read, session};

/// Draws a document that has been loaded.
///
/// ```
/// let source = "name: hello\nsteps:\n  - {id: a, step_type: text, template: Hello}\n";
/// let loaded = branchpoint_dialects::load(source, None);
/// let picture = branchpoint_dialects::picture(&loaded.program.unwrap(), source, loaded.dialect);
/// assert!(picture.nodes.iter().any(|node| &*node.title == "a"));
/// ```
pub fn picture(program: &Program, source: &str, dialect: Option<Dialect>) -> Picture {
    let document = || read(source).ok();
    let drawn = match dialect {
        Some(Dialect::Graph) => document().and_then(|document| graph::picture(&document, source)),
        Some(Dialect::Session) => document().map(|document| session::picture(&document, source)),
        _ => None,
    };
    drawn.unwrap_or_else(|| picture::picture(program, source))
}

/// A start or end node.
pub(crate) fn end(title: &str) -> Node {
    Node { title: title.into(), kind: "".into(), shape: NodeShape::End }
}

/// The text of a condition: verbatim, if it is written as an expression.
pub(crate) fn condition_text(condition: &Condition, source: &str) -> String {
    let written = condition.span().text(source).trim();
    if condition.is_verbatim() && !written.contains('\n') { written.to_owned() } else { condition.to_string() }
}
