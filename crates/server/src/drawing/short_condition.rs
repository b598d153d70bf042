//! Conditions that fit into the cell of a branch.

/// A condition with its paths shortened to their last segments: `…score < 0.85`.
pub(super) fn shorten_condition(condition: &str) -> String {
    let mut short = String::with_capacity(condition.len());
    let mut word = String::new();
    let mut quote: Option<char> = None;
    let flush = |word: &mut String, short: &mut String| {
        let is_path = word.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_') && word.contains('.');
        match word.rsplit_once('.').filter(|_| is_path) {
            Some((_, last)) if !last.is_empty() => short.extend(["…", last]),
            _ => short.push_str(word),
        }
        word.clear();
    };
    for c in condition.chars() {
        match quote {
            Some(end) => {
                quote = (c != end).then_some(end);
                short.push(c);
            }
            None if c.is_alphanumeric() || c == '_' || c == '.' => word.push(c),
            None => {
                flush(&mut word, &mut short);
                quote = matches!(c, '"' | '\'').then_some(c);
                short.push(c);
            }
        }
    }
    flush(&mut word, &mut short);
    short
}

#[cfg(test)]
mod tests {
    use super::shorten_condition;

    #[test]
    fn conditions_keep_operators_and_texts() {
        for (condition, short) in [
            ("step.score.output.score < 0.85", "…score < 0.85"),
            ("a.b == \"x.y\" && !c", "…b == \"x.y\" && !c"),
            ("len(inputs.items) > 1.5", "len(…items) > 1.5"),
            ("", ""),
        ] {
            assert_eq!(shorten_condition(condition), short);
        }
    }
}
