//! The places that refer to steps, and the edits that rename one.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use branchpoint_expr::{Located, Shape, Span};

use super::outline::{Outline, OutlineStep};
use crate::edit::draft::Draft;
use crate::edit::render;
use crate::edit::{Affected, EditError, EditErrorKind, values};
use crate::path::{Segment, at, extended, path_text};
use crate::steps;

/// A place that names a step.
type Reference = (Arc<str>, Span);

/// The references of a document, each place once.
fn all(document: &Located, outline: &Outline) -> Vec<Reference> {
    let mut references = at(document, &outline.root).map(steps::references).unwrap_or_default();
    references.sort_by_key(|(id, span)| (span.start, span.end, Arc::clone(id)));
    references.dedup();
    references
}

/// The references of a document, with the steps and the fields in which they are.
pub(super) fn references(draft: &Draft<'_>, outline: &Outline) -> Vec<Affected> {
    all(&draft.document, outline).into_iter().map(|(id, span)| affected(draft, outline, &id, span)).collect()
}

fn affected(draft: &Draft<'_>, outline: &Outline, names: &str, span: Span) -> Affected {
    let step = outline.around(span);
    let holder = step.map_or(&outline.root[..], |step| &step.path);
    let field = draft.get(holder).map(|holder| path_of(holder, span)).unwrap_or_default();
    Affected {
        step: step.map(|step| step.id.to_string()),
        field: path_text(&field),
        names: names.to_owned(),
        start: span.start as usize,
        line: u32::try_from(span.line_column(&draft.text).0).unwrap_or(u32::MAX),
    }
}

/// The path to the innermost value around a place.
fn path_of(value: &Located, span: Span) -> Vec<Segment> {
    let encloses = |value: &Located| value.span.start <= span.start && span.end <= value.span.end;
    let inner: Option<(Segment, &Located)> = match &value.shape {
        Shape::List(items) => {
            items.iter().enumerate().find(|(_, item)| encloses(item)).map(|(at, item)| (at.into(), item))
        }
        Shape::Object(fields) => {
            fields.iter().find(|field| encloses(&field.value)).map(|field| ((&*field.key).into(), &field.value))
        }
        _ => None,
    };
    inner.map_or_else(Vec::new, |(segment, value)| {
        let mut path = vec![segment];
        path.extend(path_of(value, span));
        path
    })
}

/// Gives steps other ids, also in all references, and returns those. Nothing else may differ afterwards.
pub(super) fn rename(draft: &mut Draft<'_>, ids: &BTreeMap<Arc<str>, String>) -> Result<Vec<Affected>, EditError> {
    let outline = Outline::of(&draft.document);
    let before = all(&draft.document, &outline);
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for (named, span) in &before {
        if let Some(id) = ids.get(named) {
            edits.extend(edits_in(&draft.text, *span, named, id));
        }
    }
    let mut unnamed = Vec::new();
    for step in &outline.steps {
        match ids.get(&step.id) {
            Some(id) if step.is_named => edits.extend(edit_of_id(draft, step, id)),
            Some(id) => unnamed.push((extended(&step.path, "id"), values::text(id))),
            None => {}
        }
    }
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    edits.dedup();
    let count = outline.steps.len();
    draft.replace_texts(&edits)?;
    for (path, id) in unnamed {
        draft.set(&path, &id)?;
    }
    let outline = Outline::of(&draft.document);
    let after = all(&draft.document, &outline);
    let new_id = |named: &Arc<str>| ids.get(named).map_or_else(|| named.to_string(), String::clone);
    let mut expected: Vec<String> = before.iter().map(|(named, _)| new_id(named)).collect();
    let mut names: Vec<String> = after.iter().map(|(named, _)| named.to_string()).collect();
    expected.sort_unstable();
    names.sort_unstable();
    if outline.steps.len() != count || expected != names {
        let message = "A reference to the step is written in a notation that cannot be edited here.";
        return Err(EditError::new(EditErrorKind::UnsupportedNotation, message).with_help("Edit the source instead."));
    }
    let is_renamed = |named: &str| ids.values().any(|id| id == named);
    let places = after.iter().filter(|(named, _)| is_renamed(named));
    Ok(places.map(|(named, span)| affected(draft, &outline, named, *span)).collect())
}

fn edit_of_id(draft: &Draft<'_>, step: &OutlineStep, id: &str) -> Option<(Range<usize>, String)> {
    let written = draft.get(&extended(&step.path, "id"))?;
    let text = draft.text.get(written.span.range())?;
    let new = match text.chars().next()? {
        quote @ ('\'' | '"') => format!("{quote}{id}{quote}"),
        _ => render::inline(&values::text(id), draft.notation),
    };
    Some((written.span.range(), new))
}

/// The edits of one reference: the whole text if it is the id, else every `step.<id>` in it.
fn edits_in(text: &str, span: Span, step: &str, id: &str) -> Vec<(Range<usize>, String)> {
    let start = span.start as usize;
    let Some(written) = text.get(span.range()) else { return Vec::new() };
    let quoted = written.trim_matches(['"', '\'']);
    if quoted == step {
        let offset = start + written.find(step).unwrap_or_default();
        return vec![(offset..offset + step.len(), id.to_owned())];
    }
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut edits = Vec::new();
    for (at, _) in written.match_indices("step") {
        if written[..at].ends_with(|c: char| is_word(c) || c == '.') {
            continue;
        }
        let rest = &written[at + 4..];
        // `step.draft`, `step["draft"]`, `step['draft']`; in JSON, the quotes are escaped.
        let separators = rest.len() - rest.trim_start_matches(['.', '[', '"', '\'', '\\', ' ']).len();
        let name = at + 4 + separators;
        let is_name = separators > 0 && written[name..].starts_with(step);
        if is_name && !written[name + step.len()..].starts_with(is_word) {
            edits.push((start + name..start + name + step.len(), id.to_owned()));
        }
    }
    edits
}
