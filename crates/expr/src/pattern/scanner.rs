//! The cursor and the helpers that both translators use.

use super::PatternError;

/// A cursor over the pattern as the author wrote it.
pub(super) struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str) -> Scanner<'t> {
        Scanner { text, at: 0 }
    }

    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    pub(super) fn eat(&mut self, wanted: &str) -> bool {
        let matches = self.rest().starts_with(wanted);
        if matches {
            self.at += wanted.len();
        }
        matches
    }

    /// Reads the text up to the mark, and the mark. Reads nothing if the mark is missing.
    pub(super) fn until(&mut self, mark: &str) -> Option<&'t str> {
        let rest = self.rest();
        let end = rest.find(mark)?;
        self.at += end + mark.len();
        Some(&rest[..end])
    }

    /// Reads up to `most` characters of a kind.
    pub(super) fn take_while(&mut self, most: usize, kind: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.char_indices().take(most).find(|(_, c)| !kind(*c)).map(|(at, _)| at);
        let end = end.unwrap_or_else(|| rest.char_indices().nth(most).map_or(rest.len(), |(at, _)| at));
        self.at += end;
        &rest[..end]
    }

    /// Reads a character as exactly this many hexadecimal digits.
    pub(super) fn hex(&mut self, digits: usize) -> Option<char> {
        let text = self.take_while(digits, |c| c.is_ascii_hexdigit());
        if text.len() == digits { char_of(text, 16) } else { None }
    }

    /// The current position, for [`Self::back_to`].
    pub(super) fn mark(&self) -> usize {
        self.at
    }

    pub(super) fn back_to(&mut self, mark: usize) {
        self.at = mark;
    }

    /// An error at the last character read.
    pub(super) fn fail<T>(&self, what: &str) -> Result<T, PatternError> {
        let position = self.text[..self.at].chars().count().max(1);
        Err(PatternError::invalid(&format!("{what} (at character {position})")))
    }
}

/// The character with this code; `None` for surrogates and invalid codes.
pub(super) fn char_of(digits: &str, radix: u32) -> Option<char> {
    char::from_u32(u32::from_str_radix(digits, radix).ok()?)
}

/// The control character of an escape that both flavours have.
pub(super) fn control(letter: char) -> Option<char> {
    match letter {
        'a' => Some('\x07'),
        'f' => Some('\x0C'),
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        'v' => Some('\x0B'),
        _ => None,
    }
}

pub(super) fn is_octal(c: char) -> bool {
    ('0'..='7').contains(&c)
}

/// A literal character in the syntax of both engines, inside and outside brackets.
///
/// Every character that could be special is written by its code, so no list of special characters must match the engines.
pub(super) fn literal(c: char) -> String {
    if c.is_ascii() && !c.is_ascii_alphanumeric() { c.escape_unicode().to_string() } else { c.to_string() }
}

/// Shortens a piece of the author's text for a message.
pub(super) fn quote(text: &str) -> String {
    let short: String = text.chars().take(30).collect();
    if short.len() < text.len() { format!("`{short}…`") } else { format!("`{short}`") }
}
