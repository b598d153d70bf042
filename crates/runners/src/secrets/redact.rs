//! Redaction of values for people: secrets are masked, and large values are truncated.

use std::fmt::{self, Write};

use branchpoint_core::Redact;
use branchpoint_expr::{Object, Value};

use crate::secrets::Secrets;

/// Larger values are truncated in JSON output.
const SHOWN_BYTES: u64 = 4096;

/// The bytes of a truncated value that are shown.
const BEGINNING_BYTES: usize = 1024;

impl Redact for Secrets {
    fn value(&self, value: &Value) -> Value {
        self.mask_value(value)
    }

    /// `{"truncated": "…", "bytes": …}` for a value above 4 KB: the beginning of its JSON, and its full size.
    fn data(&self, value: &Value) -> Value {
        let bytes = value.size().bytes;
        if bytes <= SHOWN_BYTES {
            return self.mask_value(value);
        }
        let beginning = Value::from(self.beginning(value, BEGINNING_BYTES));
        let bytes = Value::Int(i64::try_from(bytes).unwrap_or(i64::MAX));
        Value::from(Object::from_iter([("truncated".into(), beginning), ("bytes".into(), bytes)]))
    }

    fn text(&self, text: &str) -> String {
        self.mask(text).into_owned()
    }
}

/// Masks secrets without truncating large values.
pub struct Untruncated<'s>(pub &'s Secrets);

impl Redact for Untruncated<'_> {
    fn value(&self, value: &Value) -> Value {
        self.0.mask_value(value)
    }

    fn text(&self, text: &str) -> String {
        self.0.text(text)
    }
}

impl Secrets {
    /// The beginning of a value as text, with secrets masked. Only the beginning of a large value is serialised.
    ///
    /// ```
    /// let secrets = branchpoint_runners::Secrets::from_values(["pa55word".into()]);
    /// assert_eq!(secrets.beginning(&"my pa55word is long".into(), 11), "my ***");
    /// ```
    pub fn beginning(&self, value: &Value, bytes: usize) -> String {
        let mut text = Beginning { text: String::new(), room: bytes };
        match write!(text, "{value}") {
            Ok(()) => self.text(&text.text),
            Err(fmt::Error) => self.text(&self.without_partial_secret(text.text)),
        }
    }
}

/// A text with a limit of bytes. Writing more is an error.
struct Beginning {
    text: String,
    room: usize,
}

impl Write for Beginning {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let fits = text.floor_char_boundary(self.room);
        self.text.push_str(&text[..fits]);
        self.room -= fits;
        if fits == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}
