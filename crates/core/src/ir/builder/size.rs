//! How large a program may become.

use super::Builder;

/// How large the places, expressions, conditions and constant values of a program may be together, in bytes. A document is lowered
/// to a few times its own size; one that is lowered to much more repeats its parts in every context in which they stand.
pub const PROGRAM_BYTES: u64 = 128 << 20;

/// What a place counts.
pub(super) const PLACE_BYTES: u64 = 64;

/// The size of a program in the making.
#[derive(Debug, Default)]
pub(super) struct ProgramSize {
    bytes: u64,
}

impl ProgramSize {
    pub(super) fn add(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    pub(super) fn is_exceeded(&self) -> bool {
        self.bytes > PROGRAM_BYTES
    }
}

impl Builder {
    /// Whether the program exceeds [`PROGRAM_BYTES`]. Then [`Self::finish`] rejects it, so there is no need to add to it.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// assert!(!b.is_too_large());
    /// ```
    pub fn is_too_large(&self) -> bool {
        self.size.is_exceeded()
    }
}
