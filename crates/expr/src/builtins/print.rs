//! Template functions that format values: `print`, `println`, `printf`, and escaping for HTML, JavaScript and URLs.

use std::fmt::Write;

use super::numbers::as_float;
use crate::Kind;
use crate::fault::{Outcome, fault, preview};
use crate::value::View;
use crate::work::Work;

/// The widest field and the most decimals of `printf`.
const MAX_WIDTH: usize = 1000;

/// `print a b`: the text forms, with a space between two arguments when neither is text.
pub(super) fn print<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let mut out = String::new();
    for (at, argument) in arguments.iter().enumerate() {
        if at > 0 && argument.as_str().is_none() && arguments[at - 1].as_str().is_none() {
            out.push(' ');
        }
        out.push_str(work.text_form(*argument)?);
    }
    work.text(&out)
}

/// `println a b`: the text forms, separated by spaces and followed by a line break.
pub(super) fn println<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let forms: Vec<&str> = arguments.iter().map(|argument| work.text_form(*argument)).collect::<Outcome<_>>()?;
    work.text(&(forms.join(" ") + "\n"))
}

/// `printf "%s has %d" a b`. A verb that does not fit its argument is an error.
pub(super) fn printf<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let format = arguments[0].expect_text("printf")?;
    let mut values = arguments[1..].iter().copied();
    let (mut out, mut rest) = (String::new(), format);
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let verb = Verb::read(&rest[at + 1..]);
        rest = &rest[at + 1 + verb.length..];
        if verb.letter == Some('%') {
            out.push('%');
            continue;
        }
        let Some(value) = values.next() else {
            return fault(Kind::BadArgument, format!("printf has more verbs in {format:?} than arguments"));
        };
        verb.write(work, value, &mut out)?;
        work.check_room(out.len() / size_of::<View<'_>>())?;
    }
    out.push_str(rest);
    match values.next() {
        None => work.text(&out),
        Some(extra) => {
            let message = format!("printf has no verb in {format:?} for {}", preview(extra));
            fault(Kind::BadArgument, message)
        }
    }
}

/// A verb with its flags: `%-8s`, `%05.2f`.
#[derive(Default)]
struct Verb {
    flags: String,
    width: usize,
    decimals: Option<usize>,
    letter: Option<char>,
    /// The number of bytes after the `%`.
    length: usize,
}

impl Verb {
    fn read(text: &str) -> Self {
        let after_flags = text.trim_start_matches(['-', '+', ' ', '0', '#']);
        let flags = text[..text.len() - after_flags.len()].to_owned();
        let (width, after_width) = number(after_flags);
        let (decimals, rest) = match after_width.strip_prefix('.') {
            Some(decimals) => {
                let (decimals, rest) = number(decimals);
                (Some(decimals.unwrap_or(0)), rest)
            }
            None => (None, after_width),
        };
        let letter = rest.chars().next();
        let length = text.len() - rest.len() + letter.map_or(0, char::len_utf8);
        Self { flags, width: width.unwrap_or(0), decimals, letter, length }
    }

    fn has(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }

