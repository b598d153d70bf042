//! The paths by which expressions of one scope find slots.

use std::collections::BTreeMap;

use super::super::SlotId;

/// Paths as one row of bytes each: looking for the longest known beginning of a path takes one copy, however long it is.
#[derive(Debug, Default)]
pub(super) struct Names(BTreeMap<Box<[u8]>, SlotId>);

impl Names {
    pub(super) fn insert(&mut self, path: &[&str], slot: SlotId) {
        self.0.insert(Beginnings::of(path).row.into(), slot);
    }

    /// The slot of the longest known beginning of a path, and how many parts that has.
    pub(super) fn longest(&self, path: &Beginnings) -> Option<(SlotId, usize)> {
        // Most scopes name nothing of their own.
        if self.0.is_empty() {
            return None;
        }
        let known = |(parts, end): (usize, &usize)| Some((*self.0.get(&path.row[..*end])?, parts));
        path.ends.iter().enumerate().rev().find_map(known)
    }
}

/// A path as a row of bytes, each part after its length, so that no part can be taken for two.
pub(super) struct Beginnings {
    row: Vec<u8>,
    /// By number of parts: where that beginning ends.
    ends: Vec<usize>,
}

impl Beginnings {
    pub(super) fn of(path: &[&str]) -> Self {
        let mut beginnings = Self { row: Vec::new(), ends: vec![0] };
        for part in path {
            beginnings.row.extend_from_slice(&part.len().to_le_bytes());
            beginnings.row.extend_from_slice(part.as_bytes());
            beginnings.ends.push(beginnings.row.len());
        }
        beginnings
    }
}
