//! Regular expressions in the two flavours that documents use.
//!
//! - [`Pattern::re2`]: RE2 as in Go, always linear, for the `matches` operator and message conditions.
//! - [`Pattern::python`]: Python's `re` with look-around and back-references, for `$regex` and `regex_replace` of the
//!   `steps` dialect.
//!
//! Both are parsed here and translated for the engine (`regex`, `fancy_regex`). So a feature either has the meaning of its
//! flavour or is rejected, and never reaches an engine that gives it another meaning. All work is limited by counts, not by
//! time, so that equal inputs have equal results.

mod python;
mod re2;
mod scanner;
mod serialize;
mod shape;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use crate::Kind;

/// A compiled pattern, which is cheap to clone.
#[derive(Clone)]
pub(crate) struct Pattern(Arc<Shared>);

struct Shared {
    source: String,
    /// The single-character parts of the pattern with counted repetitions written out: the cost of one step.
    copies: u64,
    engine: Engine,
}

enum Engine {
    Re2(regex::Regex),
    Python(Box<python::Compiled>),
}

/// Why a pattern does not compile or a search stops.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatternError {
    /// The pattern or its substitution is invalid. The message is one line.
    #[error("invalid regular expression: {0}")]
    Invalid(String),
    /// The search or the replacement exceeds its limits.
    #[error("the regular expression takes too much work")]
    TooMuchWork,
}

/// The longest pattern: enough for a list of some thousand words.
const MAX_PATTERN_BYTES: usize = 64 * 1024;
/// The maximum memory of a compiled pattern. Python's `\w{1,100}`, which is Unicode, needs most of it.
const MAX_COMPILED_BYTES: usize = 8 * 1024 * 1024;
/// The maximum memory of a linear engine's cache.
const MAX_CACHE_BYTES: usize = 2 * 1024 * 1024;
/// The minimum charged cost of a backtracking search, whose own limits are much wider.
const BACKTRACKING_COST: u64 = 1_000_000;

impl Pattern {
    /// Compiles a pattern in RE2 syntax: `\d \w \s \b` are ASCII, `$` is the end of the text, no look-around.
    pub(crate) fn re2(text: &str) -> Result<Pattern, PatternError> {
        check_length(text)?;
        let translation = re2::translate(text)?;
        let built = regex::RegexBuilder::new(&translation.pattern)
            .size_limit(MAX_COMPILED_BYTES)
            .dfa_size_limit(MAX_CACHE_BYTES)
            .build();
        let engine = Engine::Re2(built.map_err(|error| PatternError::from_engine(&error.to_string()))?);
        Ok(Pattern(Arc::new(Shared { source: text.to_owned(), copies: translation.copies, engine })))
    }

    /// Compiles a pattern in the syntax of Python's `re`: `\d \w \s \b` are Unicode, `$` also matches before a final
    /// newline, `\Z` is the end of the text.
    pub(crate) fn python(text: &str) -> Result<Pattern, PatternError> {
        check_length(text)?;
        let translation = python::translate(text)?;
        let copies = translation.copies;
        let engine = Engine::Python(Box::new(python::Compiled::new(translation)?));
        Ok(Pattern(Arc::new(Shared { source: text.to_owned(), copies, engine })))
    }

    /// Whether the pattern matches anywhere in the text.
    pub(crate) fn is_match(&self, text: &str) -> Result<bool, PatternError> {
        match &self.0.engine {
            Engine::Re2(regex) => Ok(regex.is_match(text)),
            Engine::Python(python) => python.is_match(text),
        }
    }

    /// The maximum number of steps of a search: for a linear one, the characters of the pattern times the bytes of the text.
    pub(crate) fn cost(&self, text: &str) -> u64 {
        let steps = self.0.copies.saturating_mul(text.len() as u64);
        match &self.0.engine {
            Engine::Python(python) if python.backtracks() => steps.saturating_add(BACKTRACKING_COST),
            _ => steps,
        }
    }

    /// Replaces every match of a Python pattern. `\1` and `\g<name>` in the substitution refer to groups. A result of more than
    /// `max_bytes` is an error.
    pub(crate) fn replace_all(&self, text: &str, substitution: &str, max_bytes: usize) -> Result<String, PatternError> {
        self.0.python()?.replace_all(text, substitution, max_bytes)
    }

    /// Checks a substitution before the run starts.
    pub(crate) fn check_substitution(&self, substitution: &str) -> Result<(), PatternError> {
        self.0.python()?.template(substitution).map(drop)
    }

    /// The pattern as the author wrote it.
    pub(crate) fn as_str(&self) -> &str {
        &self.0.source
    }
}

impl Shared {
    fn python(&self) -> Result<&python::Compiled, PatternError> {
        match &self.engine {
            Engine::Python(python) => Ok(python),
            Engine::Re2(_) => Err(PatternError::invalid("a pattern in RE2 syntax searches only and does not replace")),
        }
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flavour = match self.0.engine {
            Engine::Re2(_) => "re2",
            Engine::Python(_) => "python",
        };
        write!(f, "Pattern::{flavour}({:?})", self.0.source)
    }
}

impl PatternError {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Invalid(_) => Kind::BadRegex,
            Self::TooMuchWork => Kind::RegexLimit,
        }
    }

    /// Builds an error on one line, although it may quote the author's text.
    fn invalid(message: &str) -> PatternError {
        PatternError::Invalid(message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect())
    }

    /// Converts an error of the engine, without positions, because those refer to the translated pattern.
    fn from_engine(message: &str) -> PatternError {
        let mentions = |part: &str| message.contains(part);
        if mentions("size limit") || mentions("too complex") || mentions("building NFA") {
            return PatternError::invalid("the regular expression is too large");
        }
        if mentions("Target of repeat") {
            return PatternError::invalid("a repetition of nothing, or of something without width");
        }
        if mentions("Unicode property") {
            return PatternError::invalid("`\\p` or `\\P` names an unknown script");
        }
        let line = message.lines().last().unwrap_or_default();
        PatternError::invalid(line.rsplit_once(": ").map_or(line, |(_, what)| what))
    }
}

fn check_length(text: &str) -> Result<(), PatternError> {
    if text.len() > MAX_PATTERN_BYTES {
        return Err(PatternError::invalid(&format!("the regular expression is longer than {MAX_PATTERN_BYTES} bytes")));
    }
    Ok(())
}
