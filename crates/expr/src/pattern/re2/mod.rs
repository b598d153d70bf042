//! Translates RE2 syntax, as in Go's `regexp`, for the `regex` crate.
//!
//! The differences between the two are subtle: in `regex`, `\d` is any Unicode digit, `[a&&b]` is an intersection and `(?x)` is a
//! flag. A search only returns whether there is a match, so groups are translated without captures, and greediness (`*?`, `(?U)`)
//! is ignored.

mod class;
#[cfg(test)]
mod tests;

use self::class::{push_perl, push_unicode};
use crate::pattern::PatternError;
use crate::pattern::scanner::{Scanner, char_of, control, is_octal, literal, quote};
use crate::pattern::shape::{Body, CannotRepeat, Count, Shape};

/// The pattern for the engine, and its size.
#[derive(Debug)]
pub(super) struct Translation {
    pub(super) pattern: String,
    pub(super) copies: u64,
}

/// The maximum nesting of groups. The engine allows 250 levels, of which the translation uses some.
const MAX_DEPTH: usize = 200;
/// RE2's maximum count of a repetition, and of the product of nested counts.
const MAX_COUNT: u64 = 1000;
/// The maximum size of a pattern for the engine.
const MAX_COPIES: u64 = 1_000_000;

pub(super) fn translate(text: &str) -> Result<Translation, PatternError> {
    let mut translator = Translator {
        scan: Scanner::new(text),
        out: String::new(),
        body: Body::new(),
        flags: Flags::default(),
        outer: Vec::new(),
        names: Vec::new(),
    };
    while let Some(c) = translator.scan.next() {
        translator.item(c)?;
    }
    translator.finish()
}

struct Translator<'t> {
    scan: Scanner<'t>,
    out: String,
    body: Body,
    flags: Flags,
    /// The state to restore after each open group.
    outer: Vec<(Body, Flags)>,
    names: Vec<&'t str>,
}

/// The flags of a group. The engine handles `i`; the others change the translation.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Flags {
    ignore_case: bool,
    multi_line: bool,
    dot_all: bool,
}

