//! Line ends, blanks at the end of lines, and the end of the text.

use branchpoint_expr::Located;

use super::edit::Edits;
use super::lines::{Lines, Style, style};

/// The text with normalized line breaks and without trailing blanks.
pub(super) fn normalize_blanks(text: &str, document: &Located) -> Option<String> {
    if text.contains("\r\n") || text.starts_with('\u{feff}') {
        let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        let document = crate::read(&text).ok()?;
        return normalize_blanks(&text, &document);
    }
    let lines = Lines::new(text);
    let mut preserved = PreservedBlanks { lines: vec![false; lines.count()], end: false };
    preserved.mark(&lines, 0, document);
    let mut edits = Edits::default();
    for line in (0..lines.count()).filter(|line| !preserved.lines[*line]) {
        let range = lines.range(line);
        let trimmed = range.start + text[range.clone()].trim_end_matches([' ', '\t']).len();
        if trimmed < range.end {
            edits.replace(trimmed..range.end, "");
        }
    }
    let text = edits.apply(text)?;
    if preserved.end { Some(text) } else { Some(text.trim_end_matches('\n').to_owned() + "\n") }
}

/// Blanks that are part of a value and must stay.
struct PreservedBlanks {
    /// The lines of texts of several lines, whose blanks may be part of the text.
    lines: Vec<bool>,
    /// Whether the document ends with a text that keeps its trailing line breaks.
    end: bool,
}

impl PreservedBlanks {
    fn mark(&mut self, lines: &Lines<'_>, after: usize, value: &Located) {
        let mut position = after;
        for item in value.items().unwrap_or_default() {
            self.mark(lines, position, item);
            position = item.span.end as usize;
        }
        for field in value.fields() {
            self.mark(lines, field.key_span.end as usize, &field.value);
        }
        if value.text().is_some() {
            self.mark_text(lines, after.min(value.span.start as usize), value);
        }
    }

    fn mark_text(&mut self, lines: &Lines<'_>, after: usize, value: &Located) {
        let (first, mut last) = (lines.of(value.span.start as usize), lines.of(value.span.end as usize));
        let Style::BlockText { keep } = style(lines.text, after, value) else {
            return self.lines[first..last].fill(true);
        };
        while keep && last + 1 < lines.count() && lines.is_blank(last + 1) {
            last += 1;
        }
        self.lines[first..=last].fill(true);
        self.end |= keep && last + 1 == lines.count();
    }
}
