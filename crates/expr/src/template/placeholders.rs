//! Finding the placeholders in a text, in time proportional to its length.

use crate::diagnostic::{Diagnostic, Span};
use crate::dialect::Dialect;
use crate::{Kind, limits};

/// The one placeholder of the `graph` dialect, written exactly so.
const PREVIOUS_OUTPUT: &str = "{{PREVIOUS_OUTPUT}}";

/// The name in it.
pub(super) const PREVIOUS: &str = "PREVIOUS_OUTPUT";

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    Scanner::new(text, dialect, operand).parts()
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

struct Scanner<'t> {
    text: &'t str,
    ends: Ends,
    dialect: Dialect,
    /// Whether no comment ends in the rest of the text.
    no_more_comments: bool,
    /// How many bytes were examined: a small multiple of the text, whatever it holds.
    examined: usize,
}

/// How the end of a placeholder is found.
enum Ends {
    /// The dialect has no placeholders here.
    Never,
    /// Only this text, from its first brace to its last.
    Exactly(&'static str),
    /// The next `}}`.
    Next,
    /// The text has no more `}}`.
    NoMore,
    /// The next `}}` outside of quotes; the table is made when the first `{{` is met.
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
        let found = self.text[from..].find(braces).map(|at| from + at);
        self.examined += found.unwrap_or(self.text.len()) - from;
        found
    }

    /// Where a comment ends that begins here, which may hold braces; `start` if there is none.
    fn after_comment(&mut self, start: usize) -> usize {
        let rest = self.text[start..].strip_prefix('-').unwrap_or(&self.text[start..]).trim_start();
        if self.dialect != Dialect::Machine || !rest.starts_with("/*") || self.no_more_comments {
            return start;
        }
        let end = self.find("*/", start);
        // A text of many `/*` and no `*/` is searched for its end only once.
        self.no_more_comments = end.is_none();
        end.unwrap_or(start)
    }

    /// Where the placeholder ends whose content begins at `start`.
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
                // A text of many `{{` and no `}}` is searched for its end only once.
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
    let finding = Diagnostic::error(Kind::Syntax, Span::new(open, open + 2), "these braces are never closed");
    Box::new(finding.with_help("write `}}` after the reference"))
}

fn too_many(open: usize) -> Box<Diagnostic> {
    let message = format!("a template has at most {} parts, and this one has more", limits::NODES);
    let finding = Diagnostic::error(Kind::NodeLimit, Span::new(open, open + 2), message);
    Box::new(finding.with_help("split the text, or build it from data"))
}

/// For every `{{`, the first `}}` behind it that is not inside quotes.
///
/// Which quotes are open depends on where reading begins, so that one pass from the front per placeholder would be needed. One
/// pass from the back answers for all of them: what follows a byte is known for each quote that can be open there.
struct EndTable {
    /// Where contents begin and end, the last first; contents without an end are left out.
    ends: Vec<(usize, usize)>,
}

/// The quotes that can be open, and none.
const QUOTES: [Option<u8>; 4] = [None, Some(b'"'), Some(b'\''), Some(b'`')];

impl EndTable {
    fn new(text: &str, from: usize) -> Self {
        let bytes = text.as_bytes();
        let mut ends = Vec::new();
        // The end that is found when reading begins one byte later, and two, by the quote that is open.
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

    /// Where the content ends that begins at `start`. Contents are asked for in the order of the text.
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

    /// The definition: reads on from `start` byte by byte.
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
    fn one_pass_finds_the_ends_that_reading_on_finds() {
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

    /// Texts that made each placeholder look at all that follows it, of the given number of bytes.
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
    fn every_byte_is_examined_a_few_times_whatever_the_text() {
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
    fn a_template_of_too_many_parts_is_refused_while_it_is_scanned() {
        let text = "{{a}}".repeat(limits::NODES + 1);
        let refused = parts(&text, Dialect::Steps, false).expect_err("it has too many parts");
        assert_eq!(refused.kind, Kind::NodeLimit);
        assert!(parts(&text[..5 * 1000], Dialect::Steps, false).is_ok());
    }
}
