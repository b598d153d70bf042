//! Bounds on everything: text, nesting, parts, work, and what is produced. Going over one is an error of its own kind.
//!
//! They are counts, never times, so that the same condition over the same values always has the same end.

/// How deeply an expression, and a value that it looks into, may be nested. Deep enough for any person and any JSON
/// reader, shallow enough for any stack.
pub(crate) const DEPTH: u16 = 128;

/// How many parts one condition or template may have.
pub(crate) const NODES: usize = 20_000;

/// How long the text of one condition or template may be, in bytes.
pub(crate) const SOURCE_BYTES: usize = 1 << 20;

/// How many errors, and how many warnings, are told one by one. Nobody reads more, and each is shown with its line.
pub(crate) const FINDINGS: usize = 50;

/// How many parts one evaluation may look at: elements of lists, and for each of them the parts of its predicate.
pub(crate) const STEPS: u64 = 10_000_000;

/// How many bytes of text cost as much as one part.
pub(crate) const BYTES_PER_STEP: usize = 64;

/// How many bytes of values one evaluation may produce.
pub(crate) const PRODUCED_BYTES: usize = 64 << 20;

/// How large a value may be that an evaluation gives back, in the bytes of [`Size`](crate::Size): as if nothing in it were
/// shared, because so it is stored, printed and compared.
pub const VALUE_BYTES: u64 = 64 << 20;

/// The message for a value that exceeds such a limit.
pub fn value_message(limit: u64) -> String {
    format!("the value has more than {limit} bytes, counting repeated parts each time; keep only the parts you need")
}

/// How much work one evaluation may give to regular expressions, in characters of a pattern times bytes of a text.
pub(crate) const REGEX_STEPS: u64 = 1_000_000_000;

/// How many steps of a regular expression count as one step of an evaluation, where its work is reported.
pub(crate) const REGEX_STEPS_PER_STEP: u64 = 100;

/// What compiling a pattern costs that is known only when evaluating: this, and as much for every so many bytes of it.
pub(crate) const REGEX_COMPILE_STEPS: u64 = 100_000;
pub(crate) const REGEX_COMPILE_BYTES: u64 = 100;

/// How deeply a value may be nested in stored bytes: more than JSON and expressions can make, less than a stack can hold.
pub(crate) const STORED_DEPTH: u16 = 300;
