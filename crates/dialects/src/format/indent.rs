//! Indentation: two blanks a level, lists under a key too, one blank after a dash.

use branchpoint_expr::{Field, Located};

use super::edit::Edits;
use super::lines::{Lines, Style, is_within, style};

/// The indentation of a level, in blanks.
const STEP: usize = 2;

/// The text with its lines indented; none if it has a form that is not supported here.
pub(super) fn indent(text: &str, document: &Located) -> Option<String> {
    let lines = Lines::new(text);
    let mut plan = Plan { moves: vec![None; lines.count()], edits: Edits::default(), lines };
    match style(text, 0, document) {
        Style::BlockObject => plan.object(document, 0)?,
        Style::BlockList => plan.list(document, 0)?,
        Style::BlockText { .. } | Style::Inline => return Some(text.to_owned()),
    }
    plan.finish()
}

struct Plan<'t> {
    lines: Lines<'t>,
    /// The move of each line; none for blank lines and comments, which follow the others.
    moves: Vec<Option<Move>>,
    edits: Edits,
}

#[derive(Clone, Copy)]
enum Move {
    /// A key or a dash moves to a column.
    To(usize),
    /// A continuation line keeps its distance to the first line, but stays inside its parent.
    By { columns: isize, at_least: usize },
}

impl Plan<'_> {
    /// Indents an object whose keys are at a column.
    fn object(&mut self, object: &Located, column: usize) -> Option<()> {
        let old = self.lines.column(object.span.start as usize);
        let bound = object.span.end as usize;
        for (index, field) in object.fields().iter().enumerate() {
            let key = field.key_span.start as usize;
            if self.lines.is_first(key) {
                self.move_to(self.lines.of(key), column);
            } else if index > 0 {
                // Before the key is `? `, an anchor or a tag.
                return None;
            }
            self.field(field, bound, old, column)?;
        }
        Some(())
    }

    fn field(&mut self, field: &Field, bound: usize, old: usize, column: usize) -> Option<()> {
        let after = field.key_span.end as usize;
        let value = &field.value;
        if !is_within(value, after..bound) {
            return Some(());
        }
        match style(self.lines.text, after, value) {
            Style::BlockObject => self.object(value, column + STEP),
            Style::BlockList => self.list(value, column + STEP),
            other => {
                self.leaf(after, value, other, old, column);
                Some(())
            }
        }
    }

    /// Indents a list whose dashes are at a column.
    fn list(&mut self, list: &Located, column: usize) -> Option<()> {
        let text = self.lines.text;
        let old = self.lines.column(list.span.start as usize);
        let mut from = list.span.start as usize;
        for item in list.items()? {
            let dash = self.dash(from, old)?;
            if self.lines.is_first(dash) {
                self.move_to(self.lines.of(dash), column);
            }
            from = dash + 1;
            // The value of an alias is elsewhere, and an item without a value has no span.
            if item.span.start == item.span.end || !is_within(item, from..list.span.end as usize) {
                continue;
            }
            let start = item.span.start as usize;
            let beside = self.lines.of(start) == self.lines.of(dash);
            let kind = style(text, from, item);
            if beside && start > from {
                // Anything but blanks between a dash and its value is an anchor or a tag.
                text[from..start].bytes().all(|byte| byte == b' ').then_some(())?;
                self.edits.replace(from..start, " ");
            }
            match kind {
                Style::BlockObject => self.object(item, column + STEP)?,
                Style::BlockList => self.list(item, column + STEP)?,
                Style::Inline if beside => self.shift(item, (self.lines.column(start), column + STEP), (old, column)),
                other => self.leaf(from, item, other, old, column),
            }
            from = from.max(item.span.end as usize);
        }
        Some(())
    }

    /// Moves the next dash of a list to its column.
    fn dash(&self, from: usize, column: usize) -> Option<usize> {
        if self.lines.text[from..].starts_with('-') && self.lines.column(from) == column {
            return Some(from);
        }
        (self.lines.of(from) + 1..self.lines.count()).find_map(|line| {
            let at = self.lines.start(line) + column;
            let is_dash = self.lines.indent(line) == column && self.lines.text[at..].starts_with('-');
            is_dash.then_some(at)
        })
    }

    /// Indents the lines of a scalar after that of its key or dash.
    fn leaf(&mut self, after: usize, value: &Located, style: Style, old: usize, column: usize) {
        let (start, end) = (value.span.start as usize, value.span.end as usize);
        let parent = (old, column);
        let own_line = self.lines.of(start) > self.lines.of(after);
        if let Style::BlockText { keep } = style {
            let first = self.lines.of(after) + 1;
            let mut last = self.lines.of(end);
            while keep && last + 1 < self.lines.count() && self.lines.is_blank(last + 1) {
                last += 1;
            }
            let by = Move::By { columns: distance(parent), at_least: 0 };
            self.moves[first..=last].fill(Some(by));
        } else if own_line && self.lines.is_first(start) {
            self.move_to(self.lines.of(start), column + STEP);
            self.shift(value, (self.lines.column(start), column + STEP), parent);
        } else {
            self.shift(value, parent, parent);
        }
    }

    /// Moves continuation lines like the first line. `parent` has the old and the new column of the key or dash.
    fn shift(&mut self, value: &Located, moved: (usize, usize), parent: (usize, usize)) {
        let (first, last) = (self.lines.of(value.span.start as usize), self.lines.of(value.span.end as usize));
        for line in first + 1..=last {
            let inside = usize::from(self.lines.indent(line) > parent.0);
            self.moves[line] = Some(Move::By { columns: distance(moved), at_least: parent.1 + inside });
        }
    }

    fn move_to(&mut self, line: usize, column: usize) {
        self.moves[line] = Some(Move::To(column));
    }

    fn finish(mut self) -> Option<String> {
        let mut neighbours = Neighbours::default();
        for line in 0..self.lines.count() {
            let old = self.lines.indent(line);
            let new = match self.moves[line] {
                Some(Move::To(column)) => {
                    neighbours.pass(old, column);
                    column
                }
                Some(Move::By { columns, .. }) if self.lines.is_blank(line) => old.saturating_add_signed(columns),
                Some(Move::By { columns, at_least }) => old.saturating_add_signed(columns).max(at_least),
                None if self.lines.line(line).trim_start().starts_with('#') => {
                    let next = neighbours.next(line, self.lines.count(), |line| self.column_change(line));
                    comment(old, next, &neighbours)
                }
                None => continue,
            };
            if new != old && !self.lines.line(line).is_empty() {
                let start = self.lines.start(line);
                self.edits.replace(start..start + old, " ".repeat(new));
            }
        }
        self.edits.apply(self.lines.text)
    }

    /// The old and the new column of a line that begins with a key or a dash.
    fn column_change(&self, line: usize) -> Option<Columns> {
        match self.moves[line] {
            Some(Move::To(column)) => Some((self.lines.indent(line), column)),
            _ => None,
        }
    }
}

