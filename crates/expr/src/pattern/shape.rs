//! Computes the size and width of the parts of a pattern while it is parsed.
//!
//! The engines reject large patterns only after they have built much of them, and one of them multiplies sizes without checks.
//! So sizes are limited here first.

use std::fmt;

/// The size and width of a part of a pattern.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// The number of single-character parts, with counted repetitions written out.
    pub(super) copies: u64,
    /// The largest product of counts of nested repetitions.
    pub(super) product: u64,
    /// The number of characters that it matches, if that is fixed.
    pub(super) width: Option<u64>,
}

impl Shape {
    pub(super) const EMPTY: Shape = Shape { copies: 0, product: 1, width: Some(0) };
    pub(super) const ASSERTION: Shape = Shape { copies: 1, product: 1, width: Some(0) };
    pub(super) const CHARACTER: Shape = Shape { copies: 1, product: 1, width: Some(1) };

    fn then(self, next: Shape) -> Shape {
        Shape {
            copies: self.copies.saturating_add(next.copies),
            product: self.product.max(next.product),
            width: self.width.zip(next.width).and_then(|(a, b)| a.checked_add(b)),
        }
    }

    fn or(self, other: Shape) -> Shape {
        let width = if self.width == other.width { self.width } else { None };
        Shape { width, ..self.then(other) }
    }

    fn repeated(self, count: Count) -> Shape {
        // An engine compiles an unbounded repetition to its minimum number of copies and one for the loop.
        let copies = count.max.unwrap_or(count.min.saturating_add(1)).max(1);
        let product = match count {
            Count { counted: false, .. } => self.product,
            Count { max: Some(0), .. } => 1,
            Count { min, max, .. } => self.product.saturating_mul(max.unwrap_or(min).max(1)),
        };
        let fixed = count.max == Some(count.min) || self.width == Some(0);
        let width = self.width.and_then(|width| width.checked_mul(count.min)).filter(|_| fixed);
        Shape { copies: self.copies.max(1).saturating_mul(copies), product, width }
    }
}

/// How often a part is repeated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Count {
    pub(super) min: u64,
    pub(super) max: Option<u64>,
    /// Written in braces, not as `*`, `+` or `?`.
    pub(super) counted: bool,
}

impl Count {
    pub(super) fn of_sign(sign: char) -> Count {
        let (min, max) = match sign {
            '+' => (1, None),
            '?' => (0, Some(1)),
            _ => (0, None),
        };
        Count { min, max, counted: false }
    }
}

/// The syntax of both engines.
impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.max {
            Some(max) => write!(f, "{{{},{max}}}", self.min),
            None => write!(f, "{{{},}}", self.min),
        }
    }
}

/// The part of a group, or of the whole pattern, that was read so far.
#[derive(Debug)]
pub(super) struct Body {
    alternatives: Option<Shape>,
    branch: Shape,
    last: Last,
    untouched: bool,
}

/// The item that a repetition would repeat. It is added to its branch when the next item comes.
#[derive(Clone, Copy, Debug)]
enum Last {
    Nothing,
    Atom(Shape),
    Repeated(Shape),
}

/// Why an item cannot be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CannotRepeat {
    Nothing,
    Twice,
}

impl Body {
    pub(super) fn new() -> Body {
        Body { alternatives: None, branch: Shape::EMPTY, last: Last::Nothing, untouched: true }
    }

    pub(super) fn push(&mut self, atom: Shape) {
        self.settle();
        self.last = Last::Atom(atom);
        self.untouched = false;
    }

    /// Adds the last item to its branch, so that it cannot be repeated.
    pub(super) fn settle(&mut self) {
        if let Last::Atom(shape) | Last::Repeated(shape) = self.last {
            self.branch = self.branch.then(shape);
        }
        self.last = Last::Nothing;
    }

    /// Repeats the last atom and returns the resulting shape.
    pub(super) fn repeat(&mut self, count: Count) -> Result<Shape, CannotRepeat> {
        let shape = match self.last {
            Last::Nothing => return Err(CannotRepeat::Nothing),
            Last::Repeated(_) => return Err(CannotRepeat::Twice),
            Last::Atom(shape) => shape.repeated(count),
        };
        self.last = Last::Repeated(shape);
        Ok(shape)
    }

    /// The width of the item that a repetition would repeat, if it is fixed.
    pub(super) fn last_width(&self) -> Option<u64> {
        match self.last {
            Last::Atom(shape) => shape.width,
            Last::Nothing | Last::Repeated(_) => None,
        }
    }

    pub(super) fn alternative(&mut self) {
        let done = self.close();
        *self = Body { alternatives: Some(done), untouched: false, ..Body::new() };
    }

    /// The shape of everything read so far.
    pub(super) fn close(&mut self) -> Shape {
        self.settle();
        match self.alternatives {
            Some(before) => before.or(self.branch),
            None => self.branch,
        }
    }

    /// Whether nothing was read yet, so that flags for the whole pattern are allowed.
    pub(super) fn is_new(&self) -> bool {
        self.untouched
    }
}
