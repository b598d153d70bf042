//! Values of documents that are made here.

use branchpoint_expr::{Field, Located, Object, Shape, Span, Value};

use super::EditError;
use super::draft::Draft;
use crate::path::{Segment, extended};

/// The largest number of changes that keep the notation of a value. Beyond it, the whole value is replaced.
const MOST_CHANGES: usize = 50;

/// A value without places.
pub(super) fn located(value: &Value) -> Located {
    Located::from(value)
}

/// Text.
pub(super) fn text(text: &str) -> Located {
    located(&Value::from(text))
}

/// An object.
pub(super) fn object<'k>(fields: impl IntoIterator<Item = (&'k str, Located)>) -> Located {
    let field = |(key, value): (&str, Located)| Field { key: key.into(), key_span: Span::default(), value };
    Located { shape: Shape::Object(fields.into_iter().map(field).collect()), span: Span::default() }
}

/// An object with other fields, which replace those of the same name.
pub(super) fn with_fields(mut value: Located, fields: &Object) -> Located {
    if let Shape::Object(all) = &mut value.shape {
        for (key, value) in fields {
            let value = located(value);
            match all.iter_mut().find(|field| field.key == *key) {
                Some(field) => field.value = value,
                None => all.push(Field { key: key.clone(), key_span: Span::default(), value }),
            }
        }
    }
    value
}

/// Sets the value at a path. Only the parts of it that differ are edited, so comments between the others stay.
pub(super) fn set(draft: &mut Draft<'_>, path: &[Segment], value: &Located) -> Result<(), EditError> {
    let mut changes = Vec::new();
    let is_small = draft.get(path).is_some_and(|old| differences(old, value, path, &mut changes).is_some());
    if !is_small {
        return draft.set(path, value);
    }
    for change in changes {
        match change {
            Difference::Set(path, value) => draft.set(&path, &value)?,
            Difference::Remove(path) => draft.remove(&path)?,
        }
    }
    Ok(())
}

enum Difference {
    Set(Vec<Segment>, Located),
    Remove(Vec<Segment>),
}

/// Collects the differences between two values; none if there are too many, or if the values have nothing in common.
fn differences(old: &Located, new: &Located, path: &[Segment], changes: &mut Vec<Difference>) -> Option<()> {
    if old.to_value() == new.to_value() {
        return Some(());
    }
    match (&old.shape, &new.shape) {
        (Shape::Object(before), Shape::Object(after)) if !after.is_empty() && !before.is_empty() => {
            let is_gone = |field: &&Field| new.get(&field.key).is_none();
            for field in before.iter().filter(is_gone) {
                changes.push(Difference::Remove(extended(path, &*field.key)));
            }
            // A block without its last field would have no place for another one.
            if before.iter().all(|field| is_gone(&field)) {
                return None;
            }
            for field in after {
                let path = extended(path, &*field.key);
                match old.get(&field.key) {
                    Some(before) => differences(before, &field.value, &path, changes)?,
                    None => changes.push(Difference::Set(path, field.value.clone())),
                }
            }
        }
        (Shape::List(before), Shape::List(after)) if !after.is_empty() && !before.is_empty() => {
            for (at, (before, after)) in before.iter().zip(after).enumerate() {
                differences(before, after, &extended(path, at), changes)?;
            }
            changes.extend((after.len()..before.len()).rev().map(|at| Difference::Remove(extended(path, at))));
            let added = after.iter().enumerate().skip(before.len());
            changes.extend(added.map(|(at, value)| Difference::Set(extended(path, at), value.clone())));
        }
        _ => changes.push(Difference::Set(path.to_vec(), new.clone())),
    }
    (changes.len() <= MOST_CHANGES).then_some(())
}
