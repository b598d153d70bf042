//! The dialects as parameters of the compiler. The evaluator does not depend on the dialect.

use serde::{Deserialize, Serialize};

use crate::Kind;
use crate::program::Access;
use crate::syntax::Grammar;

/// The dialect of a condition or template.
///
/// ```
/// # use branchpoint_expr::*;
/// // A missing value is nil in one dialect and an error in another.
/// let missing = |dialect, text: &str| Expression::compile(text, Options::dialect(dialect))?.value(&Value::Null).map_err(Box::<dyn std::error::Error>::from);
/// assert_eq!(missing(Dialect::Machine, "nothing")?, Value::Null);
/// assert!(missing(Dialect::Flow, "$nothing").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Dialect {
    /// State machines: expressions; a missing value is nil; texts of `inputs` are coerced.
    #[default]
    Machine,
    /// JSON flows: typed groups; `$name`; a missing path is an error.
    Flow,
    /// Step trees: target lists, expressions, typed groups; text is read as the JSON it holds.
    Steps,
    /// Tool gating: history conditions; a missing value is nil.
    Session,
    /// Graphs: text match; a missing value is nil.
    Graph,
}

impl Dialect {
    /// All dialects.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert_eq!(Dialect::ALL.len(), 5);
    /// ```
    pub const ALL: [Self; 5] = [Self::Machine, Self::Flow, Self::Steps, Self::Session, Self::Graph];

    /// The name.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert_eq!(Dialect::Flow.as_str(), "flow");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::Flow => "flow",
            Self::Steps => "steps",
            Self::Session => "session",
            Self::Graph => "graph",
        }
    }

    pub(crate) fn grammar(self) -> Grammar {
        match self {
            Self::Machine => Grammar::AnyCase,
            Self::Flow => Grammar::Dollar,
            Self::Steps => Grammar::Plain,
            Self::Session | Self::Graph => Grammar::Bare,
        }
    }

    /// How paths are looked up in expressions.
    pub(crate) fn access(self) -> Access {
        match self {
            Self::Machine | Self::Session | Self::Graph => Access::Nil,
            Self::Flow => Access::Required,
            Self::Steps => Access::JsonText,
        }
    }

    /// The name whose top-level texts are coerced to the booleans and numbers that they spell.
    pub(crate) fn coerced_root(self) -> Option<&'static str> {
        (self == Self::Machine).then_some("inputs")
    }

    /// Whether `&&` and `||` accept any values, so that they can express defaults.
    pub(crate) fn values_in_logic(self) -> bool {
        self == Self::Flow
    }

    /// Whether an error that is certain at load time is only a warning there and fails at run time.
    pub(crate) fn fails_at_run_time(self, cause: Kind) -> bool {
        self == Self::Flow && matches!(cause, Kind::TypeClash | Kind::ZeroDivisor)
    }

    /// The dialect's kind for an expression that does not compile.
    pub(crate) fn refusal(self, cause: Kind) -> Kind {
        match self {
            Self::Steps if matches!(cause, Kind::BadRegex) => cause,
            Self::Flow | Self::Steps => Kind::BadExpression,
            Self::Machine | Self::Session | Self::Graph => Kind::BadCondition,
        }
    }

    /// The dialect's kind for a failed evaluation.
    pub(crate) fn failure(self, cause: Kind) -> Kind {
        match self {
            Self::Steps if matches!(cause, Kind::BadRegex | Kind::RegexLimit | Kind::BadRelativeTime) => cause,
            _ if SHARED_KINDS.contains(&cause) => cause,
            Self::Steps if !cause.is_own() => Kind::StepFailed,
            Self::Steps => Kind::ConditionType,
            Self::Flow if cause == Kind::MissingVariable || !cause.is_own() => cause,
            Self::Flow => Kind::Expression,
            Self::Machine | Self::Session | Self::Graph => Kind::ConditionError,
        }
    }
}

/// Kinds of failures that are the same in every dialect: those of typed groups, and values that are too large.
const SHARED_KINDS: [Kind; 7] = [
    Kind::ValueLimit,
    Kind::TypeMismatch,
    Kind::Parse,
    Kind::Overflow,
    Kind::Incomparable,
    Kind::MissingValue,
    Kind::InvalidOperatorForType,
];
