//! Fields, indexes and slices, and what a dialect makes of those that are not there.

use crate::Kind;
use crate::fault::{Outcome, described, fault, shown, wrong_kind};
use crate::program::{Access, Key};
use crate::value::number::{self, Parsed};
use crate::value::{ListView, Source, View};
use crate::work::Work;

/// One step of a path. None: there is no such field or index.
#[inline]
pub(crate) fn step<'a>(work: &Work<'a>, object: View<'a>, key: &Key, access: Access) -> Outcome<Option<View<'a>>> {
    match (object, key) {
        (View::Object(object), Key::Field(field)) => work.field(object, field),
        (View::List(list), Key::Index(index)) => Ok(position(list.len(), *index).and_then(|at| list.get(at))),
        (View::Null, _) => Ok(None),
        (_, Key::Field(field)) => odd_field(work, object, field, access),
        (_, Key::Index(index)) => odd_index(work, object, *index, access),
    }
}

/// A step whose key is known only now.
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
        (_, Some(field)) => odd_field(work, object, field, access),
        (_, None) => match key {
            View::Int(_) | View::Float(_) => {
                let index = key.expect_integer("an index")?;
                match object {
                    View::List(list) => Ok(position(list.len(), index).and_then(|at| list.get(at))),
                    _ => odd_index(work, object, index, access),
                }
            }
            _ => wrong_kind("an index", "text or a number", key),
        },
    }
}

/// A field of something that is no object.
#[cold]
fn odd_field<'a>(work: &Work<'a>, object: View<'a>, field: &str, access: Access) -> Outcome<Option<View<'a>>> {
    match access {
        Access::Nil => fault(Kind::WrongKind, format!("{} has no field `{field}`", shown(object))),
        Access::Required | Access::Absent => Ok(None),
        Access::JsonText | Access::Blank => match (object, object.as_str()) {
            (View::List(list), _) => {
                let at = field.bytes().all(|byte| byte.is_ascii_digit()).then(|| field.parse().ok()).flatten();
                Ok(at.and_then(|at| list.get(at)))
            }
            (_, Some(text)) => match work.json_inside(text)? {
                Some(View::Object(object)) => work.field(object, field),
                Some(list @ View::List(_)) => odd_field(work, list, field, access),
                _ => Ok(None),
            },
            _ => Ok(None),
        },
    }
}

/// An index of something that is no list: the character of a text, the field of an object under a number.
#[cold]
fn odd_index<'a>(work: &Work<'a>, object: View<'a>, index: i64, access: Access) -> Outcome<Option<View<'a>>> {
    match (object, object.as_str()) {
        (_, Some(text)) if matches!(access, Access::JsonText | Access::Blank) => match work.json_inside(text)? {
            Some(View::List(list)) => Ok(position(list.len(), index).and_then(|at| list.get(at))),
            _ => Ok(None),
        },
        _ if access != Access::Nil => Ok(None),
        (_, Some(text)) => {
            work.scan(text.len())?;
            let found = position(text.chars().count(), index);
            Ok(found.map(|at| View::Str(&text[byte(text, at)..byte(text, at + 1)])))
        }
        _ => fault(Kind::WrongKind, format!("{} has no positions", described(object))),
    }
}

/// A position in something of that length; negative ones count from the end.
pub(crate) fn position(length: usize, index: i64) -> Option<usize> {
    let at = if index < 0 { index.checked_add_unsigned(length as u64)? } else { index };
    usize::try_from(at).ok().filter(|at| *at < length)
}

/// Where a character begins; the end of the text for one beyond it.
fn byte(text: &str, at: usize) -> usize {
    if text.is_ascii() {
        return at.min(text.len());
    }
    text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte)
}

/// What a path gives that leads nowhere.
#[cold]
pub(crate) fn missing<'a>(access: Access, name: impl FnOnce() -> String) -> Outcome<View<'a>> {
    match access {
        Access::Nil | Access::Absent | Access::JsonText => Ok(View::Null),
        Access::Blank => Ok(View::Str("")),
        Access::Required => fault(Kind::MissingVariable, format!("`{}` does not exist", name())),
    }
}

/// `[from:to]`: bounds count from the end when negative and are cut to what there is.
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
            work.room(range.len())?;
            work.list(&range.filter_map(|at| list.get(at)).collect::<Vec<_>>())
        }
        _ => wrong_kind("a slice", "text or a list", object),
    }
}

/// Text that spells a boolean or a plain decimal number becomes it; everything else stays.
pub(crate) fn coerced(view: View<'_>) -> View<'_> {
    let Some(text) = view.as_str() else {
        return view;
    };
    if !spells_more(text) {
        return view;
    }
    if text.eq_ignore_ascii_case("true") {
        return View::Bool(true);
    }
    if text.eq_ignore_ascii_case("false") {
        return View::Bool(false);
    }
    match number::parse_decimal(text) {
        // What is written with a point or an exponent is a float, whatever its value.
        Some(Parsed::Int(int)) if !number::is_integer_text(text) => View::Float(int as f64),
        Some(Parsed::Int(int)) => View::Int(int),
        Some(Parsed::Float(float)) => View::Float(float),
        Some(Parsed::Overflow) | None => view,
    }
}

/// Most texts that stay text are told by their first letter.
#[inline(always)]
fn spells_more(text: &str) -> bool {
    matches!(text.as_bytes().first(), Some(b't' | b'T' | b'f' | b'F' | b'+' | b'-' | b'.' | b'0'..=b'9'))
}

/// Whether coercing could change this value.
#[inline(always)]
pub(crate) fn may_coerce(source: Source<'_>) -> bool {
    super::quick::text(source).is_some_and(spells_more)
}

/// An object with its top-level texts coerced.
pub(crate) fn coerced_object<'a>(work: &Work<'a>, view: View<'a>) -> Outcome<View<'a>> {
    match view {
        View::Object(object) => {
            work.spend(object.len())?;
            work.object(&object.iter().map(|(key, value)| (key, coerced(value))).collect::<Vec<_>>())
        }
        other => Ok(other),
    }
}
