//! The lines of the items of a block list, and of the fields of a block object, with the comments that belong to them.

use std::ops::Range;

use branchpoint_expr::Located;

use crate::format::lines::Lines;

/// The lines of one item or field.
#[derive(Clone, Debug)]
pub(super) struct EntryLines {
    /// The first comment directly above it, or its own first line.
    pub(super) lead: usize,
    /// The line after its last one. Comments that are indented more than its dash or key belong to it.
    pub(super) end: usize,
    /// The position of its dash or key.
    pub(super) start: usize,
}

/// The lines of the items of a block list; none if a dash does not begin its line.
pub(super) fn of_list(lines: &Lines<'_>, list: &Located) -> Option<Vec<EntryLines>> {
    let column = lines.column(list.span.start as usize);
    let mut starts = Vec::new();
    let mut from = list.span.start as usize;
    for item in list.items()? {
        let dash = next_dash(lines, from, column)?;
        starts.push(dash);
        from = dash + 1;
        if (dash..list.span.end as usize).contains(&(item.span.start as usize)) {
            from = from.max(item.span.end as usize);
        }
    }
    entries(lines, column, &starts, list.span.end as usize)
}

/// The lines of the fields of a block object. Its first key may follow a dash.
pub(super) fn of_object(lines: &Lines<'_>, object: &Located) -> Option<Vec<EntryLines>> {
    let column = lines.column(object.span.start as usize);
    let starts: Vec<usize> = object.fields().iter().map(|field| field.key_span.start as usize).collect();
    starts.iter().all(|start| lines.column(*start) == column).then_some(())?;
    entries(lines, column, &starts, object.span.end as usize)
}

/// The first dash of a list at or after a position.
fn next_dash(lines: &Lines<'_>, from: usize, column: usize) -> Option<usize> {
    if lines.text[from..].starts_with('-') && lines.column(from) == column {
        return Some(from);
    }
    (lines.of(from) + 1..lines.count()).find_map(|line| {
        let at = lines.start(line) + column;
        (lines.indent(line) == column && lines.text[at..].starts_with('-')).then_some(at)
    })
}

fn entries(lines: &Lines<'_>, column: usize, starts: &[usize], end: usize) -> Option<Vec<EntryLines>> {
    let is_increasing = starts.windows(2).all(|pair| pair[0] < pair[1] && lines.of(pair[0]) < lines.of(pair[1]));
    (is_increasing && starts.last().is_none_or(|last| *last <= end)).then_some(())?;
    let leads: Vec<usize> = starts.iter().map(|start| lead(lines, lines.of(*start), column)).collect();
    let entry = |at: usize| {
        let end = match leads.get(at + 1) {
            Some(next) => end_before(lines, lines.of(starts[at]), *next, column),
            None => end_after(lines, lines.of(end), column),
        };
        EntryLines { lead: leads[at], end, start: starts[at] }
    };
    Some((0..starts.len()).map(entry).collect())
}

/// The first of the comments directly above a line, in its column.
fn lead(lines: &Lines<'_>, mut line: usize, column: usize) -> usize {
    if lines.indent(line) != column {
        // A key behind a dash.
        return line;
    }
    while line > 0 && is_comment(lines, line - 1) && lines.indent(line - 1) == column {
        line -= 1;
    }
    line
}

/// The end of an entry whose next one begins at `next`: blank lines and comments that are not indented belong to neither.
fn end_before(lines: &Lines<'_>, first: usize, next: usize, column: usize) -> usize {
    let mut end = next;
    while end > first + 1 {
        let line = end - 1;
        if lines.is_blank(line) || is_comment(lines, line) && lines.indent(line) <= column {
            end = line;
        } else {
            break;
        }
    }
    end
}

/// The end of the last entry, whose last value ends in a line.
fn end_after(lines: &Lines<'_>, last: usize, column: usize) -> usize {
    let mut end = last + 1;
    for line in last + 1..lines.count() {
        if is_comment(lines, line) && lines.indent(line) > column {
            end = line + 1;
        } else if !lines.is_blank(line) {
            break;
        }
    }
    end
}

pub(super) fn is_comment(lines: &Lines<'_>, line: usize) -> bool {
    lines.line(line).trim_start_matches(' ').starts_with('#')
}

/// The bytes of whole lines. At the end of a text without a line break, the break before them is included.
pub(super) fn bytes(lines: &Lines<'_>, from: usize, to: usize) -> Range<usize> {
    if to < lines.count() {
        return lines.start(from)..lines.start(to);
    }
    let start = lines.start(from);
    let start =
        if lines.text.ends_with('\n') { start } else { lines.text[..start].trim_end_matches(['\n', '\r']).len() };
    start..lines.text.len()
}

/// The lines of an entry with the blank lines that its removal makes superfluous.
pub(super) fn with_blanks(lines: &Lines<'_>, entries: &[EntryLines], at: usize) -> Range<usize> {
    let entry = &entries[at];
    match entries.get(at + 1) {
        Some(next) if (entry.end..next.lead).all(|line| lines.is_blank(line)) => entry.lead..next.lead,
        Some(_) => entry.lead..entry.end,
        None => {
            let floor = if at == 0 { entry.lead } else { entries[at - 1].end };
            let mut from = entry.lead;
            while from > floor && lines.is_blank(from - 1) {
                from -= 1;
            }
            from..entry.end
        }
    }
}
