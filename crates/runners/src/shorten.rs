//! Values and names in messages.

/// The most characters of a value that a message shows.
const CHARS: usize = 200;

/// A value for a message: long ones are truncated, with `…` and the full length. The `…` lets a truncated secret be recognised and masked.
pub(crate) fn shortened(value: &str) -> String {
    match value.char_indices().nth(CHARS) {
        Some((end, _)) => format!("{}… ({} characters)", &value[..end], value.chars().count()),
        None => value.to_owned(),
    }
}

/// Sorts names by the similarity of a part of them to a given name, the most similar first.
pub(crate) fn by_similarity<N: AsRef<str>>(
    written: &str,
    names: impl IntoIterator<Item = N>,
    part: impl Fn(&str) -> &str,
) -> Vec<(f64, N)> {
    // The comparison takes quadratic time.
    const COMPARED_CHARS: usize = 64;
    let beginning = |name: &str| part(name).chars().take(COMPARED_CHARS).collect::<String>();
    let similarity = |name: &str| strsim::jaro_winkler(&beginning(written), &beginning(name));
    let mut names: Vec<_> = names.into_iter().map(|name| (similarity(name.as_ref()), name)).collect();
    names.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_value_is_cut_and_its_length_is_shown() {
        assert_eq!(shortened("short"), "short");
        assert_eq!(shortened(&"é".repeat(CHARS)), "é".repeat(CHARS));
        assert_eq!(shortened(&"é".repeat(400_000)), format!("{}… (400000 characters)", "é".repeat(CHARS)));
    }
}
