//! Describes errors of deserialization for people: the field, what it must be, and a suggestion.

use std::fmt;

use branchpoint_expr::nearest;

/// The longest value of a request or a setting that a message repeats, in characters.
const VALUE_CHARS: usize = 60;

/// What is wrong with data that does not have the expected form.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DataError {
    /// The problem, beginning in lower case.
    pub problem: String,
    /// The remedy, if the problem does not say it.
    pub help: Option<String>,
}

impl DataError {
    /// Rewords a message of a deserializer about the part of the data at a path, which is empty for the whole.
    ///
    /// ```
    /// # use branchpoint_server::DataError;
    /// let error = DataError::new("tags", "invalid type: string \"x\", expected a sequence at line 1 column 28");
    /// assert_eq!(error.problem, "`tags` must be a list, but is \"x\"");
    /// let error = DataError::new("", "unknown field `worklow`, expected `workflow` or `tags`");
    /// assert_eq!(error.to_string(), "unknown field `worklow`; did you mean `workflow`?");
    /// ```
    #[must_use]
    pub fn new(path: &str, serde_text: &str) -> Self {
        // Deserializers give nothing but text, which is reworded here and decides nothing.
        let line = without_position(serde_text);
        unknown(path, line).or_else(|| wrong_type(path, line)).or_else(|| missing(path, line)).unwrap_or_else(|| {
            match path {
                "" | "." => Self::of(line.to_owned()),
                path => Self::of(format!("`{path}`: {line}")),
            }
        })
    }

    fn of(problem: String) -> Self {
        Self { problem, help: None }
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, "; {help}"))
    }
}

/// A message without the position that `serde_json` and `toml` append. Requests are often on one line, where it does not help.
fn without_position(serde_text: &str) -> &str {
    let line = serde_text.lines().next().unwrap_or_default();
    line.rfind(" at line ").map_or(line, |end| line.get(..end).unwrap_or(line))
}

/// The part of the data that a message is about.
fn subject(path: &str) -> String {
    match path {
        "" | "." => "the data".to_owned(),
        path => format!("`{path}`"),
    }
}

/// ``unknown field `x`, expected one of `a`, `b` `` and the same of variants.
fn unknown(path: &str, serde_text: &str) -> Option<DataError> {
    let is_field = serde_text.starts_with("unknown field `");
    let rest = serde_text.strip_prefix("unknown field `").or_else(|| serde_text.strip_prefix("unknown variant `"))?;
    let (written, expected) = rest.split_once('`')?;
    let names: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    let problem = if is_field {
        format!("unknown field `{}`{}", shorten(written), place(path, written))
    } else {
        format!("{} cannot be `{}`", subject(path), shorten(written))
    };
    let quoted = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let help = match (nearest(written, names.iter().copied()), is_field) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, _) if names.is_empty() => "remove it".to_owned(),
        (None, true) => format!("the fields are {quoted}"),
        (None, false) => format!("the possible values are {quoted}"),
    };
    Some(DataError { problem, help: Some(help) })
}

/// Where an unknown field is, unless that is the whole. Some deserializers count the field as a part of its path.
fn place(path: &str, written: &str) -> String {
    let parent = path.strip_suffix(written).unwrap_or(path).trim_end_matches('.');
    if parent.is_empty() { String::new() } else { format!(" in `{parent}`") }
}

/// `invalid type: string "x", expected a sequence`, and the same of values and lengths.
fn wrong_type(path: &str, serde_text: &str) -> Option<DataError> {
    let kinds = ["invalid type: ", "invalid value: ", "invalid length "];
    let rest = kinds.iter().find_map(|kind| serde_text.strip_prefix(kind))?;
    let (value, expected) = rest.split_once(", expected ")?;
    let has_length = serde_text.starts_with("invalid length");
    let written = if has_length { format!("a list of length {value}") } else { value_words(value) };
    Some(DataError::of(format!("{} must be {}, but is {written}", subject(path), type_words(expected))))
}

/// ``missing field `x` ``.
fn missing(path: &str, serde_text: &str) -> Option<DataError> {
    let name = serde_text.strip_prefix("missing field `")?.strip_suffix('`')?;
    Some(DataError { problem: format!("`{name}` is missing{}", place(path, name)), help: None })
}

