//! Removes line breaks from a text. Encoders such as `base64`, MIME and PEM wrap their output, so an encoded secret is found only without
//! the breaks.

use std::borrow::Cow;
use std::ops::Range;

/// The longest line break, with blank lines and the indentation of the next line. Longer gaps separate texts.
pub(super) const BREAK_BYTES: usize = 16;

/// The bytes of a text, with or without its line breaks, and their offsets in the text.
pub(super) struct Reading<'t> {
    pub(super) bytes: Cow<'t, [u8]>,
    /// The beginning of each line: its offset in `bytes`, and its offset in the text.
    lines: Vec<(usize, usize)>,
}

impl<'t> Reading<'t> {
    /// The text unchanged and, if it has line breaks, without them.
    pub(super) fn all(text: &'t [u8]) -> impl Iterator<Item = Self> {
        let whole = Self { bytes: Cow::Borrowed(text), lines: vec![(0, 0)] };
        std::iter::once(whole).chain(Self::unwrapped(text))
    }

    /// The text without its line breaks; `None` if it has none.
    pub(super) fn unwrapped(text: &'t [u8]) -> Option<Self> {
        if !text.iter().any(|byte| matches!(byte, b'\n' | b'\r' | b'\\')) {
            return None;
        }
        let (mut bytes, mut lines, mut at) = (Vec::with_capacity(text.len()), vec![(0, 0)], 0);
        while at < text.len() {
            match line_break(&text[at..]) {
                0 => {
                    bytes.push(text[at]);
                    at += 1;
                }
                length => {
                    at += length;
                    lines.push((bytes.len(), at));
                }
            }
        }
        (lines.len() > 1).then_some(Self { bytes: Cow::Owned(bytes), lines })
    }

    pub(super) fn is_unwrapped(&self) -> bool {
        self.lines.len() > 1
    }

    /// The offset of a byte in the text.
    pub(super) fn source(&self, at: usize) -> usize {
        let (own, source) = self.lines[self.lines.partition_point(|(own, _)| *own <= at) - 1];
        source + at - own
    }

    /// The range in the text of a range that is not empty.
    pub(super) fn place(&self, range: &Range<usize>) -> Range<usize> {
        self.source(range.start)..self.source(range.end - 1) + 1
    }

    /// The lines, each as its range in `bytes` and its offset in the text.
    pub(super) fn lines(&self) -> impl Iterator<Item = (Range<usize>, usize)> {
        let ends = self.lines.iter().skip(1).map(|(own, _)| *own).chain([self.bytes.len()]);
        self.lines.iter().zip(ends).map(|((own, source), end)| (*own..end, *source))
    }
}

/// The length of the line break at the beginning of a text, or 0. A break may be escaped, as in JSON. Backslashes at the end of a text
/// count, because the next piece may complete an escaped break.
fn line_break(text: &[u8]) -> usize {
    let mut length = 0;
    while let Some(next) = text.get(length) {
        length += match next {
            b'\n' | b'\r' => 1,
            b' ' | b'\t' if length > 0 => 1,
            b'\\' => {
                let backslashes = text[length..].iter().take(BREAK_BYTES).take_while(|byte| **byte == b'\\').count();
                match text.get(length + backslashes) {
                    Some(b'n' | b'r') => backslashes + 1,
                    None => backslashes,
                    Some(_) => break,
                }
            }
            _ => break,
        };
        if length > BREAK_BYTES {
            return 0;
        }
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[(&str, usize)]) {
        let unwrapped = Reading::unwrapped(text.as_bytes());
        let lines = unwrapped.iter().flat_map(|reading| reading.lines().map(|(own, at)| (&reading.bytes[own], at)));
        let expect: Vec<_> = expect.iter().map(|(line, at)| (line.as_bytes(), *at)).collect();
        assert_eq!(lines.collect::<Vec<_>>(), expect, "{text:?}");
    }

    #[test]
    fn line_breaks_are_removed_with_the_indentation_behind_them() {
        check("ab cd", &[]);
        check("ab\ncd\r\n\r\n \te f", &[("ab", 0), ("cd", 3), ("e f", 11)]);
        check("\nab\n", &[("", 0), ("ab", 1), ("", 4)]);
        check(r"ab\ncd\\r\\nef\x", &[("ab", 0), ("cd", 4), (r"ef\x", 12)]);
        check(r"ab\", &[("ab", 0), ("", 3)]);
    }

    #[test]
    fn a_long_gap_is_not_a_line_break() {
        let gap = "\n".repeat(BREAK_BYTES);
        check(&format!("a{gap}b"), &[("a", 0), ("b", BREAK_BYTES + 1)]);
        check(&format!("a\n{}b", " ".repeat(BREAK_BYTES)), &[]);
    }
}
