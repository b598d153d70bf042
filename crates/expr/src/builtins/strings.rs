//! Functions on text. Positions count characters.

use crate::Kind;
use crate::fault::{Outcome, fault};
use crate::value::View;
use crate::work::Work;

/// The first two arguments, which must be text.
pub(super) fn pair<'a>(function: &str, arguments: &[View<'a>]) -> Outcome<(&'a str, &'a str)> {
    Ok((arguments[0].expect_text(function)?, arguments[1].expect_text(function)?))
}

pub(super) fn trim<'a>(_: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let whole = arguments[0].expect_text("trim()")?;
    Ok(View::Str(match arguments.get(1) {
        None => whole.trim(),
        Some(cut) => {
            let cut = cut.expect_text("trim()")?;
            whole.trim_matches(|c| cut.contains(c))
        }
    }))
}

/// Two text arguments, of which the second defaults to a space, as in the original language.
pub(super) fn with_blank<'a>(function: &str, arguments: &[View<'a>]) -> Outcome<(&'a str, &'a str)> {
    let part = arguments.get(1).map_or(Ok(" "), |part| part.expect_text(function))?;
    Ok((arguments[0].expect_text(function)?, part))
}

/// Splits text into at most as many parts as the third argument says. An empty separator splits between characters.
pub(super) fn split_at<'a>(work: &Work<'a>, function: &str, arguments: &[View<'a>], keep: bool) -> Outcome<View<'a>> {
    let (mut rest, separator) = pair(function, arguments)?;
    let most = match arguments.get(2) {
        None => usize::MAX,
        Some(most) => usize::try_from(most.expect_integer(function)?).unwrap_or(usize::MAX),
    };
    if most == 0 || (rest.is_empty() && separator.is_empty()) {
        return work.list(&[]);
    }
    work.spend(rest.len() / separator.len().max(1))?;
    let mut parts = Vec::new();
    while parts.len() + 1 < most {
        let position =
            if separator.is_empty() { rest.char_indices().nth(1).map(|(at, _)| at) } else { rest.find(separator) };
        let Some(at) = position else { break };
        let end = if keep { at + separator.len() } else { at };
        work.check_room(parts.len() + 1)?;
        parts.push(View::Str(&rest[..end]));
        rest = &rest[at + separator.len()..];
    }
    parts.push(View::Str(rest));
    work.list(&parts)
}

pub(super) fn replace<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let (whole, from) = pair("replace()", arguments)?;
    let to = arguments[2].expect_text("replace()")?;
    let most = match arguments.get(3) {
        None => usize::MAX,
        Some(most) => usize::try_from(most.expect_integer("replace()")?).unwrap_or(usize::MAX),
    };
    // The size is checked before the result is built, because it may be huge.
    let hits = whole.matches(from).take(most).count();
    let bytes = (whole.len() - hits * from.len()).saturating_add(hits.saturating_mul(to.len()));
    work.reserve(bytes)?;
    Ok(View::Str(work.bump.alloc_str(&whole.replacen(from, to, most))))
}

pub(super) fn repeat<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let part = arguments[0].expect_text("repeat()")?;
    let Ok(times) = usize::try_from(arguments[1].expect_integer("repeat()")?) else {
        return fault(Kind::BadArgument, "repeat() needs a count of at least 0");
    };
    work.reserve(part.len().saturating_mul(times))?;
    Ok(View::Str(work.bump.alloc_str(&part.repeat(times))))
}

pub(super) fn join<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let separator = arguments.get(1).map_or(Ok(""), |separator| separator.expect_text("join()"))?;
    work.join(arguments[0].expect_list("join()")?.iter().map(|item| item.expect_text("join()")), separator)
}

/// Converts a byte position to a character position; `None` becomes -1.
pub(super) fn position(whole: &str, at: Option<usize>) -> View<'static> {
    View::Int(at.map_or(-1, |at| i64::try_from(whole[..at].chars().count()).unwrap_or(i64::MAX)))
}

pub(super) fn shell_quote<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let text = work.text_form(arguments[0])?;
    work.text(&shell_word(text))
}

/// Quotes text as one word of a shell command.
///
/// ```
/// assert_eq!(branchpoint_expr::shell_word("it's"), r"'it'\''s'");
/// ```
pub fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// `escape a`: quotes text as one word of a shell command, unless it needs no quotes.
pub(super) fn shell_escape<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let text = work.text_form(arguments[0])?;
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+,".contains(c);
    if !text.is_empty() && text.chars().all(is_safe) { Ok(View::Str(text)) } else { work.text(&shell_word(text)) }
}

pub(super) fn split_trimmed<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let (whole, separator) = pair("split()", arguments)?;
    let parts = whole.split(separator);
    let count = parts.clone().count();
    work.spend(count)?;
    work.check_room(count)?;
    work.list(&parts.map(|part| View::Str(part.trim())).collect::<Vec<_>>())
}
