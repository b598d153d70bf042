//! Translates the syntax of Python's `re` for the `fancy_regex` crate.
//!
//! Names of groups become numbers, flags are applied, and verbose spacing is removed, so that the engine gets only
//! constructs that have the same meaning in Python.

mod escape;
mod group;
mod search;
mod substitution;
#[cfg(test)]
mod tests;
mod writer;

use crate::pattern::PatternError;
use crate::pattern::scanner::{Scanner, literal};
use crate::pattern::shape::{Body, CannotRepeat, Count, Shape};
use writer::{EnginePatterns, Writer};

pub(super) use search::Compiled;

/// The pattern for the engine and its properties.
#[derive(Debug)]
pub(super) struct Translation {
    written: EnginePatterns,
    /// The names of groups by number; the whole match is number 0.
    names: Vec<Option<String>>,
    /// Whether the engine has to backtrack.
    backtracks: bool,
    pub(super) copies: u64,
}

/// The maximum size of a pattern for the engine. It also prevents overflows in the products of sizes, which the engine does not
/// check.
const MAX_COPIES: u64 = 100_000;

pub(super) fn translate(text: &str) -> Result<Translation, PatternError> {
    let mut translator = Translator {
        scan: Scanner::new(text),
        out: Writer::default(),
        level: Level::new(Kind::Plain, Flags::default()),
        outer: Vec::new(),
        groups: vec![Group { name: None, closed: false, width: None }],
        backtracks: false,
    };
    while let Some(c) = translator.scan.next() {
        translator.item(c)?;
    }
    translator.finish()
}

struct Translator<'t> {
    scan: Scanner<'t>,
    out: Writer,
    level: Level,
    outer: Vec<Level>,
    /// The first stands for the whole match.
    groups: Vec<Group>,
    backtracks: bool,
}

/// The part of a group, or of the whole pattern, that was read so far.
struct Level {
    kind: Kind,
    flags: Flags,
    body: Body,
    /// The numbers of the `$` with nothing after them on this level: in this branch, and in earlier ones.
    tails: Vec<usize>,
    earlier_tails: Vec<usize>,
    branches: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Capture(usize),
    Ahead,
    /// With the number of the first group that can be inside.
    Behind(usize),
    Atomic,
    Condition,
}

/// The flags of a group.
#[derive(Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a letter of the syntax, and any of them go together")]
struct Flags {
    ignore_case: bool,
    multi_line: bool,
    dot_all: bool,
    verbose: bool,
}

struct Group {
    name: Option<String>,
    closed: bool,
    width: Option<u64>,
}

impl Level {
    fn new(kind: Kind, flags: Flags) -> Level {
        Level { kind, flags, body: Body::new(), tails: Vec::new(), earlier_tails: Vec::new(), branches: 1 }
    }

    fn push(&mut self, shape: Shape) {
        self.tails.clear();
        self.body.push(shape);
    }

    fn alternative(&mut self) {
        self.earlier_tails.append(&mut self.tails);
        self.body.alternative();
        self.branches += 1;
    }
}