    fn write<'a>(&self, work: &Work<'a>, value: View<'a>, out: &mut String) -> Outcome<()> {
        if self.width > MAX_WIDTH || self.decimals.is_some_and(|decimals| decimals > MAX_WIDTH) {
            return fault(Kind::BadArgument, format!("printf writes fields of at most {MAX_WIDTH} characters"));
        }
        let written = match (self.letter, value) {
            (Some('v'), value) => work.text_form(value)?.to_owned(),
            (Some('s'), value) if value.as_str().is_some() => self.cut(value.as_str().unwrap_or_default()),
            (Some('q'), value) if value.as_str().is_some() => quoted(value.as_str().unwrap_or_default()),
            (Some('t'), View::Bool(bool)) => bool.to_string(),
            (Some('d'), View::Int(int)) => self.signed(&int.unsigned_abs().to_string(), int < 0),
            (Some('x'), View::Int(int)) => self.signed(&format!("{:x}", int.unsigned_abs()), int < 0),
            (Some('X'), View::Int(int)) => self.signed(&format!("{:X}", int.unsigned_abs()), int < 0),
            (Some('o'), View::Int(int)) => self.signed(&format!("{:o}", int.unsigned_abs()), int < 0),
            (Some('b'), View::Int(int)) => self.signed(&format!("{:b}", int.unsigned_abs()), int < 0),
            (Some('c'), View::Int(int)) => {
                u32::try_from(int).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER).to_string()
            }
            (Some('f' | 'F'), View::Int(_) | View::Float(_)) => {
                let float = as_float(value);
                self.signed(&format!("{:.*}", self.decimals.unwrap_or(6), float.abs()), float < 0.0)
            }
            (Some('e'), View::Int(_) | View::Float(_)) => {
                let float = as_float(value);
                self.signed(&scientific(float.abs(), self.decimals.unwrap_or(6)), float < 0.0)
            }
            (Some(letter), value) => {
                let message = format!("printf cannot write {} as `%{letter}`", preview(value));
                return fault(Kind::BadArgument, message);
            }
            (None, _) => return fault(Kind::BadArgument, "printf has a `%` without a verb; write `%%` for the sign"),
        };
        self.pad(&written, out);
        Ok(())
    }

    /// Truncates text to the precision: `%.3s` keeps three characters.
    fn cut(&self, text: &str) -> String {
        text.chars().take(self.decimals.unwrap_or(usize::MAX)).collect()
    }

    fn signed(&self, digits: &str, negative: bool) -> String {
        let sign = match negative {
            true => "-",
            false if self.has('+') => "+",
            false if self.has(' ') => " ",
            false => "",
        };
        if self.has('0') && !self.has('-') {
            let width = self.width.saturating_sub(sign.len());
            return format!("{sign}{digits:0>width$}");
        }
        format!("{sign}{digits}")
    }

    fn pad(&self, text: &str, out: &mut String) {
        let width = self.width;
        // Writing to a `String` cannot fail.
        let _ = if self.has('-') { write!(out, "{text:<width$}") } else { write!(out, "{text:>width$}") };
    }
}

fn number(text: &str) -> (Option<usize>, &str) {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = &text[..text.len() - rest.len()];
    // A number that overflows exceeds `MAX_WIDTH` anyway.
    ((!digits.is_empty()).then(|| digits.parse().unwrap_or(usize::MAX)), rest)
}

/// Scientific notation with a signed exponent of at least two digits: `1.500000e+03`.
fn scientific(float: f64, decimals: usize) -> String {
    let written = format!("{float:.decimals$e}");
    let (digits, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(("+", exponent), |exponent| ("-", exponent));
    format!("{digits}e{sign}{exponent:0>2}")
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.extend(format!("\\u{:04x}", u32::from(c)).chars()),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// `html a`: escapes text for HTML.
pub(super) fn html<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    escaped(work, arguments[0], |c, out| match c {
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '&' => out.push_str("&amp;"),
        '"' => out.push_str("&#34;"),
        '\'' => out.push_str("&#39;"),
        c => out.push(c),
    })
}

/// `js a`: escapes text for a quoted JavaScript string.
pub(super) fn js<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    escaped(work, arguments[0], |c, out| match c {
        '\\' | '\'' | '"' => out.extend(['\\', c]),
        '<' | '>' | '&' | '=' | '\u{2028}' | '\u{2029}' => out.extend(format!("\\u{:04X}", u32::from(c)).chars()),
        c if c.is_control() => out.extend(format!("\\u{:04X}", u32::from(c)).chars()),
        c => out.push(c),
    })
}

/// `urlquery a`: escapes text for the query of a URL.
pub(super) fn urlquery<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    escaped(work, arguments[0], |c, out| match c {
        ' ' => out.push('+'),
        c if c.is_ascii_alphanumeric() || "-_.~".contains(c) => out.push(c),
        c => out.extend(
            c.encode_utf8(&mut [0; 4]).bytes().flat_map(|byte| format!("%{byte:02X}").into_bytes()).map(char::from),
        ),
    })
}

fn escaped<'a>(work: &Work<'a>, value: View<'a>, write: fn(char, &mut String)) -> Outcome<View<'a>> {
    let text = work.text_form(value)?;
    // Escaping grows the text before `work.text` counts it.
    work.check_room(text.len())?;
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|c| write(c, &mut out));
    work.text(&out)
}

/// `eq a b c`: whether the first argument equals one of the others. Values of different kinds cannot be compared.
pub(super) fn template_equal<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let first = arguments[0];
    for other in &arguments[1..] {
        let comparable = first.is_null() || other.is_null() || first.compare(other).is_some();
        if !comparable && !matches!((first, other), (View::Bool(_), View::Bool(_))) {
            let message = format!("`eq` cannot compare {} with {}", preview(first), preview(*other));
            return fault(Kind::WrongKind, message);
        }
        if work.equal(&first, other)? {
            return Ok(View::Bool(true));
        }
    }
    Ok(View::Bool(false))
}
