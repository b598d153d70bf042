//! Patterns of workflow names.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The longest pattern in bytes.
const LONGEST: usize = 200;

/// A pattern of workflow names, in which `*` means any text.
///
/// ```
/// use branchpoint_server::Pattern;
///
/// let pattern: Pattern = "support-*".parse()?;
/// assert!(pattern.matches("support-triage") && !pattern.matches("billing"));
/// # Ok::<(), branchpoint_server::InvalidPattern>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern(String);

/// A text is not a [`Pattern`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a pattern of workflow names has 1 to {LONGEST} bytes, such as `support-*`")]
pub struct InvalidPattern;

impl Pattern {
    /// The pattern of all names.
    pub fn all() -> Self {
        Self("*".into())
    }

    /// The narrowest pattern of a name: the name itself, in which `*` still means any text.
    pub(crate) fn exact(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// Whether it is the pattern of all names.
    pub(crate) fn is_all(&self) -> bool {
        self.0.bytes().all(|byte| byte == b'*')
    }

    /// Whether a name matches.
    pub fn matches(&self, name: &str) -> bool {
        let mut parts = self.0.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = name.strip_prefix(first) else { return false };
        let mut parts: Vec<&str> = parts.collect();
        let Some(last) = parts.pop() else { return rest.is_empty() };
        for part in parts {
            let Some(at) = rest.find(part) else { return false };
            rest = &rest[at + part.len()..];
        }
        rest.ends_with(last)
    }
}

impl FromStr for Pattern {
    type Err = InvalidPattern;

    fn from_str(text: &str) -> Result<Self, InvalidPattern> {
        if text.is_empty() || text.len() > LONGEST { Err(InvalidPattern) } else { Ok(Self(text.to_owned())) }
    }
}

impl TryFrom<String> for Pattern {
    type Error = InvalidPattern;

    fn try_from(text: String) -> Result<Self, InvalidPattern> {
        text.parse()
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.0
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, name: &str, expect: bool) {
        assert_eq!(pattern.parse::<Pattern>().unwrap().matches(name), expect, "{pattern} {name}");
    }

    #[test]
    fn stars_mean_any_text() {
        check("a", "a", true);
        check("a", "ab", false);
        check("*", "", true);
        check("a*", "a", true);
        check("*b", "ab", true);
        check("a*b", "ab", true);
        check("a*b", "a", false);
        check("aa*aa", "aaa", false);
        check("a*b*c", "a-b-b-c", true);
        check("a**c", "abc", true);
        check("*-*", "ab", false);
    }

    #[test]
    fn empty_and_long_patterns_are_rejected() {
        assert_eq!("".parse::<Pattern>(), Err(InvalidPattern));
        assert_eq!("x".repeat(201).parse::<Pattern>(), Err(InvalidPattern));
    }
}
