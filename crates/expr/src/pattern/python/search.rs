//! Searches and replaces with Python patterns, within limits.

use std::sync::OnceLock;

use fancy_regex::{Regex, RegexBuilder, RegexInput};

use super::Translation;
use super::substitution::Template;
use crate::pattern::{MAX_CACHE_BYTES, MAX_COMPILED_BYTES, PatternError};

/// The maximum number of backtracks of one search.
const MAX_BACKTRACKS: usize = 100_000;
/// The maximum number of positions where the rough pattern matches and the exact one does not. Each is a search of its own.
const MAX_FALSE_STARTS: usize = 1000;
/// The longest text for a backtracking pattern, because the engine may read all of it between two backtracks.
const MAX_BACKTRACKING_TEXT: usize = 128 * 1024;
/// The maximum number of replacements by a backtracking pattern, because each may reach the limit of a search.
const MAX_BACKTRACKING_MATCHES: usize = 10_000;
/// The maximum number of instructions of a backtracking pattern.
const MAX_INSTRUCTIONS: usize = 100_000;

/// A compiled Python pattern.
pub(in crate::pattern) struct Compiled {
    search: Regex,
    /// Finds the positions where a backtracking pattern can match, in time linear in the text.
    rough: Option<regex::Regex>,
    /// Compiled at the first replacement, because most patterns are only searched.
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

    /// Replaces from left to right, including empty matches next to other matches, like `re.sub`.
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
            let captures = self.first(text, from, &mut false_starts, |input| regex.captures_input(input))?;
            let Some((captures, whole)) = captures.and_then(|captures| captures.get(0).map(|whole| (captures, whole)))
            else {
                break;
            };
            matches += 1;
            if self.translation.backtracks && matches > MAX_BACKTRACKING_MATCHES {
                return Err(PatternError::TooMuchWork);
            }
            out.push(&text[copied..whole.start()])?;
            template.expand(&captures, |piece| out.push(piece))?;
            copied = whole.end();
            // After an empty match, the search skips one character, which is copied with the text before the next match.
            from = if whole.start() == whole.end() { after_char(text, copied) } else { copied };
        }
        out.push(&text[copied..])?;
        Ok(out.text)
    }

    /// The first match at `from` or later.
    ///
    /// A backtracking pattern is searched from the first match of the rough pattern. If that exceeds the limit, the matches of the
    /// rough pattern are tried one by one, so that a long text alone is not too much work.
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

/// Compiles the rough pattern; `None` if it is too large, which only makes the search slower.
fn build_rough(pattern: &str) -> Option<regex::Regex> {
    regex::RegexBuilder::new(pattern).size_limit(MAX_COMPILED_BYTES).dfa_size_limit(MAX_CACHE_BYTES).build().ok()
}

/// The position after the character at `at`, or one beyond the end of the text.
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
