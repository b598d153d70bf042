//! Edits of lists and objects in brackets: JSON, and YAML in flow style.

use std::ops::Range;

use branchpoint_expr::{Located, Shape};

use super::draft::Change;
use super::entries;
use super::fragment::Fragment;
use super::render::{self, Notation, STEP};
use crate::format::lines::Lines;

/// Removes items of a list or fields of an object, in increasing order of their positions.
pub(super) fn remove(text: &str, holder: &Located, items: &[usize]) -> Change {
    let (lines, parts) = (Lines::new(text), parts(holder));
    if items.len() == parts.len() {
        return remove_all(&lines, holder, &parts);
    }
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for (position, at) in items.iter().enumerate() {
        // The parts behind the last one that stays go with the comma before them.
        let is_tail = items.len() - position == parts.len() - at;
        if let Some(own) = own_lines(&lines, holder, &parts[*at]) {
            ranges.extend(comma_after(text, &parts[at.saturating_sub(1)]).filter(|_| is_tail));
            ranges.push(own);
        } else if is_tail {
            ranges.push(parts[at - 1].end..parts[*at].end);
        } else {
            ranges.push(parts[*at].start..parts[at + 1].start);
        }
    }
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(before) if before.end >= range.start => before.end = before.end.max(range.end),
            _ => merged.push(range),
        }
    }
    Change::remove_all(merged)
}

/// Removes all parts. Comments beside them stay.
fn remove_all(lines: &Lines<'_>, holder: &Located, parts: &[Range<usize>]) -> Change {
    let inside = holder.span.start as usize + 1..holder.span.end as usize - 1;
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return Change::default() };
    let end = comma_after(lines.text, last).map_or(last.end, |comma| comma.end);
    let around = [&lines.text[inside.start..first.start], &lines.text[end..inside.end]];
    if around.iter().all(|text| text.trim().is_empty()) {
        return Change::remove(inside);
    }
    Change::remove(first.start..end)
}

/// The lines of a part that has them for itself, with the comments directly above it and behind it.
fn own_lines(lines: &Lines<'_>, holder: &Located, part: &Range<usize>) -> Option<Range<usize>> {
    let (first, last) = (lines.of(part.start), lines.of(part.end));
    let end = comma_after(lines.text, part).map_or(part.end, |comma| comma.end);
    let rest = lines.text.get(end..lines.range(last).end)?.trim();
    let is_alone = lines.is_first(part.start) && (rest.is_empty() || rest.starts_with('#'));
    (is_alone && last + 1 < lines.count()).then_some(())?;
    let mut lead = first;
    while lead > lines.of(holder.span.start as usize) + 1 && entries::is_comment(lines, lead - 1) {
        lead -= 1;
    }
    Some(lines.start(lead)..lines.start(last + 1))
}

/// The comma behind a part.
fn comma_after(text: &str, part: &Range<usize>) -> Option<Range<usize>> {
    let rest = &text[part.end..];
    let comma = part.end + rest.find(',').filter(|at| rest[..*at].trim().is_empty())?;
    Some(comma..comma + 1)
}

/// Inserts items into a list that has some.
pub(super) fn insert_items(
    lines: &Lines<'_>,
    list: &Located,
    index: usize,
    items: &[Fragment],
    notation: Notation,
) -> Change {
    let parts = parts(list);
    let neighbour = &parts[index.min(parts.len() - 1)];
    let column = lines.indent(lines.of(neighbour.start));
    let is_spread = notation == Notation::Json && lines.of(neighbour.start) != lines.of(neighbour.end);
    let written: Vec<String> = items.iter().map(|item| item.brackets(column, notation, is_spread)).collect();
    insert(lines, &parts, index, &written.join(&separator(lines, neighbour)))
}

