//! Limits on documents. A document that exceeds one is rejected at the position where it does.

/// The longest text that [`read`](crate::read) accepts, in bytes. Code that reads files stops at this size.
pub const DOCUMENT_BYTES: usize = 8 << 20;

/// The greatest depth of nested lists and objects, with aliases expanded.
pub const DEPTH: usize = 100;

/// The largest number of values of a document, with aliases expanded.
pub const NODES: usize = 200_000;

/// The largest number of bytes that the aliases of a document may add: the texts and keys of their targets, and
/// 8 for each value and key. A text is stored wherever it is used, so it counts each time.
pub const ALIAS_BYTES: usize = 8 << 20;

/// The bytes that a value or key from an alias counts beside its text.
pub(super) const ALIAS_PART_BYTES: usize = 8;
