//! The stable names of diagnostics and errors. Each has a page in `docs/diagnostics/`.

use std::fmt;

/// The stable name of a diagnostic or an error, as in the specs.
///
/// The set is open: this crate has the kinds of conditions and templates, and other crates add their own with
/// [`kinds!`](crate::kinds).
///
/// ```
/// use branchpoint_expr::{Condition, Kind};
///
/// let error = Condition::compile("1 / 0 == 1").unwrap_err();
/// assert_eq!(error.first().cause(), Kind::ZeroDivisor);
/// assert_eq!(Kind::ZeroDivisor.as_str(), "zero_divisor");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Kind(&'static str);

impl Kind {
    /// A new kind, for a function of a host.
    ///
    /// ```
    /// # use branchpoint_expr::Kind;
    /// assert_eq!(Kind::new("too_late").to_string(), "too_late");
    /// ```
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// The name.
    ///
    /// ```
    /// # use branchpoint_expr::Kind;
    /// assert_eq!(Kind::Syntax.as_str(), "syntax");
    /// ```
    pub fn as_str(self) -> &'static str {
        self.0
    }

    /// Whether this crate defines the kind, not a function of a host.
    pub(crate) fn is_own(self) -> bool {
        Self::ALL.contains(&self)
    }
}

/// Defines kinds as constants of [`Kind`], through a trait, and a constant that lists them.
///
/// ```
/// use branchpoint_expr::{Kind, kinds};
///
/// kinds! {
///     /// Kinds of errors in orders.
///     pub trait OrderKinds, listed in ORDER_KINDS {
///         /// The shop has closed.
///         TooLate = "too_late",
///     }
/// }
///
/// assert_eq!(Kind::TooLate.as_str(), "too_late");
/// assert_eq!(ORDER_KINDS, [Kind::TooLate]);
/// ```
#[macro_export]
macro_rules! kinds {
    (
        $(#[$about:meta])*
        pub trait $trait:ident, listed in $list:ident {
            $($(#[doc = $doc:literal])+ $kind:ident = $name:literal,)+
        }
    ) => {
        $(#[$about])*
        #[allow(non_upper_case_globals, reason = "they read like the variants of `Kind`")]
        pub trait $trait {
            $($(#[doc = $doc])+ const $kind: $crate::Kind = $crate::Kind::new($name);)+
        }

        impl $trait for $crate::Kind {}

        #[doc = concat!("All kinds of [`", stringify!($trait), "`].")]
        pub const $list: &[$crate::Kind] = &[$(<$crate::Kind as $trait>::$kind,)+];
    };
}

macro_rules! own_kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident = $name:literal,)+) => {
        #[allow(non_upper_case_globals, reason = "they read like the variants of an enum")]
        impl Kind {
            /// The kinds of this crate.
            ///
            /// ```
            /// # use branchpoint_expr::*;
            /// assert!(Kind::ALL.contains(&Kind::Syntax));
            /// ```
            pub const ALL: &'static [Self] = &[$(Self::$kind,)+];
            $($(#[doc = $doc])+ pub const $kind: Self = Self($name);)+
        }
    };
}

own_kinds! {
    // The dialects' kinds for conditions that do not compile.
    /// `machine`: a condition that does not compile, or whose result can never be boolean.
    BadCondition = "bad_condition",
    /// `steps`, `flow`: an expression that does not compile.
    BadExpression = "bad_expression",
    /// A placeholder or reference that does not parse.
    BadTemplate = "bad_template",

    // Why an expression does not compile.
    /// The text does not parse.
    Syntax = "syntax",
    /// No such function.
    UnknownFunction = "unknown_function",
    /// A function with too many or too few arguments.
    WrongArity = "wrong_arity",
    /// Operands whose types can never fit.
    TypeClash = "type_clash",
    /// Division or remainder by a literal zero.
    ZeroDivisor = "zero_divisor",
    /// An integer literal beyond 64 bits.
    IntegerRange = "integer_range",
    /// `let` with a name that already exists.
    Redeclared = "redeclared",
    /// `#`, `#index` or `#acc` outside a predicate.
    NoElement = "no_element",
    /// The result is neither boolean nor nil.
    NotBoolean = "not_boolean",
    /// A regular expression that does not compile.
    BadRegex = "bad_regex",
    /// A secret where secrets cannot be read.
    SecretNotAllowed = "secret_not_allowed",

    // Names that do not exist.
    /// An unknown root or state.
    UnknownName = "unknown_name",
    /// An unknown property.
    UnknownProperty = "unknown_property",
    /// A reference to an id that is missing in the document.
    UnknownReference = "unknown_reference",
    /// A placeholder that is opened and never closed.
    UnclosedPlaceholder = "unclosed_placeholder",

    // The dialects' kinds for failed evaluations.
    /// `machine`, `graph`: an evaluation error.
    ConditionError = "condition_error",
    /// `steps`: an evaluation error of an expression.
    ConditionType = "condition_type",
    /// `flow`: an evaluation error of an expression.
    Expression = "expression",

    // Why an evaluation fails.
    /// An operation does not support values of these types.
    WrongKind = "wrong_kind",
    /// Division or remainder by zero.
    DivisionByZero = "division_by_zero",
    /// A result outside the range of numbers.
    OutOfRange = "out_of_range",
    /// An argument of the right type with an invalid value.
    BadArgument = "bad_argument",
    /// Text that is not JSON.
    BadJson = "bad_json",
    /// A path that does not exist.
    MissingVariable = "missing_variable",

    // Bounds.
    /// Nested too deeply.
    DepthLimit = "depth_limit",
    /// Too long or too many parts.
    NodeLimit = "node_limit",
    /// Too much work.
    StepLimit = "step_limit",
    /// Too much produced.
    SizeLimit = "size_limit",
    /// A template with blocks is too long, too deep or repeats too often.
    TemplateLimit = "template_limit",
    /// A value is too large, counting shared parts each time.
    ValueLimit = "value_limit",
    /// Too much work for a regular expression.
    RegexLimit = "regex_limit",

    // Typed groups.
    /// A condition has the wrong shape.
    InvalidCondition = "invalid_condition",
    /// A combinator other than and, or, not.
    InvalidCombinator = "invalid_combinator",
    /// `combinator` is missing.
    CombinatorAbsent = "combinator_absent",
    /// A group without conditions.
    EmptyConditions = "empty_conditions",
    /// `not` does not have exactly one condition.
    NotArity = "not_arity",
    /// No such operator.
    UnknownOperator = "unknown_operator",
    /// No such type.
    UnknownType = "unknown_type",
    /// A required value is missing or null.
    MissingValue = "missing_value",
    /// The operator does not support the type.
    InvalidOperatorForType = "invalid_operator_for_type",
    /// A value of another type than declared.
    TypeMismatch = "type_mismatch",
    /// Text that cannot be read as its declared type.
    Parse = "parse",
    /// Numeric text beyond the range of numbers.
    Overflow = "overflow",
    /// Values that have no order.
    Incomparable = "incomparable",
    /// An unknown key.
    UnknownKey = "unknown_key",

    // Target lists and switches.
    /// Both `conditions` and `if`.
    TwoConditions = "two_conditions",
    /// Neither `conditions` nor `if`, or an empty list.
    NoConditions = "no_conditions",
    /// `match` other than all or any.
    UnknownMatch = "unknown_match",
    /// `on_match` other than continue or stop.
    UnknownOnMatch = "unknown_on_match",
    /// No such target.
    UnknownTarget = "unknown_target",
    /// `target` is missing.
    TargetOmitted = "target_omitted",
    /// A deprecated name.
    AliasUsed = "alias_used",
    /// No such value type.
    UnknownValueType = "unknown_value_type",
    /// The operator does not support the value type.
    OperatorValueType = "operator_value_type",
    /// A literal that is not a number.
    BadNumberValue = "bad_number_value",
    /// A literal that is not a date.
    BadDateValue = "bad_date_value",
    /// A literal that is not a boolean.
    BadBooleanValue = "bad_boolean_value",
    /// A phrase that is not a relative time.
    BadRelativeTime = "bad_relative_time",
    /// A field of the wrong type.
    BadField = "bad_field",
    /// A switch without cases.
    NoCases = "no_cases",
    /// A case without a name.
    CaseName = "case_name",
    /// Two cases with the same name.
    CaseNameDuplicate = "case_name_duplicate",
    /// A case named `else`.
    CaseNameReserved = "case_name_reserved",
    /// A case without a match value.
    CaseMatchMissing = "case_match_missing",
    /// A match value without the format of its value type.
    CaseMatchFormat = "case_match_format",
    /// The same match value in two cases.
    DuplicateMatch = "duplicate_match",

    // History conditions.
    /// No such condition type.
    UnknownConditionType = "unknown_condition_type",
    /// `sequence_match` in a step without a sequence.
    MissingSequence = "missing_sequence",

    // Text match.
    /// A field of the wrong type.
    InvalidField = "invalid_field",

    // State machines.
    /// A feature of the original system that is not supported.
    Unsupported = "unsupported",
    /// A state failed, and no transition handles the failure.
    StepFailed = "step_failed",
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}
