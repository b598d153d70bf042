//! Edits of a text, collected first and applied together.

use std::ops::Range;

/// Replacements that do not overlap.
#[derive(Default)]
pub(crate) struct Edits(Vec<(Range<usize>, String)>);

impl Edits {
    /// Replaces the bytes of a range.
    pub(crate) fn replace(&mut self, range: Range<usize>, by: impl Into<String>) {
        self.0.push((range, by.into()));
    }

    /// The text with all replacements applied; none if two of them overlap.
    pub(crate) fn apply(mut self, text: &str) -> Option<String> {
        self.0.sort_by_key(|(range, _)| (range.start, range.end));
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for (range, by) in self.0 {
            out.push_str(text.get(at..range.start)?);
            out.push_str(&by);
            at = range.end;
        }
        out.push_str(text.get(at..)?);
        Some(out)
    }
}
