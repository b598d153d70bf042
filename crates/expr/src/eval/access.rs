//! Fields, indexes and slices, and the dialects' rules for missing ones.

use crate::Kind;
use crate::fault::{Outcome, describe, fault, preview, wrong_kind};
use crate::program::{Access, Key};
use crate::value::number::{self, Parsed};
use crate::value::{ListView, Source, View};
use crate::work::Work;

/// Evaluates one step of a path; `None` if the field or index is missing.
#[inline]
pub(crate) fn step<'a>(work: &Work<'a>, object: View<'a>, key: &Key, access: Access) -> Outcome<Option<View<'a>>> {
    match (object, key) {
        (View::Object(object), Key::Field(field)) => work.field(object, field),
        (View::List(list), Key::Index(index)) => Ok(position(list.len(), *index).and_then(|at| list.get(at))),
        (View::Null, _) => Ok(None),
        (_, Key::Field(field)) => field_of_other_value(work, object, field, access),
        (_, Key::Index(index)) => index_of_other_value(work, object, *index, access),
    }
}

/// Evaluates a step whose key is computed.
pub(crate) fn dynamic_step<'a>(
    work: &Work<'a>,
    object: View<'a>,
    key: View<'a>,
    access: Access,
) -> Outcome<Option<View<'a>>> {
    match (object, key.as_str()) {
        (View::Null, _) => Ok(None),
        (_, None) if key.is_null() => Ok(None),
        (View::Object(object), Some(field)) => work.field(object, field),
        (_, Some(field)) => field_of_other_value(work, object, field, access),
        (_, None) => match key {
            View::Int(_) | View::Float(_) => {
                let index = key.expect_integer("an index")?;
                match object {
                    View::List(list) => Ok(position(list.len(), index).and_then(|at| list.get(at))),
                    _ => index_of_other_value(work, object, index, access),
                }
            }
            _ => wrong_kind("an index", "text or a number", key),
        },
    }
}

/// Evaluates a field of a value that is not an object.
#[cold]
fn field_of_other_value<'a>(
    work: &Work<'a>,
    object: View<'a>,
    field: &str,
    access: Access,
) -> Outcome<Option<View<'a>>> {
    match access {
        Access::Nil => fault(Kind::WrongKind, format!("{} has no field `{field}`", preview(object))),
        Access::Required | Access::Absent => Ok(None),
        Access::JsonText | Access::Blank => match (object, object.as_str()) {
            (View::List(list), _) => {
                let at = field.bytes().all(|byte| byte.is_ascii_digit()).then(|| field.parse().ok()).flatten();
                Ok(at.and_then(|at| list.get(at)))
            }
            (_, Some(text)) => match work.json_inside(text)? {
                Some(View::Object(object)) => work.field(object, field),
                Some(list @ View::List(_)) => field_of_other_value(work, list, field, access),
                _ => Ok(None),
            },
            _ => Ok(None),
        },
    }
}

/// Evaluates an index of a value that is not a list: text has characters.
#[cold]
fn index_of_other_value<'a>(
    work: &Work<'a>,
    object: View<'a>,
    index: i64,
    access: Access,
) -> Outcome<Option<View<'a>>> {
    match (object, object.as_str()) {
        (_, Some(text)) if matches!(access, Access::JsonText | Access::Blank) => match work.json_inside(text)? {
            Some(View::List(list)) => Ok(position(list.len(), index).and_then(|at| list.get(at))),
            _ => Ok(None),
        },
        _ if access != Access::Nil => Ok(None),
        (_, Some(text)) => {
            work.scan(text.len())?;
            let place = position(text.chars().count(), index);
            Ok(place.map(|at| View::Str(&text[byte(text, at)..byte(text, at + 1)])))
        }
        _ => fault(Kind::WrongKind, format!("{} cannot be indexed", describe(object))),
    }
}

