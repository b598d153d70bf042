//! The lexer. It is a cursor that is cheap to copy, so look-ahead reads from a copy.

use std::borrow::Cow;

use super::{Parsed, literal, syntax_error};
use crate::diagnostic::Span;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token<'s> {
    Int(i64),
    Float(f64),
    Str(Cow<'s, str>),
    /// A name, or an operator that is a word.
    Word(&'s str),
    /// `$name` or `$"any name"`.
    Variable(Cow<'s, str>),
    /// The content between `{{` and `}}`.
    Braces(&'s str),
    /// An operator or a bracket.
    Symbol(&'static str),
    End,
}

/// Longest first, so that `..` is not read as two dots.
const SYMBOLS: [&str; 35] = [
    "?.", "?:", "??", "..", "**", "&&", "||", "==", "!=", "<=", ">=", "(", ")", "[", "]", "{", "}", ",", ";", ":", "?",
    ".", "+", "-", "*", "/", "%", "^", "!", "<", ">", "=", "|", "&", "#",
];

#[derive(Clone, Copy)]
pub(crate) struct Lexer<'s> {
    source: &'s str,
    position: usize,
    /// Whether `{{` begins a reference.
    references: bool,
}

impl<'s> Lexer<'s> {
    pub(crate) fn new(source: &'s str, references: bool) -> Self {
        Self { source, position: 0, references }
    }

    pub(crate) fn next(&mut self) -> Parsed<(Token<'s>, Span)> {
        self.skip_blanks()?;
        let start = self.position;
        let token = self.scan()?;
        Ok((token, Span::new(start, self.position)))
    }

    fn rest(&self) -> &'s str {
        &self.source[self.position..]
    }

    fn scan(&mut self) -> Parsed<Token<'s>> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return Ok(Token::End);
        };
        match first {
            'a'..='z' | 'A'..='Z' | '_' => Ok(Token::Word(self.word())),
            '0'..='9' => self.number(),
            '.' if rest[1..].starts_with(|c: char| c.is_ascii_digit()) => self.number(),
            '"' | '\'' | '`' => self.string().map(Token::Str),
            '$' => self.variable(),
            '{' if self.references && rest.starts_with("{{") => self.braces(),
            _ if first.is_alphabetic() => Ok(Token::Word(self.word())),
            _ => self.symbol(first),
        }
    }

    fn symbol(&mut self, first: char) -> Parsed<Token<'s>> {
        let rest = self.rest();
        let begins = |symbol: &&str| symbol.as_bytes()[0] == rest.as_bytes()[0] && rest.starts_with(*symbol);
        let Some(symbol) = SYMBOLS.into_iter().find(begins) else {
            let span = Span::new(self.position, self.position + first.len_utf8());
            return Err(syntax_error(span, format!("unexpected `{}`", first.escape_debug())));
        };
        // `a ?.5 : 1` is a conditional with a number, not an optional field.
        let length =
            if symbol == "?." && rest[2..].starts_with(|c: char| c.is_ascii_digit()) { 1 } else { symbol.len() };
        self.position += length;
        Ok(Token::Symbol(if length == 1 && symbol == "?." { "?" } else { symbol }))
    }

    fn word(&mut self) -> &'s str {
        let rest = self.rest();
        let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        self.position += length;
        &rest[..length]
    }

    fn number(&mut self) -> Parsed<Token<'s>> {
        let (number, length) = literal::number(self.rest()).map_err(|error| error.shifted(self.position))?;
        self.position += length;
        Ok(number)
    }

    fn string(&mut self) -> Parsed<Cow<'s, str>> {
        let (text, length) = literal::string(self.rest()).map_err(|error| error.shifted(self.position))?;
        self.position += length;
        Ok(text)
    }

    fn variable(&mut self) -> Parsed<Token<'s>> {
        let start = self.position;
        self.position += 1;
        if self.rest().starts_with(['"', '\'']) {
            return self.string().map(Token::Variable);
        }
        if !self.rest().starts_with(|c: char| c.is_alphabetic() || c == '_') {
            return Err(syntax_error(Span::new(start, self.position), "a variable name must follow `$`"));
        }
        Ok(Token::Variable(Cow::Borrowed(self.word())))
    }

    fn braces(&mut self) -> Parsed<Token<'s>> {
        let rest = self.rest();
        let Some(end) = rest.find("}}") else {
            let mut error = syntax_error(Span::new(self.position, self.position + 2), "`{{` is not closed");
            error.help = Some("write a reference as `{{namespace.name}}`".into());
            return Err(error);
        };
        self.position += end + 2;
        Ok(Token::Braces(&rest[2..end]))
    }

    fn skip_blanks(&mut self) -> Parsed<()> {
        loop {
            let rest = self.rest();
            if rest.starts_with("//") {
                self.position += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let Some(end) = comment.find("*/") else {
                    let span = Span::new(self.position, self.source.len());
                    return Err(syntax_error(span, "`/*` is not closed"));
                };
                self.position += end + 4;
            } else if let Some(blank) = rest.chars().next().filter(|c| c.is_whitespace()) {
                self.position += blank.len_utf8();
            } else {
                return Ok(());
            }
        }
    }
}
