//! The size limit of programs.

use super::Builder;

/// The maximum size of the places, expressions, conditions and constants of a program, in bytes. A program usually has a few times the
/// size of its document; it is much larger only if lowering repeats parts of the document in many contexts.
pub const PROGRAM_BYTES: u64 = 128 << 20;

/// The size of a place.
pub(super) const PLACE_BYTES: u64 = 64;

/// The size of a program under construction.
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
    /// Whether the program exceeds [`PROGRAM_BYTES`]. If so, [`Self::finish`] rejects it, and the front-end can stop.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// assert!(!b.is_too_large());
    /// ```
    pub fn is_too_large(&self) -> bool {
        self.size.is_exceeded()
    }
}
