//! The excerpt of a long source text around a finding.

use std::ops::Range;

/// The longest text that is rendered as a whole. The renderer builds a table of all lines for every finding.
const WHOLE: usize = 16 * 1024;

/// The longest span that is marked as a whole. Of a longer one, only the first line is marked.
const MARKED: usize = 4 * 1024;

/// How many bytes of a line are shown before and after the span: more than fits on a terminal.
const AROUND: usize = 1024;

/// An excerpt of a source text with a span to mark.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Window<'s> {
    pub(super) text: &'s str,
    /// The marked span, in bytes of `text`.
    pub(super) span: Range<usize>,
    /// Where `text` begins in the source.
    pub(super) start: usize,
    /// Whether `text` begins inside a line.
    pub(super) is_cut: bool,
}

impl<'s> Window<'s> {
    /// The lines around a span on character boundaries. The size is bounded for every source.
    pub(super) fn around(source: &'s str, span: Range<usize>) -> Self {
        if source.len() <= WHOLE {
            return Self { text: source, span, start: 0, is_cut: false };
        }
        let marked_end = if span.len() <= MARKED {
            span.end
        } else {
            let longest = source.floor_char_boundary(span.start + MARKED);
            source[span.start..longest].find('\n').map_or(longest, |newline| span.start + newline)
        };
        let earliest = source.floor_char_boundary(span.start.saturating_sub(AROUND));
        // A finding at the end of the text is shown in the last line, which includes the final line break.
        let at_end = span.start == source.len() && source.ends_with('\n');
        let newline = source[earliest..span.start - usize::from(at_end)].rfind('\n').map(|at| earliest + at + 1);
        let start = newline.unwrap_or(earliest);
        let latest = source.ceil_char_boundary(marked_end + AROUND);
        let end = source[marked_end..latest].find('\n').map_or(latest, |at| marked_end + at + 1);
        Self {
            text: &source[start..end],
            span: span.start - start..marked_end - start,
            start,
            is_cut: newline.is_none() && start > 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_small_whatever_the_text_and_the_span() {
        let texts = ["\n".repeat(100_000), "x".repeat(100_000), "ü\n".repeat(50_000), "{{ ü }}".repeat(20_000)];
        for text in &texts {
            for start in [0, 1, 17, 16_385, 50_001, text.len() - 2, text.len()] {
                for length in [0, 1, 5_000, text.len()] {
                    let at = text.floor_char_boundary(start);
                    let window = Window::around(text, at..text.floor_char_boundary(at + length));
                    assert!(window.text.len() <= MARKED + 2 * AROUND + 8, "{}", window.text.len());
                    assert!(window.span.end <= window.text.len());
                    assert_eq!(window.start + window.span.start, at);
                }
            }
        }
    }

    #[test]
    fn whole_lines_are_kept_where_they_are_short() {
        let text = "first\n".repeat(4_000) + "a: {{ b }}\nlast\n";
        let at = text.find("{{").expect("it is there");
        let window = Window::around(&text, at..at + 2);
        assert_eq!((window.text, window.is_cut), (&text[window.start..at + 8], false));
        assert!(window.text.starts_with("first\n") || window.text.starts_with("a: "), "{}", window.text);
    }
}
