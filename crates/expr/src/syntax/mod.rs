//! The lexer, the parser and the syntax tree.

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

/// The dialect's variant of the grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grammar {
    /// Bare names; `{{` is two brackets.
    Bare,
    /// Bare names and `{{references}}`.
    Plain,
    /// Like `Plain`, and references may write the properties of a namespace in any case.
    AnyCase,
    /// `$name` for variables; names without `$` and braces are rejected.
    Dollar,
}

/// The result of parsing, or the first syntax error.
pub(crate) type Parsed<T> = Result<T, Box<Diagnostic>>;

fn syntax_error(span: Span, message: impl Into<String>) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(Kind::Syntax, span, message))
}

/// The text of a string literal; `None` if the source is anything else.
pub(crate) fn string_literal(source: &str) -> Option<std::borrow::Cow<'_, str>> {
    literal::string(source).ok().filter(|(_, length)| *length == source.len()).map(|(text, _)| text)
}
