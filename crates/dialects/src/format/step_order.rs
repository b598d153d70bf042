//! Sorts the keys of steps: identity first, then the rest.

use std::ops::Range;

use branchpoint_expr::{Field, Located};

use super::edit::Edits;
use super::lines::{Lines, is_within};
use crate::export;

/// The keys that come first.
const FIRST: [&str; 4] = ["id", "step_type", "name", "purpose"];
/// The keys of lists of steps.
const CHAINS: [&str; 8] = ["steps", "child_steps", "then_steps", "else_steps", "then", "else", "body", "on_error"];
/// The keys of lists whose entries have lists of steps.
const BRANCH_LISTS: [&str; 3] = ["cases", "branches", "elif"];

/// The text with sorted step keys, as far as one round allows: a step inside of a
/// changed step is left to the next round.
pub(super) fn sort(text: &str, document: &Located) -> Option<String> {
    let lines = Lines::new(text);
    let mut edits = Edits::default();
    let mut changed: Option<Range<usize>> = None;
    for step in all_steps(document) {
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

/// All steps of a document, outer steps before inner ones.
pub(super) fn all_steps(document: &Located) -> Vec<&Located> {
    let mut steps_found = Vec::new();
    collect_steps(export::written_definition(document).unwrap_or(document), &mut steps_found);
    steps_found
}

/// Collects the steps in the lists of an object: the document itself, a step, or an entry of its branches.
fn collect_steps<'d>(object: &'d Located, steps_found: &mut Vec<&'d Located>) {
    for field in object.fields() {
        let items = field.value.items().unwrap_or_default();
        if CHAINS.contains(&&*field.key) {
            for step in items.iter().filter(|item| item.is_object()) {
                steps_found.push(step);
                collect_steps(step, steps_found);
            }
        } else if BRANCH_LISTS.contains(&&*field.key) {
            for entry in items {
                collect_steps(entry, steps_found);
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

/// Sorts a step in brackets: its entries change places, the text between them stays.
fn inline(text: &str, step: &Located) -> Option<(Range<usize>, String)> {
    let range = step.span.range();
    let entry = |field: &Field| {
        let entry = field.key_span.start as usize..field.value.span.end as usize;
        is_within(&field.value, range.clone()).then_some(entry)
    };
    let mut edits = Edits::default();
    for (place, field) in step.fields().iter().zip(sorted(step)) {
        let (place, entry) = (entry(place)?, entry(field)?);
        let written = text.get(entry)?;
        // A comment would move with the wrong entry.
        if written.contains('#') && written.contains('\n') {
            return None;
        }
        edits.replace(place.start - range.start..place.end - range.start, written);
    }
    let rewritten = edits.apply(&text[range.clone()])?;
    Some((range, rewritten))
}

/// Sorts a block step: each key moves with the lines up to the next key and the comments directly above it.
fn block(lines: &Lines<'_>, step: &Located) -> Option<(Range<usize>, String)> {
    let range = step.span.range();
    let column = lines.column(range.start);
    let fields = step.fields();
    if !fields.iter().all(|field| is_within(&field.value, range.clone())) {
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
    // A comment cannot be between a dash and its key.
    if chunk(*positions.first()?).starts_with('#') {
        return None;
    }
    let chunks: Vec<&str> = positions.into_iter().map(chunk).collect();
    let between = format!("\n{}", " ".repeat(column));
    let tail = if end > 0 && lines.text[..end].ends_with('\n') { "\n" } else { "" };
    Some((starts[0]..end, chunks.join(&between) + tail))
}

/// The position at which the lines of a key begin: the first comment directly above it. The first key may follow a dash.
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
