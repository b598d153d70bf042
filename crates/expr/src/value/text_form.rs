//! Writes the text form of a value: text itself, or compact JSON.

use std::fmt::{self, Write};

use super::{ObjectView, View, number};
use crate::limits;

/// Appends the text form of a value. Fails if `out` fails or the value is nested too deeply.
pub(crate) fn push_text(out: &mut impl Write, view: View<'_>) -> fmt::Result {
    match view.as_str() {
        Some(text) => out.write_str(text),
        None => push_json(out, view),
    }
}

/// Appends compact JSON: keys in order, non-ASCII unescaped, integral floats in the 64-bit range without fraction.
pub(crate) fn push_json(out: &mut impl Write, view: View<'_>) -> fmt::Result {
    Json { out, sorted: false, cut: false }.value(view, 0)
}

/// Appends JSON with sorted keys, which is the same text exactly for equal values.
pub(crate) fn push_canonical(out: &mut impl Write, view: View<'_>) -> fmt::Result {
    Json { out, sorted: true, cut: false }.value(view, 0)
}

/// Appends compact JSON with `…` in place of values that are nested too deeply, for display.
pub(crate) fn push_shown(out: &mut impl Write, view: View<'_>) -> fmt::Result {
    Json { out, sorted: false, cut: true }.value(view, 0)
}

const PIECE_BYTES: usize = 4096;

struct Json<'o, W> {
    out: &'o mut W,
    /// Whether keys are sorted.
    sorted: bool,
    /// Whether a value that is nested too deeply is written as `…`, and not an error.
    cut: bool,
}

impl<W: Write> Json<'_, W> {
    fn value(&mut self, view: View<'_>, depth: u16) -> fmt::Result {
        match view {
            View::Null => self.out.write_str("null"),
            View::Bool(bool) => write!(self.out, "{bool}"),
            View::Int(int) => write!(self.out, "{int}"),
            View::Float(float) => self.float(float),
            View::Str(text) => self.quoted(text),
            View::Text(text) => self.quoted(text),
            View::List(_) | View::Object(_) if depth >= limits::DEPTH => {
                if self.cut {
                    self.out.write_char('…')
                } else {
                    Err(fmt::Error)
                }
            }
            View::List(list) => {
                self.out.write_char('[')?;
                for (index, item) in list.iter().enumerate() {
                    self.comma(index)?;
                    self.value(item, depth + 1)?;
                }
                self.out.write_char(']')
            }
            View::Object(object) => self.object(object, depth),
        }
    }

    fn object(&mut self, object: ObjectView<'_>, depth: u16) -> fmt::Result {
        self.out.write_char('{')?;
        if self.sorted {
            let mut entries: Vec<_> = object.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            self.entries(entries.into_iter(), depth)?;
        } else {
            self.entries(object.iter(), depth)?;
        }
        self.out.write_char('}')
    }

    fn entries<'v>(&mut self, entries: impl Iterator<Item = (&'v str, View<'v>)>, depth: u16) -> fmt::Result {
        for (index, (key, value)) in entries.enumerate() {
            self.comma(index)?;
            self.quoted(key)?;
            self.out.write_char(':')?;
            self.value(value, depth + 1)?;
        }
        Ok(())
    }

    fn comma(&mut self, index: usize) -> fmt::Result {
        if index == 0 { Ok(()) } else { self.out.write_char(',') }
    }

    fn float(&mut self, float: f64) -> fmt::Result {
        match (number::integral(float), serde_json::Number::from_f64(float)) {
            (Some(int), _) => write!(self.out, "{int}"),
            // serde_json writes the shortest text that parses as the same float.
            (None, Some(number)) => write!(self.out, "{number}"),
            // A host may pass a float that is not finite, which JSON cannot represent.
            (None, None) => self.out.write_str("null"),
        }
    }

    /// Writes in pieces, so that a limited writer can stop early.
    fn quoted(&mut self, text: &str) -> fmt::Result {
        self.out.write_char('"')?;
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
            let quoted = serde_json::to_string(piece).map_err(|_| fmt::Error)?;
            self.out.write_str(&quoted[1..quoted.len() - 1])?;
            rest = after;
        }
        self.out.write_char('"')
    }
}

/// The text form.
impl fmt::Display for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_str() {
            Some(text) => f.write_str(text),
            None => push_shown(f, *self),
        }
    }
}

/// Compact JSON.
impl fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        push_shown(f, *self)
    }
}