impl Translator<'_> {
    fn item(&mut self, c: char) -> Result<(), PatternError> {
        let flags = self.level.flags;
        match c {
            ' ' | '\t' | '\n' | '\r' | '\x0B' | '\x0C' if flags.verbose => {}
            '#' if flags.verbose => {
                self.scan.take_while(usize::MAX, |c| c != '\n');
            }
            '(' if self.scan.eat("?") => self.extension()?,
            '(' => self.open_capture(None)?,
            ')' => self.close()?,
            '|' => self.alternative()?,
            '*' | '+' | '?' => self.repeat(Count::of_sign(c))?,
            '{' => match self.count()? {
                Some(count) => self.repeat(count)?,
                None => self.literal('{'),
            },
            '[' => {
                let class = self.class()?;
                self.atom(&class, Shape::CHARACTER);
            }
            '\\' => self.escape()?,
            '.' => self.atom(if flags.dot_all { "(?s:.)" } else { "." }, Shape::CHARACTER),
            '^' => self.assertion(if flags.multi_line { "(?m:^)" } else { r"\A" }),
            '$' if flags.multi_line => self.assertion("(?m:$)"),
            '$' => {
                self.assertion("");
                self.level.tails.push(self.out.dollar());
            }
            _ => self.literal(c),
        }
        Ok(())
    }

    fn atom(&mut self, written: &str, shape: Shape) {
        self.out.push(written);
        self.level.push(shape);
    }

    fn literal(&mut self, c: char) {
        self.atom(&literal(c), Shape::CHARACTER);
    }

    /// Writes an assertion, which Python does not allow to be repeated.
    fn assertion(&mut self, written: &str) {
        self.atom(written, Shape::ASSERTION);
        self.level.body.settle();
    }

    /// Writes a reference to an earlier group, in parentheses to separate it from following digits.
    fn reference(&mut self, group: usize) -> Result<(), PatternError> {
        let shape = match self.groups.get(group) {
            Some(group) if group.closed => Shape { width: group.width, ..Shape::CHARACTER },
            Some(_) if group > 0 => return self.scan.fail(&format!("group {group} is referred to inside itself")),
            _ => return self.scan.fail(&format!("group {group} does not exist before this reference")),
        };
        self.refuse_same_look_behind(group)?;
        self.backtracks = true;
        self.out.push_two(&format!("(?:\\{group})"), "(?:(?s:.)*)");
        self.level.push(shape);
        Ok(())
    }

    /// Rejects a reference to a group in the same look-behind, like Python, because its value depends on the engine.
    fn refuse_same_look_behind(&self, group: usize) -> Result<(), PatternError> {
        let inside = |level: &Level| matches!(level.kind, Kind::Behind(first) if group >= first);
        if inside(&self.level) || self.outer.iter().any(inside) {
            return self.scan.fail("a reference to a group in the same look-behind");
        }
        Ok(())
    }

    fn alternative(&mut self) -> Result<(), PatternError> {
        self.level.alternative();
        if self.level.kind == Kind::Condition && self.level.branches > 2 {
            return self.scan.fail("a condition has more than two branches");
        }
        self.out.push("|");
        Ok(())
    }

    fn repeat(&mut self, count: Count) -> Result<(), PatternError> {
        // Python allows such repetitions, but the engine does not allow all of them, and they have no effect.
        if self.level.body.last_width() == Some(0) {
            return self.scan.fail("a repetition of something without width");
        }
        let shape = match self.level.body.repeat(count) {
            Ok(shape) => shape,
            Err(CannotRepeat::Nothing) => return self.scan.fail("nothing to repeat here"),
            Err(CannotRepeat::Twice) => {
                return self.scan.fail("a repetition of a repetition; put the first in parentheses");
            }
        };
        if shape.copies > MAX_COPIES {
            return self.scan.fail("the regular expression is too large");
        }
        self.level.tails.clear();
        self.out.push(&count.to_string());
        if self.scan.eat("?") {
            self.out.push("?");
        } else if self.scan.eat("+") {
            self.out.push_two("+", "");
            self.backtracks = true;
        }
        Ok(())
    }

    /// Reads `{2}`, `{2,}`, `{,5}` or `{2,5}`. Any other brace is literal.
    fn count(&mut self) -> Result<Option<Count>, PatternError> {
        let mark = self.scan.mark();
        let low = self.scan.take_while(usize::MAX, |c| c.is_ascii_digit());
        let comma = self.scan.eat(",");
        let high = if comma { self.scan.take_while(usize::MAX, |c| c.is_ascii_digit()) } else { low };
        if !self.scan.eat("}") || (low.is_empty() && !comma) {
            self.scan.back_to(mark);
            return Ok(None);
        }
        // A number that overflows exceeds the limit anyway.
        let number = |digits: &str| digits.parse().unwrap_or(u64::MAX);
        let min = if low.is_empty() { 0 } else { number(low) };
        let max = if high.is_empty() { None } else { Some(number(high)) };
        if max.is_some_and(|max| max < min) {
            return self.scan.fail("the second count is smaller than the first");
        }
        Ok(Some(Count { min, max, counted: true }))
    }

    fn close(&mut self) -> Result<(), PatternError> {
        let Some(outer) = self.outer.pop() else {
            return self.scan.fail("`)` without `(`");
        };
        let mut inner = std::mem::replace(&mut self.level, outer);
        if inner.kind == Kind::Condition && inner.branches == 1 {
            inner.alternative();
            self.out.push("|");
        }
        let shape = inner.body.close();
        if matches!(inner.kind, Kind::Ahead | Kind::Behind(_)) {
            self.out.close_look_around();
        } else {
            self.out.push(")");
        }
        match inner.kind {
            Kind::Plain | Kind::Capture(_) => {
                self.level.push(shape);
                self.level.tails.append(&mut inner.earlier_tails);
                self.level.tails.append(&mut inner.tails);
            }
            Kind::Behind(_) if shape.width.is_none() => {
                return self.scan.fail("a look-behind must have a fixed width");
            }
            Kind::Ahead | Kind::Behind(_) => {
                self.level.push(Shape { width: Some(0), ..shape });
                self.level.body.settle();
            }
            Kind::Condition if shape.copies == 0 => return self.scan.fail("the condition has nothing to choose"),
            Kind::Condition | Kind::Atomic => self.level.push(shape),
        }
        if let Kind::Capture(number) = inner.kind {
            self.groups[number].closed = true;
            self.groups[number].width = shape.width;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Translation, PatternError> {
        if !self.outer.is_empty() {
            return self.scan.fail("`(` is not closed");
        }
        self.level.alternative();
        let written = self.out.finish(&self.level.earlier_tails);
        Ok(Translation {
            written,
            names: self.groups.into_iter().map(|group| group.name).collect(),
            backtracks: self.backtracks,
            copies: self.level.body.close().copies,
        })
    }
}
