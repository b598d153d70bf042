//! Edits of block lists and block objects of YAML. Each returns none for a notation that it cannot edit.

use std::ops::Range;

use branchpoint_expr::{Located, Shape};

use super::draft::Change;
use super::entries::{self, EntryLines};
use super::fragment::Fragment;
use super::render::{self, Notation, STEP};
use crate::format::lines::{Lines, Style, style};

/// Removes items. A list without items becomes `[]` behind its key, whose colon ends at `after`.
pub(super) fn remove_items(lines: &Lines<'_>, list: &Located, after: usize, items: &[usize]) -> Option<Change> {
    let entries = entries::of_list(lines, list)?;
    let (first, last) = (entries.first()?, entries.last()?);
    if items.len() < entries.len() {
        return Some(Change::remove_all(removed_lines(lines, &entries, items)));
    }
    let mut change = Change::remove(entries::bytes(lines, first.lead, last.end));
    change.edits.insert(0, (after..after, " []".to_owned()));
    Some(change)
}

fn removed_lines(lines: &Lines<'_>, entries: &[EntryLines], items: &[usize]) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for at in items {
        let range = entries::with_blanks(lines, entries, *at);
        match ranges.last_mut() {
            Some(before) if before.end >= range.start => before.end = range.end,
            _ => ranges.push(range),
        }
    }
    ranges.into_iter().map(|range| entries::bytes(lines, range.start, range.end)).collect()
}

/// Inserts items. Blank lines between items stay regular.
pub(super) fn insert_items(lines: &Lines<'_>, list: &Located, index: usize, items: &[Fragment]) -> Option<Change> {
    let entries = entries::of_list(lines, list)?;
    let column = lines.column(list.span.start as usize);
    let neighbour = index.min(entries.len() - 1);
    let in_brackets = is_in_brackets(lines, list, neighbour);
    let has_gap = |at: usize| entries.get(at + 1).is_some_and(|next| next.lead > entries[at].end);
    // The gap between the items around the place, or between the nearest ones.
    let pair = index.saturating_sub(1).min(entries.len().saturating_sub(2));
    let gap = if has_gap(pair) { "\n" } else { "" };
    let items: Vec<String> = items.iter().map(|item| item.lines(column, in_brackets)).collect();
    let text = items.join(&format!("\n{gap}"));
    if let Some(next) = entries.get(index) {
        return Some(Change::insert(lines.start(next.lead), format!("{text}\n{gap}")));
    }
    let end = entries.last()?.end;
    Some(if end < lines.count() {
        Change::insert(lines.start(end), format!("{gap}{text}\n"))
    } else {
        Change::insert(lines.text.len(), format!("{}{gap}{text}", newline(lines)))
    })
}

/// Inserts the first items of a list that is empty or null, behind a key or a dash.
pub(super) fn first_items(lines: &Lines<'_>, list: &Located, after: usize, items: &[Fragment]) -> Option<Change> {
    let line = lines.of(after);
    let value = list.span.range();
    let is_written = !list.is_null() || !lines.text[value.clone()].trim().is_empty();
    let is_here = !is_written || lines.of(value.start) == line && lines.of(value.end) == line && value.start >= after;
    is_here.then_some(())?;
    let column = key_column(lines, after) + STEP;
    let items: Vec<String> = items.iter().map(|item| item.lines(column, false)).collect();
    let text = items.join("\n");
    let mut change = Change::default();
    if is_written {
        change.edits.push((after..value.end, String::new()));
    }
    let end = lines.range(line).end;
    let end = if lines.text[..end].ends_with('\r') { end - 1 } else { end };
    change.edits.push((end..end, format!("\n{text}")));
    Some(change)
}

/// Adds a field at a position.
pub(super) fn add_field(
    lines: &Lines<'_>,
    object: &Located,
    index: usize,
    key: &str,
    value: &Located,
) -> Option<Change> {
    let entries = entries::of_object(lines, object)?;
    let column = lines.column(object.span.start as usize);
    let text = format!("{}{}:{}", " ".repeat(column), render::key(key, Notation::Yaml), render::block(value, column));
    let line = entries.get(index.checked_sub(1)?)?.end;
    Some(if line < lines.count() {
        Change::insert(lines.start(line), format!("{text}\n"))
    } else {
        Change::insert(lines.text.len(), format!("{}{text}", newline(lines)))
    })
}

/// Removes a field.
pub(super) fn remove_field(lines: &Lines<'_>, object: &Located, index: usize) -> Option<Change> {
    let entries = entries::of_object(lines, object)?;
    let entry = entries.get(index)?;
    if entries.len() == 1 {
        return Some(Change::replace(object.span.range(), "{}"));
    }
    if lines.is_first(entry.start) {
        let range = entries::with_blanks(lines, &entries, index);
        return Some(Change::remove(entries::bytes(lines, range.start, range.end)));
    }
    // The first key stands behind a dash: the next one takes its place.
    let next = entries.get(index + 1)?;
    Some(Change::remove(entry.start..next.start))
}

/// Replaces a value behind a key or a dash of a block.
pub(super) fn replace_value(
    lines: &Lines<'_>,
    holder: &Located,
    after: usize,
    old: &Located,
    value: &Located,
) -> Option<Change> {
    let text = lines.text;
    let inline = render::inline(value, Notation::Yaml);
    let span = old.span.range();
    if span.is_empty() {
        return Some(Change::insert(after, format!(" {inline}")));
    }
    let is_inline = style(text, after, old) == Style::Inline;
    let column = if holder.is_object() { lines.column(holder.span.start as usize) } else { key_column(lines, after) };
    let has_comment = text[span.end..lines.range(lines.of(span.end)).end].contains('#');
    let block = render::block_lines(value, column).filter(|_| !(is_inline && has_comment));
    let is_beside = text.get(after..span.start)?.trim().is_empty();
    match block {
        Some(block) if is_beside || !is_inline => Some(Change::replace(after..span.end, block)),
        _ if is_inline => {
            let inline = render::inline_like(&text[span.clone()], value, Notation::Yaml);
            Some(Change::replace(span, inline))
        }
        _ => Some(Change::replace(after..span.end, format!(" {inline}"))),
    }
}

/// The position behind the dash of an item.
pub(super) fn after_dash(lines: &Lines<'_>, list: &Located, index: usize) -> Option<usize> {
    Some(entries::of_list(lines, list)?.get(index)?.start + 1)
}

/// The column of the key or the dash before a position.
fn key_column(lines: &Lines<'_>, after: usize) -> usize {
    let line = lines.of(after);
    let text = lines.line(line);
    let mut column = lines.indent(line);
    while text[column..].starts_with("- ") && lines.start(line) + column + 1 < after {
        let rest = &text[column + 1..];
        column += 1 + rest.len() - rest.trim_start_matches(' ').len();
    }
    column
}

/// Whether an item of a list is an object in brackets.
fn is_in_brackets(lines: &Lines<'_>, list: &Located, index: usize) -> bool {
    let item = list.items().and_then(|items| items.get(index));
    item.is_some_and(|item| matches!(item.shape, Shape::Object(_)) && lines.text[item.span.range()].starts_with('{'))
}

/// A line break before text at the end, if there is none.
fn newline(lines: &Lines<'_>) -> &'static str {
    if lines.text.ends_with('\n') || lines.text.is_empty() { "" } else { "\n" }
}
