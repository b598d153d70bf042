//! Functions on lists and objects.

use std::cmp::Ordering;

use indexmap::IndexMap;

use crate::Kind;
use crate::fault::{Outcome, fault, wrong_kind};
use crate::value::{ListView, View};
use crate::work::Work;

/// The elements of a list, after their count was charged to the budget.
fn items<'a>(work: &Work<'a>, function: &str, view: View<'a>) -> Outcome<Vec<View<'a>>> {
    let list = view.expect_list(function)?;
    work.spend(list.len())?;
    work.check_room(list.len())?;
    Ok(list.iter().collect())
}

pub(super) fn len<'a>(_: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let length = match (arguments[0], arguments[0].as_str()) {
        (_, Some(text)) => text.chars().count(),
        (View::List(list), _) => list.len(),
        (View::Object(object), _) => object.len(),
        (other, _) => return wrong_kind("len()", "text, a list or an object", other),
    };
    Ok(View::Int(i64::try_from(length).unwrap_or(i64::MAX)))
}

pub(super) fn last<'a>(_: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let list = arguments[0].expect_list("last()")?;
    Ok(list.len().checked_sub(1).and_then(|last| list.get(last)).unwrap_or(View::Null))
}

pub(super) fn take<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let list = arguments[0].expect_list("take()")?;
    let Ok(most) = usize::try_from(arguments[1].expect_integer("take()")?) else {
        return fault(Kind::BadArgument, "take() needs a count of at least 0");
    };
    work.spend(most.min(list.len()))?;
    work.check_room(most.min(list.len()))?;
    work.list(&list.iter().take(most).collect::<Vec<_>>())
}

/// Like an index, but a missing field or element is nil and never an error.
pub(super) fn get<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let (container, key) = (arguments[0], arguments[1]);
    Ok(match (container, key.as_str()) {
        (View::Object(object), Some(key)) => work.field(object, key)?,
        (View::List(list), None) => {
            crate::eval::access::position(list.len(), key.expect_integer("get()")?).and_then(|index| list.get(index))
        }
        _ => None,
    }
    .unwrap_or(View::Null))
}

/// A list with the key or the value of every entry of an object.
pub(super) fn entries<'a>(
    work: &Work<'a>,
    function: &str,
    object: View<'a>,
    part: fn((&'a str, View<'a>)) -> View<'a>,
) -> Outcome<View<'a>> {
    let object = object.expect_object(function)?;
    work.check_room(object.len())?;
    work.list(&object.iter().map(part).collect::<Vec<_>>())
}

pub(super) fn to_pairs<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let object = arguments[0].expect_object("toPairs()")?;
    work.spend(object.len())?;
    let pairs: Outcome<Vec<_>> = object.iter().map(|(key, value)| work.list(&[View::Str(key), value])).collect();
    work.list(&pairs?)
}

pub(super) fn from_pairs<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let mut entries = Vec::new();
    for pair in items(work, "fromPairs()", arguments[0])? {
        match pair {
            View::List(pair) if pair.len() == 2 => {
                let mut parts = pair.iter();
                if let (Some(key), Some(value)) = (parts.next(), parts.next()) {
                    entries.push((work.text_form(key)?, value));
                }
            }
            other => return wrong_kind("fromPairs()", "a list of pairs", other),
        }
    }
    work.object_of(entries)
}

pub(super) fn reverse<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let mut items = items(work, "reverse()", arguments[0])?;
    items.reverse();
    work.list(&items)
}

pub(super) fn uniq<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let mut seen = IndexMap::<String, View<'a>, foldhash::fast::RandomState>::default();
    for item in items(work, "uniq()", arguments[0])? {
        seen.entry(work.canonical(item)?).or_insert(item);
    }
    work.list(&seen.into_values().collect::<Vec<_>>())
}

pub(super) fn concat<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let mut all = Vec::new();
    for argument in arguments {
        all.extend(items(work, "concat()", *argument)?);
        work.check_room(all.len())?;
    }
    work.list(&all)
}

pub(super) fn flatten<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let mut flat = Vec::new();
    flatten_into(work, arguments[0].expect_list("flatten()")?, 0, &mut flat)?;
    work.list(&flat)
}

fn flatten_into<'a>(work: &Work<'a>, list: ListView<'a>, depth: u16, flat: &mut Vec<View<'a>>) -> Outcome<()> {
    work.check_depth(depth)?;
    work.spend(list.len())?;
    for item in list.iter() {
        match item {
            View::List(inner) => flatten_into(work, inner, depth + 1, flat)?,
            other => {
                work.check_room(flat.len() + 1)?;
                flat.push(other);
            }
        }
    }
    Ok(())
}

pub(super) fn sort<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let items = items(work, "sort()", arguments[0])?;
    let keyed = items.iter().map(|item| (*item, *item)).collect();
    let sorted = sort_by_keys("sort()", keyed, arguments.get(1).copied())?;
    work.list(&sorted)
}

/// Sorts items by their keys, which must be all numbers or all text. The sort is stable.
pub(crate) fn sort_by_keys<'a>(
    function: &str,
    mut keyed: Vec<(View<'a>, View<'a>)>,
    direction: Option<View<'a>>,
) -> Outcome<Vec<View<'a>>> {
    let descending = match direction.map(|direction| direction.expect_text(function)).transpose()? {
        None | Some("asc") => false,
        Some("desc") => true,
        Some(other) => {
            return fault(Kind::BadArgument, format!("{function} takes \"asc\" or \"desc\", not \"{other}\""));
        }
    };
    if let Some((first, _)) = keyed.first().copied()
        && let Some((odd, _)) = keyed.iter().find(|(key, _)| first.compare(key).is_none())
    {
        return wrong_kind(function, "only numbers or only text", *odd);
    }
    keyed.sort_by(|(left, _), (right, _)| {
        let order = left.compare(right).unwrap_or(Ordering::Equal);
        if descending { order.reverse() } else { order }
    });
    Ok(keyed.into_iter().map(|(_, item)| item).collect())
}
