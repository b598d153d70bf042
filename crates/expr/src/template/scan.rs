//! Finding the placeholders in a text.

use crate::Kind;
use crate::diagnostic::{Diagnostic, Span};
use crate::rules::Dialect;

/// The one placeholder of the `graph` dialect, written exactly so.
const PREVIOUS_OUTPUT: &str = "{{PREVIOUS_OUTPUT}}";

/// The name in it.
pub(super) const PREVIOUS: &str = "PREVIOUS_OUTPUT";

/// A piece of a text.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part<'t> {
    /// Plain text, by its place.
    Text(Span),
    /// What stands between the braces, and where that begins.
    Placeholder { content: &'t str, start: usize },
}

/// Splits a text at its placeholders.
///
/// `operand`: the text is an operand of a typed group, where dialects without templates of their own take references.
pub(super) fn parts(text: &str, dialect: Dialect, operand: bool) -> Result<Vec<Part<'_>>, Box<Diagnostic>> {
    let mut parts = Vec::new();
    let mut from = 0;
    let mut search = 0;
    while let Some(open) = text[search..].find("{{").map(|at| search + at) {
        let start = open + 2;
        let end = match dialect {
            Dialect::Session | Dialect::Graph if operand => text[start..].find("}}").map(|at| start + at),
            Dialect::Session => None,
            Dialect::Graph => text[open..].starts_with(PREVIOUS_OUTPUT).then_some(open + PREVIOUS_OUTPUT.len() - 2),
            Dialect::Flow => end_outside_quotes(text, start),
            Dialect::Machine | Dialect::Steps => text[start..].find("}}").map(|at| start + at),
        };
        let Some(end) = end else {
            if dialect == Dialect::Machine {
                let span = Span::new(open, start);
                let finding = Diagnostic::error(Kind::Syntax, span, "these braces are never closed");
                return Err(Box::new(finding.with_help("write `}}` after the reference")));
            }
            search = start;
            continue;
        };
        if from < open {
            parts.push(Part::Text(Span::new(from, open)));
        }
        parts.push(Part::Placeholder { content: &text[start..end], start });
        (from, search) = (end + 2, end + 2);
    }
    if from < text.len() || parts.is_empty() {
        parts.push(Part::Text(Span::new(from, text.len())));
    }
    Ok(parts)
}

/// The placeholder of a text that is one placeholder and nothing else, blanks around it ignored.
pub(super) fn only<'t>(parts: &[Part<'t>], text: &str) -> Option<(&'t str, usize)> {
    let mut found = None;
    for part in parts {
        match *part {
            Part::Text(span) if span.text(text).trim().is_empty() => {}
            Part::Placeholder { content, start } if found.is_none() => found = Some((content, start)),
            _ => return None,
        }
    }
    found
}

/// The first `}}` that is not inside quotes.
fn end_outside_quotes(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut quote = None;
    let mut at = start;
    while at < bytes.len() {
        match (quote, bytes[at]) {
            (Some(open), b'\\') if open != b'`' => at += 1,
            (Some(open), byte) if byte == open => quote = None,
            (None, byte @ (b'"' | b'\'' | b'`')) => quote = Some(byte),
            (None, b'}') if bytes.get(at + 1) == Some(&b'}') => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}
