//! Shortens values for people: secrets are masked first, then the text is cut to one line.

use branchpoint_expr::Value;
use branchpoint_runners::Secrets;

/// The longest value on a line, in characters.
pub(crate) const MAX_CHARS: usize = 100;

/// The longest error on a line, in characters: the remedy is at its end.
const MAX_ERROR_CHARS: usize = 400;

/// How many bytes of a value are written out before they are shortened to a line.
const READ_BYTES: usize = 4096;

/// A value on one line, masked and shortened.
pub(crate) fn value(secrets: &Secrets, value: &Value) -> String {
    value_up_to(secrets, value, MAX_CHARS)
}

/// A value on one line, masked and shortened to a number of characters.
pub(crate) fn value_up_to(secrets: &Secrets, value: &Value, max_chars: usize) -> String {
    text_up_to(&secrets.beginning(value, READ_BYTES), max_chars)
}

/// The message of an error on one line, masked and shortened.
pub(crate) fn error(secrets: &Secrets, message: &Value) -> String {
    value_up_to(secrets, message, MAX_ERROR_CHARS)
}

/// A text on one line, shortened.
pub(crate) fn text(text: &str) -> String {
    text_up_to(text, MAX_CHARS)
}

/// A text on one line, shortened to a number of characters.
pub(crate) fn text_up_to(text: &str, max_chars: usize) -> String {
    let text = text.trim_end();
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(max_chars).collect();
    if text.chars().count() > max_chars { line + "…" } else { line }
}
