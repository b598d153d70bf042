//! Parses number and text literals.

use std::borrow::Cow;

use super::lexer::Token;
use super::syntax_error;
use crate::Kind;
use crate::diagnostic::{Diagnostic, Span};

/// A syntax error whose span is relative to the literal's first byte.
pub(super) struct LiteralError(Box<Diagnostic>);

impl LiteralError {
    fn new(start: usize, end: usize, message: impl Into<String>) -> Self {
        Self(syntax_error(Span::new(start, end), message))
    }

    pub(super) fn shifted(mut self, offset: usize) -> Box<Diagnostic> {
        self.0.span = self.0.span.shifted(u32::try_from(offset).unwrap_or(u32::MAX));
        self.0
    }
}

/// Parses a number at the start of the text and returns its length.
pub(super) fn number(text: &str) -> Result<(Token<'_>, usize), LiteralError> {
    for (prefix, radix) in [("0x", 16), ("0X", 16), ("0b", 2), ("0B", 2), ("0o", 8), ("0O", 8)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            let length = digits.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(digits.len());
            return integer(&digits[..length], radix, 2 + length).map(|token| (token, 2 + length));
        }
    }
    let length = decimal_length(text);
    if let Some(letter) = text[length..].chars().next().filter(|c| c.is_alphanumeric() || *c == '_') {
        return Err(LiteralError::new(0, length + letter.len_utf8(), "a number must not be followed by a letter"));
    }
    let written = &text[..length];
    if !written.contains(['.', 'e', 'E']) {
        return integer(written, 10, length).map(|token| (token, length));
    }
    match without_underscores(written).parse::<f64>() {
        Ok(float) if float.is_finite() => Ok((Token::Float(float), length)),
        Ok(_) => Err(LiteralError::new(0, length, "the number is out of range")),
        Err(_) => Err(LiteralError::new(0, length, "invalid number")),
    }
}

/// The length of digits, fraction and exponent. A point before a point ends the number, because `1..5` is a range.
fn decimal_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(|byte| byte.is_ascii_digit() || *byte == b'_') {
            at += 1;
        }
        at
    };
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1) != Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
            end = digits(end + 1 + sign);
        }
    }
    end
}

fn integer<'s>(digits: &str, radix: u32, length: usize) -> Result<Token<'s>, LiteralError> {
    let plain = without_underscores(digits);
    if plain.is_empty() || !plain.chars().all(|c| c.is_digit(radix)) {
        return Err(LiteralError::new(0, length, "invalid number"));
    }
    i64::from_str_radix(&plain, radix).map(Token::Int).map_err(|_| {
        let span = Span::new(0, length);
        let error = Diagnostic::error(Kind::IntegerRange, span, "the integer does not fit in 64 bits");
        LiteralError(Box::new(error.with_help(format!("the largest integer is {}", i64::MAX))))
    })
}

fn without_underscores(digits: &str) -> Cow<'_, str> {
    if digits.contains('_') { Cow::Owned(digits.replace('_', "")) } else { Cow::Borrowed(digits) }
}

/// Parses text in `'…'`, `"…"` or backticks at the start of the source and returns its length.
pub(super) fn string(source: &str) -> Result<(Cow<'_, str>, usize), LiteralError> {
    if source.starts_with('`') { raw_string(source) } else { quoted_string(source) }
}

/// Parses text in backticks, which has no escapes but a doubled backtick.
fn raw_string(source: &str) -> Result<(Cow<'_, str>, usize), LiteralError> {
    let mut from = 1;
    while let Some(end) = source[from..].find('`').map(|at| from + at) {
        if !source[end + 1..].starts_with('`') {
            let text = &source[1..end];
            let text = if text.contains('`') { Cow::Owned(text.replace("``", "`")) } else { Cow::Borrowed(text) };
            return Ok((text, end + 1));
        }
        from = end + 2;
    }
    Err(LiteralError::new(0, 1, "the text is not closed"))
}

fn quoted_string(source: &str) -> Result<(Cow<'_, str>, usize), LiteralError> {
    let quote = &source[..1];
    let Some(end) = source[1..].find([quote.as_bytes()[0] as char, '\\', '\n']).map(|at| at + 1) else {
        return Err(LiteralError::new(0, 1, "the text is not closed"));
    };
    if source[end..].starts_with(quote) {
        return Ok((Cow::Borrowed(&source[1..end]), end + 1));
    }
    let mut text = String::from(&source[1..end]);
    let mut at = end;
    while let Some(c) = source[at..].chars().next() {
        match c {
            '\\' => at += escape(&source[at..], &mut text).map_err(|message| LiteralError::new(at, at + 1, message))?,
            '\n' => break,
            _ if source[at..].starts_with(quote) => return Ok((Cow::Owned(text), at + 1)),
            _ => {
                text.push(c);
                at += c.len_utf8();
            }
        }
    }
    Err(LiteralError::new(0, 1, "the text is not closed on its line"))
}

/// Appends the character of an escape at the start of the source and returns the escape's length.
fn escape(source: &str, text: &mut String) -> Result<usize, &'static str> {
    let plain = match source.as_bytes().get(1) {
        Some(b'a') => '\u{7}',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'v') => '\u{b}',
        Some(letter @ (b'\\' | b'\'' | b'"' | b'?' | b'`')) => char::from(*letter),
        Some(b'x' | b'X') => return coded(source, 2, 2, 16, text),
        Some(b'u') if source[2..].starts_with('{') => return braced(source, text),
        Some(b'u') => return unicode(source, text),
        Some(b'U') => return coded(source, 2, 8, 16, text),
        Some(b'0'..=b'3') => return coded(source, 1, 3, 8, text),
        _ => return Err("unknown escape"),
    };
    text.push(plain);
    Ok(2)
}

fn coded(source: &str, from: usize, digits: usize, radix: u32, text: &mut String) -> Result<usize, &'static str> {
    let code = source.get(from..from + digits).filter(|code| code.chars().all(|c| c.is_digit(radix)));
    let code = code.and_then(|code| u32::from_str_radix(code, radix).ok()).ok_or("the escape needs more digits")?;
    text.push(char::from_u32(code).ok_or("the escape is not a valid character")?);
    Ok(from + digits)
}

/// Parses `\uHHHH`, or a surrogate pair of two of them, as in JSON.
fn unicode(source: &str, text: &mut String) -> Result<usize, &'static str> {
    let unit = |at: usize| source.get(at..at + 4).and_then(|code| u16::from_str_radix(code, 16).ok());
    if let (Some(high), Some("\\u"), Some(low)) = (unit(2), source.get(6..8), unit(8))
        && let Some(Ok(c)) = char::decode_utf16([high, low]).next()
        && c.len_utf16() == 2
    {
        text.push(c);
        return Ok(12);
    }
    coded(source, 2, 4, 16, text)
}

/// Parses `\u{H…}`.
fn braced(source: &str, text: &mut String) -> Result<usize, &'static str> {
    let end = source.find('}').ok_or("the escape is not closed")?;
    let digits = &source[3..end];
    if digits.is_empty() || digits.len() > 6 || !digits.chars().all(|c| c.is_ascii_hexdigit()) {
        return Err("the escape needs one to six hexadecimal digits");
    }
    let code = u32::from_str_radix(digits, 16).map_err(|_| "the escape is not a valid character")?;
    text.push(char::from_u32(code).ok_or("the escape is not a valid character")?);
    Ok(end + 1)
}
