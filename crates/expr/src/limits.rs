//! Bounds on everything: text, nesting, parts, work, and what is produced. Going over one is an error of its own kind.

/// How deeply an expression may be nested. Deep enough for any person, shallow enough for any stack.
pub(crate) const DEPTH: u16 = 128;

/// How many parts one condition or template may have.
pub(crate) const NODES: usize = 20_000;

/// How long the text of one condition or template may be, in bytes.
pub(crate) const SOURCE_BYTES: usize = 1 << 20;

/// How many elements one evaluation may visit.
pub(crate) const STEPS: u64 = 10_000_000;

/// How many bytes of values one evaluation may produce.
pub(crate) const PRODUCED_BYTES: usize = 64 << 20;
