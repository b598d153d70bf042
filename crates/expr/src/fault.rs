//! Why an evaluation stopped, before its place is known.

use crate::{Kind, View};

/// A failure of one operation. Boxed, because it is rare and results are passed around all the time.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) kind: Kind,
    pub(crate) message: String,
    /// The part of the program that failed; filled in by the evaluator.
    pub(crate) node: Option<u32>,
}

pub(crate) type Outcome<T> = Result<T, Box<Fault>>;

/// A failure.
#[cold]
pub(crate) fn fault<T>(kind: Kind, message: impl Into<String>) -> Outcome<T> {
    Err(Box::new(Fault { kind, message: message.into(), node: None }))
}

/// The failure of an operation that does not take this kind of value.
#[cold]
pub(crate) fn wrong_kind<T>(operation: &str, expected: &str, found: View<'_>) -> Outcome<T> {
    fault(Kind::WrongKind, format!("{operation} takes {expected}, not {} {}", article(found), shown(found)))
}

/// The kind of a value as a person would say it.
pub(crate) fn article(view: View<'_>) -> &'static str {
    match view {
        View::Null => "nil",
        View::Bool(_) => "the boolean",
        View::Int(_) | View::Float(_) => "the number",
        View::Str(_) | View::Text(_) => "the text",
        View::List(_) => "the list",
        View::Object(_) => "the object",
    }
}

/// How much of a value is shown to people.
const SHOWN_CHARS: usize = 60;

/// A value as people are shown it: JSON, cut when long, with its full length told.
pub(crate) fn shown(view: View<'_>) -> String {
    // A long text is told with its own length, not with that of its quotes and escapes.
    if let Some((start, length)) = view.as_str().and_then(cut) {
        return format!("{:?}… ({length} characters)", View::Str(start));
    }
    let json = format!("{view:?}");
    match cut(&json).filter(|_| view.as_str().is_none()) {
        Some((start, length)) => format!("{start}… ({length} characters)"),
        None => json,
    }
}

/// The part of a long text that is shown, and how long the whole is.
fn cut(text: &str) -> Option<(&str, usize)> {
    let (at, _) = text.char_indices().nth(SHOWN_CHARS)?;
    Some((&text[..at], text.chars().count()))
}