/// Converts an index to a position; negative indexes count from the end.
pub(crate) fn position(length: usize, index: i64) -> Option<usize> {
    let at = if index < 0 { index.checked_add_unsigned(length as u64)? } else { index };
    usize::try_from(at).ok().filter(|at| *at < length)
}

/// The byte position of a character; the end of the text for positions beyond it.
fn byte(text: &str, at: usize) -> usize {
    if text.is_ascii() {
        return at.min(text.len());
    }
    text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte)
}

/// The result of a missing path.
#[cold]
pub(crate) fn missing<'a>(access: Access, name: impl FnOnce() -> String) -> Outcome<View<'a>> {
    match access {
        Access::Nil | Access::Absent | Access::JsonText => Ok(View::Null),
        Access::Blank => Ok(View::Str("")),
        Access::Required => fault(Kind::MissingVariable, format!("`{}` does not exist", name())),
    }
}

/// Evaluates `[from:to]`. Negative bounds count from the end, and bounds are clamped to the length.
pub(crate) fn slice<'a>(work: &Work<'a>, object: View<'a>, from: Option<i64>, to: Option<i64>) -> Outcome<View<'a>> {
    let range = |length: usize| {
        let cut = |bound: i64| {
            let bound = if bound < 0 { bound.saturating_add_unsigned(length as u64) } else { bound };
            usize::try_from(bound.max(0)).unwrap_or(length).min(length)
        };
        let to = to.map_or(length, cut);
        from.map_or(0, cut).min(to)..to
    };
    match (object, object.as_str()) {
        (View::Null, _) => Ok(View::Null),
        (_, Some(text)) => {
            work.scan(text.len())?;
            let range = range(text.chars().count());
            Ok(View::Str(&text[byte(text, range.start)..byte(text, range.end)]))
        }
        (View::List(list), _) => {
            let range = range(list.len());
            if let ListView::Made(items) = list {
                return Ok(View::List(ListView::Made(&items[range])));
            }
            work.spend(range.len())?;
            work.check_room(range.len())?;
            work.list(&range.filter_map(|at| list.get(at)).collect::<Vec<_>>())
        }
        _ => wrong_kind("a slice", "text or a list", object),
    }
}

/// Converts text that spells a boolean or a decimal number; every other value stays the same.
pub(crate) fn coerce(view: View<'_>) -> View<'_> {
    let Some(text) = view.as_str() else {
        return view;
    };
    if !may_spell_scalar(text) {
        return view;
    }
    if text.eq_ignore_ascii_case("true") {
        return View::Bool(true);
    }
    if text.eq_ignore_ascii_case("false") {
        return View::Bool(false);
    }
    match number::parse_decimal(text) {
        // A number with a point or an exponent is a float, even if its value is integral.
        Some(Parsed::Int(int)) if !number::is_integer_text(text) => View::Float(int as f64),
        Some(Parsed::Int(int)) => View::Int(int),
        Some(Parsed::Float(float)) => View::Float(float),
        Some(Parsed::Overflow) | None => view,
    }
}

/// Whether the first letter of a text allows a boolean or a number.
#[inline(always)]
fn may_spell_scalar(text: &str) -> bool {
    matches!(text.as_bytes().first(), Some(b't' | b'T' | b'f' | b'F' | b'+' | b'-' | b'.' | b'0'..=b'9'))
}

/// Whether coercing could change this value.
#[inline(always)]
pub(crate) fn may_coerce(source: Source<'_>) -> bool {
    super::fast_path::text(source).is_some_and(may_spell_scalar)
}

/// Coerces the top-level texts of an object.
pub(crate) fn coerce_object<'a>(work: &Work<'a>, view: View<'a>) -> Outcome<View<'a>> {
    match view {
        View::Object(object) => {
            work.spend(object.len())?;
            work.object(&object.iter().map(|(key, value)| (key, coerce(value))).collect::<Vec<_>>())
        }
        other => Ok(other),
    }
}
