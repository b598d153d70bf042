//! Sets of kinds: what a part of an expression can be, as far as its text tells.

use std::fmt;
use std::ops::BitOr;

/// A set of kinds of values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Types(u8);

impl Types {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const NIL: Self = Self(1);
    pub(crate) const BOOL: Self = Self(2);
    pub(crate) const INT: Self = Self(4);
    pub(crate) const FLOAT: Self = Self(8);
    pub(crate) const STR: Self = Self(16);
    pub(crate) const LIST: Self = Self(32);
    pub(crate) const OBJECT: Self = Self(64);
    pub(crate) const NUMBER: Self = Self(4 | 8);
    pub(crate) const ANY: Self = Self(127);

    /// Both sets together; usable in constants.
    pub(crate) const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the two have a kind in common.
    pub(crate) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The kinds of this set that are not in the other.
    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Integers and floats are one kind for every operator that asks.
    pub(crate) fn widened(self) -> Self {
        if self.meets(Self::NUMBER) { self | Self::NUMBER } else { self }
    }
}

impl BitOr for Types {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// As a person would say it: "text", "a number or a list".
impl fmt::Display for Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (Self::NIL, "nil"),
            (Self::BOOL, "a boolean"),
            (Self::NUMBER, "a number"),
            (Self::STR, "text"),
            (Self::LIST, "a list"),
            (Self::OBJECT, "an object"),
        ];
        let known: Vec<_> = names.iter().filter(|(kind, _)| self.meets(*kind)).map(|(_, name)| *name).collect();
        f.write_str(&known.join(" or "))
    }
}
