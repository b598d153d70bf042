//! Paths to values in documents.

use std::sync::Arc;

use branchpoint_expr::{Located, Shape};

/// One part of a path in a document.
///
/// ```
/// use branchpoint_dialects::Segment;
///
/// let path: Vec<Segment> = vec!["elif".into(), 0.into(), "if".into()];
/// assert_eq!(path[1], Segment::Index(0));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// A key of an object.
    Key(Arc<str>),
    /// A position in a list, from 0.
    Index(usize),
}

impl From<&str> for Segment {
    fn from(key: &str) -> Self {
        Self::Key(key.into())
    }
}

impl From<usize> for Segment {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// A path with one more segment.
pub(crate) fn extended(path: &[Segment], segment: impl Into<Segment>) -> Vec<Segment> {
    path.iter().cloned().chain([segment.into()]).collect()
}

/// The value at a path.
pub(crate) fn at<'d>(document: &'d Located, path: &[Segment]) -> Option<&'d Located> {
    path.iter().try_fold(document, |value, segment| match segment {
        Segment::Key(key) => value.get(key),
        Segment::Index(index) => value.items()?.get(*index),
    })
}

/// The value at a path, to be changed.
pub(crate) fn at_mut<'d>(document: &'d mut Located, path: &[Segment]) -> Option<&'d mut Located> {
    path.iter().try_fold(document, |value, segment| match (&mut value.shape, segment) {
        (Shape::Object(fields), Segment::Key(key)) => {
            fields.iter_mut().find(|field| field.key == *key).map(|field| &mut field.value)
        }
        (Shape::List(items), Segment::Index(index)) => items.get_mut(*index),
        _ => None,
    })
}

/// A path as text, such as `elif[0].if`.
pub(crate) fn path_text(path: &[Segment]) -> String {
    let mut text = String::new();
    for segment in path {
        match segment {
            Segment::Key(key) if text.is_empty() => text.push_str(key),
            Segment::Key(key) => text.extend([".", key]),
            Segment::Index(index) => text.extend(["[", &index.to_string(), "]"]),
        }
    }
    text
}
