//! Parses references: `ns.path`, `.ns.path`, `[n]`, `["key"]`, with names that may contain a `-`, without operators.

use std::borrow::Cow;

use super::ast::{Expr, ExprKind};
use super::{Parsed, literal, syntax_error};
use crate::diagnostic::Span;
use crate::limits;
use crate::value::Value;

/// Parses the content of braces, which begins at `offset` in the source.
pub(crate) fn parse(content: &str, offset: u32) -> Parsed<Expr<'_>> {
    if content.trim().is_empty() {
        let error = syntax_error(Span::new(0, content.len()).shifted(offset), "the braces are empty");
        return Err(Box::new(error.with_help("write `{{namespace.name}}`")));
    }
    let start = content.len() - content.trim_start().len();
    let mut cursor = Cursor { content: content.trim_end(), at: start, offset };
    cursor.eat('.');
    let root = cursor.name()?;
    let mut expr = cursor.build(start, ExprKind::Name(Cow::Borrowed(root)), 0)?;
    while cursor.at < cursor.content.len() {
        let (key, depth) = (cursor.segment()?, expr.depth);
        expr = cursor.build(start, ExprKind::Member(Box::new(expr), Box::new(key)), depth)?;
    }
    Ok(expr)
}

/// Parses the keys after a name: `.name`, `[0]`, `["key"]`.
pub(crate) fn keys(content: &str) -> Parsed<Vec<Value>> {
    let mut cursor = Cursor { content, at: 0, offset: 0 };
    let mut keys = Vec::new();
    while cursor.at < content.len() {
        keys.push(match cursor.segment()?.kind {
            ExprKind::Int(int) => Value::Int(int),
            ExprKind::Str(text) => Value::from(&*text),
            _ => unreachable!("a segment is a name, a text or a position"),
        });
    }
    Ok(keys)
}

struct Cursor<'s> {
    content: &'s str,
    at: usize,
    offset: u32,
}

impl<'s> Cursor<'s> {
    fn rest(&self) -> &'s str {
        &self.content[self.at..]
    }

    fn eat(&mut self, c: char) -> bool {
        let here = self.rest().starts_with(c);
        self.at += if here { c.len_utf8() } else { 0 };
        here
    }

    fn build(&self, from: usize, kind: ExprKind<'s>, depth: u16) -> Parsed<Expr<'s>> {
        let span = Span::new(from, self.at).shifted(self.offset);
        if depth >= limits::DEPTH {
            return Err(syntax_error(span, "the path is too long"));
        }
        Ok(Expr { kind, span, depth: depth + 1 })
    }

    fn not_a_reference(&self) -> Box<crate::Diagnostic> {
        let span = Span::new(self.at, self.content.len().max(self.at)).shifted(self.offset);
        let error = syntax_error(span, "braces must contain only a reference");
        Box::new(error.with_help("write `{{namespace.name}}`; operators and functions go outside the braces"))
    }

    fn name(&mut self) -> Parsed<&'s str> {
        let rest = self.rest();
        let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')).unwrap_or(rest.len());
        if length == 0 {
            return Err(self.not_a_reference());
        }
        self.at += length;
        Ok(&rest[..length])
    }

    fn segment(&mut self) -> Parsed<Expr<'s>> {
        let in_brackets = !self.eat('.');
        if in_brackets && !self.eat('[') {
            return Err(self.not_a_reference());
        }
        let from = self.at;
        if !in_brackets {
            let name = self.name()?;
            return self.build(from, ExprKind::Str(Cow::Borrowed(name)), 0);
        }
        let key = if self.rest().starts_with(['"', '\'']) {
            let (text, length) =
                literal::string(self.rest()).map_err(|error| error.shifted(self.offset as usize + self.at))?;
            self.at += length;
            ExprKind::Str(text)
        } else {
            let negative = self.eat('-');
            let digits = self.name()?;
            // Only one sign is allowed, so the negation below cannot overflow.
            let int = digits.parse::<i64>().ok().filter(|int| *int >= 0 && !digits.starts_with('-'));
            let int = int.ok_or_else(|| self.not_a_reference())?;
            ExprKind::Int(if negative { -int } else { int })
        };
        let key = self.build(from, key, 0)?;
        if self.eat(']') { Ok(key) } else { Err(self.not_a_reference()) }
    }
}
