//! The parser for the grammar of `docs/spec/machine.md`, section 3.3. Operators are parsed in `operators.rs`, calls and fields in
//! `calls.rs`.

use std::borrow::Cow;

use super::ast::{Expr, ExprKind};
use super::lexer::{Lexer, Token};
use super::{Grammar, Parsed, reference, syntax_error};
use crate::diagnostic::{Diagnostic, Span};
use crate::limits::Limits;
use crate::{Kind, names};

/// Parses a whole expression.
pub(crate) fn parse<'s>(source: &'s str, grammar: Grammar, limits: &Limits) -> Parsed<Expr<'s>> {
    if source.len() > limits.source_bytes {
        let message = format!("the text has {} bytes, but the limit is {}", source.len(), limits.source_bytes);
        return Err(Box::new(Diagnostic::error(Kind::NodeLimit, Span::new(0, 0), message)));
    }
    let mut parser = Parser::new(source, grammar, limits)?;
    if parser.token == Token::End {
        return Err(syntax_error(Span::new(0, source.len()), "the expression is empty"));
    }
    let expr = parser.sequence()?;
    match parser.token {
        Token::End => Ok(expr),
        _ => Err(parser.unexpected("the end of the expression")),
    }
}

pub(super) struct Parser<'s> {
    pub(super) lexer: Lexer<'s>,
    pub(super) token: Token<'s>,
    pub(super) span: Span,
    /// The end of the previous token.
    end: u32,
    grammar: Grammar,
    /// The number of open predicates, in which `#` and `.field` are allowed.
    pub(super) predicates: usize,
    /// The number of active recursive calls, limited so that text like `((((…` cannot overflow the stack.
    nesting: u16,
    most_nesting: u16,
    nodes: usize,
    most_nodes: usize,
}

impl<'s> Parser<'s> {
    fn new(source: &'s str, grammar: Grammar, limits: &Limits) -> Parsed<Self> {
        let references = matches!(grammar, Grammar::Plain | Grammar::AnyCase);
        let mut lexer = Lexer::new(source, references);
        let (token, span) = lexer.next()?;
        Ok(Self {
            lexer,
            token,
            span,
            end: 0,
            grammar,
            predicates: 0,
            nesting: 0,
            most_nesting: limits.depth(),
            nodes: 0,
            most_nodes: limits.nodes,
        })
    }