impl Translator<'_> {
    fn item(&mut self, c: char) -> Result<(), PatternError> {
        match c {
            '(' if self.scan.eat("?") => self.extension(),
            '(' => self.open(self.flags),
            ')' => self.close(),
            '|' => {
                self.body.alternative();
                self.out.push('|');
                Ok(())
            }
            '*' | '+' | '?' => self.repeat(Count::of_sign(c)),
            '{' => match self.count()? {
                Some(count) => self.repeat(count),
                None => self.literal('{'),
            },
            '[' => {
                self.class()?;
                self.body.push(Shape::CHARACTER);
                Ok(())
            }
            '\\' => self.escape(),
            '.' => self.atom(if self.flags.dot_all { "(?s:.)" } else { "." }, Shape::CHARACTER),
            '^' => self.atom(if self.flags.multi_line { "(?m:^)" } else { r"\A" }, Shape::ASSERTION),
            '$' => self.atom(if self.flags.multi_line { "(?m:$)" } else { r"\z" }, Shape::ASSERTION),
            _ => self.literal(c),
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "all that `item` calls give the same, so that it reads as a table")]
    fn atom(&mut self, written: &str, shape: Shape) -> Result<(), PatternError> {
        self.out.push_str(written);
        self.body.push(shape);
        Ok(())
    }

    fn literal(&mut self, c: char) -> Result<(), PatternError> {
        self.atom(&literal(c), Shape::CHARACTER)
    }

    fn open(&mut self, inside: Flags) -> Result<(), PatternError> {
        if self.outer.len() >= MAX_DEPTH {
            return self.scan.fail(&format!("groups are nested more than {MAX_DEPTH} deep"));
        }
        self.out.push_str(if inside.ignore_case { "(?i:" } else { "(?-i:" });
        let outside = std::mem::replace(&mut self.body, Body::new());
        self.outer.push((outside, self.flags));
        self.flags = inside;
        Ok(())
    }

    fn close(&mut self) -> Result<(), PatternError> {
        let Some((outside, flags)) = self.outer.pop() else {
            return self.scan.fail("`)` without `(`");
        };
        self.out.push(')');
        let shape = self.body.close();
        self.body = outside;
        self.flags = flags;
        self.body.push(shape);
        Ok(())
    }

    fn repeat(&mut self, count: Count) -> Result<(), PatternError> {
        self.scan.eat("?");
        match self.body.repeat(count) {
            Err(CannotRepeat::Nothing) => self.scan.fail("nothing to repeat here"),
            Err(CannotRepeat::Twice) => self.scan.fail("a repetition of a repetition; put the first in parentheses"),
            Ok(shape) if count.counted && shape.product > MAX_COUNT => {
                self.scan.fail(&format!("more than {MAX_COUNT} repetitions"))
            }
            Ok(shape) if shape.copies > MAX_COPIES => self.scan.fail("the regular expression is too large"),
            Ok(_) => {
                self.out.push_str(&count.to_string());
                Ok(())
            }
        }
    }

    /// Reads `{2}`, `{2,}` or `{2,5}`. Any other brace is literal.
    fn count(&mut self) -> Result<Option<Count>, PatternError> {
        let mark = self.scan.mark();
        let Some(min) = self.number() else {
            self.scan.back_to(mark);
            return Ok(None);
        };
        let max = if self.scan.eat(",") { self.number() } else { Some(min) };
        if !self.scan.eat("}") {
            self.scan.back_to(mark);
            return Ok(None);
        }
        if min.max(max.unwrap_or(0)) > MAX_COUNT {
            return self.scan.fail(&format!("more than {MAX_COUNT} repetitions"));
        }
        if max.is_some_and(|max| max < min) {
            return self.scan.fail("the second count is smaller than the first");
        }
        Ok(Some(Count { min, max, counted: true }))
    }

    /// Reads a count without leading zeros, as in RE2. A number that overflows exceeds the limit anyway.
    fn number(&mut self) -> Option<u64> {
        let digits = self.scan.take_while(usize::MAX, |c| c.is_ascii_digit());
        if digits.is_empty() || (digits.len() > 1 && digits.starts_with('0')) {
            return None;
        }
        Some(digits.parse().unwrap_or(u64::MAX))
    }

    /// Translates a group that begins with `(?`: a named group, or flags for a group or for the rest of the current one.
    fn extension(&mut self) -> Result<(), PatternError> {
        if self.scan.eat("P<") || (!self.looks_behind() && self.scan.eat("<")) {
            self.name()?;
            return self.open(self.flags);
        }
        let mut flags = self.flags;
        let (mut on, mut seen) = (true, true);
        loop {
            match self.scan.next() {
                Some('i') => flags.ignore_case = on,
                Some('m') => flags.multi_line = on,
                Some('s') => flags.dot_all = on,
                Some('U') => {}
                Some('-') if on => {
                    (on, seen) = (false, false);
                    continue;
                }
                Some(':') if seen => return self.open(flags),
                Some(')') if seen => {
                    self.out.push_str(if flags.ignore_case { "(?i)" } else { "(?-i)" });
                    self.flags = flags;
                    self.body.settle();
                    return Ok(());
                }
                Some('=' | '!' | '<') => return self.scan.fail("look-around is not part of RE2 syntax"),
                Some(_) => return self.scan.fail("unknown kind of group; RE2 has the flags i, m, s and U"),
                None => return self.scan.fail("`(` is not closed"),
            }
            seen = true;
        }
    }

    fn looks_behind(&self) -> bool {
        self.scan.rest().starts_with("<=") || self.scan.rest().starts_with("<!")
    }

    fn name(&mut self) -> Result<(), PatternError> {
        let Some(name) = self.scan.until(">") else {
            return self.scan.fail("the name of the group has no `>`");
        };
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return self.scan.fail(&format!("{} cannot name a group", quote(name)));
        }
        if self.names.contains(&name) {
            return self.scan.fail(&format!("two groups have the name {}", quote(name)));
        }
        self.names.push(name);
        Ok(())
    }

    fn escape(&mut self) -> Result<(), PatternError> {
        let Some(c) = self.scan.next() else {
            return self.scan.fail("a single backslash at the end");
        };
        match c {
            'A' => self.atom(r"\A", Shape::ASSERTION),
            'z' => self.atom(r"\z", Shape::ASSERTION),
            'b' => self.atom(r"(?-u:\b)", Shape::ASSERTION),
            'B' => self.atom(r"(?-u:\B)", Shape::ASSERTION),
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => {
                push_perl(&mut self.out, c);
                self.body.push(Shape::CHARACTER);
                Ok(())
            }
            'p' | 'P' => {
                push_unicode(&mut self.scan, &mut self.out, c == 'P')?;
                self.body.push(Shape::CHARACTER);
                Ok(())
            }
            'Q' => {
                let quoted = self.scan.until(r"\E").unwrap_or_else(|| self.scan.take_while(usize::MAX, |_| true));
                quoted.chars().try_for_each(|c| self.literal(c))
            }
            _ => {
                let c = self.escaped(c)?;
                self.literal(c)
            }
        }
    }

    /// The character of an escape, inside or outside brackets. `c` follows the backslash.
    fn escaped(&mut self, c: char) -> Result<char, PatternError> {
        let parsed = match c {
            'a' | 'f' | 'n' | 'r' | 't' | 'v' => control(c),
            'x' if self.scan.eat("{") => {
                let digits = self.scan.take_while(usize::MAX, |c| c.is_ascii_hexdigit());
                if self.scan.eat("}") { char_of(digits, 16) } else { None }
            }
            'x' => self.scan.hex(2),
            '0'..='7' => self.octal(c),
            _ if c.is_ascii() && !c.is_ascii_alphanumeric() => Some(c),
            _ => None,
        };
        match parsed {
            Some(parsed) => Ok(parsed),
            None if c.is_ascii_digit() => self.scan.fail("RE2 syntax has no back-references"),
            None => self.scan.fail(&format!("`\\{c}` is not an escape of RE2 syntax, or not complete")),
        }
    }

    /// Reads `\0`, `\07` or `\123`. A single digit other than 0 would be a back-reference.
    fn octal(&mut self, first: char) -> Option<char> {
        let more = self.scan.take_while(2, is_octal);
        if first != '0' && more.is_empty() {
            return None;
        }
        char_of(&format!("{first}{more}"), 8)
    }

    fn finish(mut self) -> Result<Translation, PatternError> {
        if !self.outer.is_empty() {
            return self.scan.fail("`(` is not closed");
        }
        Ok(Translation { pattern: self.out, copies: self.body.close().copies })
    }
}
