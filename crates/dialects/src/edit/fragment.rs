//! A step or another item that is inserted into a list: a new value, or one that is written somewhere with its comments.

use branchpoint_expr::Located;

use super::entries;
use super::render::{self, Notation, STEP};
use crate::format::equivalence;
use crate::format::lines::Lines;

/// An item to insert.
#[derive(Clone, Debug)]
pub(super) struct Fragment {
    pub(super) value: Located,
    written: Written,
}

#[derive(Clone, Debug)]
enum Written {
    /// It is not written yet.
    New,
    /// Whole lines of a block list, with the column of its dash.
    Lines { text: String, column: usize },
    /// In brackets or as a scalar, with the column of its first line and its comments.
    Brackets { text: String, column: usize, comments: Vec<String> },
}

impl Fragment {
    /// A new value.
    pub(super) fn of(value: &Located) -> Self {
        Self { value: value.clone(), written: Written::New }
    }

    /// An item of a block list with the comments that belong to it.
    pub(super) fn of_lines(lines: &Lines<'_>, list: &Located, index: usize) -> Option<Self> {
        let entry = entries::of_list(lines, list)?.into_iter().nth(index)?;
        let value = list.items()?.get(index)?.clone();
        let text = lines.text.get(lines.start(entry.lead)..entries::bytes(lines, entry.lead, entry.end).end)?;
        let text = text.trim_end_matches(['\n', '\r']).replace("\r\n", "\n");
        let column = lines.column(entry.start);
        Some(Self { value, written: Written::Lines { text, column } })
    }

    /// An item in brackets. If it has its lines for itself, the comments above it and behind it belong to it.
    pub(super) fn of_brackets(text: &str, value: &Located) -> Option<Self> {
        let lines = Lines::new(text);
        let span = value.span.range();
        let (first, last) = (lines.of(span.start), lines.of(span.end));
        let mut comments = Vec::new();
        if lines.is_first(span.start) {
            let above = (0..first).rev().take_while(|line| entries::is_comment(&lines, *line));
            comments.extend(above.map(|line| lines.line(line).trim().to_owned()));
            comments.reverse();
            let behind = text[span.end..lines.range(last).end].trim_start_matches([' ', ',']);
            comments.extend(Some(behind.trim_end().to_owned()).filter(|behind| behind.starts_with('#')));
        }
        let text = text.get(span)?.replace("\r\n", "\n");
        Some(Self { value: value.clone(), written: Written::Brackets { text, column: lines.indent(first), comments } })
    }

    /// Lines of a block list whose dashes are at `column`, without the last line break. A new item is in brackets if its
    /// neighbours are.
    pub(super) fn lines(&self, column: usize, in_brackets: bool) -> String {
        let indent = " ".repeat(column);
        match &self.written {
            Written::Lines { text, column: old } => shifted(text, *old, column),
            Written::Brackets { text, column: old, comments } => {
                let text = shifted(text, *old, column + STEP);
                let comments: Vec<&str> = comments.iter().flat_map(|comment| [&indent, comment, "\n"]).collect();
                format!("{}{indent}- {}", comments.concat(), text.trim_start())
            }
            Written::New if in_brackets && !self.value.to_value().to_string().contains('\n') => {
                format!("{indent}- {}", render::inline(&self.value, Notation::Yaml))
            }
            Written::New => format!("{indent}{}", render::item_lines(&self.value, column)),
        }
    }

    /// The item in brackets whose line is indented by `column`, with its comments on lines before it.
    pub(super) fn brackets(&self, column: usize, notation: Notation, is_spread: bool) -> String {
        match &self.written {
            Written::Brackets { text, column: old, comments } => {
                commented(comments, shifted(text, *old, column).trim_start(), column)
            }
            Written::Lines { text, .. } => {
                let comments = equivalence::comments_at(text).unwrap_or_default().into_iter();
                let comments: Vec<String> = comments.map(|(_, comment)| format!("#{comment}")).collect();
                commented(&comments, &render::inline(&self.value, notation), column)
            }
            Written::New if is_spread => render::spread(&self.value, column, notation),
            Written::New => render::inline(&self.value, notation),
        }
    }
}

/// A part in brackets below its comments, which have lines of their own.
fn commented(comments: &[String], part: &str, column: usize) -> String {
    if comments.is_empty() {
        return part.to_owned();
    }
    let line = format!("\n{}", " ".repeat(column));
    let lines: Vec<&str> = comments.iter().flat_map(|comment| [&*line, comment]).collect();
    lines.concat() + &line + part
}

/// Lines that move from one column to another. Lines that are indented less than the old column keep as much as they have.
fn shifted(text: &str, old: usize, new: usize) -> String {
    let line = |line: &str| {
        let indent = line.len() - line.trim_start_matches(' ').len();
        if line.trim().is_empty() {
            return line.to_owned();
        }
        let column = (indent + new).saturating_sub(old).max(if indent >= old { new } else { 0 });
        format!("{}{}", " ".repeat(column), &line[indent..])
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}