/// A type as people of the field call it, instead of the words of the deserializer.
fn type_words(expected: &str) -> String {
    let words = match expected {
        "a string" | "a borrowed string" | "path string" | "a character" => "text",
        "a sequence" => "a list",
        "a map" => "an object",
        "a boolean" => "true or false",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number that is not negative",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "a nonzero u32" | "a nonzero usize" | "a nonzero u64" => "a whole number of at least 1",
        "f32" | "f64" => "a number",
        expected if expected.starts_with("struct ") || expected.contains(" enum ") => "an object",
        expected => expected,
    };
    words.to_owned()
}

/// A value as the deserializer names it: `` integer `3` ``, `string "x"`, `map`.
fn value_words(found: &str) -> String {
    match found {
        "map" => "an object".to_owned(),
        "sequence" => "a list".to_owned(),
        "null" | "unit value" => "null".to_owned(),
        found => {
            let value = found.split_once(' ').map_or(found, |(kind, rest)| match kind {
                "string" | "integer" | "boolean" => rest,
                "floating" => rest.strip_prefix("point ").unwrap_or(rest),
                _ => found,
            });
            shorten(value.trim_matches('`'))
        }
    }
}

/// A value of at most [`VALUE_CHARS`] characters.
fn shorten(value: &str) -> String {
    let mut chars = value.chars();
    let short: String = chars.by_ref().take(VALUE_CHARS).collect();
    if chars.next().is_some() { short + "…" } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, message: &str, expect: &str) {
        assert_eq!(DataError::new(path, message).to_string(), expect, "{message}");
    }

    #[test]
    fn unknown_names_get_a_suggestion_or_all_names() {
        let expected = "expected one of `workflow`, `tags`";
        check(
            "",
            &format!("unknown field `worklow`, {expected} at line 1 column 10"),
            "unknown field `worklow`; did you mean `workflow`?",
        );
        check(
            "",
            &format!("unknown field `zzz`, {expected}"),
            "unknown field `zzz`; the fields are `workflow`, `tags`",
        );
        check(
            "a.zzz",
            &format!("unknown field `zzz`, {expected}"),
            "unknown field `zzz` in `a`; the fields are `workflow`, `tags`",
        );
        check(
            "zzz",
            &format!("unknown field `zzz`, {expected}"),
            "unknown field `zzz`; the fields are `workflow`, `tags`",
        );
        check("", "unknown field `a`, there are no fields", "unknown field `a`; remove it");
        check(
            "role",
            "unknown variant `boss`, expected `viewer` or `admin`",
            "`role` cannot be `boss`; the possible values are `viewer`, `admin`",
        );
    }

    #[test]
    fn wrong_types_are_named_in_the_words_of_documents() {
        check(
            "tags",
            "invalid type: string \"x\", expected a sequence at line 1 column 28",
            "`tags` must be a list, but is \"x\"",
        );
        check(
            "",
            "invalid length 0, expected struct StartRequest with 9 elements",
            "the data must be an object, but is a list of length 0",
        );
        check(
            "n",
            "invalid value: integer `-1`, expected u32",
            "`n` must be a whole number that is not negative, but is -1",
        );
        check("store", "invalid type: integer `3`, expected path string", "`store` must be text, but is 3");
        check("a", "invalid type: map, expected a boolean", "`a` must be true or false, but is an object");
        check("a", "invalid type: floating point `1.5`, expected i64", "`a` must be a whole number, but is 1.5");
        check("a", "invalid type: null, expected a string", "`a` must be text, but is null");
    }

    #[test]
    fn long_values_are_shortened() {
        let message = format!("invalid type: string \"{}\", expected a map", "x".repeat(1000));
        assert!(DataError::new("a", &message).problem.len() < 120);
    }

    #[test]
    fn missing_fields_and_other_messages_name_the_field() {
        check("", "missing field `workflow` at line 1 column 2", "`workflow` is missing");
        check("cases[0]", "missing field `x`", "`x` is missing in `cases[0]`");
        check("", "unclosed table, expected `]`", "unclosed table, expected `]`");
        check("role", "a role is viewer or admin", "`role`: a role is viewer or admin");
    }
}
