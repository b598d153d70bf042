//! Limits on text, nesting, parts, work and results. Each has its own kind of error.
//!
//! They are counts, not times, so that equal conditions over equal values always have equal results.

/// The limits of compiling and evaluating one condition or template.
///
/// A host that runs untrusted conditions can lower them; see [`Environment`](crate::Environment).
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
    /// Maximum nesting of an expression and of the values it reads (`depth_limit`). It cannot exceed the default, for which every
    /// stack has room.
    pub depth: u16,
    /// Maximum number of parts of a condition or template (`node_limit`).
    pub nodes: usize,
    /// Maximum length of the text of a condition, in bytes (`node_limit`).
    pub source_bytes: usize,
    /// Maximum number of steps of an evaluation: elements of lists, times the parts of their predicates (`step_limit`).
    pub steps: u64,
    /// Maximum number of bytes that an evaluation produces (`size_limit`).
    pub produced_bytes: usize,
    /// Maximum size of a result, in the bytes of [`Size`](crate::Size), which counts shared parts each time (`value_limit`).
    pub value_bytes: u64,
    /// Maximum work of regular expressions in an evaluation, in characters of patterns times bytes of texts (`regex_limit`).
    pub regex_steps: u64,
}

impl Limits {
    /// The default limits.
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

/// The default of [`Limits::depth`]: as deep as common JSON parsers, and shallow enough for every stack.
pub(crate) const DEPTH: u16 = 128;

pub(crate) const NODES: usize = 20_000;

/// The maximum number of errors, and of warnings, that are reported individually.
pub(crate) const FINDINGS: usize = 50;

/// The number of bytes of text that cost one step.
pub(crate) const BYTES_PER_STEP: usize = 64;

/// The default of [`Limits::value_bytes`].
///
/// ```
/// # use branchpoint_expr::*;
/// assert_eq!(Limits::DEFAULT.value_bytes, limits::VALUE_BYTES);
/// ```
pub const VALUE_BYTES: u64 = 64 << 20;

/// The message for a value that exceeds a limit in bytes.
///
/// ```
/// assert!(branchpoint_expr::limits::value_message(10).contains("more than 10 bytes"));
/// ```
pub fn value_message(limit: u64) -> String {
    format!("the value has more than {limit} bytes, counting repeated parts each time; keep only the parts you need")
}

/// The number of regular expression steps that are reported as one step of an evaluation.
pub(crate) const REGEX_STEPS_PER_STEP: u64 = 100;

/// The cost of compiling a pattern during an evaluation: once, and once more for every `REGEX_COMPILE_BYTES` of its text.
pub(crate) const REGEX_COMPILE_STEPS: u64 = 100_000;
pub(crate) const REGEX_COMPILE_BYTES: u64 = 100;

/// The maximum nesting of a value in stored bytes: more than JSON and expressions produce, less than a stack can hold.
pub(crate) const STORED_DEPTH: u16 = 300;
