//! Compares documents before and after formatting.

use branchpoint_expr::{Located, Shape};
use granit_parser::{Event, Parser, options};

use crate::read;

/// Whether a changed text reads as the same document, with the same comments. The order of a step's keys may differ.
pub(crate) fn is_equivalent(before: &str, document: &Located, after: &str) -> bool {
    read(after).is_ok_and(|changed| equal(document, &changed)) && comments(before) == comments(after)
}

fn equal(one: &Located, other: &Located) -> bool {
    match (&one.shape, &other.shape) {
        (Shape::List(one), Shape::List(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(one, other))
        }
        (Shape::Object(fields), Shape::Object(others)) if one.get("step_type").is_some() => {
            fields.len() == others.len()
                && fields.iter().all(|field| other.get(&field.key).is_some_and(|other| equal(&field.value, other)))
        }
        (Shape::Object(one), Shape::Object(other)) => {
            let pairs = || one.iter().zip(other);
            one.len() == other.len()
                && pairs().all(|(one, other)| one.key == other.key && equal(&one.value, &other.value))
        }
        _ => one.to_value() == other.to_value(),
    }
}

/// The comments of a text, sorted, because comments move with their keys.
fn comments(text: &str) -> Option<Vec<String>> {
    let mut comments: Vec<String> = comments_at(text)?.into_iter().map(|(_, comment)| comment).collect();
    comments.sort_unstable();
    Some(comments)
}

/// The comments of a text with their positions; none if the text cannot be parsed.
pub(crate) fn comments_at(text: &str) -> Option<Vec<(usize, String)>> {
    let events = Parser::new_from_str_with_options(text, options! { emit_comments: true });
    let mut comments = Vec::new();
    for event in events {
        if let (Event::Comment(comment, ..), place) = event.ok()? {
            comments.push((place.byte_range()?.start, comment.trim_end().to_owned()));
        }
    }
    Some(comments)
}
