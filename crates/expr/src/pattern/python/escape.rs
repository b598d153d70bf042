//! The escapes and the bracketed classes of Python's `re`.

use super::Translator;
use crate::pattern::PatternError;
use crate::pattern::scanner::{char_of, control, is_octal, literal};
use crate::pattern::shape::Shape;

impl Translator<'_> {
    /// Translates an escape outside brackets, after its backslash.
    pub(super) fn escape(&mut self) -> Result<(), PatternError> {
        let Some(c) = self.scan.next() else {
            return self.scan.fail("a single backslash at the end");
        };
        match c {
            'A' => self.assertion(r"\A"),
            'Z' | 'z' => self.assertion(r"\z"),
            'b' => self.assertion(r"\b"),
            'B' => self.assertion(r"\B"),
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => self.atom(&format!("\\{c}"), Shape::CHARACTER),
            '1'..='9' => return self.reference_or_octal(c),
            _ => {
                let c = self.escaped(c)?;
                self.literal(c);
            }
        }
        Ok(())
    }

    /// Translates three octal digits to a character, and any other digits to a reference to a group.
    fn reference_or_octal(&mut self, first: char) -> Result<(), PatternError> {
        let mark = self.scan.mark();
        let octal = self.scan.take_while(2, is_octal);
        if is_octal(first) && octal.len() == 2 {
            let c = self.byte(&format!("{first}{octal}"))?;
            self.literal(c);
            return Ok(());
        }
        self.scan.back_to(mark);
        let second = self.scan.take_while(1, |c| c.is_ascii_digit());
        self.reference(format!("{first}{second}").parse().unwrap_or(usize::MAX))
    }

    /// The character of an escape, inside or outside brackets. `c` follows the backslash.
    fn escaped(&mut self, c: char) -> Result<char, PatternError> {
        let parsed = match c {
            'a' | 'f' | 'n' | 'r' | 't' | 'v' => control(c),
            'x' => self.scan.hex(2),
            'u' => self.scan.hex(4),
            'U' => self.scan.hex(8),
            '0' => {
                let more = self.scan.take_while(2, is_octal);
                char_of(&format!("0{more}"), 8)
            }
            _ if c.is_ascii_alphanumeric() => None,
            _ => Some(c),
        };
        match parsed {
            Some(parsed) => Ok(parsed),
            None => self.scan.fail(&format!("`\\{c}` is not an escape, or not complete")),
        }
    }

    fn byte(&self, octal: &str) -> Result<char, PatternError> {
        match u8::from_str_radix(octal, 8) {
            Ok(byte) => Ok(char::from(byte)),
            Err(_) => self.scan.fail("an octal escape above \\377"),
        }
    }

    /// Translates a class, after its `[`. It contains characters, ranges and classes such as `\d`: Python has no nested classes,
    /// set operations or `[:alpha:]`.
    pub(super) fn class(&mut self) -> Result<String, PatternError> {
        let mut class = String::from(if self.scan.eat("^") { "[^" } else { "[" });
        // A `]` in the first position is literal.
        let mut first = true;
        while first || !self.scan.eat("]") {
            first = false;
            let low = self.class_member()?;
            // A `-` in the last position is literal.
            if self.scan.rest().starts_with("-]") || !self.scan.eat("-") {
                class.push_str(&low.written());
                continue;
            }
            let (Member::Character(low), Member::Character(high)) = (low, self.class_member()?) else {
                return self.scan.fail("a range in brackets must go from one character to another");
            };
            if high < low {
                return self.scan.fail("the range in brackets runs backwards");
            }
            class.extend([&literal(low), "-", &literal(high)]);
        }
        class.push(']');
        Ok(class)
    }

    fn class_member(&mut self) -> Result<Member, PatternError> {
        let c = match self.scan.next() {
            None => return self.scan.fail("`[` is not closed"),
            Some('\\') => match self.scan.next() {
                None => return self.scan.fail("`[` is not closed"),
                Some(c @ ('d' | 'D' | 's' | 'S' | 'w' | 'W')) => return Ok(Member::Class(c)),
                Some('b') => '\x08',
                Some(c) if is_octal(c) => {
                    let more = self.scan.take_while(2, is_octal);
                    self.byte(&format!("{c}{more}"))?
                }
                Some(c) => self.escaped(c)?,
            },
            Some(c) => c,
        };
        Ok(Member::Character(c))
    }
}

/// A member of a class in brackets.
enum Member {
    Character(char),
    /// `\d` and the like, by their letter.
    Class(char),
}

impl Member {
    fn written(&self) -> String {
        match self {
            Member::Character(c) => literal(*c),
            Member::Class(letter) => format!("\\{letter}"),
        }
    }
}
