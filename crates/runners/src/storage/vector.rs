//! Vectors of embedding models, and the fusion of rankings.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The most numbers of a vector.
pub const MAX_DIMENSIONS: usize = 8192;

/// The usual constant of reciprocal rank fusion.
const RANK_CONSTANT: f64 = 60.0;

/// The vector of a text, scaled to the length 1, so that the cosine of two vectors is their dot product.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector(Vec<f32>);

impl Vector {
    /// Scales numbers to the length 1; `None` if there are no numbers, too many, or only zeros, or one is not finite.
    ///
    /// ```
    /// use branchpoint_runners::storage::Vector;
    ///
    /// assert!(Vector::new(vec![3.0, 4.0]).is_some() && Vector::new(vec![0.0]).is_none());
    /// ```
    pub fn new(mut numbers: Vec<f32>) -> Option<Self> {
        let length = numbers.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>().sqrt();
        if numbers.len() > MAX_DIMENSIONS || !length.is_finite() || length == 0.0 {
            return None;
        }
        for number in &mut numbers {
            #[expect(clippy::cast_possible_truncation, reason = "a number of a vector is not larger than its length")]
            let scaled = (f64::from(*number) / length) as f32;
            *number = scaled;
        }
        Some(Self(numbers))
    }

    /// The number of its dimensions.
    ///
    /// ```
    /// let vector = branchpoint_runners::storage::Vector::new(vec![3.0, 4.0]).unwrap();
    /// assert_eq!(vector.dimensions(), 2);
    /// ```
    pub fn dimensions(&self) -> usize {
        self.0.len()
    }

    /// Its stored form: each number as four bytes, little-endian.
    ///
    /// ```
    /// let vector = branchpoint_runners::storage::Vector::new(vec![3.0, 4.0]).unwrap();
    /// assert_eq!(vector.to_bytes().len(), 8);
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    /// The cosine similarity to a stored vector; `None` if that has another number of dimensions.
    ///
    /// ```
    /// use branchpoint_runners::storage::Vector;
    ///
    /// let (right, up) = (Vector::new(vec![1.0, 0.0]).unwrap(), Vector::new(vec![0.0, 5.0]).unwrap());
    /// assert_eq!(right.cosine(&up.to_bytes()), Some(0.0));
    /// ```
    pub fn cosine(&self, stored: &[u8]) -> Option<f32> {
        if stored.len() != self.0.len() * size_of::<f32>() {
            return None;
        }
        // Independent sums can be vectorised.
        let mut sums = [0.0_f32; 8];
        for (numbers, bytes) in self.0.chunks(8).zip(stored.chunks(8 * size_of::<f32>())) {
            let others = bytes.as_chunks::<4>().0;
            for ((sum, number), other) in sums.iter_mut().zip(numbers).zip(others) {
                *sum += number * f32::from_le_bytes(*other);
            }
        }
        Some(sums.iter().sum())
    }
}

/// The vector of a text and the model that computed it. Vectors of different models cannot be compared.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelVector {
    /// The name of the model.
    pub model: Arc<str>,
    /// The vector.
    pub vector: Vector,
}

/// Combines rankings by reciprocal rank fusion: an entry scores more the higher it is in each ranking. The best entries come first; ties
/// are ordered by number.
///
/// ```
/// let fused = branchpoint_runners::storage::fuse(&[vec![7, 8], vec![8, 9]]);
/// assert_eq!(fused[0].0, 8);
/// ```
pub fn fuse(rankings: &[Vec<i64>]) -> Vec<(i64, f64)> {
    let mut scores: BTreeMap<i64, f64> = BTreeMap::new();
    for ranking in rankings {
        let mut place = RANK_CONSTANT;
        for entry in ranking {
            place += 1.0;
            *scores.entry(*entry).or_default() += place.recip();
        }
    }
    let mut fused: Vec<_> = scores.into_iter().collect();
    fused.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    fused
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cosine_depends_on_directions_and_not_on_lengths() {
        let vector = |numbers: &[f32]| Vector::new(numbers.to_vec()).expect("a vector");
        let cosine = |one: &[f32], other: &[f32]| vector(one).cosine(&vector(other).to_bytes());
        let close = |found: Option<f32>, expected: f32| found.is_some_and(|found| (found - expected).abs() < 1e-6);
        assert!(close(cosine(&[3.0, 4.0], &[30.0, 40.0]), 1.0));
        assert!(close(cosine(&[1.0, 0.0], &[0.0, 2.0]), 0.0));
        assert!(close(cosine(&[1.0, 0.0], &[-5.0, 0.0]), -1.0));
        let long: Vec<f32> = (1_u8..=13).map(f32::from).collect();
        assert!(close(cosine(&long, &long), 1.0));
        assert_eq!(cosine(&[1.0], &[1.0, 1.0]), None, "vectors of different sizes are not compared");
    }

    #[test]
    fn zeros_and_infinite_numbers_are_not_a_vector() {
        for numbers in [vec![], vec![0.0, 0.0], vec![f32::NAN], vec![f32::INFINITY, 1.0], vec![1.0; MAX_DIMENSIONS + 1]]
        {
            assert_eq!(Vector::new(numbers), None);
        }
        assert_eq!(Vector::new(vec![f32::MAX; 4]), Some(Vector(vec![0.5; 4])), "the length of large numbers is finite");
    }

    #[test]
    fn fusion_prefers_entries_that_are_high_in_several_rankings() {
        let order = |rankings: &[Vec<i64>]| fuse(rankings).into_iter().map(|(entry, _)| entry).collect::<Vec<_>>();
        assert_eq!(order(&[vec![1, 2, 3], vec![4, 2, 5]]), [2, 1, 4, 3, 5]);
        assert_eq!(order(&[vec![7, 6]]), [7, 6]);
        assert_eq!(order(&[]), [0; 0]);
        let fused = fuse(&[vec![9], vec![9]]);
        assert!((fused[0].1 - 2.0 / 61.0).abs() < 1e-12, "{fused:?}");
    }
}
