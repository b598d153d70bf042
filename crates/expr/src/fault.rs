//! Failures of operations, before the evaluator adds their location.

use std::fmt::{self, Write};

use crate::pattern::PatternError;
use crate::value::push_shown;
use crate::{Kind, View};

/// The failure of an operation. It is boxed in results to keep them small.
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
    /// The stable name. Functions of a host can define their own kinds.
    pub kind: Kind,
    /// One sentence for people.
    pub message: String,
    /// The node that failed, which the evaluator sets.
    pub(crate) node: Option<u32>,
}

/// The result of an operation.
///
/// ```
/// use branchpoint_expr::function::Outcome;
///
/// let outcome: Outcome<i64> = Ok(1);
/// assert!(outcome.is_ok());
/// ```
pub type Outcome<T> = Result<T, Box<Fault>>;

/// Returns a failure.
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

/// Returns the failure of an operation that does not support this kind of value.
///
/// ```
/// use branchpoint_expr::{View, function};
///
/// let failed: function::Outcome<()> = function::wrong_kind("shout()", "text", View::Int(1));
/// assert_eq!(failed.unwrap_err().message, "shout() takes text, not the number 1");
/// ```
#[cold]
pub fn wrong_kind<T>(operation: &str, expected: &str, found: View<'_>) -> Outcome<T> {
    fault(Kind::WrongKind, format!("{operation} takes {expected}, not {}", describe(found)))
}

impl From<PatternError> for Box<Fault> {
    #[cold]
    fn from(error: PatternError) -> Self {
        Box::new(Fault { kind: error.kind(), message: error.to_string(), node: None })
    }
}

/// Describes a value with its kind: "the number 5".
///
/// ```
/// assert_eq!(branchpoint_expr::function::describe(branchpoint_expr::View::Int(5)), "the number 5");
/// ```
pub fn describe(view: View<'_>) -> String {
    let kind = match view {
        View::Null => return preview(view),
        View::Bool(_) => "boolean",
        View::Int(_) | View::Float(_) => "number",
        View::Str(_) | View::Text(_) => "text",
        View::List(_) => "list",
        View::Object(_) => "object",
    };
    format!("the {kind} {}", preview(view))
}

/// The maximum length of a preview, in characters.
const SHOWN_CHARS: usize = 60;
/// The maximum counted length. A value with shared parts can be small in memory and endless when it is written out.
const COUNTED_CHARS: usize = 100_000;

/// Formats a value for people: JSON, truncated with its full length if it is long. Redact the value first.
///
/// ```
/// # use branchpoint_expr::*;
/// assert_eq!(preview(&Value::Null), "nil");
/// ```
pub fn preview_value(value: &crate::Value) -> String {
    preview(value.view())
}

/// Formats a value for people: JSON, truncated with its full length if it is long. Null is `nil`.
///
/// ```
/// assert_eq!(branchpoint_expr::function::preview(branchpoint_expr::View::Null), "nil");
/// ```
pub fn preview(view: View<'_>) -> String {
    if view.is_null() {
        return "nil".into();
    }
    // The length of a text is that of the text itself, without quotes and escapes.
    if let Some(text) = view.as_str() {
        return match text.char_indices().nth(SHOWN_CHARS) {
            Some((at, _)) => {
                truncated(&format!("{:?}", View::Str(&text[..at])), text.chars().take(COUNTED_CHARS + 1).count())
            }
            None => format!("{view:?}"),
        };
    }
    let mut cut = Truncated { text: String::new(), chars: 0 };
    // The error only means that the counted length is exceeded.
    let _ = push_shown(&mut cut, view);
    if cut.chars > SHOWN_CHARS { truncated(&cut.text, cut.chars) } else { cut.text }
}

/// The beginning of a long text with its length.
fn truncated(beginning: &str, chars: usize) -> String {
    if chars > COUNTED_CHARS {
        format!("{beginning}… (more than {COUNTED_CHARS} characters)")
    } else {
        format!("{beginning}… ({chars} characters)")
    }
}

/// Stores the beginning of a text and counts the rest up to a limit.
struct Truncated {
    text: String,
    chars: usize,
}

impl Write for Truncated {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = SHOWN_CHARS.saturating_sub(self.chars);
        self.text.extend(part.chars().take(room));
        self.chars += part.chars().count();
        if self.chars > COUNTED_CHARS { Err(fmt::Error) } else { Ok(()) }
    }
}
