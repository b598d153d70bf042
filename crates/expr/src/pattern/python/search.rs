//! Searching and replacing with Python patterns, within bounds.

use std::sync::OnceLock;

use fancy_regex::{Regex, RegexBuilder, RegexInput};

use super::Translation;
use super::substitution::Template;
use crate::pattern::{MAX_CACHE_BYTES, MAX_COMPILED_BYTES, PatternError};

/// How often one search may give a way up and try another.
const MAX_BACKTRACKS: usize = 100_000;
/// How many places where the rough pattern matches, but the exact one does not, are tried one by one, each with the
/// bound above to itself.
const MAX_FALSE_STARTS: usize = 1000;
/// The longest text for a pattern that backtracks, as the engine may look over all of it between two ways.
const MAX_BACKTRACKING_TEXT: usize = 128 * 1024;
/// The most replacements by a pattern that backtracks, as each may go to its own bound.
const MAX_BACKTRACKING_MATCHES: usize = 10_000;
/// The most instructions of a pattern that backtracks.
const MAX_INSTRUCTIONS: usize = 100_000;

/// A compiled Python pattern.
pub(in crate::pattern) struct Compiled {
    search: Regex,
    /// Finds where a pattern that backtracks can match at all, in time linear in the text.
    rough: Option<regex::Regex>,
    /// Compiled when something is first replaced; most patterns are only searched for.
    replace: OnceLock<Result<Regex, PatternError>>,
    translation: Translation,
}

impl Compiled {
    pub(in crate::pattern) fn new(translation: Translation) -> Result<Compiled, PatternError> {
        let search = build(&translation.written.search)?;
        let rough = if translation.backtracks { build_rough(&translation.written.rough) } else { None };
        Ok(Compiled { search, rough, replace: OnceLock::new(), translation })
    }

    pub(in crate::pattern) fn is_match(&self, text: &str) -> Result<bool, PatternError> {
        self.check_length(text)?;
        let mut false_starts = 0;
        let try_at = |input: RegexInput<'_, str>| Ok(self.search.is_match_input(input)?.then_some(()));
        self.first(text, 0, &mut false_starts, try_at).map(|found| found.is_some())
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
        let regex =
            self.replace.get_or_init(|| build(&self.translation.written.replace)).as_ref().map_err(Clone::clone)?;
        let mut out = Output { text: String::new(), max_bytes };
        let (mut copied, mut from, mut matches, mut false_starts) = (0, 0, 0, 0);
        while from <= text.len() {
            let found = self.first(text, from, &mut false_starts, |input| regex.captures_input(input))?;
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
            from = if whole.start() == whole.end() { after_char(text, copied) } else { copied };
        }
        out.push(&text[copied..])?;
        Ok(out.text)
    }

    /// What the engine finds first at `from` or later.
    ///
    /// A pattern that backtracks starts where the rough one matches first. If it then goes over its bound, the places
    /// where the rough one matches are tried one by one, so that a long text alone is not too much work.
    fn first<'t, T>(
        &self,
        text: &'t str,
        mut from: usize,
        false_starts: &mut usize,
        search: impl Fn(RegexInput<'t, str>) -> fancy_regex::Result<Option<T>>,
    ) -> Result<Option<T>, PatternError> {
        let input = |from, anchored| RegexInput::new(text).from_pos(from).anchored(anchored);
        let Some(rough) = &self.rough else {
            return search(input(from, false)).map_err(|_| PatternError::TooMuchWork);
        };
        let place = |from| if from <= text.len() { rough.find_at(text, from) } else { None };
        match place(from).map(|place| search(input(place.start(), false))) {
            None => return Ok(None),
            Some(Ok(found)) => return Ok(found),
            Some(Err(_)) => {}
        }
        while *false_starts < MAX_FALSE_STARTS {
            let Some(place) = place(from) else { return Ok(None) };
            if let Some(found) = search(input(place.start(), true)).map_err(|_| PatternError::TooMuchWork)? {
                return Ok(Some(found));
            }
            *false_starts += 1;
            from = after_char(text, place.start());
        }
        Err(PatternError::TooMuchWork)
    }

    pub(in crate::pattern) fn backtracks(&self) -> bool {
        self.translation.backtracks
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

/// Without a rough pattern the search is only slower, so one that is too large does no harm.
fn build_rough(pattern: &str) -> Option<regex::Regex> {
    regex::RegexBuilder::new(pattern).size_limit(MAX_COMPILED_BYTES).dfa_size_limit(MAX_CACHE_BYTES).build().ok()
}

/// The place after the character that begins here; at the end of the text a place beyond it.
fn after_char(text: &str, at: usize) -> usize {
    at + text[at..].chars().next().map_or(1, char::len_utf8)
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