    /// Parses `a; b; c`.
    pub(super) fn sequence(&mut self) -> Parsed<Expr<'s>> {
        let first = self.expression()?;
        if !self.eat(";")? || self.at_close() {
            return Ok(first);
        }
        let rest = self.nested(Self::sequence)?;
        let span = first.span.to(rest.span);
        self.build(span, ExprKind::Sequence(Box::new(first), Box::new(rest)))
    }

    fn at_close(&self) -> bool {
        matches!(self.token, Token::End | Token::Symbol(")" | "}"))
    }

    /// Parses one expression. `let` and `if` are allowed only at its start.
    pub(super) fn expression(&mut self) -> Parsed<Expr<'s>> {
        self.nested(|parser| match parser.token {
            Token::Word("let") => parser.variable_declaration(),
            Token::Word("if") => parser.conditional_block(),
            _ => {
                let condition = parser.operators()?;
                parser.conditional(condition)
            }
        })
    }

    pub(super) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.nesting += 1;
        self.check_depth(self.nesting, self.span)?;
        let parsed = parse(self)?;
        self.nesting -= 1;
        Ok(parsed)
    }

    fn variable_declaration(&mut self) -> Parsed<Expr<'s>> {
        let start = self.span;
        self.advance()?;
        let Token::Word(name) = self.token else {
            return Err(self.unexpected("the name of a variable"));
        };
        self.advance()?;
        self.expect("=")?;
        let value = self.expression()?;
        self.expect(";")?;
        let body = self.sequence()?;
        self.build(start.to(body.span), ExprKind::Let(name, Box::new(value), Box::new(body)))
    }

    fn conditional_block(&mut self) -> Parsed<Expr<'s>> {
        let start = self.span;
        self.advance()?;
        let condition = self.expression()?;
        let then = self.block()?;
        if self.token != Token::Word("else") {
            return Err(self.unexpected("`else`"));
        }
        self.advance()?;
        let otherwise =
            if self.token == Token::Word("if") { self.nested(Self::conditional_block)? } else { self.block()? };
        let span = start.to(self.end_of_last_token());
        self.build(span, ExprKind::Conditional(Box::new([condition, then, otherwise])))
    }

    fn block(&mut self) -> Parsed<Expr<'s>> {
        self.expect("{")?;
        let body = self.sequence()?;
        self.expect("}")?;
        Ok(body)
    }

    /// Parses `c ? a : b` and `a ?: b` after the condition.
    fn conditional(&mut self, condition: Expr<'s>) -> Parsed<Expr<'s>> {
        let elvis = self.eat("?:")?;
        if !elvis && !self.eat("?")? {
            return Ok(condition);
        }
        // `a ? : b` is `a ?: b` with a space in it.
        if elvis || self.eat(":")? {
            let otherwise = self.expression()?;
            let span = condition.span.to(otherwise.span);
            return self.build(span, ExprKind::Elvis(Box::new(condition), Box::new(otherwise)));
        }
        let then = self.expression()?;
        self.expect(":")?;
        let otherwise = self.expression()?;
        let span = condition.span.to(otherwise.span);
        self.build(span, ExprKind::Conditional(Box::new([condition, then, otherwise])))
    }

    pub(super) fn primary(&mut self) -> Parsed<Expr<'s>> {
        let span = self.span;
        let kind = match std::mem::replace(&mut self.token, Token::End) {
            Token::Int(int) => ExprKind::Int(int),
            Token::Float(float) => ExprKind::Float(float),
            Token::Str(text) => ExprKind::Str(text),
            Token::Variable(name) if self.grammar == Grammar::Dollar => ExprKind::Variable(name),
            Token::Braces(content) => {
                self.advance()?;
                let mut reference = reference::parse(content, span.start + 2)?;
                if self.grammar == Grammar::AnyCase {
                    names::canonical(&mut reference, false);
                }
                return self.build(span, reference.kind);
            }
            Token::Word(word) => return self.word(word, span),
            Token::Symbol("(") => return self.parentheses(),
            Token::Symbol("[") => return self.list(span),
            Token::Symbol("{") => return self.object(span),
            Token::Symbol("#") => return self.element(span),
            Token::Symbol(".") if self.predicates > 0 => return self.implied_member(span),
            other => {
                self.token = other;
                return Err(self.unexpected("a value"));
            }
        };
        self.advance()?;
        self.build(span, kind)
    }

    fn word(&mut self, word: &'s str, span: Span) -> Parsed<Expr<'s>> {
        self.advance()?;
        let kind = match word {
            "true" => ExprKind::Bool(true),
            "false" => ExprKind::Bool(false),
            "nil" | "null" => ExprKind::Nil,
            _ if self.token == Token::Symbol("(") => return self.call(word, span, None),
            "let" | "if" | "else" | "in" | "or" | "and" | "matches" | "contains" | "startsWith" | "endsWith" => {
                let message = format!("unexpected `{word}`");
                let help = match word {
                    "let" | "if" => "put it in parentheses",
                    _ => "an operator needs a value on its left",
                };
                return Err(Box::new(syntax_error(span, message).with_help(help)));
            }
            _ => ExprKind::Name(Cow::Borrowed(word)),
        };
        self.build(span, kind)
    }

    fn parentheses(&mut self) -> Parsed<Expr<'s>> {
        let open = self.span;
        self.advance()?;
        let inner = self.sequence()?;
        self.expect(")")?;
        // The span includes the parentheses, so that it shows the text as written.
        let span = open.to(self.end_of_last_token());
        Ok(Expr { span, ..inner })
    }

    fn list(&mut self, start: Span) -> Parsed<Expr<'s>> {
        self.advance()?;
        let mut items = Vec::new();
        while self.token != Token::Symbol("]") {
            items.push(self.expression()?);
            if !self.eat(",")? {
                break;
            }
        }
        self.expect("]")?;
        let span = start.to(self.end_of_last_token());
        self.build(span, ExprKind::List(items))
    }

    fn object(&mut self, start: Span) -> Parsed<Expr<'s>> {
        self.advance()?;
        let mut entries = Vec::new();
        while self.token != Token::Symbol("}") {
            let key = self.object_key()?;
            self.expect(":")?;
            entries.push((key, self.expression()?));
            if !self.eat(",")? {
                break;
            }
        }
        self.expect("}")?;
        let span = start.to(self.end_of_last_token());
        self.build(span, ExprKind::Object(entries))
    }

    fn object_key(&mut self) -> Parsed<Expr<'s>> {
        let span = self.span;
        let key = match std::mem::replace(&mut self.token, Token::End) {
            Token::Word(word) => Cow::Borrowed(word),
            Token::Str(text) => text,
            Token::Int(int) => Cow::Owned(int.to_string()),
            Token::Symbol("(") => return self.parentheses(),
            other => {
                self.token = other;
                return Err(self.unexpected("a key"));
            }
        };
        self.advance()?;
        self.build(span, ExprKind::Str(key))
    }

    pub(super) fn advance(&mut self) -> Parsed<()> {
        self.end = self.span.end;
        (self.token, self.span) = self.lexer.next()?;
        Ok(())
    }

    pub(super) fn eat(&mut self, symbol: &str) -> Parsed<bool> {
        let here = matches!(self.token, Token::Symbol(found) if found == symbol);
        if here {
            self.advance()?;
        }
        Ok(here)
    }

    pub(super) fn expect(&mut self, symbol: &str) -> Parsed<()> {
        if self.eat(symbol)? { Ok(()) } else { Err(self.unexpected(&format!("`{symbol}`"))) }
    }

    pub(super) fn uses_dollar(&self) -> bool {
        self.grammar == Grammar::Dollar
    }

    /// The empty span at the end of the previous token.
    pub(super) fn end_of_last_token(&self) -> Span {
        Span { start: self.end, end: self.end }
    }

    pub(super) fn build(&mut self, span: Span, kind: ExprKind<'s>) -> Parsed<Expr<'s>> {
        self.count(span)?;
        let mut expr = Expr { kind, span, depth: 0 };
        let mut deepest = 0;
        expr.parts(&mut |part| deepest = deepest.max(part.depth));
        expr.depth = deepest + 1;
        self.check_depth(expr.depth, span).map(|()| expr)
    }

    pub(super) fn count(&mut self, span: Span) -> Parsed<()> {
        self.nodes += 1;
        if self.nodes <= self.most_nodes {
            return Ok(());
        }
        let message = format!("the expression has more than {} parts", self.most_nodes);
        Err(Box::new(Diagnostic::error(Kind::NodeLimit, span, message)))
    }

    pub(super) fn check_depth(&self, depth: u16, span: Span) -> Parsed<()> {
        if depth <= self.most_nesting {
            return Ok(());
        }
        let message = format!("the expression is nested more than {} levels deep", self.most_nesting);
        Err(Box::new(Diagnostic::error(Kind::DepthLimit, span, message).with_help("name parts of it with `let`")))
    }

    pub(super) fn unexpected(&self, expected: &str) -> Box<Diagnostic> {
        let actual = match &self.token {
            Token::End => return syntax_error(self.span, format!("expected {expected}, but the text ends")),
            Token::Int(_) | Token::Float(_) => "a number".into(),
            Token::Str(_) => "text".into(),
            Token::Variable(name) => format!("`${name}`"),
            Token::Braces(_) => "a reference in braces".into(),
            Token::Word(word) => format!("`{word}`"),
            Token::Symbol("=") => {
                let error = syntax_error(self.span, format!("expected {expected}, found `=`"));
                return Box::new(error.with_help("write `==` to compare"));
            }
            Token::Symbol(symbol) => format!("`{symbol}`"),
        };
        syntax_error(self.span, format!("expected {expected}, found {actual}"))
    }
}
