//! Estimates the maximum cost of searching for a pattern.

use crate::{BACKTRACKS, BYTES_PER_STEP};

/// The cost of a pattern, estimated from its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PatternCost {
    /// The cost of one byte of text: the characters of the pattern with counted repetitions written out.
    copies: u64,
    /// Whether it may backtrack, up to a separate limit.
    backtracks: bool,
}

impl PatternCost {
    pub(crate) fn new(pattern: &str) -> Self {
        let (mut copies, mut added) = (pattern.len() as u64, 0_u64);
        for (at, _) in pattern.match_indices('{') {
            let count = largest_count(&pattern[at + 1..]);
            if pattern[..at].ends_with(')') {
                copies = copies.saturating_mul(count.max(1));
            } else {
                added = added.saturating_add(count);
            }
        }
        let looks_around = ["(?=", "(?!", "(?<=", "(?<!", "(?>"].iter().any(|part| pattern.contains(part));
        let refers_back =
            pattern.as_bytes().windows(2).any(|pair| pair[0] == b'\\' && matches!(pair[1], b'1'..=b'9' | b'k'));
        Self { copies: copies.saturating_add(added), backtracks: looks_around || refers_back }
    }

    /// The steps of one search.
    pub(crate) fn steps(self, text: &str) -> u64 {
        let search = self.copies.saturating_mul(text.len() as u64) / BYTES_PER_STEP;
        let backtracking = if self.backtracks { BACKTRACKS as u64 / 10 } else { 0 };
        search.saturating_add(backtracking).saturating_add(1)
    }
}

/// The larger number of `n}` or `n,m}`.
fn largest_count(counts: &str) -> u64 {
    let counts = counts.split('}').next().unwrap_or_default();
    counts.split(',').filter_map(|count| count.trim().parse().ok()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_written_out() {
        assert_eq!(PatternCost::new("abc").copies, 3);
        assert_eq!(PatternCost::new("a{10}").copies, 15);
        assert_eq!(PatternCost::new("(ab){2,10}").copies, 100);
        assert_eq!(PatternCost::new("(a{100}){100}").copies, 1400);
        assert!(PatternCost::new("(?=a)").backtracks && PatternCost::new(r"(a)\1").backtracks);
        assert!(!PatternCost::new(r"^\d{4}$").backtracks);
    }
}