/// Inserts the first items of an empty list.
pub(super) fn first_items(lines: &Lines<'_>, list: &Located, items: &[Fragment], notation: Notation) -> Change {
    let span = list.span.range();
    let line = lines.of(span.start);
    // In JSON with one key a line, the item gets a line of its own.
    let is_key_line = lines.line(line).trim_start().starts_with('"') && notation == Notation::Json;
    let own_line = is_key_line && lines.text[span.end..lines.range(line).end].trim_matches([',', ' ', '\r']).is_empty();
    let column = lines.indent(line);
    let inner = column + STEP;
    let items: Vec<String> = items.iter().map(|item| item.brackets(inner, notation, false)).collect();
    let text = if own_line {
        let indent = " ".repeat(inner);
        format!("[\n{indent}{}\n{}]", items.join(&format!(",\n{indent}")), " ".repeat(column))
    } else {
        format!("[{}]", items.join(", "))
    };
    Change { edits: vec![(span, text)], removed: Vec::new() }
}

/// Adds a field to an object at a position.
pub(super) fn add_field(
    lines: &Lines<'_>,
    object: &Located,
    index: usize,
    key: &str,
    value: &Located,
    notation: Notation,
) -> Change {
    let parts = parts(object);
    let key = render::key(key, notation);
    let Some(neighbour) = parts.get(index.min(parts.len().saturating_sub(1))) else {
        let field = format!("{{{key}: {}}}", render::inline(value, notation));
        return Change { edits: vec![(object.span.range(), field)], removed: Vec::new() };
    };
    let is_own_line = lines.is_first(neighbour.start);
    let written = if is_own_line && notation == Notation::Json {
        spread_if_long(value, lines.column(neighbour.start), notation)
    } else {
        render::inline(value, notation)
    };
    insert(lines, &parts, index, &format!("{key}: {written}"))
}

/// Replaces a value. A missing one is written after its colon.
pub(super) fn replace(lines: &Lines<'_>, after: usize, old: &Located, value: &Located, notation: Notation) -> Change {
    let span = old.span.range();
    if span.is_empty() {
        return Change::insert(after, format!(" {}", render::inline(value, notation)));
    }
    let is_spread = notation == Notation::Json && lines.of(span.start) != lines.of(span.end);
    let column = lines.indent(lines.of(span.start));
    let old = &lines.text[span.clone()];
    let written =
        if is_spread { render::spread(value, column, notation) } else { render::inline_like(old, value, notation) };
    Change::replace(span, written)
}

fn spread_if_long(value: &Located, column: usize, notation: Notation) -> String {
    const LONG: usize = 100;
    let inline = render::inline(value, notation);
    if inline.chars().count() > LONG { render::spread(value, column, notation) } else { inline }
}

fn insert(lines: &Lines<'_>, parts: &[Range<usize>], index: usize, written: &str) -> Change {
    if let Some(next) = parts.get(index) {
        return Change::insert(next.start, format!("{written}{}", separator(lines, next)));
    }
    let last = &parts[parts.len() - 1];
    let end = lines.range(lines.of(last.end)).end;
    let comment = lines.text[last.end..end].trim_start_matches([' ', ',']);
    if !lines.is_first(last.start) || !comment.starts_with('#') {
        return Change::insert(last.end, format!("{}{written}", separator(lines, last)));
    }
    // A comment behind the last part stays there.
    let mut change = Change::insert(end, format!("\n{}{written}", " ".repeat(lines.column(last.start))));
    if comma_after(lines.text, last).is_none() {
        change.edits.insert(0, (last.end..last.end, ",".to_owned()));
    }
    change
}

/// What separates a part from its neighbours: parts on lines of their own stay so.
fn separator(lines: &Lines<'_>, part: &Range<usize>) -> String {
    if lines.is_first(part.start) { format!(",\n{}", " ".repeat(lines.column(part.start))) } else { ", ".to_owned() }
}

/// The ranges of the items of a list, or of the fields of an object.
fn parts(holder: &Located) -> Vec<Range<usize>> {
    match &holder.shape {
        Shape::List(items) => items.iter().map(|item| item.span.range()).collect(),
        Shape::Object(fields) => {
            let field = |field: &branchpoint_expr::Field| {
                field.key_span.start as usize..(field.value.span.end).max(field.key_span.end) as usize
            };
            fields.iter().map(field).collect()
        }
        _ => Vec::new(),
    }
}
