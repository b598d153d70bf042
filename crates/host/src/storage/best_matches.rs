//! The best matches of a full-text search, which come in the order of their scores.

/// Matches with the highest scores. Those with equal scores are in the order of their numbers.
pub(super) struct BestMatches {
    limit: usize,
    /// Number and score, the score falling.
    found: Vec<(i64, f64)>,
}

impl BestMatches {
    pub(super) fn new(limit: u32) -> Self {
        Self { limit: limit as usize, found: Vec::new() }
    }

    /// Whether a match with this score, and all that follow, are not among the best. All matches with the score of the last one are
    /// needed to order them.
    pub(super) fn are_complete(&self, score: f64) -> bool {
        let last = self.limit.checked_sub(1).map(|last| self.found.get(last));
        last.is_none_or(|last| last.is_some_and(|(_, last)| score < *last))
    }

    pub(super) fn add(&mut self, number: i64, score: f64) {
        self.found.push((number, score));
    }

    pub(super) fn ranked(mut self) -> Vec<(i64, f64)> {
        self.found.sort_by(|(number, score), (other, other_score)| {
            other_score.total_cmp(score).then_with(|| number.cmp(other))
        });
        self.found.truncate(self.limit);
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(limit: u32, matches: &[(i64, f64)], expect: &[(i64, f64)]) {
        let mut best = BestMatches::new(limit);
        for (number, score) in matches {
            if best.are_complete(*score) {
                break;
            }
            best.add(*number, *score);
        }
        assert_eq!(best.ranked(), expect, "{matches:?}");
    }

    #[test]
    fn the_best_are_in_the_order_of_scores_and_numbers() {
        check(2, &[(7, 3.0), (2, 2.0), (1, 1.0)], &[(7, 3.0), (2, 2.0)]);
        check(2, &[(7, 3.0), (5, 2.0), (2, 2.0), (1, 1.0)], &[(7, 3.0), (2, 2.0)]);
        check(3, &[(7, 3.0), (8, 3.0)], &[(7, 3.0), (8, 3.0)]);
        check(0, &[(7, 3.0)], &[]);
        check(2, &[], &[]);
    }
}
