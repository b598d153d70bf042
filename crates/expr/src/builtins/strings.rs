//! Functions on text. Positions count characters.

use super::collections::integer;
use crate::Kind;
use crate::fault::{Outcome, fault, wrong_kind};
use crate::shell;
use crate::value::View;
use crate::work::Work;

/// The text of an argument.
pub(super) fn text<'a>(function: &str, view: View<'a>) -> Outcome<&'a str> {
    match view.as_str() {
        Some(text) => Ok(text),
        None => wrong_kind(&format!("{function}()"), "text", view),
    }
}

fn pair<'a>(function: &str, arguments: &[View<'a>]) -> Outcome<(&'a str, &'a str)> {
    Ok((text(function, arguments[0])?, text(function, arguments[1])?))
}

pub(super) fn contains<'a>(_: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let (text, part) = pair("contains", arguments)?;
    Ok(View::Bool(text.contains(part)))
}

pub(super) fn has_prefix<'a>(_: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let (text, part) = pair("has_prefix", arguments)?;
    Ok(View::Bool(text.starts_with(part)))
}

pub(super) fn has_suffix<'a>(_: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let (text, part) = pair("has_suffix", arguments)?;
    Ok(View::Bool(text.ends_with(part)))
}

pub(super) fn trim<'a>(_: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let whole = text("trim", arguments[0])?;
    Ok(View::Str(match arguments.get(1) {
        None => whole.trim(),
        Some(cut) => {
            let cut = text("trim", *cut)?;
            whole.trim_matches(|c| cut.contains(c))
        }
    }))
}

/// `trim` under the name that templates have for it.
pub(super) fn trim_space<'a>(_: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    Ok(View::Str(text("trimSpace", arguments[0])?.trim()))
}

pub(super) fn trim_prefix<'a>(_: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let (whole, part) = with_blank("trimPrefix", arguments)?;
    Ok(View::Str(whole.strip_prefix(part).unwrap_or(whole)))
}

pub(super) fn trim_suffix<'a>(_: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let (whole, part) = with_blank("trimSuffix", arguments)?;
    Ok(View::Str(whole.strip_suffix(part).unwrap_or(whole)))
}

/// The second argument defaults to a blank, as in the original language.
fn with_blank<'a>(function: &str, arguments: &[View<'a>]) -> Outcome<(&'a str, &'a str)> {
    let part = arguments.get(1).map_or(Ok(" "), |part| text(function, *part))?;
    Ok((text(function, arguments[0])?, part))
}

pub(super) fn upper<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    work.text(&text("upper", arguments[0])?.to_uppercase())
}

pub(super) fn lower<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    work.text(&text("lower", arguments[0])?.to_lowercase())
}

pub(super) fn split<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    split_at(work, "split", arguments, false)
}

pub(super) fn split_after<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    split_at(work, "splitAfter", arguments, true)
}

/// At most `n` parts when a third argument is given; an empty separator splits between characters.
fn split_at<'a>(work: &Work<'a>, function: &str, arguments: &[View<'a>], keep: bool) -> Outcome<View<'a>> {
    let (mut rest, separator) = pair(function, arguments)?;
    let most = match arguments.get(2) {
        None => usize::MAX,
        Some(most) => usize::try_from(integer(function, *most)?).unwrap_or(usize::MAX),
    };
    if most == 0 || (rest.is_empty() && separator.is_empty()) {
        return work.list(&[]);
    }
    work.spend(rest.len() / separator.len().max(1))?;
    let mut parts = Vec::new();
    while parts.len() + 1 < most {
        let found =
            if separator.is_empty() { rest.char_indices().nth(1).map(|(at, _)| at) } else { rest.find(separator) };
        let Some(at) = found else { break };
        let end = if keep { at + separator.len() } else { at };
        work.room(parts.len() + 1)?;
        parts.push(View::Str(&rest[..end]));
        rest = &rest[at + separator.len()..];
    }
    parts.push(View::Str(rest));
    work.list(&parts)
}

pub(super) fn replace<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let (whole, from) = pair("replace", arguments)?;
    let to = text("replace", arguments[2])?;
    let most = match arguments.get(3) {
        None => usize::MAX,
        Some(most) => usize::try_from(integer("replace", *most)?).unwrap_or(usize::MAX),
    };
    // What would be too much must not be made first.
    let hits = whole.matches(from).take(most).count();
    let bytes = (whole.len() - hits * from.len()).saturating_add(hits.saturating_mul(to.len()));
    work.reserve(bytes)?;
    Ok(View::Str(work.bump.alloc_str(&whole.replacen(from, to, most))))
}

pub(super) fn repeat<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let part = text("repeat", arguments[0])?;
    let Ok(times) = usize::try_from(integer("repeat", arguments[1])?) else {
        return fault(Kind::BadArgument, "repeat() takes a number of times that is not negative");
    };
    work.reserve(part.len().saturating_mul(times))?;
    Ok(View::Str(work.bump.alloc_str(&part.repeat(times))))
}

pub(super) fn join<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let View::List(list) = arguments[0] else {
        return wrong_kind("join()", "a list", arguments[0]);
    };
    let separator = arguments.get(1).map_or(Ok(""), |separator| text("join", *separator))?;
    let mut joined = String::new();
    for (index, item) in list.iter().enumerate() {
        let item = text("join", item)?;
        // Empty texts cost, too: a list of them may be long.
        work.reserve(item.len() + separator.len() + 1)?;
        if index > 0 {
            joined.push_str(separator);
        }
        joined.push_str(item);
    }
    Ok(View::Str(work.bump.alloc_str(&joined)))
}

pub(super) fn index_of<'a>(_: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let (whole, part) = pair("indexOf", arguments)?;
    Ok(position(whole, whole.find(part)))
}

pub(super) fn last_index_of<'a>(_: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let (whole, part) = pair("lastIndexOf", arguments)?;
    Ok(position(whole, whole.rfind(part)))
}

/// A byte position as a count of characters; -1 when there is none.
fn position(whole: &str, at: Option<usize>) -> View<'static> {
    View::Int(at.map_or(-1, |at| i64::try_from(whole[..at].chars().count()).unwrap_or(i64::MAX)))
}

pub(super) fn shell_quote<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let text = work.text_form(arguments[0])?;
    work.text(&shell::word(text))
}

pub(super) fn split_trimmed<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let (whole, separator) = pair("split", arguments)?;
    let parts = whole.split(separator);
    let count = parts.clone().count();
    work.spend(count)?;
    work.room(count)?;
    work.list(&parts.map(|part| View::Str(part.trim())).collect::<Vec<_>>())
}