/// The old and the new column of a line.
type Columns = (usize, usize);

/// The lines around a comment whose columns are known. Each line is visited a fixed number of times for all comments together.
#[derive(Default)]
struct Neighbours {
    /// Lines above that are not hidden by a line below them: the nearer one has the larger old column.
    above: Vec<Columns>,
    /// The nearest line below, and the position of the search.
    below: Option<Columns>,
    searched: usize,
    #[cfg(test)]
    visited: usize,
}

impl Neighbours {
    /// Records a line with a known column.
    fn pass(&mut self, old: usize, new: usize) {
        while self.above.last().is_some_and(|(above, _)| *above >= old) {
            self.above.pop();
        }
        self.above.push((old, new));
    }

    /// The nearest line above with at most this indentation.
    fn at_most(&self, old: usize) -> Option<Columns> {
        let end = self.above.partition_point(|(above, _)| *above <= old);
        end.checked_sub(1).map(|last| self.above[last])
    }

    /// The nearest line below a line.
    fn next(&mut self, line: usize, count: usize, column_change: impl Fn(usize) -> Option<Columns>) -> Option<Columns> {
        if self.searched <= line + 1 {
            self.below = None;
            self.searched = line + 1;
        }
        while self.below.is_none() && self.searched < count {
            self.below = column_change(self.searched);
            self.searched += 1;
            #[cfg(test)]
            (self.visited += 1);
        }
        self.below
    }
}

/// The column of a comment. It belongs to the line after it, unless it is indented more than that line.
fn comment(old: usize, next: Option<Columns>, neighbours: &Neighbours) -> usize {
    match next {
        Some((indent, column)) if indent >= old => column,
        None if old == 0 => 0,
        _ => {
            let same = neighbours.at_most(old).filter(|(indent, _)| *indent == old).or(next);
            same.map_or(old, |(_, column)| column)
        }
    }
}

fn distance((old, new): (usize, usize)) -> isize {
    new.cast_signed() - old.cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_comments_share_one_search_for_the_line_below() {
        let count = 10_000;
        for known_line in [None, Some(0), Some(5_000), Some(count - 1)] {
            let mut neighbours = Neighbours::default();
            for line in 0..count {
                let next = neighbours.next(line, count, |line| (Some(line) == known_line).then_some((2, 4)));
                assert_eq!(next, known_line.filter(|column_change| *column_change > line).map(|_| (2, 4)), "{line}");
            }
            assert!(neighbours.visited <= count, "{}", neighbours.visited);
        }
    }

    #[test]
    fn the_nearest_line_above_is_the_last_that_is_not_further_in() {
        let lines = [(0, 0), (2, 4), (6, 8), (4, 6), (4, 7), (2, 3)];
        for passed in 0..=lines.len() {
            let mut neighbours = Neighbours::default();
            lines[..passed].iter().for_each(|(old, new)| neighbours.pass(*old, *new));
            for old in 0..8 {
                let expect = lines[..passed].iter().rev().find(|(above, _)| *above <= old).copied();
                assert_eq!(neighbours.at_most(old), expect, "{passed} {old}");
            }
        }
    }
}
