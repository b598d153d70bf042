//! Variants of a document: in the order of another one, and with another value of one field.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_expr::{Dialect, Field, Located, Shape, Span};

use super::parts::{Layout, UNORDERED};
use crate::path::Segment;

/// A document with the keys of every object in the order of another document, and likewise the entries of lists whose order has no
/// meaning.
pub(super) fn like(document: &Located, other: &Located, dialect: Dialect) -> Located {
    arranged(document, other, (!Layout::of(dialect).is_ordered).then_some(UNORDERED))
}

fn arranged(value: &Located, other: &Located, unordered: Option<&str>) -> Located {
    let shape = match (&value.shape, &other.shape) {
        (Shape::Object(fields), Shape::Object(others)) => {
            let positions: BTreeMap<&str, usize> =
                others.iter().enumerate().map(|(at, field)| (&*field.key, at)).collect();
            let mut fields: Vec<Field> = fields
                .iter()
                .map(|field| {
                    let other = positions.get(&*field.key).map(|at| &others[*at].value);
                    let value = match other {
                        Some(other) if unordered == Some(&*field.key) => by_id(&field.value, other),
                        Some(other) => arranged(&field.value, other, unordered),
                        None => field.value.clone(),
                    };
                    Field { value, ..field.clone() }
                })
                .collect();
            fields.sort_by_key(|field| positions.get(&*field.key).copied().unwrap_or(usize::MAX));
            Shape::Object(fields)
        }
        (Shape::List(items), Shape::List(others)) => {
            let pairs = items.iter().enumerate();
            Shape::List(
                pairs
                    .map(|(at, item)| {
                        others.get(at).map_or_else(|| item.clone(), |other| arranged(item, other, unordered))
                    })
                    .collect(),
            )
        }
        (shape, _) => shape.clone(),
    };
    Located { shape, span: value.span }
}

/// A list in the order in which another list has its ids.
fn by_id(list: &Located, other: &Located) -> Located {
    let (Some(items), Some(others)) = (list.items(), other.items()) else { return list.clone() };
    let id = |item: &Located| item.get("id").and_then(Located::text).cloned();
    let positions: BTreeMap<Arc<str>, usize> =
        others.iter().enumerate().filter_map(|(at, item)| Some((id(item)?, at))).collect();
    let position = |item: &Located| id(item).and_then(|id| positions.get(&id).copied());
    let mut items: Vec<Located> = items
        .iter()
        .map(|item| position(item).map_or_else(|| item.clone(), |at| arranged(item, &others[at], None)))
        .collect();
    items.sort_by_key(|item| position(item).unwrap_or(usize::MAX));
    Located { shape: Shape::List(items), span: list.span }
}

/// A document with another value at a path, or without the value there. Missing objects on the path are created.
pub(super) fn with(document: &Located, path: &[Segment], replacement: Option<Located>) -> Located {
    let Some((first, rest)) = path.split_first() else { return replacement.unwrap_or_else(|| document.clone()) };
    let shape = match (&document.shape, first) {
        (Shape::List(items), Segment::Index(at)) if *at < items.len() => {
            let mut items = items.clone();
            items[*at] = with(&items[*at], rest, replacement);
            Shape::List(items)
        }
        (Shape::Object(fields), Segment::Key(name)) => {
            let mut fields = fields.clone();
            match (fields.iter().position(|field| field.key == *name), replacement) {
                (Some(at), None) if rest.is_empty() => drop(fields.remove(at)),
                (Some(at), replacement) => fields[at].value = with(&fields[at].value, rest, replacement),
                (None, Some(value)) => {
                    let empty = Located { shape: Shape::Object(Vec::new()), span: value.span };
                    let value = with(&empty, rest, Some(value));
                    fields.push(Field { key: name.clone(), key_span: Span::default(), value });
                }
                (None, None) => {}
            }
            Shape::Object(fields)
        }
        (shape, _) => shape.clone(),
    };
    Located { shape, span: document.span }
}
