//! The text form of a value: text as it is, everything else compact JSON.

use std::fmt::{self, Write};

use super::{View, number};

/// Appends the text form of a value.
pub(crate) fn push_text(out: &mut impl Write, view: View<'_>) -> fmt::Result {
    match view.as_str() {
        Some(text) => out.write_str(text),
        None => push_json(out, view),
    }
}

/// Appends compact JSON: keys in their order, non-ASCII as it is, integral floats in the 64-bit range without fraction.
fn push_json(out: &mut impl Write, view: View<'_>) -> fmt::Result {
    match view {
        View::Null => out.write_str("null"),
        View::Bool(bool) => write!(out, "{bool}"),
        View::Int(int) => write!(out, "{int}"),
        View::Float(float) => push_float(out, float),
        View::Str(text) => push_quoted(out, text),
        View::Text(text) => push_quoted(out, text),
        View::List(list) => {
            out.write_char('[')?;
            for (index, item) in list.iter().enumerate() {
                push_comma(out, index)?;
                push_json(out, item)?;
            }
            out.write_char(']')
        }
        View::Object(object) => {
            out.write_char('{')?;
            for (index, (key, value)) in object.iter().enumerate() {
                push_comma(out, index)?;
                push_quoted(out, key)?;
                out.write_char(':')?;
                push_json(out, value)?;
            }
            out.write_char('}')
        }
    }
}

fn push_comma(out: &mut impl Write, index: usize) -> fmt::Result {
    if index == 0 { Ok(()) } else { out.write_char(',') }
}

fn push_float(out: &mut impl Write, float: f64) -> fmt::Result {
    match number::integral(float) {
        Some(int) => write!(out, "{int}"),
        // serde_json prints the shortest text that reads back as the same float, which is what JSON readers expect.
        None => write!(out, "{}", serde_json::Number::from_f64(float).ok_or(fmt::Error)?),
    }
}

fn push_quoted(out: &mut impl Write, text: &str) -> fmt::Result {
    out.write_str(&serde_json::to_string(text).map_err(|_| fmt::Error)?)
}

/// The text form.
impl fmt::Display for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        push_text(f, *self)
    }
}

/// Compact JSON.
impl fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        push_json(f, *self)
    }
}
