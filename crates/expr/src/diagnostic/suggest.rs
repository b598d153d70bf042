//! "Did you mean" suggestions.

use strsim::osa_distance;

/// The longest name that is compared. Longer names are rarely misspelt by only a letter or two.
const LONGEST: usize = 64;

/// The maximum number of compared candidates, because a document may have 100,000 names and many findings.
const CANDIDATES: usize = 2_000;

/// The candidate most similar to a misspelt name, if it is similar enough.
///
/// ```
/// # use branchpoint_expr::*;
/// assert_eq!(nearest("contians", ["contains", "matches"]), Some("contains"));
/// assert_eq!(nearest("weather", ["contains", "matches"]), None);
/// ```
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
        // The distance is at least the difference of the lengths.
        .filter(|(to, _)| to.chars().count().abs_diff(from.chars().count()) <= allowed)
        .map(|(to, candidate)| (osa_distance(&from, &to), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Removes differences in case, `-` and `_`, which people confuse most.
fn fold(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
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
}
