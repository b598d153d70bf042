//! Strict JSON.
//!
//! YAML 1.2 contains JSON, but the parser rejects some of it: control characters such as U+007F in a string,
//! and very long keys. So strict JSON is read here. Everything else, broken JSON included, is
//! left to the YAML parser, which reports the errors.

use std::borrow::Cow;
use std::sync::Arc;

use branchpoint_expr::Span;

use super::parts::{Bracket, Parts};
use super::scalar::{PlainScalar, plain, text_at};

/// The parts of a JSON object or list. Returns `None` if the text is anything else or exceeds a limit.
pub(super) fn parts(source: &str) -> Option<Parts> {
    let at = if source.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut reader = Reader { source, at, parts: Parts::default() };
    if !matches!(reader.next()?, b'{' | b'[') {
        return None;
    }
    reader.value()?;
    reader.next().is_none().then_some(reader.parts)
}

struct Reader<'s> {
    source: &'s str,
    at: usize,
    parts: Parts,
}

impl<'s> Reader<'s> {
    /// Reads one value. `open` fails at the depth limit, which bounds the recursion.
    fn value(&mut self) -> Option<()> {
        match self.next()? {
            b'{' => self.collection(Bracket::Object, b'}'),
            b'[' => self.collection(Bracket::List, b']'),
            b'"' => self.string(),
            _ => self.word(),
        }
    }

    fn collection(&mut self, bracket: Bracket, end: u8) -> Option<()> {
        self.parts.open(bracket, Span::new(self.at, self.at + 1)).ok()?;
        self.at += 1;
        if self.next()? != end {
            self.entry(bracket)?;
            while self.next()? == b',' {
                self.at += 1;
                self.entry(bracket)?;
            }
        }
        let span = Span::new(self.at, self.at + 1);
        self.expect_byte(end)?;
        self.parts.close(span);
        Some(())
    }

    fn entry(&mut self, bracket: Bracket) -> Option<()> {
        if bracket == Bracket::Object {
            (self.next()? == b'"').then_some(())?;
            self.string()?;
            self.expect_byte(b':')?;
        }
        self.value()
    }

    fn string(&mut self) -> Option<()> {
        let start = self.at;
        let bytes = self.source.as_bytes();
        self.at += 1;
        let mut escaped = false;
        loop {
            match bytes.get(self.at)? {
                b'"' => break,
                // An escaped character, such as a quote, does not end the string.
                b'\\' => (escaped, self.at) = (true, self.at + 2),
                0..0x20 => return None,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        let text = if escaped {
            Cow::Owned(serde_json::from_str::<String>(self.source.get(start..self.at)?).ok()?)
        } else {
            Cow::Borrowed(self.source.get(start + 1..self.at - 1)?)
        };
        let written: Arc<str> = text.into();
        let shape = text_at(self.source, &written, start + 1);
        self.parts.scalar(written, shape, Span::new(start, self.at)).ok()
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> Option<()> {
        let rest: &'s str = self.source.get(self.at..)?;
        let length = rest.find(|letter: char| !matches!(letter, '0'..='9' | 'a'..='z' | 'E' | '+' | '-' | '.'));
        let word = &rest[..length.unwrap_or(rest.len())];
        if !matches!(word, "true" | "false" | "null") {
            serde_json::from_str::<serde_json::Number>(word).ok()?;
        }
        let PlainScalar::Value(shape) = plain(word) else { return None };
        let start = self.at;
        self.at += word.len();
        self.parts.scalar(word.into(), shape, Span::new(start, self.at)).ok()
    }

    /// Returns the next byte that is not white space, without consuming it.
    fn next(&mut self) -> Option<u8> {
        let bytes = self.source.as_bytes();
        while matches!(bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn expect_byte(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then(|| self.at += 1)
    }
}
