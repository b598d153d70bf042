//! The lines of a text and their indentation.

use std::ops::Range;

use branchpoint_expr::{Located, Shape, Span};

/// The positions at which the lines of a text begin.
pub(crate) struct Lines<'t> {
    pub(crate) text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(breaks).collect() }
    }

    pub(crate) fn count(&self) -> usize {
        self.starts.len()
    }

    /// The line that holds a byte.
    pub(crate) fn of(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at) - 1
    }

    /// The bytes of a line, without its line break.
    pub(crate) fn range(&self, line: usize) -> Range<usize> {
        let start = self.starts[line];
        let end = self.starts.get(line + 1).map_or(self.text.len(), |next| next - 1);
        start..end
    }

    pub(crate) fn start(&self, line: usize) -> usize {
        self.starts[line]
    }

    pub(crate) fn line(&self, line: usize) -> &'t str {
        &self.text[self.range(line)]
    }

    /// The column of a byte, in bytes.
    pub(crate) fn column(&self, at: usize) -> usize {
        at - self.starts[self.of(at)]
    }

    /// The number of blanks at the beginning of a line.
    pub(crate) fn indent(&self, line: usize) -> usize {
        let line = self.line(line);
        line.len() - line.trim_start_matches(' ').len()
    }

    /// Whether a byte is the first of its line that is not a blank.
    pub(crate) fn is_first(&self, at: usize) -> bool {
        self.column(at) == self.indent(self.of(at))
    }

    pub(crate) fn is_blank(&self, line: usize) -> bool {
        self.line(line).trim_matches([' ', '\t']).is_empty()
    }
}

/// The notation of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// An object by indentation.
    BlockObject,
    BlockList,
    /// `|` or `>`, and whether the line breaks at its end count (`+`).
    BlockText {
        keep: bool,
    },
    /// Anything else: plain or quoted text, a number, brackets.
    Inline,
}

/// The notation of a value. `after` is the end of its key or dash.
pub(crate) fn style(text: &str, after: usize, value: &Located) -> Style {
    let bracketed = |value: &Located| text[value.span.range()].starts_with(['{', '[']);
    match &value.shape {
        Shape::Object(fields) if !fields.is_empty() && !bracketed(value) => Style::BlockObject,
        Shape::List(items) if !items.is_empty() && !bracketed(value) => Style::BlockList,
        Shape::Str { .. } => match header(text, after, value.span) {
            Some(header) => Style::BlockText { keep: header.contains('+') },
            None => Style::Inline,
        },
        _ => Style::Inline,
    }
}

/// The `|` or `>` before a text in block style with its indicators: the last word of the line before the text.
fn header(text: &str, after: usize, span: Span) -> Option<&str> {
    let between = text.get(after..span.start as usize)?;
    between.contains('\n').then_some(())?;
    let line = between.trim_end().rsplit('\n').next()?;
    let is_comment = |at: usize| line[..at].chars().next_back().is_none_or(char::is_whitespace);
    let code = line.match_indices('#').map(|(at, _)| at).find(|at| is_comment(*at)).map_or(line, |at| &line[..at]);
    code.split_whitespace().next_back().filter(|word| word.starts_with(['|', '>']))
}

/// Whether a value is in the range of its parent. The value of an alias is elsewhere.
pub(crate) fn is_within(value: &Located, range: Range<usize>) -> bool {
    range.start <= value.span.start as usize && value.span.end as usize <= range.end
}
