//! A compiled text as its pieces: what the author wrote, and what is substituted between. For checks of what a text becomes, such
//! as a shell command.

use std::sync::Arc;

use crate::builtins;
use crate::diagnostic::Span;
use crate::expression::Expression;
use crate::program::{Id, Node, Reference};
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

/// The value of a placeholder, as far as it is known when compiling.
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
    /// Its place in the source.
    pub span: Span,
    /// Whether it is quoted as a word for a shell.
    pub is_escaped: bool,
    /// Whether it is a number or a boolean, whatever the data is.
    pub is_plain: bool,
    /// The names that it reads.
    pub references: Vec<Reference>,
}

impl Expression {
    /// The pieces of a text, in order. A value that is not a text has none.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let text = Expression::text("echo {{inputs.a}} {{escape inputs.b}}", Options::default())?;
    /// assert_eq!(text.pieces().len(), 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pieces(&self) -> Vec<Piece> {
        let program = &self.program;
        let ids: Vec<Id> = match program.nodes[program.root as usize] {
            Node::Template(ids) => program.list(ids).to_vec(),
            Node::List(_) | Node::Object(_) => return Vec::new(),
            _ => vec![program.root],
        };
        let mut from = 0;
        let mut pieces = Vec::new();
        for id in ids {
            pieces.push(match program.nodes[id as usize] {
                Node::Constant(constant) => Piece::Text(program.constants[constant as usize].to_string().into()),
                node => {
                    // A node names only nodes before it, so everything since the piece before belongs to this one.
                    let references = program.references_in(from..id as usize + 1);
                    let span = references.first().map_or(program.spans[id as usize], |reference| reference.span);
                    let is_escaped =
                        matches!(node, Node::Call { builtin, .. } if builtin == builtins::inner("shellQuote"));
                    Piece::Value(Substitution { span, is_escaped, is_plain: is_plain(node), references })
                }
            });
            from = id as usize + 1;
        }
        pieces
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
