//! Finds the placeholders of a text, in time proportional to its length.

use crate::diagnostic::{Diagnostic, Span};
use crate::dialect::Dialect;
use crate::{Kind, limits};

/// The only placeholder of the `graph` dialect.
const PREVIOUS_OUTPUT: &str = "{{PREVIOUS_OUTPUT}}";

/// The name in the placeholder.
pub(super) const PREVIOUS: &str = "PREVIOUS_OUTPUT";

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part<'t> {
    /// Literal text.
    Text(Span),
    /// The content of braces and its position.
    Placeholder { content: &'t str, start: usize },
}

/// Splits a text at its placeholders.
///
/// `operand` means that the text is an operand of a typed group, where even dialects without templates have references.
pub(super) fn parts(text: &str, dialect: Dialect, operand: bool) -> Result<Vec<Part<'_>>, Box<Diagnostic>> {
    Scanner::new(text, dialect, operand).parts()
}

/// The placeholder of a text that is exactly one placeholder, ignoring blanks around it.
pub(super) fn only<'t>(parts: &[Part<'t>], text: &str) -> Option<(&'t str, usize)> {
    let mut single = None;
    for part in parts {
        match *part {
            Part::Text(span) if span.text(text).trim().is_empty() => {}
            Part::Placeholder { content, start } if single.is_none() => single = Some((content, start)),
            _ => return None,
        }
    }
    single
}

struct Scanner<'t> {
    text: &'t str,
    ends: Ends,
    dialect: Dialect,
    /// Whether the rest of the text has no end of a comment.
    no_more_comments: bool,
    /// The number of examined bytes, for tests that it is a small multiple of the length.
    examined: usize,
}

/// How the end of a placeholder is found.
enum Ends {
    /// There are no placeholders.
    Never,
    /// The placeholder is exactly this text.
    Exactly(&'static str),
    /// The next `}}`.
    Next,
    /// The text has no more `}}`.
    NoMore,
    /// The next `}}` outside quotes. The table is built at the first `{{`.
    OutsideQuotes(Option<EndTable>),
}

impl<'t> Scanner<'t> {
    fn new(text: &'t str, dialect: Dialect, operand: bool) -> Self {
        let ends = match dialect {
            Dialect::Session | Dialect::Graph if operand => Ends::Next,
            Dialect::Session => Ends::Never,
            Dialect::Graph => Ends::Exactly(PREVIOUS_OUTPUT),
            Dialect::Flow => Ends::OutsideQuotes(None),
            Dialect::Machine | Dialect::Steps => Ends::Next,
        };
        Self { text, ends, dialect, no_more_comments: false, examined: 0 }
    }

    fn parts(&mut self) -> Result<Vec<Part<'t>>, Box<Diagnostic>> {
        let text = self.text;
        let mut parts = Vec::new();
        let (mut from, mut search) = (0, 0);
        while let Some(open) = self.find("{{", search) {
            let start = open + 2;
            let Some(end) = self.end(start) else {
                if self.dialect == Dialect::Machine {
                    return Err(never_closed(open));
                }
                search = start;
                continue;
            };
            if parts.len() >= limits::NODES {
                return Err(too_many(open));
            }
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

    /// The next braces at or after `from`.
    fn find(&mut self, braces: &str, from: usize) -> Option<usize> {
        let end = self.text[from..].find(braces).map(|at| from + at);
        self.examined += end.unwrap_or(self.text.len()) - from;
        end
    }

    /// The end of a comment that begins at `start`, which may contain braces; `start` if there is no comment.
    fn after_comment(&mut self, start: usize) -> usize {
        let rest = self.text[start..].strip_prefix('-').unwrap_or(&self.text[start..]).trim_start();
        if self.dialect != Dialect::Machine || !rest.starts_with("/*") || self.no_more_comments {
            return start;
        }
        let end = self.find("*/", start);
        // The end is searched only once, so that many `/*` without `*/` take linear time.
        self.no_more_comments = end.is_none();
        end.unwrap_or(start)
    }

    /// The end of the placeholder whose content begins at `start`.
    fn end(&mut self, start: usize) -> Option<usize> {
        match &mut self.ends {
            Ends::Never | Ends::NoMore => None,
            Ends::Exactly(placeholder) => {
                self.examined += placeholder.len();
                let open = start - 2;
                self.text[open..].starts_with(*placeholder).then_some(open + placeholder.len() - 2)
            }
            Ends::Next => {
                let from = self.after_comment(start);
                let end = self.find("}}", from);
                // The end is searched only once, so that many `{{` without `}}` take linear time.
                if end.is_none() {
                    self.ends = Ends::NoMore;
                }
                end
            }
            Ends::OutsideQuotes(table) => {
                let table = table.get_or_insert_with(|| {
                    self.examined += self.text.len() - start;
                    EndTable::new(self.text, start)
                });
                table.end(start)
            }
        }
    }
}

fn never_closed(open: usize) -> Box<Diagnostic> {
    let finding = Diagnostic::error(Kind::Syntax, Span::new(open, open + 2), "`{{` is not closed");
    Box::new(finding.with_help("write `}}` after the reference"))
}

fn too_many(open: usize) -> Box<Diagnostic> {
    let message = format!("the template has more than {} parts", limits::NODES);
    let finding = Diagnostic::error(Kind::NodeLimit, Span::new(open, open + 2), message);
    Box::new(finding.with_help("split the text, or build it from data"))
}

/// For every `{{`, the next `}}` outside quotes.
///
/// Which quotes are open depends on the start, so a forward pass would be needed for every placeholder. A single backward pass
/// computes the end for every position and every quote that can be open there.
struct EndTable {
    /// The start and end of every content, last first. Contents without an end are omitted.
    ends: Vec<(usize, usize)>,
}

/// The states of the scan: no open quote, or one of the quotes.
const QUOTES: [Option<u8>; 4] = [None, Some(b'"'), Some(b'\''), Some(b'`')];

impl EndTable {
    fn new(text: &str, from: usize) -> Self {
        let bytes = text.as_bytes();
        let mut ends = Vec::new();
        // The ends for a start one byte later, and two bytes later, by state.
        let (mut next, mut after_next) = ([None; QUOTES.len()], [None; QUOTES.len()]);
        for at in (from..bytes.len()).rev() {
            let here = QUOTES.map(|open| match (open, bytes[at]) {
                (Some(open), b'\\') if open != b'`' => after_next[index(Some(open))],
                (Some(open), byte) if byte == open => next[index(None)],
                (None, byte @ (b'"' | b'\'' | b'`')) => next[index(Some(byte))],
                (None, b'}') if bytes.get(at + 1) == Some(&b'}') => Some(at),
                (open, _) => next[index(open)],
            });
            (next, after_next) = (here, next);
            if let Some(end) = here[index(None)]
                && at >= 2
                && bytes[at - 2..at] == *b"{{"
            {
                ends.push((at, end));
            }
        }
        Self { ends }
    }

