//! The rows whose vectors are most similar to a vector.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use branchpoint_runners::storage::Vector;

use crate::store::StoreError;

/// Keeps the most similar rows while all of them are compared.
pub(super) struct Nearest<'v> {
    vector: &'v Vector,
    limit: usize,
    best: BinaryHeap<Reverse<Candidate>>,
}

/// The better candidate is the greater one.
#[derive(Debug, PartialEq)]
struct Candidate {
    similarity: f32,
    row: i64,
}

impl<'v> Nearest<'v> {
    pub(super) fn new(vector: &'v Vector, limit: u32) -> Self {
        Self { vector, limit: limit as usize, best: BinaryHeap::new() }
    }

    /// Compares the stored vector of a row.
    pub(super) fn add(&mut self, row: i64, stored: &[u8]) -> Result<(), StoreError> {
        let similarity = self.vector.cosine(stored).ok_or_else(|| {
            let (expected, actual) = (self.vector.dimensions(), stored.len() / size_of::<f32>());
            StoreError::Embeddings(format!(
                "the embedding model gives vectors of {expected} numbers, and the stored ones have {actual}; add the data again"
            ))
        })?;
        self.best.push(Reverse(Candidate { similarity, row }));
        if self.best.len() > self.limit {
            self.best.pop();
        }
        Ok(())
    }

    /// The rows, the most similar first.
    pub(super) fn ranked(self) -> Vec<i64> {
        self.best.into_sorted_vec().into_iter().map(|Reverse(candidate)| candidate.row).collect()
    }
}

impl Eq for Candidate {}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.similarity.total_cmp(&other.similarity).then(other.row.cmp(&self.row))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_similar_rows_are_kept_in_order() {
        let vector = |numbers: &[f32]| Vector::new(numbers.to_vec()).expect("a vector");
        let query = vector(&[1.0, 0.0]);
        let mut nearest = Nearest::new(&query, 3);
        for (row, numbers) in [(1, [0.0, 1.0]), (2, [1.0, 0.1]), (3, [-1.0, 0.0]), (4, [1.0, 1.0]), (5, [1.0, 0.1])] {
            nearest.add(row, &vector(&numbers).to_bytes()).expect("the dimensions agree");
        }
        assert!(nearest.add(6, &[0; 4]).is_err());
        assert_eq!(nearest.ranked(), [2, 5, 4]);
    }
}
