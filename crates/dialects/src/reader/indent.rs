//! Finds the line above that a wrongly indented line of YAML should line up with.

use branchpoint_expr::Span;
use granit_parser::ErrorKind;

/// The largest number of lines above that are examined.
const LINES_ABOVE: usize = 500;

/// The longest line that is examined, in bytes.
const LINE_BYTES: usize = 4096;

/// An indentation error with its correction.
pub(super) struct IndentationError {
    pub(super) span: Span,
    pub(super) message: String,
    pub(super) help: String,
}

/// A line that begins a list item or a field.
struct Line<'s> {
    text: &'s str,
    start: usize,
    indent: usize,
    /// The column of its first key, after the dashes of list items.
    key: usize,
    is_item: bool,
    is_field: bool,
}

impl<'s> Line<'s> {
    fn new(text: &'s str, start: usize) -> Option<Self> {
        let content = text.trim_start_matches(' ');
        let is_blank = content.trim().is_empty() || content.starts_with('#');
        if text.len() > LINE_BYTES || is_blank || content.starts_with("---") {
            return None;
        }
        let indent = text.len() - content.len();
        let mut rest = content;
        while let Some(behind) = rest.strip_prefix("- ") {
            rest = behind.trim_start_matches(' ');
        }
        let key = text.len() - rest.len();
        let name = rest.split_once(':').filter(|(_, value)| value.is_empty() || value.starts_with([' ', '\r']));
        let is_field = name.is_some_and(|(name, _)| !name.contains(['{', '[', '#', '"']));
        Some(Self { text, start, indent, key, is_item: content.starts_with("- "), is_field })
    }

    /// The text from its first character to the end of its first key.
    fn head(&self) -> Span {
        let end = self.text[self.key..].find([':', ' ']).map_or(self.text.trim_end().len(), |at| self.key + at);
        Span::new(self.start + self.indent, self.start + end.max(self.indent + 1))
    }

    fn name(&self) -> &str {
        self.text[self.key..].split(':').next().unwrap_or_default().trim()
    }
}

/// The indentation error of the line of a parser error; none if its indentation is not the problem.
pub(super) fn indentation_error(source: &str, at: usize, subject: &ErrorKind) -> Option<IndentationError> {
    use ErrorKind as E;
    let applies = matches!(
        subject,
        E::MappingValueNotAllowed
            | E::InvalidColonPlacement
            | E::ExpectedBlockMappingKey
            | E::ExpectedBlockSequenceEntry
            | E::InvalidIndentation
            | E::BlockSequenceEntryNotAllowed
    );
    if !applies {
        return None;
    }
    let start = source[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let text = source[start..].split('\n').next()?;
    let line = Line::new(text, start)?;
    // An error at a later colon of the line is about the value.
    if !(line.is_item || line.is_field) || source[start + line.key..at.max(start + line.key)].contains(": ") {
        return None;
    }
    let (column, above, number) = expected_column(source, &line)?;
    let spaces = |count: usize| format!("{count} space{}", if count == 1 { "" } else { "s" });
    let message = format!("wrong indentation: this line begins with {}", spaces(line.indent));
    let subject = if line.is_item { "the list item" } else { "the field" };
    let name = if line.is_item { String::new() } else { format!(" `{}`", above.name()) };
    let how = if column == 0 { "do not indent it".to_owned() } else { format!("indent it by {}", spaces(column)) };
    let help = format!("{how}, like {subject}{name} in line {number}");
    Some(IndentationError { span: line.head(), message, help })
}

/// The nearest column where an item or a field of the lines above begins, with that line and its number.
fn expected_column<'s>(source: &'s str, line: &Line<'_>) -> Option<(usize, Line<'s>, usize)> {
    let before = &source[..line.start];
    let mut number = before.matches('\n').count() + 1;
    let mut end = before.len();
    let mut enclosing = usize::MAX;
    let mut best: Option<(usize, Line<'s>, usize)> = None;
    for text in before.strip_suffix('\n')?.rsplit('\n').take(LINES_ABOVE) {
        number -= 1;
        let start = end - text.len() - 1;
        end = start;
        let Some(above) = Line::new(text, start) else { continue };
        let column = if line.is_item { above.indent } else { above.key };
        let fits = if line.is_item { above.is_item } else { above.is_field };
        let is_open = column < enclosing;
        enclosing = enclosing.min(above.indent);
        if !fits || !is_open {
            continue;
        }
        if column == line.indent {
            return None;
        }
        let is_nearer =
            |(known, ..): &(usize, Line<'_>, usize)| column.abs_diff(line.indent) < known.abs_diff(line.indent);
        if best.as_ref().is_none_or(is_nearer) {
            best = Some((column, above, number));
        }
        if enclosing == 0 {
            break;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use crate::load;

    /// The message and the help for a document with a line of wrong indentation.
    #[track_caller]
    fn check(source: &str, expect: &str) {
        let loaded = load(source, None);
        let finding = &loaded.diagnostics[0];
        let (line, _) = finding.span.line_column(source);
        let shown = format!("line {line}: {}; {}", finding.message, finding.help.as_deref().unwrap_or("-"));
        assert_eq!(shown, expect, "{source}");
    }

    #[test]
    fn a_field_that_is_indented_too_far_is_led_back_to_the_field_above() {
        check(
            "name: a\nsteps:\n  - id: ask\n    step_type: text\n     template: hello\n",
            "line 5: wrong indentation: this line begins with 5 spaces; indent it by 4 spaces, like the field `step_type` in line 4",
        );
    }

    #[test]
    fn a_field_beside_the_dash_of_its_item_is_led_into_the_item() {
        check(
            "name: a\nsteps:\n  - id: ask\n    step_type: text\n  template: hello\n",
            "line 5: wrong indentation: this line begins with 2 spaces; indent it by 4 spaces, like the field `step_type` in line 4",
        );
        check(
            "steps:\n  - id: ask\n   step_type: text\n",
            "line 3: wrong indentation: this line begins with 3 spaces; indent it by 4 spaces, like the field `id` in line 2",
        );
    }

    #[test]
    fn an_item_is_led_to_the_items_above() {
        check(
            "name: a\nsteps:\n- id: ask\n  step_type: text\n - id: two\n   step_type: text\n",
            "line 5: wrong indentation: this line begins with 1 space; do not indent it, like the list item in line 3",
        );
    }

    #[test]
    fn a_colon_in_a_value_is_not_a_matter_of_indentation() {
        check(
            "steps:\n  - text: Note: here\n",
            "line 2: no value can begin at this `:`; put text that contains `: ` in quotes, or correct the indentation",
        );
    }
}
