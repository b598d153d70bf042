//! "Did you mean": the candidate nearest to what was written.

/// Names longer than this are not compared: nobody misspells a name of that length by a letter or two.
const LONGEST: usize = 64;

/// How many candidates are compared: a document may have a hundred thousand names, and many findings.
const CANDIDATES: usize = 10_000;

/// The candidate nearest to a misspelt name, if it is near enough that a person would have meant it.
pub fn nearest<'c>(written: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    if written.is_empty() || written.len() > LONGEST {
        return None;
    }
    let allowed = (written.chars().count() / 3).clamp(1, 3);
    let from = fold(written);
    candidates
        .into_iter()
        .take(CANDIDATES)
        .filter(|candidate| candidate.len() <= LONGEST && *candidate != written)
        .map(|candidate| (fold(candidate), candidate))
        // Each letter that one has more than the other must be inserted.
        .filter(|(to, _)| to.len().abs_diff(from.len()) <= allowed)
        .filter_map(|(to, candidate)| Some((distance(&from, &to, allowed)?, candidate)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Case, `-` and `_` are what people mix up most, so they count for nothing.
fn fold(name: &str) -> Vec<char> {
    name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

/// How many letters to insert, delete, replace or swap with their neighbour to make one name of the other; none if it takes more
/// than `allowed`. Only cells that near to the diagonal are computed, and only until none of a row can lead to an end.
fn distance(from: &[char], to: &[char], allowed: usize) -> Option<usize> {
    let far = allowed + 1;
    let mut before_last = vec![far; to.len() + 1];
    let mut last: Vec<usize> = (0..=to.len()).collect();
    let mut current = vec![far; to.len() + 1];
    for (row, a) in from.iter().enumerate() {
        let (first, end) = (row.saturating_sub(allowed), (row + allowed + 1).min(to.len()));
        current.fill(far);
        current[0] = row + 1;
        for column in first..end {
            let b = &to[column];
            let replace = last[column] + usize::from(a != b);
            let mut best = replace.min(last[column + 1] + 1).min(current[column] + 1);
            if row > 0 && column > 0 && *a == to[column - 1] && from[row - 1] == *b {
                best = best.min(before_last[column - 1] + 1);
            }
            current[column + 1] = best.min(far);
        }
        if current[first..=end].iter().all(|cell| *cell > allowed) {
            return None;
        }
        std::mem::swap(&mut before_last, &mut last);
        std::mem::swap(&mut last, &mut current);
    }
    Some(last[to.len()]).filter(|distance| *distance <= allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(written: &str, expect: Option<&str>) {
        let names = ["startsWith", "endsWith", "contains", "$regex", "hasPrefix", "len"];
        assert_eq!(nearest(written, names), expect, "{written}");
    }

    #[test]
    fn near_names_are_offered_and_far_ones_are_not() {
        check("startswith", Some("startsWith"));
        check("has_prefix", Some("hasPrefix"));
        check("containz", Some("contains"));
        check("$regx", Some("$regex"));
        check("lne", Some("len"));
        check("strlen", None);
        check("", None);
    }

    /// The definition, without a bound.
    fn unbounded(from: &[char], to: &[char]) -> usize {
        let mut rows = vec![(0..=to.len()).collect::<Vec<_>>()];
        for row in 1..=from.len() {
            let mut current = vec![row];
            for column in 1..=to.len() {
                let replace = rows[row - 1][column - 1] + usize::from(from[row - 1] != to[column - 1]);
                let mut best = replace.min(rows[row - 1][column] + 1).min(current[column - 1] + 1);
                if row > 1 && column > 1 && from[row - 1] == to[column - 2] && from[row - 2] == to[column - 1] {
                    best = best.min(rows[row - 2][column - 2] + 1);
                }
                current.push(best);
            }
            rows.push(current);
        }
        rows[from.len()][to.len()]
    }

    #[test]
    fn the_bound_changes_no_distance_within_it() {
        let names =
            ["", "a", "ab", "ba", "abc", "acb", "bca", "abcd", "badc", "abcdefgh", "bacdefhg", "xabcdefg", "aaaa"];
        for from in names.map(fold) {
            for to in names.map(fold) {
                for allowed in 1..=3 {
                    let expect = Some(unbounded(&from, &to)).filter(|distance| *distance <= allowed);
                    assert_eq!(distance(&from, &to, allowed), expect, "{from:?} {to:?} {allowed}");
                }
            }
        }
    }
}
