//! Bounds on documents. A document that exceeds one is refused, with the place where it does.

/// The longest text that [`read`](crate::read) accepts, in bytes. Whoever reads documents from files stops there.
pub const DOCUMENT_BYTES: usize = 8 << 20;

/// How deep lists and objects may be nested, aliases expanded.
pub const DEPTH: usize = 100;

/// How many values a document may have, aliases expanded.
pub const NODES: usize = 200_000;

/// How many bytes the aliases of a document may add to it: the texts and keys that they stand for, and
/// 8 for each value and key. A text is stored wherever it is used, so it counts each time.
pub const ALIAS_BYTES: usize = 8 << 20;

/// What a value or key counts that comes from an alias, beside its text.
pub(super) const ALIAS_PART_BYTES: usize = 8;
