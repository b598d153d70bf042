//! Bounds on everything: text, nesting, parts, work, and results. Exceeding one is an error of its own kind.
//!
//! They are counts, never times, so that the same condition over the same values always ends the same way.

/// How much one condition or template may take, when it is compiled and each time it is evaluated.
///
/// Hosts that run conditions of strangers lower them; see [`Environment`](crate::Environment) for how they are set.
///
/// ```
/// use branchpoint_expr::{Condition, Environment, Kind, Limits, Options};
///
/// let environment = Environment { limits: Limits { depth: 3, ..Limits::DEFAULT }, ..Environment::default() };
/// let error = Condition::expression("((((a))))", Options::default().environment(&environment)).unwrap_err();
/// assert_eq!(error.first().cause(), Kind::DepthLimit);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How deeply an expression, and a value that it looks into, may be nested: `depth_limit`. More than the default, which any
    /// stack can hold, counts as the default.
    pub depth: u16,
    /// How many parts one condition or template may have: `node_limit`.
    pub nodes: usize,
    /// How long the text of one condition may be, in bytes: `node_limit`.
    pub source_bytes: usize,
    /// How many parts one evaluation may look at: elements of lists, and for each of them the parts of its predicate:
    /// `step_limit`.
    pub steps: u64,
    /// How many bytes of values one evaluation may produce: `size_limit`.
    pub produced_bytes: usize,
    /// How large a value may be that an evaluation gives back, in the bytes of [`Size`](crate::Size), which counts shared parts each
    /// time: `value_limit`.
    pub value_bytes: u64,
    /// How much work one evaluation may give to regular expressions, in characters of a pattern times bytes of a text:
    /// `regex_limit`.
    pub regex_steps: u64,
}

impl Limits {
    /// The limits that hold where a host sets none.
    ///
    /// ```
    /// # use branchpoint_expr::Limits;
    /// assert_eq!(Limits::default(), Limits::DEFAULT);
    /// ```
    pub const DEFAULT: Self = Self {
        depth: DEPTH,
        nodes: NODES,
        source_bytes: 1 << 20,
        steps: 10_000_000,
        produced_bytes: 64 << 20,
        value_bytes: VALUE_BYTES,
        regex_steps: 1_000_000_000,
    };

    pub(crate) fn depth(&self) -> u16 {
        self.depth.min(DEPTH)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Deep enough for any person and any JSON reader, shallow enough for any stack.
pub(crate) const DEPTH: u16 = 128;

pub(crate) const NODES: usize = 20_000;

/// How many errors, and how many warnings, are reported one by one. Nobody reads more, and each is shown with its line.
pub(crate) const FINDINGS: usize = 50;

/// How many bytes of text cost as much as one part.
pub(crate) const BYTES_PER_STEP: usize = 64;

/// The default of [`Limits::value_bytes`].
///
/// ```
/// # use branchpoint_expr::*;
/// assert_eq!(Limits::DEFAULT.value_bytes, limits::VALUE_BYTES);
/// ```
pub const VALUE_BYTES: u64 = 64 << 20;

/// The message for a value that exceeds such a limit.
///
/// ```
/// assert!(branchpoint_expr::limits::value_message(10).contains("more than 10 bytes"));
/// ```
pub fn value_message(limit: u64) -> String {
    format!("the value has more than {limit} bytes, counting repeated parts each time; keep only the parts you need")
}

/// How many steps of a regular expression count as one step of an evaluation, where its work is reported.
pub(crate) const REGEX_STEPS_PER_STEP: u64 = 100;

/// The cost of compiling a pattern during an evaluation: this, and as much for every so many bytes of it.
pub(crate) const REGEX_COMPILE_STEPS: u64 = 100_000;
pub(crate) const REGEX_COMPILE_BYTES: u64 = 100;

/// How deeply a value may be nested in stored bytes: more than JSON and expressions can make, less than a stack can hold.
pub(crate) const STORED_DEPTH: u16 = 300;
