//! The names of slots in one scope.

use std::collections::BTreeMap;

use super::super::SlotId;

/// Slots by path. Paths are encoded as bytes, so that a search for the longest prefix encodes a path only once.
#[derive(Debug, Default)]
pub(super) struct Names(BTreeMap<Box<[u8]>, SlotId>);

impl Names {
    pub(super) fn insert(&mut self, path: &[&str], slot: SlotId) {
        self.0.insert(EncodedPath::of(path).bytes.into(), slot);
    }

    /// The slot of the longest prefix of a path, and the number of parts of the prefix.
    pub(super) fn longest(&self, path: &EncodedPath) -> Option<(SlotId, usize)> {
        // Most scopes have no names.
        if self.0.is_empty() {
            return None;
        }
        let entry = |(parts, end): (usize, &usize)| Some((*self.0.get(&path.bytes[..*end])?, parts));
        path.ends.iter().enumerate().rev().find_map(entry)
    }
}

/// A path as bytes. Each part is preceded by its length, so that the encoding is unambiguous.
pub(super) struct EncodedPath {
    bytes: Vec<u8>,
    /// The end of the prefix with each number of parts.
    ends: Vec<usize>,
}

impl EncodedPath {
    pub(super) fn of(path: &[&str]) -> Self {
        let mut encoded = Self { bytes: Vec::new(), ends: vec![0] };
        for part in path {
            encoded.bytes.extend_from_slice(&part.len().to_le_bytes());
            encoded.bytes.extend_from_slice(part.as_bytes());
            encoded.ends.push(encoded.bytes.len());
        }
        encoded
    }
}
