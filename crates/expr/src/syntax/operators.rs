//! Parses operators by precedence climbing.

use super::ast::{Binary, Expr, ExprKind};
use super::lexer::Token;
use super::parser::Parser;
use super::{Parsed, syntax_error};
use crate::diagnostic::Span;

/// Precedence levels, loosest first. Prefix operators and the pipe have separate levels.
mod level {
    pub(super) const PIPE: u8 = 1;
    pub(super) const OR: u8 = 2;
    pub(super) const AND: u8 = 3;
    pub(super) const COMPARE: u8 = 4;
    pub(super) const RANGE: u8 = 5;
    pub(super) const ADD: u8 = 6;
    pub(super) const NOT: u8 = 7;
    pub(super) const MULTIPLY: u8 = 8;
    pub(super) const SIGN: u8 = 9;
    pub(super) const POWER: u8 = 10;
    pub(super) const COALESCE: u8 = 11;
}

#[derive(Clone, Copy, PartialEq)]
enum Infix {
    Pipe,
    Or,
    And,
    Coalesce,
    Plain(Binary),
}

impl<'s> Parser<'s> {
    /// Parses operators of all levels except `?:`.
    pub(super) fn operators(&mut self) -> Parsed<Expr<'s>> {
        self.binary(level::PIPE)
    }

    /// Parses operators that bind at least as tightly as `lowest`.
    fn binary(&mut self, lowest: u8) -> Parsed<Expr<'s>> {
        let mut left = self.prefix()?;
        let mut after_coalesce = false;
        while let Some((infix, level, negated)) = self.infix(lowest)? {
            let operator_span = self.span;
            self.advance()?;
            if after_coalesce && !matches!(infix, Infix::Coalesce | Infix::Pipe) {
                let error =
                    syntax_error(operator_span, "`??` and another operator cannot be mixed without parentheses");
                return Err(Box::new(error.with_help("put parentheses around the `??` expression")));
            }
            after_coalesce = infix == Infix::Coalesce;
            left = match infix {
                Infix::Pipe => self.pipe(left)?,
                Infix::Plain(operator) if operator.is_ordering() => self.comparison(left, operator)?,
                _ => {
                    let right_level = if infix == Infix::Plain(Binary::Power) { level } else { level + 1 };
                    let right = self.nested(|parser| parser.binary(right_level))?;
                    self.join(infix, left, right)?
                }
            };
            if negated {
                let span = left.span;
                left = self.build(span, ExprKind::Not(Box::new(left)))?;
            }
        }
        Ok(left)
    }

    /// The current operator, if it binds tightly enough. For `not in` and the like, the `not` is consumed.
    fn infix(&mut self, lowest: u8) -> Parsed<Option<(Infix, u8, bool)>> {
        if self.token == Token::Word("not") {
            let mut ahead = self.lexer;
            let (next, span) = ahead.next()?;
            let negatable = matches!(next, Token::Word("in" | "contains" | "startsWith" | "endsWith" | "matches"));
            if !negatable || level::COMPARE < lowest {
                return Ok(None);
            }
            (self.lexer, self.token, self.span) = (ahead, next, span);
            return Ok(infix_of(&self.token).map(|(infix, level)| (infix, level, true)));
        }
        Ok(infix_of(&self.token).filter(|(_, level)| *level >= lowest).map(|(infix, level)| (infix, level, false)))
    }

    fn join(&mut self, infix: Infix, left: Expr<'s>, right: Expr<'s>) -> Parsed<Expr<'s>> {
        let span = left.span.to(right.span);
        let kind = match (infix, left.kind) {
            // A chain is extended in place, so that a thousand terms are neither deep nor slow to parse.
            (Infix::And, ExprKind::And(parts)) => return self.extend(span, left.depth, parts, right, ExprKind::And),
            (Infix::Or, ExprKind::Or(parts)) => return self.extend(span, left.depth, parts, right, ExprKind::Or),
            (Infix::And, kind) => ExprKind::And(vec![Expr { kind, ..left }, right]),
            (Infix::Or, kind) => ExprKind::Or(vec![Expr { kind, ..left }, right]),
            (Infix::Coalesce, kind) => ExprKind::Coalesce(Box::new(Expr { kind, ..left }), Box::new(right)),
            (Infix::Plain(operator), kind) => {
                ExprKind::Binary(operator, Box::new(Expr { kind, ..left }), Box::new(right))
            }
            (Infix::Pipe, _) => unreachable!("a pipe is built by `pipe`"),
        };
        self.build(span, kind)
    }

    fn extend(
        &mut self,
        span: Span,
        depth: u16,
        mut parts: Vec<Expr<'s>>,
        right: Expr<'s>,
        wrap: fn(Vec<Expr<'s>>) -> ExprKind<'s>,
    ) -> Parsed<Expr<'s>> {
        self.count(span)?;
        let depth = depth.max(right.depth + 1);
        parts.push(right);
        self.check_depth(depth, span).map(|()| Expr { kind: wrap(parts), span, depth })
    }

    /// Parses comparisons: `a < b <= c` means `a < b && b <= c`.
    fn comparison(&mut self, first: Expr<'s>, operator: Binary) -> Parsed<Expr<'s>> {
        let second = self.nested(|parser| parser.binary(level::COMPARE + 1))?;
        let mut span = first.span.to(second.span);
        let ordering = |parser: &Self| match infix_of(&parser.token) {
            Some((Infix::Plain(next), _)) if next.is_ordering() => Some(next),
            _ => None,
        };
        if ordering(self).is_none() {
            return self.build(span, ExprKind::Binary(operator, Box::new(first), Box::new(second)));
        }
        let mut rest = vec![(operator, second)];
        while let Some(operator) = ordering(self) {
            self.advance()?;
            let next = self.nested(|parser| parser.binary(level::COMPARE + 1))?;
            span = span.to(next.span);
            rest.push((operator, next));
        }
        self.build(span, ExprKind::Chain(Box::new(first), rest))
    }

    fn prefix(&mut self) -> Parsed<Expr<'s>> {
        let start = self.span;
        let (level, wrap): (u8, fn(Box<Expr<'s>>) -> ExprKind<'s>) = match self.token {
            Token::Symbol("!") | Token::Word("not") => (level::NOT, ExprKind::Not),
            Token::Symbol("-") => (level::SIGN, ExprKind::Negate),
            Token::Symbol("+") => (level::SIGN, ExprKind::Plus),
            _ => {
                let primary = self.primary()?;
                return self.postfix(primary);
            }
        };
        self.advance()?;
        let operand = self.nested(|parser| parser.binary(level))?;
        self.build(start.to(operand.span), wrap(Box::new(operand)))
    }
}

