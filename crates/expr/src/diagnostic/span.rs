//! Spans: locations in a source text.

use serde::{Deserialize, Serialize};

/// A half-open range of bytes in the source text.
///
/// ```
/// # use branchpoint_expr::*;
/// assert_eq!(Span { start: 2, end: 5 }.text("a == b"), "== ");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// The span from `start` up to `end`. Positions beyond 4 GiB are clamped, because source texts are shorter.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert_eq!(Span::new(0, 3).range(), 0..3);
    /// ```
    pub fn new(start: usize, end: usize) -> Self {
        let cut = |position: usize| u32::try_from(position).unwrap_or(u32::MAX);
        Self { start: cut(start), end: cut(end) }
    }

    /// The smallest span that covers both spans.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert_eq!(Span::new(0, 1).to(Span::new(4, 6)), Span::new(0, 6));
    /// ```
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The span moved by `offset` bytes, for a text inside a longer one.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert_eq!(Span::new(0, 3).shifted(10), Span::new(10, 13));
    /// ```
    #[must_use]
    pub fn shifted(self, offset: u32) -> Self {
        Self { start: self.start.saturating_add(offset), end: self.end.saturating_add(offset) }
    }

    /// The bytes as a range for indexing.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert_eq!(&"abc"[Span::new(1, 2).range()], "b");
    /// ```
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The source text of this span; empty if the span is outside the source.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert_eq!(Span::new(1, 2).text("abc"), "b");
    /// ```
    pub fn text(self, source: &str) -> &str {
        source.get(self.range()).unwrap_or("")
    }

    /// Line and column of the first byte, counted from 1, columns in characters.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert_eq!(Span::new(3, 4).line_column("a\nbc"), (2, 2));
    /// ```
    pub fn line_column(self, source: &str) -> (usize, usize) {
        super::position::line_column(source, self.start as usize)
    }
}
