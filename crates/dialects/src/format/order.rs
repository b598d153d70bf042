//! The order of a step's keys: who it is first, then what it does.

use std::ops::Range;

use branchpoint_expr::{Field, Located};

use super::edit::Edits;
use super::lines::{Lines, stands_in};
use crate::export;

/// The keys that come first.
const FIRST: [&str; 4] = ["id", "step_type", "name", "purpose"];
/// The keys of lists of steps.
const CHAINS: [&str; 8] = ["steps", "child_steps", "then_steps", "else_steps", "then", "else", "body", "on_error"];
/// The keys of lists whose entries have lists of steps.
const WAYS: [&str; 3] = ["cases", "branches", "elif"];

/// The text with the keys of its steps in order, as far as that is possible in one go: a step inside of one that is
/// changed has to wait for the next.
pub(super) fn sort(text: &str, document: &Located) -> Option<String> {
    let lines = Lines::new(text);
    let mut edits = Edits::default();
    let mut changed: Option<Range<usize>> = None;
    for step in steps(document) {
        let range = step.span.range();
        if changed.as_ref().is_some_and(|changed| changed.contains(&range.start)) || is_sorted(step) {
            continue;
        }
        let bracketed = text[range.clone()].starts_with('{');
        let rewritten = if bracketed { inline(text, step) } else { block(&lines, step) };
        if let Some((place, by)) = rewritten {
            edits.replace(place, by);
            changed = Some(range);
        }
    }
    edits.apply(text)
}

/// Every step of a document, the outer ones before those inside them.
pub(super) fn steps(document: &Located) -> Vec<&Located> {
    let mut found = Vec::new();
    chains(export::inner(document).unwrap_or(document), &mut found);
    found
}

/// Collects the steps in the lists of an object: the document itself, a step, or an entry of its ways.
fn chains<'d>(object: &'d Located, found: &mut Vec<&'d Located>) {
    for field in object.fields() {
        let items = field.value.items().unwrap_or_default();
        if CHAINS.contains(&&*field.key) {
            for step in items.iter().filter(|item| item.is_object()) {
                found.push(step);
                chains(step, found);
            }
        } else if WAYS.contains(&&*field.key) {
            for way in items {
                chains(way, found);
            }
        }
    }
}

/// The fields of a step in their order.
pub(super) fn sorted(step: &Located) -> Vec<&Field> {
    let mut fields: Vec<&Field> = step.fields().iter().collect();
    fields.sort_by_key(|field| rank(field));
    fields
}

fn rank(field: &Field) -> usize {
    FIRST.iter().position(|key| **key == *field.key).unwrap_or(FIRST.len())
}

fn is_sorted(step: &Located) -> bool {
    step.fields().is_sorted_by_key(rank)
}

/// A step in brackets: its entries change places, what stands between them stays.
fn inline(text: &str, step: &Located) -> Option<(Range<usize>, String)> {
    let range = step.span.range();
    let entry = |field: &Field| {
        let entry = field.key_span.start as usize..field.value.span.end as usize;
        stands_in(&field.value, range.clone()).then_some(entry)
    };
    let mut edits = Edits::default();
    for (place, field) in step.fields().iter().zip(sorted(step)) {
        let (place, entry) = (entry(place)?, entry(field)?);
        let written = text.get(entry)?;
        // A comment would go with the wrong entry.
        if written.contains('#') && written.contains('\n') {
            return None;
        }
        edits.replace(place.start - range.start..place.end - range.start, written);
    }
    let rewritten = edits.apply(&text[range.clone()])?;
    Some((range, rewritten))
}

/// A step by indentation: each key takes along the lines up to the next one, and the comments right above it.
fn block(lines: &Lines<'_>, step: &Located) -> Option<(Range<usize>, String)> {
    let range = step.span.range();
    let column = lines.column(range.start);
    let fields = step.fields();
    if !fields.iter().all(|field| stands_in(&field.value, range.clone())) {
        return None;
    }
    let starts: Vec<usize> = fields
        .iter()
        .enumerate()
        .map(|(index, field)| chunk_start(lines, fields, index, field))
        .collect::<Option<_>>()?;
    let last_line = lines.of(range.end.max(1) - 1).max(lines.of(range.end));
    let end = (lines.range(last_line).end + 1).min(lines.text.len());
    let chunk = |index: usize| {
        let end = starts.get(index + 1).copied().unwrap_or(end);
        lines.text[starts[index]..end].trim_end_matches('\n').trim_start_matches(' ')
    };
    let mut positions: Vec<usize> = (0..fields.len()).collect();
    positions.sort_by_key(|index| rank(&fields[*index]));
    // A comment cannot stand between a dash and its key.
    if chunk(*positions.first()?).starts_with('#') {
        return None;
    }
    let chunks: Vec<&str> = positions.into_iter().map(chunk).collect();
    let between = format!("\n{}", " ".repeat(column));
    let tail = if end > 0 && lines.text[..end].ends_with('\n') { "\n" } else { "" };
    Some((starts[0]..end, chunks.join(&between) + tail))
}

/// Where the lines of a key begin: at the first of the comments right above it. The first key may follow a dash.
fn chunk_start(lines: &Lines<'_>, fields: &[Field], index: usize, field: &Field) -> Option<usize> {
    let key = field.key_span.start as usize;
    let Some(before) = index.checked_sub(1) else { return Some(key) };
    if !lines.is_first(key) {
        return None;
    }
    let mut line = lines.of(key);
    let after = lines.of(fields[before].value.span.end as usize);
    while line > after + 1 && lines.line(line - 1).trim_start().starts_with('#') {
        line -= 1;
    }
    Some(lines.start(line))
}
