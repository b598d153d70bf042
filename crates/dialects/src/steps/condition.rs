//! The condition of a step, in any of its spellings.

use std::borrow::Cow;

use branchpoint_expr::{Located, Shape};

use crate::lowering::located_object;

/// An object with `conditions` and `match`, or with `if`, from a step or an arm.
///
/// `if` accepts any spelling, so a list of conditions under it means the same as `conditions`.
pub(super) fn of(holder: &Located) -> Cow<'_, Located> {
    match holder.get("if") {
        Some(written) if holder.get("conditions").is_none() => match list_form(written, holder) {
            Some(list) => Cow::Owned(list),
            None => Cow::Borrowed(holder),
        },
        _ => Cow::Borrowed(holder),
    }
}

/// The condition at another key, such as `stop_when`.
pub(super) fn at_key(written: &Located) -> Located {
    list_form(written, written).unwrap_or_else(|| located_object(written.span, [("if", written.clone())]))
}

/// A list of conditions, or an object that is one with its `match`.
fn list_form(written: &Located, holder: &Located) -> Option<Located> {
    match &written.shape {
        Shape::List(_) => {
            let mode = holder.get("match").map(|mode| ("match", mode.clone()));
            Some(located_object(written.span, [("conditions", written.clone())].into_iter().chain(mode)))
        }
        Shape::Object(_) if written.get("match").is_some() && written.get("combinator").is_none() => {
            Some(written.clone())
        }
        _ => None,
    }
}
