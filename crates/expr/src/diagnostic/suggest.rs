//! "Did you mean": the candidate nearest to what was written.

/// Names longer than this are not compared: nobody misspells a name of that length by a letter or two.
const LONGEST: usize = 64;

/// The candidate nearest to a misspelt name, if it is near enough that a person would have meant it.
pub(crate) fn nearest<'c>(written: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    if written.is_empty() || written.len() > LONGEST {
        return None;
    }
    let allowed = (written.chars().count() / 3).clamp(1, 3);
    let from = fold(written);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= LONGEST && *candidate != written)
        .map(|candidate| (fold(candidate), candidate))
        // Each letter that one has more than the other must be inserted.
        .filter(|(to, _)| to.len().abs_diff(from.len()) <= allowed)
        .map(|(to, candidate)| (distance(&from, &to), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Case, `-` and `_` are what people mix up most, so they count for nothing.
fn fold(name: &str) -> Vec<char> {
    name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

/// How many letters to insert, delete, replace or swap with their neighbour to make one name of the other.
fn distance(from: &[char], to: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (row, a) in from.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, b) in to.iter().enumerate() {
            let replace = last[column] + usize::from(a != b);
            let mut best = replace.min(last[column + 1] + 1).min(current[column] + 1);
            if row > 0 && column > 0 && *a == to[column - 1] && from[row - 1] == *b {
                best = best.min(before_last[column - 1] + 1);
            }
            current.push(best);
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

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
}
