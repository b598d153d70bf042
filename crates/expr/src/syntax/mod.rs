//! From text to a tree: lexer, parser, and the tree with the place of every part.

pub(crate) mod ast;
mod calls;
mod lexer;
mod literal;
mod operators;
mod parser;
pub(crate) mod reference;

pub(crate) use parser::parse;

use crate::Kind;
use crate::diagnostic::{Diagnostic, Span};

/// What a dialect changes in the grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grammar {
    /// Bare names, and nothing else: `{{` is two brackets.
    Bare,
    /// Bare names and `{{references}}`.
    Plain,
    /// As `Plain`, and a reference may write the properties of a namespace in any case.
    AnyCase,
    /// `$name` for variables; a name without `$` is refused, and so are braces.
    Dollar,
}

/// The first thing that does not parse.
pub(crate) type Parsed<T> = Result<T, Box<Diagnostic>>;

fn syntax_error(span: Span, message: impl Into<String>) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(Kind::Syntax, span, message))
}

/// The text of a whole string literal; none when it is not one.
pub(crate) fn string_literal(source: &str) -> Option<std::borrow::Cow<'_, str>> {
    literal::string(source).ok().filter(|(_, length)| *length == source.len()).map(|(text, _)| text)
}
