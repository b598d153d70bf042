//! Parses calls, pipes, predicates, and the fields, indexes and slices after a value.

use std::borrow::Cow;

use super::ast::{Call, Element, Expr, ExprKind};
use super::lexer::Token;
use super::parser::Parser;
use super::{Parsed, syntax_error};
use crate::builtins;
use crate::diagnostic::Span;

impl<'s> Parser<'s> {
    /// Parses the right side of `x | f(args)`, which means `f(x, args)`.
    pub(super) fn pipe(&mut self, input: Expr<'s>) -> Parsed<Expr<'s>> {
        let Token::Word(function) = self.token else {
            return Err(self.unexpected("a function after `|`"));
        };
        let name_span = self.span;
        self.advance()?;
        let call = self.call(function, name_span, Some(input))?;
        self.postfix(call)
    }

    /// Parses the arguments of a call, from the opening parenthesis on.
    pub(super) fn call(&mut self, function: &'s str, name_span: Span, input: Option<Expr<'s>>) -> Parsed<Expr<'s>> {
        let start = input.as_ref().map_or(name_span, |input| input.span);
        self.expect("(")?;
        let mut arguments: Vec<Expr<'s>> = input.into_iter().collect();
        let mut predicate = None;
        let takes_predicate = builtins::takes_predicate(function);
        while self.token != Token::Symbol(")") {
            if takes_predicate && predicate.is_none() && arguments.len() == 1 {
                predicate = Some(Box::new(self.predicate()?));
            } else {
                arguments.push(self.expression()?);
            }
            if !self.eat(",")? {
                break;
            }
        }
        self.expect(")")?;
        let span = start.to(self.end_of_last_token());
        self.build(span, ExprKind::Call(Call { function, name_span, arguments, predicate }))
    }

    /// Parses a predicate. Braces around it are optional.
    fn predicate(&mut self) -> Parsed<Expr<'s>> {
        self.predicates += 1;
        let body = if self.eat("{")? {
            let body = self.sequence()?;
            self.expect("}")?;
            body
        } else {
            self.expression()?
        };
        self.predicates -= 1;
        Ok(body)
    }

    /// Parses `#`, `#index` and `#acc`, after the `#`.
    pub(super) fn element(&mut self, start: Span) -> Parsed<Expr<'s>> {
        self.advance()?;
        let element = match self.token {
            Token::Word("index") if self.span.start == start.end => Some(Element::Index),
            Token::Word("acc") if self.span.start == start.end => Some(Element::Accumulator),
            _ => None,
        };
        if element.is_some() {
            self.advance()?;
        }
        let span = start.to(self.end_of_last_token());
        self.build(span, ExprKind::Element(element.unwrap_or(Element::Item)))
    }

    /// Parses `.field` in a predicate, which is short for `#.field`, before the point.
    pub(super) fn implied_member(&mut self, start: Span) -> Parsed<Expr<'s>> {
        let item = self.build(Span { start: start.start, end: start.start }, ExprKind::Element(Element::Item))?;
        self.token = Token::Symbol(".");
        self.postfix(item)
    }

    /// Parses fields, indexes and slices after a value.
    pub(super) fn postfix(&mut self, mut object: Expr<'s>) -> Parsed<Expr<'s>> {
        loop {
            object = match self.token {
                Token::Symbol("." | "?.") => {
                    let optional = self.token == Token::Symbol("?.");
                    self.advance()?;
                    if optional && self.token == Token::Symbol("[") {
                        self.index(object)?
                    } else {
                        self.member(object)?
                    }
                }
                Token::Symbol("[") => self.index(object)?,
                _ => return Ok(object),
            };
            if matches!(object.kind, ExprKind::Project(..)) {
                return Ok(object);
            }
        }
    }

    fn member(&mut self, object: Expr<'s>) -> Parsed<Expr<'s>> {
        let key_span = self.span;
        let key = match std::mem::replace(&mut self.token, Token::End) {
            Token::Word(word) => Cow::Borrowed(word),
            Token::Str(text) if self.uses_dollar() => text,
            other => {
                self.token = other;
                return Err(self.unexpected("the name of a field"));
            }
        };
        self.advance()?;
        let span = object.span.to(key_span);
        let key = self.build(key_span, ExprKind::Str(key))?;
        self.build(span, ExprKind::Member(Box::new(object), Box::new(key)))
    }

    /// Parses `[i]`, `["key"]`, `[from:to]` and, in paths, `[*]`.
    fn index(&mut self, object: Expr<'s>) -> Parsed<Expr<'s>> {
        let open = self.span;
        self.advance()?;
        if self.uses_dollar() && self.token == Token::Symbol("*") {
            return self.projection(object, open);
        }
        let from = if self.token == Token::Symbol(":") { None } else { Some(Box::new(self.expression()?)) };
        if self.eat(":")? {
            let to = if self.token == Token::Symbol("]") { None } else { Some(Box::new(self.expression()?)) };
            self.expect("]")?;
            let span = object.span.to(self.end_of_last_token());
            return self.build(span, ExprKind::Slice(Box::new(object), from, to));
        }
        let Some(key) = from else {
            return Err(self.unexpected("an index"));
        };
        self.expect("]")?;
        let span = object.span.to(self.end_of_last_token());
        self.build(span, ExprKind::Member(Box::new(object), key))
    }

    /// Parses `[*]`, which maps the rest of the path over a list.
    fn projection(&mut self, object: Expr<'s>, open: Span) -> Parsed<Expr<'s>> {
        self.advance()?;
        if self.token != Token::Symbol("]") {
            return Err(syntax_error(open, "`[*]` must contain only `*`"));
        }
        self.advance()?;
        let item = self.build(self.end_of_last_token(), ExprKind::Element(Element::Item))?;
        let rest = self.postfix(item)?;
        let span = object.span.to(self.end_of_last_token());
        self.build(span, ExprKind::Project(Box::new(object), Box::new(rest)))
    }
}
