//! The groups of Python's `re`.

use super::{Flags, Group, Kind, Level, Translator};
use crate::pattern::PatternError;
use crate::pattern::scanner::quote;

/// The maximum nesting of groups. The engine allows 63 levels, of which the translation uses some.
const MAX_DEPTH: usize = 60;

impl Translator<'_> {
    /// Translates a group that begins with `(?`.
    pub(super) fn extension(&mut self) -> Result<(), PatternError> {
        let flags = self.level.flags;
        let Some(c) = self.scan.next() else {
            return self.scan.fail("`(` is not closed");
        };
        match c {
            ':' => self.open(Kind::Plain, flags, "(?:", "(?:"),
            '=' => self.open(Kind::Ahead, flags, "(?=", ""),
            '!' => self.open(Kind::Ahead, flags, "(?!", ""),
            '>' => self.open(Kind::Atomic, flags, "(?>", "(?:"),
            '<' if self.scan.eat("=") => self.open(Kind::Behind(self.groups.len()), flags, "(?<=", ""),
            '<' if self.scan.eat("!") => self.open(Kind::Behind(self.groups.len()), flags, "(?<!", ""),
            'P' if self.scan.eat("<") => {
                let name = self.new_name()?;
                self.open_capture(Some(name))
            }
            'P' if self.scan.eat("=") => {
                let group = self.known_name(")")?;
                self.reference(group)
            }
            '(' => self.condition(),
            '#' => match self.scan.until(")") {
                Some(_) => Ok(()),
                None => self.scan.fail("the comment is not closed"),
            },
            'a' | 'i' | 'L' | 'm' | 's' | 'u' | 'x' | '-' => self.flags(c),
            _ => self.scan.fail(&format!("`(?{c}` does not begin any kind of group")),
        }
    }

    fn open(&mut self, kind: Kind, flags: Flags, exact: &str, rough: &str) -> Result<(), PatternError> {
        if self.outer.len() >= MAX_DEPTH {
            return self.scan.fail(&format!("groups are nested more than {MAX_DEPTH} deep"));
        }
        self.backtracks |= !matches!(kind, Kind::Plain | Kind::Capture(_));
        match kind {
            Kind::Ahead | Kind::Behind(_) => self.out.open_look_around(exact),
            _ => self.out.push_two(exact, rough),
        }
        self.outer.push(std::mem::replace(&mut self.level, Level::new(kind, flags)));
        Ok(())
    }

    pub(super) fn open_capture(&mut self, name: Option<String>) -> Result<(), PatternError> {
        let number = self.groups.len();
        self.groups.push(Group { name, closed: false, width: None });
        self.open(Kind::Capture(number), self.level.flags, "(", "(?:")
    }

    /// The name of a new group, up to `>`.
    fn new_name(&mut self) -> Result<String, PatternError> {
        let Some(name) = self.scan.until(">") else {
            return self.scan.fail("the name of the group has no `>`");
        };
        let mut chars = name.chars();
        let first = chars.next().is_some_and(|c| c.is_alphabetic() || c == '_');
        if !first || !chars.all(|c| c.is_alphanumeric() || c == '_') {
            return self.scan.fail(&format!("{} cannot name a group", quote(name)));
        }
        if self.number_of(name).is_some() {
            return self.scan.fail(&format!("two groups have the name {}", quote(name)));
        }
        Ok(name.to_owned())
    }

    /// Reads the name of an earlier group up to the mark and returns its number.
    fn known_name(&mut self, mark: &str) -> Result<usize, PatternError> {
        let Some(name) = self.scan.until(mark) else {
            return self.scan.fail(&format!("the name of the group has no `{mark}`"));
        };
        match self.number_of(name) {
            Some(number) => Ok(number),
            None => self.scan.fail(&format!("group {} does not exist before this reference", quote(name))),
        }
    }

    fn number_of(&self, name: &str) -> Option<usize> {
        self.groups.iter().position(|group| group.name.as_deref() == Some(name))
    }

    /// Translates `(?(1)yes|no)` and `(?(name)yes|no)`, after the second parenthesis.
    fn condition(&mut self) -> Result<(), PatternError> {
        let by_number = self.scan.peek().is_some_and(|c| c.is_ascii_digit());
        let group = if by_number {
            let digits = self.scan.until(")").unwrap_or_default();
            digits.parse().unwrap_or(usize::MAX)
        } else {
            self.known_name(")")?
        };
        if !self.groups.get(group).is_some_and(|group| group.closed) {
            return self.scan.fail("the condition does not name a group before it");
        }
        self.refuse_same_look_behind(group)?;
        self.open(Kind::Condition, self.level.flags, &format!("(?({group})"), "(?:")
    }

    /// Translates `(?i)` at the start of the pattern, or `(?i-s:` for a group. `c` is the first letter.
    fn flags(&mut self, mut c: char) -> Result<(), PatternError> {
        let (mut flags, mut on, mut turned_on, mut last) = (self.level.flags, true, String::new(), ' ');
        loop {
            match c {
                'i' => flags.ignore_case = on,
                'm' => flags.multi_line = on,
                's' => flags.dot_all = on,
                'x' => flags.verbose = on,
                'u' if on => {}
                '-' if on => on = false,
                ')' if on && self.outer.is_empty() && self.level.body.is_new() => {
                    self.out.push(if flags.ignore_case { "(?i)" } else { "" });
                    self.level.flags = flags;
                    return Ok(());
                }
                ')' if on => return self.scan.fail("flags for the whole pattern must stand at its start"),
                ':' if last != '-' => {
                    let group = if flags.ignore_case { "(?i:" } else { "(?-i:" };
                    return self.open(Kind::Plain, flags, group, group);
                }
                'a' | 'L' => return self.scan.fail(&format!("the flag `{c}` is not supported")),
                _ => return self.scan.fail("unknown flag"),
            }
            if on {
                turned_on.push(c);
            } else if turned_on.contains(c) {
                return self.scan.fail("a flag is turned on and off");
            }
            last = c;
            let Some(next) = self.scan.next() else {
                return self.scan.fail("`(` is not closed");
            };
            c = next;
        }
    }
}
