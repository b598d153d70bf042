//! Searching and replacing with Python patterns, within bounds.

use std::sync::OnceLock;

use fancy_regex::{Regex, RegexBuilder};

use super::Translation;
use super::template::Template;
use crate::pattern::{MAX_CACHE_BYTES, MAX_COMPILED_BYTES, PatternError};

/// How often one search may give a way up and try another.
const MAX_BACKTRACKS: usize = 100_000;
/// The longest text for a pattern that backtracks. Each start counts as a way, so a longer text would use the bound
/// above up by itself; and between two ways the engine may look over all of the text.
const MAX_BACKTRACKING_TEXT: usize = 128 * 1024;
/// The most replacements by a pattern that backtracks, as each may go to its own bound.
const MAX_BACKTRACKING_MATCHES: usize = 10_000;
/// The most instructions of a pattern that backtracks.
const MAX_INSTRUCTIONS: usize = 100_000;

/// A compiled Python pattern.
pub(in crate::pattern) struct Compiled {
    search: Regex,
    /// Compiled when something is first replaced; most patterns are only searched for.
    replace: OnceLock<Result<Regex, PatternError>>,
    translation: Translation,
}

impl Compiled {
    pub(in crate::pattern) fn new(translation: Translation) -> Result<Compiled, PatternError> {
        Ok(Compiled { search: build(&translation.search)?, replace: OnceLock::new(), translation })
    }

    pub(in crate::pattern) fn is_match(&self, text: &str) -> Result<bool, PatternError> {
        self.check_length(text)?;
        self.search.is_match(text).map_err(|_| PatternError::TooMuchWork)
    }

    pub(in crate::pattern) fn template(&self, substitution: &str) -> Result<Template, PatternError> {
        Template::parse(substitution, &self.translation.names)
    }

    /// Replaces from left to right, an empty match right after another match included, as `re.sub` does.
    pub(in crate::pattern) fn replace_all(
        &self,
        text: &str,
        substitution: &str,
        max_bytes: usize,
    ) -> Result<String, PatternError> {
        self.check_length(text)?;
        let template = self.template(substitution)?;
        let regex = self.replace.get_or_init(|| build(&self.translation.replace)).as_ref().map_err(Clone::clone)?;
        let mut out = Output { text: String::new(), max_bytes };
        let (mut copied, mut from, mut matches) = (0, 0, 0);
        while from <= text.len() {
            let found = regex.captures_from_pos(text, from).map_err(|_| PatternError::TooMuchWork)?;
            let Some((found, whole)) = found.and_then(|found| found.get(0).map(|whole| (found, whole))) else {
                break;
            };
            matches += 1;
            if self.translation.backtracks && matches > MAX_BACKTRACKING_MATCHES {
                return Err(PatternError::TooMuchWork);
            }
            out.push(&text[copied..whole.start()])?;
            template.expand(&found, |piece| out.push(piece))?;
            copied = whole.end();
            // An empty match is passed by one character, which is copied with what comes before the next match.
            let step = text[copied..].chars().next().map_or(1, char::len_utf8);
            from = if whole.start() == whole.end() { copied + step } else { copied };
        }
        out.push(&text[copied..])?;
        Ok(out.text)
    }

    fn check_length(&self, text: &str) -> Result<(), PatternError> {
        if self.translation.backtracks && text.len() > MAX_BACKTRACKING_TEXT {
            return Err(PatternError::TooMuchWork);
        }
        Ok(())
    }
}

struct Output {
    text: String,
    max_bytes: usize,
}

impl Output {
    fn push(&mut self, piece: &str) -> Result<(), PatternError> {
        if self.text.len() + piece.len() > self.max_bytes {
            return Err(PatternError::TooMuchWork);
        }
        self.text.push_str(piece);
        Ok(())
    }
}

fn build(pattern: &str) -> Result<Regex, PatternError> {
    RegexBuilder::new(pattern)
        .backtrack_limit(MAX_BACKTRACKS)
        .delegate_size_limit(MAX_COMPILED_BYTES)
        .delegate_dfa_size_limit(MAX_CACHE_BYTES)
        .max_prog_size(MAX_INSTRUCTIONS)
        .build()
        .map_err(|error| PatternError::from_engine(&error.to_string()))
}
