//! Sets of types, for static checks of expressions.

use std::fmt;
use std::ops::BitOr;

/// A set of value types, such as the types of an argument.
///
/// ```
/// use branchpoint_expr::function::Types;
///
/// assert_eq!((Types::STR | Types::LIST).to_string(), "text or a list");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Types(u8);

impl Types {
    pub(crate) const NONE: Self = Self(0);
    /// Nil.
    ///
    /// ```
    /// assert_eq!(branchpoint_expr::function::Types::NIL.to_string(), "nil");
    /// ```
    pub const NIL: Self = Self(1);
    /// A boolean.
    ///
    /// ```
    /// assert_eq!(branchpoint_expr::function::Types::BOOL.to_string(), "a boolean");
    /// ```
    pub const BOOL: Self = Self(2);
    /// An integer.
    ///
    /// ```
    /// assert_eq!(branchpoint_expr::function::Types::INT.to_string(), "a number");
    /// ```
    pub const INT: Self = Self(4);
    /// A number with a fraction.
    ///
    /// ```
    /// assert_eq!(branchpoint_expr::function::Types::FLOAT.to_string(), "a number");
    /// ```
    pub const FLOAT: Self = Self(8);
    /// Text.
    ///
    /// ```
    /// assert_eq!(branchpoint_expr::function::Types::STR.to_string(), "text");
    /// ```
    pub const STR: Self = Self(16);
    /// A list.
    ///
    /// ```
    /// assert_eq!(branchpoint_expr::function::Types::LIST.to_string(), "a list");
    /// ```
    pub const LIST: Self = Self(32);
    /// An object.
    ///
    /// ```
    /// assert_eq!(branchpoint_expr::function::Types::OBJECT.to_string(), "an object");
    /// ```
    pub const OBJECT: Self = Self(64);
    /// Any number.
    ///
    /// ```
    /// assert_eq!(branchpoint_expr::function::Types::NUMBER.to_string(), "a number");
    /// ```
    pub const NUMBER: Self = Self(4 | 8);
    /// Anything.
    ///
    /// ```
    /// # use branchpoint_expr::function::Types;
    /// assert_eq!(Types::ANY | Types::NIL, Types::ANY);
    /// ```
    pub const ANY: Self = Self(127);

    /// The union of two sets, for constants.
    ///
    /// ```
    /// # use branchpoint_expr::function::Types;
    /// const MAYBE_TEXT: Types = Types::STR.union(Types::NIL);
    /// assert_eq!(MAYBE_TEXT, Types::STR | Types::NIL);
    /// ```
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the two sets intersect.
    pub(crate) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The difference of two sets.
    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Adds both types of numbers if the set has one of them, because operators accept both.
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

/// Lists the types: "text", "a number or a list".
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
