//! Items of loops, texts of merges, and times of waits.

use branchpoint_expr::function::{Outcome, Work, preview};
use branchpoint_expr::{ListView, View, duration_ms, instant_ms, seconds_ms};

/// `joinTexts(list)`: the text forms of the elements, one per line.
pub(super) fn join_texts<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let View::List(list) = arguments[0] else { return Ok(View::Null) };
    work.spend(list.len())?;
    work.join(list.iter().map(|item| work.text_form(item)), "\n")
}

/// `maskedJson(text)`: the JSON value of a text in which matches were masked, or the text if masking made it invalid.
pub(super) fn masked_json<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let View::Str(text) = arguments[0] else { return Ok(arguments[0]) };
    Ok(work.json(text)?.unwrap_or(arguments[0]))
}

/// `loopItems(text, offset, limit)`: the items of a loop as a list, or `{fault, message}`.
///
/// The text is a JSON array, of which the elements from `offset` up to `limit` are used, or a JSON integer, which means the numbers
/// below it and needs a limit.
pub(super) fn loop_items<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let written = work.text_form(arguments[0])?;
    let bound = |view: View<'_>| match view {
        View::Int(int) => Some(int.max(0)),
        _ => None,
    };
    let (offset, limit) = (bound(arguments[1]).unwrap_or(0), bound(arguments[2]));
    if let Some(count) = integer(written.trim()) {
        let Some(limit) = limit else {
            return fault(work, "for_each_limit", "a loop over a number needs a `limit`");
        };
        let end = count.min(limit);
        return if end > offset { Ok(View::List(ListView::Range(offset, end - 1))) } else { work.list(&[]) };
    }
    let items = if written.trim_start().starts_with('[') { work.json(written)?.ok() } else { None };
    let Some(View::List(list)) = items else {
        let shown = preview(View::Str(written));
        return fault(
            work,
            "for_each_input",
            &format!("a loop needs a JSON array or a whole number, but its input is {shown}"),
        );
    };
    let last = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX).min(list.len());
    let first = usize::try_from(offset).unwrap_or(usize::MAX).min(last);
    work.spend(last - first)?;
    work.list(&list.iter().skip(first).take(last - first).collect::<Vec<_>>())
}

/// Reads a JSON integer without point and exponent. An integer that exceeds 64 bits becomes the largest one, because the limit of the
/// loop is smaller.
fn integer(written: &str) -> Option<i64> {
    let digits = written.strip_prefix('-').unwrap_or(written);
    let well_formed = !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && (digits == "0" || !digits.starts_with('0'));
    let beyond = if written.starts_with('-') { i64::MIN } else { i64::MAX };
    well_formed.then(|| written.parse().unwrap_or(beyond))
}

fn fault<'a>(work: &Work<'a>, kind: &'static str, message: &str) -> Outcome<View<'a>> {
    let message = work.text(message)?;
    work.object(&[("fault", View::Str(kind)), ("message", message)])
}

/// `durationMs(value)`: the milliseconds of a duration, which is a number of seconds or text with units. Nil for any other value.
#[expect(clippy::unnecessary_wraps, reason = "all functions of the table share one signature")]
pub(super) fn duration<'a>(_: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let ms = match arguments[0] {
        View::Int(seconds) => seconds_ms(seconds as f64),
        View::Float(seconds) => seconds_ms(seconds),
        other => {
            other.as_str().and_then(|text| duration_ms(text).or_else(|| text.trim().parse().ok().and_then(seconds_ms)))
        }
    };
    Ok(ms.and_then(|ms| i64::try_from(ms).ok()).map_or(View::Null, View::Int))
}

/// `instantMs(value)`: the milliseconds since the Unix epoch of ISO 8601 text. Nil for any other value.
#[expect(clippy::unnecessary_wraps, reason = "all functions of the table share one signature")]
pub(super) fn instant<'a>(_: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    Ok(arguments[0].as_str().and_then(instant_ms).map_or(View::Null, View::Int))
}
