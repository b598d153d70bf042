//! Parses substitutions by the rules of Python's `re.sub`.

use fancy_regex::Captures;

use crate::pattern::PatternError;
use crate::pattern::scanner::{Scanner, char_of, is_octal, quote};

/// A parsed substitution: `\1`, `\g<1>`, `\g<name>`, escapes such as `\n`, and literal text.
#[derive(Debug)]
pub(in crate::pattern) struct Template {
    parts: Vec<Part>,
}

#[derive(Debug)]
enum Part {
    Literal(String),
    Group(usize),
}

impl Template {
    /// Parses a substitution for a pattern whose groups have these names. The whole match is the first group.
    pub(super) fn parse(substitution: &str, names: &[Option<String>]) -> Result<Template, PatternError> {
        let mut scan = Scanner::new(substitution);
        let mut parts = Vec::new();
        let mut literal = String::new();
        while let Some(c) = scan.next() {
            if c != '\\' {
                literal.push(c);
                continue;
            }
            match escape(&mut scan, names)? {
                Part::Literal(text) => literal.push_str(&text),
                Part::Group(group) => {
                    parts.push(Part::Literal(std::mem::take(&mut literal)));
                    parts.push(Part::Group(group));
                }
            }
        }
        parts.push(Part::Literal(literal));
        Ok(Template { parts })
    }

    /// Passes the pieces that replace a match to `push`. A group that did not match is empty.
    pub(super) fn expand(
        &self,
        found: &Captures<'_, str>,
        mut push: impl FnMut(&str) -> Result<(), PatternError>,
    ) -> Result<(), PatternError> {
        self.parts.iter().try_for_each(|part| match part {
            Part::Literal(text) => push(text),
            Part::Group(group) => push(found.get(*group).map_or("", |part| part.as_str())),
        })
    }
}

/// Parses an escape after its backslash. Before anything but a letter or a digit, the backslash is literal.
fn escape(scan: &mut Scanner<'_>, names: &[Option<String>]) -> Result<Part, PatternError> {
    let c = match scan.next() {
        None => return scan.fail("a single backslash at the end of the substitution"),
        Some('g') => return named_group(scan, names),
        Some(digit @ '0'..='9') => return group_or_octal(scan, digit, names),
        Some('a') => '\x07',
        Some('b') => '\x08',
        Some('f') => '\x0C',
        Some('n') => '\n',
        Some('r') => '\r',
        Some('t') => '\t',
        Some('v') => '\x0B',
        Some('\\') => '\\',
        Some(c) if c.is_ascii_alphabetic() => {
            return scan.fail(&format!("`\\{c}` is not an escape of a substitution"));
        }
        Some(c) => return Ok(Part::Literal(format!("\\{c}"))),
    };
    Ok(Part::Literal(c.to_string()))
}

fn named_group(scan: &mut Scanner<'_>, names: &[Option<String>]) -> Result<Part, PatternError> {
    let name = if scan.eat("<") { scan.until(">") } else { None };
    let Some(name) = name else {
        return scan.fail("`\\g` needs a group, as in `\\g<1>` or `\\g<name>`");
    };
    let by_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    let number =
        if by_number { name.parse().ok() } else { names.iter().position(|known| known.as_deref() == Some(name)) };
    group(scan, number, name, names)
}

/// Parses `\0` and three octal digits as a character, and other digits as a group of one or two digits.
fn group_or_octal(scan: &mut Scanner<'_>, first: char, names: &[Option<String>]) -> Result<Part, PatternError> {
    let mark = scan.mark();
    let more = scan.take_while(2, is_octal);
    if first == '0' || (is_octal(first) && more.len() == 2) {
        return match char_of(&format!("{first}{more}"), 8).filter(|c| *c <= '\u{FF}') {
            Some(c) => Ok(Part::Literal(c.to_string())),
            None => scan.fail("an octal escape above \\377"),
        };
    }
    scan.back_to(mark);
    let digits = format!("{first}{}", scan.take_while(1, |c| c.is_ascii_digit()));
    group(scan, digits.parse().ok(), &digits, names)
}

fn group(
    scan: &Scanner<'_>,
    number: Option<usize>,
    written: &str,
    names: &[Option<String>],
) -> Result<Part, PatternError> {
    match number {
        Some(number) if number < names.len() => Ok(Part::Group(number)),
        _ => scan.fail(&format!("the pattern has no group {}", quote(written))),
    }
}