fn infix_of(token: &Token<'_>) -> Option<(Infix, u8)> {
    let (infix, level) = match *token {
        Token::Symbol("|") => (Infix::Pipe, level::PIPE),
        Token::Symbol("||") | Token::Word("or") => (Infix::Or, level::OR),
        Token::Symbol("&&") | Token::Word("and") => (Infix::And, level::AND),
        Token::Symbol("==") => (Infix::Plain(Binary::Equal), level::COMPARE),
        Token::Symbol("!=") => (Infix::Plain(Binary::NotEqual), level::COMPARE),
        Token::Symbol("<") => (Infix::Plain(Binary::Less), level::COMPARE),
        Token::Symbol("<=") => (Infix::Plain(Binary::LessOrEqual), level::COMPARE),
        Token::Symbol(">") => (Infix::Plain(Binary::Greater), level::COMPARE),
        Token::Symbol(">=") => (Infix::Plain(Binary::GreaterOrEqual), level::COMPARE),
        Token::Word("in") => (Infix::Plain(Binary::In), level::COMPARE),
        Token::Word("contains") => (Infix::Plain(Binary::Contains), level::COMPARE),
        Token::Word("startsWith") => (Infix::Plain(Binary::StartsWith), level::COMPARE),
        Token::Word("endsWith") => (Infix::Plain(Binary::EndsWith), level::COMPARE),
        Token::Word("matches") => (Infix::Plain(Binary::Matches), level::COMPARE),
        Token::Symbol("..") => (Infix::Plain(Binary::Range), level::RANGE),
        Token::Symbol("+") => (Infix::Plain(Binary::Add), level::ADD),
        Token::Symbol("-") => (Infix::Plain(Binary::Subtract), level::ADD),
        Token::Symbol("*") => (Infix::Plain(Binary::Multiply), level::MULTIPLY),
        Token::Symbol("/") => (Infix::Plain(Binary::Divide), level::MULTIPLY),
        Token::Symbol("%") => (Infix::Plain(Binary::Remainder), level::MULTIPLY),
        Token::Symbol("**" | "^") => (Infix::Plain(Binary::Power), level::POWER),
        Token::Symbol("??") => (Infix::Coalesce, level::COALESCE),
        _ => return None,
    };
    Some((infix, level))
}
