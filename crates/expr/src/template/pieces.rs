//! Splits a compiled text into literal text and substitutions, for checks of the result, such as a shell command.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::builtins;
use crate::diagnostic::Span;
use crate::expression::Expression;
use crate::program::{Id, Node, Program, Reference};
use crate::types::Types;

/// A piece of a text with placeholders.
///
/// ```
/// # use branchpoint_expr::*;
/// let text = Expression::text("echo {{inputs.a}} {{escape inputs.b}}", Options::default())?;
/// assert!(matches!(&text.pieces()[0], Piece::Text(text) if &**text == "echo "));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub enum Piece {
    /// Text of the document.
    Text(Arc<str>),
    /// The value of a placeholder.
    Value(Substitution),
}

/// A placeholder of a text and its static properties.
///
/// ```
/// # use branchpoint_expr::*;
/// let text = Expression::text("echo {{inputs.a}} {{escape inputs.b}}", Options::default())?;
/// let Piece::Value(last) = &text.pieces()[3] else { panic!() };
/// assert!(last.is_escaped && !last.is_plain);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Substitution {
    /// Its span in the source.
    pub span: Span,
    /// Whether the value is quoted as a word for a shell.
    pub is_escaped: bool,
    /// Whether the value is always a number or a boolean.
    pub is_plain: bool,
    /// The names that it reads.
    pub references: Vec<Reference>,
}

impl Expression {
    /// The pieces of a text, in order; empty for a value that is not text.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let text = Expression::text("echo {{inputs.a}} {{escape inputs.b}}", Options::default())?;
    /// assert_eq!(text.pieces().len(), 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pieces(&self) -> Vec<Piece> {
        let mut pieces = Pieces { program: &self.program, from: 0, list: Vec::new(), locals: BTreeMap::new() };
        pieces.add(self.program.root);
        pieces.list
    }
}

/// The pieces found so far.
struct Pieces<'p> {
    program: &'p Program,
    /// The first node that belongs to no piece yet.
    from: usize,
    list: Vec<Piece>,
    /// The names that variables and `.` get their values from.
    locals: BTreeMap<u16, Vec<Reference>>,
}

impl Pieces<'_> {
    /// Adds the pieces of a node. For a block, these are the pieces of all its texts.
    fn add(&mut self, id: Id) {
        match self.program.nodes[id as usize] {
            Node::Template(ids) => self.program.list(ids).iter().for_each(|id| self.add(*id)),
            Node::Bounded(text) => self.add(text),
            Node::Range { over, body, otherwise, local } => {
                let names = self.names_until(over);
                self.locals.insert(local, names.clone());
                self.locals.insert(local.saturating_add(1), names);
                self.bodies(over, [otherwise, body]);
            }
            Node::Let { local, value, body } if self.is_block(body) => {
                let names = self.names_until(value);
                self.locals.insert(local, names);
                self.bodies(value, [body]);
            }
            Node::Assign { local, value } => {
                let names = self.names_until(value);
                self.locals.entry(local).or_default().extend(names);
            }
            Node::Conditional(_, then, otherwise) if self.is_block(id) => {
                self.add(then);
                self.add(otherwise);
            }
            Node::List(_) | Node::Object(_) | Node::Leave { .. } => {}
            Node::Constant(constant) => {
                self.list.push(Piece::Text(self.program.constants[constant as usize].to_string().into()));
            }
            node => {
                let references = self.names_until(id);
                let span = references.first().map_or(self.program.spans[id as usize], |reference| reference.span);
                let is_escaped = matches!(
                    node,
                    Node::Call { builtin, .. } if ["shellQuote", "shellEscape"].map(builtins::inner).contains(&builtin)
                );
                self.list.push(Piece::Value(Substitution { span, is_escaped, is_plain: is_plain(node), references }));
            }
        }
        self.from = self.from.max(id as usize + 1);
    }

    /// The names that the nodes since the previous piece read, also through variables. A node refers only to earlier nodes, so all
    /// of them belong to this piece.
    fn names_until(&self, id: Id) -> Vec<Reference> {
        let nodes = self.from..id as usize + 1;
        let locals = self.program.nodes[nodes.clone()].iter().filter_map(|node| match node {
            Node::Local(local) => self.locals.get(local),
            _ => None,
        });
        let mut names = self.program.references_in(nodes);
        names.extend(locals.flatten().cloned());
        names
    }

    /// Adds the texts of a block, without its head, which produces no text.
    fn bodies<const N: usize>(&mut self, head: Id, bodies: [Id; N]) {
        self.from = self.from.max(head as usize + 1);
        for body in bodies {
            self.add(body);
        }
    }

    /// Whether a node is a block that chooses between texts, unlike `or`, which chooses between values.
    fn is_block(&self, id: Id) -> bool {
        let Node::Conditional(_, then, _) = self.program.nodes[id as usize] else { return false };
        matches!(self.program.nodes[then as usize], Node::Template(_))
    }
}

fn is_plain(node: Node) -> bool {
    let plain = Types::NUMBER.union(Types::BOOL);
    match node {
        Node::Call { builtin, .. } => {
            builtins::TABLE.get(usize::from(builtin)).is_some_and(|builtin| builtin.gives.without(plain) == Types::NONE)
        }
        node => node.is_test(),
    }
}