    /// The end of the content that begins at `start`. Calls must be in the order of the text.
    fn end(&mut self, start: usize) -> Option<usize> {
        while self.ends.last().is_some_and(|(begin, _)| *begin < start) {
            self.ends.pop();
        }
        self.ends.last().filter(|(begin, _)| *begin == start).map(|(_, end)| *end)
    }
}

fn index(open: Option<u8>) -> usize {
    match open {
        None => 0,
        Some(b'"') => 1,
        Some(b'\'') => 2,
        Some(_) => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference implementation: a forward pass from `start`.
    fn end_outside_quotes(text: &str, start: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        let (mut quote, mut at) = (None, start);
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

    #[test]
    fn the_table_agrees_with_the_reference_implementation() {
        let pieces = ["{{", "}}", "\"", "'", "`", "\\", "a", "{", "}", "ü"];
        for seed in 0..4_000_usize {
            let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
            let mut text = String::new();
            for _ in 0..seed % 24 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text += pieces[(state >> 33) % pieces.len()];
            }
            let mut table = EndTable::new(&text, 0);
            for (open, _) in text.match_indices("{{") {
                assert_eq!(table.end(open + 2), end_outside_quotes(&text, open + 2), "{text} at {open}");
            }
        }
    }

    /// Texts of the given length that cause quadratic time in simple scanners.
    fn attacks(bytes: usize) -> Vec<String> {
        let texts = [
            "{{",
            "{{ ",
            "{{\"",
            "{{'}}",
            "{{ \" {{ ' {{ `",
            "{{\\\"",
            "}}",
            "{{}",
            "{ {",
            "{{a}}",
            "{{PREVIOUS_OUTPUT",
            "{{/*",
            "{{/*}}",
            "{{- /* */}}",
        ];
        let repeated = texts.map(|piece| piece.repeat(bytes / piece.len()));
        let closed_late = ["{{\"", "{{'a", "{{`"].map(|piece| piece.repeat(bytes / piece.len()) + "}}");
        repeated.into_iter().chain(closed_late).collect()
    }

    #[test]
    fn every_byte_of_hostile_texts_is_examined_only_a_few_times() {
        for bytes in [1_000, 10_000, 100_000] {
            for text in attacks(bytes) {
                for dialect in Dialect::ALL {
                    for operand in [false, true] {
                        let mut scanner = Scanner::new(&text, dialect, operand);
                        let _ = scanner.parts();
                        let most = 12 * text.len() + 100;
                        assert!(scanner.examined <= most, "{dialect:?} {} {}", &text[..20], scanner.examined);
                    }
                }
            }
        }
    }

    #[test]
    fn a_template_with_too_many_parts_is_rejected_during_the_scan() {
        let text = "{{a}}".repeat(limits::NODES + 1);
        let refused = parts(&text, Dialect::Steps, false).expect_err("it has too many parts");
        assert_eq!(refused.kind, Kind::NodeLimit);
        assert!(parts(&text[..5 * 1000], Dialect::Steps, false).is_ok());
    }
}
