//! Why an evaluation stopped, before its place is known.

use std::fmt::{self, Write};

use crate::pattern::PatternError;
use crate::value::push_shown;
use crate::{Kind, View};

/// A failure of one operation. Boxed, because it is rare and results are passed around all the time.
///
/// ```
/// use branchpoint_expr::Kind;
/// use branchpoint_expr::function::{Outcome, fault};
///
/// let failed: Outcome<()> = fault(Kind::BadArgument, "a month has at most 31 days");
/// assert_eq!(failed.unwrap_err().message, "a month has at most 31 days");
/// ```
#[derive(Debug)]
pub struct Fault {
    /// The stable name. A host's functions may use names of their own.
    pub kind: Kind,
    /// One sentence for people.
    pub message: String,
    /// The part of the program that failed; filled in by the evaluator.
    pub(crate) node: Option<u32>,
}

/// What an operation gives, or why it failed.
///
/// ```
/// use branchpoint_expr::function::Outcome;
///
/// let outcome: Outcome<i64> = Ok(1);
/// assert!(outcome.is_ok());
/// ```
pub type Outcome<T> = Result<T, Box<Fault>>;

/// A failure.
///
/// ```
/// use branchpoint_expr::{Kind, function};
///
/// let failed: function::Outcome<()> = function::fault(Kind::new("too_late"), "the shop has closed");
/// assert_eq!(failed.unwrap_err().kind.as_str(), "too_late");
/// ```
#[cold]
pub fn fault<T>(kind: Kind, message: impl Into<String>) -> Outcome<T> {
    Err(Box::new(Fault { kind, message: message.into(), node: None }))
}

/// The failure of an operation that does not take this kind of value.
///
/// ```
/// use branchpoint_expr::{View, function};
///
/// let failed: function::Outcome<()> = function::wrong_kind("shout()", "text", View::Int(1));
/// assert_eq!(failed.unwrap_err().message, "shout() takes text, not the number 1");
/// ```
#[cold]
pub fn wrong_kind<T>(operation: &str, expected: &str, found: View<'_>) -> Outcome<T> {
    fault(Kind::WrongKind, format!("{operation} takes {expected}, not {}", described(found)))
}

impl From<PatternError> for Box<Fault> {
    #[cold]
    fn from(error: PatternError) -> Self {
        Box::new(Fault { kind: error.kind(), message: error.to_string(), node: None })
    }
}

/// A value with its kind, as a person would say it: "the number 5".
///
/// ```
/// assert_eq!(branchpoint_expr::function::described(branchpoint_expr::View::Int(5)), "the number 5");
/// ```
pub fn described(view: View<'_>) -> String {
    let kind = match view {
        View::Null => return shown(view),
        View::Bool(_) => "boolean",
        View::Int(_) | View::Float(_) => "number",
        View::Str(_) | View::Text(_) => "text",
        View::List(_) => "list",
        View::Object(_) => "object",
    };
    format!("the {kind} {}", shown(view))
}

/// How much of a value is shown to people.
const SHOWN_CHARS: usize = 60;
/// How far the rest is counted. A value can be small in memory and endless when it is written out.
const COUNTED_CHARS: usize = 100_000;

/// A value as people are shown it: JSON, shortened when long, with its full length. Redact it first.
///
/// ```
/// # use branchpoint_expr::*;
/// assert_eq!(shown(&Value::Null), "nil");
/// ```
pub fn shown_value(value: &crate::Value) -> String {
    shown(value.view())
}

/// A value as people are shown it: JSON, cut when long, with its full length told. Nothing is nil, as documents write it.
///
/// ```
/// assert_eq!(branchpoint_expr::function::shown(branchpoint_expr::View::Null), "nil");
/// ```
pub fn shown(view: View<'_>) -> String {
    if view.is_null() {
        return "nil".into();
    }
    // A long text is told with its own length, not with that of its quotes and escapes.
    if let Some(text) = view.as_str() {
        return match text.char_indices().nth(SHOWN_CHARS) {
            Some((at, _)) => {
                told(&format!("{:?}", View::Str(&text[..at])), text.chars().take(COUNTED_CHARS + 1).count())
            }
            None => format!("{view:?}"),
        };
    }
    let mut cut = Cut { text: String::new(), chars: 0 };
    // An error only says that enough was counted.
    let _ = push_shown(&mut cut, view);
    if cut.chars > SHOWN_CHARS { told(&cut.text, cut.chars) } else { cut.text }
}

/// The beginning of something long, with its length.
fn told(beginning: &str, chars: usize) -> String {
    if chars > COUNTED_CHARS {
        format!("{beginning}… (more than {COUNTED_CHARS} characters)")
    } else {
        format!("{beginning}… ({chars} characters)")
    }
}

/// Keeps the beginning of a text and counts the rest, up to a point.
struct Cut {
    text: String,
    chars: usize,
}

impl Write for Cut {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = SHOWN_CHARS.saturating_sub(self.chars);
        self.text.extend(part.chars().take(room));
        self.chars += part.chars().count();
        if self.chars > COUNTED_CHARS { Err(fmt::Error) } else { Ok(()) }
    }
}
