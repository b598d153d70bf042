//! Searches a text for secrets in all encodings at once.

use std::collections::BTreeMap;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

use super::encoding::Encoding;
use super::unwrap::{BREAK_BYTES, Reading};

/// The fewest bytes that count as the beginning of a secret at the end of a truncated text.
pub(super) const BEGINNING_BYTES: usize = 3;

/// The fewest letters before a line break that are held back because the next line may continue a secret. Fewer letters match too many
/// lines by accident.
const WRAPPED_LETTERS: usize = 4;

/// The character after a truncated value.
const TRUNCATION_MARK: &str = "…";

/// A secret in one encoding.
#[derive(Debug)]
struct Form {
    text: String,
    secret: usize,
    encoding: Encoding,
}

/// An occurrence of a form: its first `letters` bytes. `place` is longer if it contains line breaks.
struct Match<'f> {
    place: Range<usize>,
    form: &'f Form,
    letters: usize,
}

/// An occurrence of a secret in a text, or the part of it on one line.
#[derive(Debug, PartialEq, Eq)]
pub struct SecretMatch {
    /// Where it is.
    pub place: Range<usize>,
    /// The number of the secret.
    pub secret: usize,
    /// Its encoding.
    pub encoding: Encoding,
    /// The range of the encoded secret; `None` for the whole.
    pub part: Option<Range<usize>>,
}

/// The end of a text that may be the beginning of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartialSecret {
    /// From this offset on, the text is held back until more of it arrives.
    pub hidden_from: usize,
    /// From this offset on, the text is needed to recognise the rest of a secret.
    pub needed_from: usize,
}

/// Finds secrets in a text, in every encoding.
#[derive(Debug)]
pub struct Finder {
    forms: Vec<Form>,
    /// `None` if the secrets are too large to search for. Then all text is hidden.
    automaton: Option<AhoCorasick>,
    /// The first bytes of all forms.
    first: [bool; 256],
}

impl Finder {
    /// A finder of these values; `None` if there are none.
    ///
    /// ```
    /// use branchpoint_runners::Finder;
    ///
    /// assert!(Finder::of(&[]).is_none());
    /// ```
    pub fn of(values: &[String]) -> Option<Self> {
        let mut known: BTreeMap<String, (usize, Encoding)> = BTreeMap::new();
        // An unencoded secret has precedence over an encoding of another.
        for encoding in Encoding::all() {
            for (secret, value) in values.iter().enumerate() {
                if let Some(text) = encoding.write(value).filter(|text| !text.is_empty()) {
                    known.entry(text).or_insert((secret, encoding));
                }
            }
        }
        if known.is_empty() {
            return None;
        }
        let forms: Vec<Form> =
            known.into_iter().map(|(text, (secret, encoding))| Form { text, secret, encoding }).collect();
        let mut first = [false; 256];
        for form in &forms {
            first[usize::from(form.text.as_bytes()[0])] = true;
        }
        // Overlapping occurrences are reported too.
        let automaton =
            AhoCorasick::builder().match_kind(MatchKind::Standard).build(forms.iter().map(|form| &form.text));
        Some(Self { automaton: automaton.ok(), forms, first })
    }

    /// The ranges of secrets, in order. Overlapping ranges are merged.
    ///
    /// ```
    /// let finder = branchpoint_runners::Finder::of(&["pa55word".into()]).unwrap();
    /// assert_eq!(finder.find("my pa55word!"), vec![3..11]);
    /// ```
    pub fn find(&self, text: &str) -> Vec<Range<usize>> {
        let Some(mut all) = self.matches(text.as_bytes()) else { return std::iter::once(0..text.len()).collect() };
        all.extend(self.beginnings(text));
        all.sort_by_key(|occurrence| (occurrence.place.start, occurrence.place.end));
        let mut merged: Vec<Range<usize>> = Vec::new();
        for Match { place, .. } in all {
            match merged.last_mut() {
                Some(last) if place.start < last.end => last.end = last.end.max(place.end),
                _ => merged.push(place),
            }
        }
        merged
    }

    /// Occurrences that do not overlap, in order. Of those that begin at one place, the longest is used. An occurrence on several lines is
    /// reported line by line.
    ///
    /// ```
    /// let finder = branchpoint_runners::Finder::of(&["pa55word".into()]).unwrap();
    /// assert_eq!(finder.forms_in("my pa55word!")[0].place, 3..11);
    /// ```
    pub fn forms_in(&self, text: &str) -> Vec<SecretMatch> {
        let mut all = self.matches(text.as_bytes()).unwrap_or_else(|| self.plain_in(text));
        all.extend(self.beginnings(text));
        let mut all: Vec<SecretMatch> = all.iter().flat_map(|occurrence| occurrence.lines(text.as_bytes())).collect();
        all.sort_by_key(|occurrence| (occurrence.place.start, std::cmp::Reverse(occurrence.place.end)));
        let mut end = 0;
        all.retain(|occurrence| {
            occurrence.place.start >= end && {
                end = occurrence.place.end;
                true
            }
        });
        all
    }

    /// The numbers of the secrets in these bytes, in any encoding.
    ///
    /// ```
    /// let finder = branchpoint_runners::Finder::of(&["pa55word".into(), "t0psecret".into()]).unwrap();
    /// assert_eq!(finder.secrets_in(b"t0psecret"), [1]);
    /// ```
    pub fn secrets_in(&self, bytes: &[u8]) -> Vec<usize> {
        let matches = self.matches(bytes).unwrap_or_default();
        let mut secrets: Vec<usize> = matches.into_iter().map(|occurrence| occurrence.form.secret).collect();
        secrets.sort_unstable();
        secrets.dedup();
        secrets
    }

    /// All complete occurrences, also with line breaks in them.
    fn matches(&self, text: &[u8]) -> Option<Vec<Match<'_>>> {
        let automaton = self.automaton.as_ref()?;
        let mut all = Vec::new();
        for reading in Reading::all(text) {
            let matches = automaton.find_overlapping_iter(&*reading.bytes);
            all.extend(
                matches.filter_map(|hit| Match::of(&reading, hit.range(), &self.forms[hit.pattern().as_usize()])),
            );
        }
        Some(all)
    }

    /// Searches for unencoded secrets one by one. It is slow, and used if the secrets are too large for the automaton.
    fn plain_in(&self, text: &str) -> Vec<Match<'_>> {
        let plain = self.forms.iter().filter(|form| form.encoding == Encoding::Plain);
        let matches = plain.flat_map(|form| text.match_indices(&form.text).map(move |(at, _)| (at, form)));
        matches.map(|(at, form)| Match { place: at..at + form.text.len(), form, letters: form.text.len() }).collect()
    }

    /// The beginnings of secrets at the places where a text was truncated.
    fn beginnings(&self, text: &str) -> Vec<Match<'_>> {
        let mut all = Vec::new();
        if !text.contains(TRUNCATION_MARK) {
            return all;
        }
        for reading in Reading::all(text.as_bytes()) {
            let mut from = 0;
            for at in positions(&reading.bytes, TRUNCATION_MARK.as_bytes()) {
                // Quoted text is truncated inside the quotes.
                let end = if reading.bytes[from..at].ends_with(b"\"") { at - 1 } else { at };
                all.extend(self.beginning(&reading, from..end));
                from = at + TRUNCATION_MARK.len();
            }
        }
        all
    }

    /// The longest beginning of a form at the end of a part of a text. Each part is read once.
    fn beginning(&self, reading: &Reading<'_>, part: Range<usize>) -> Option<Match<'_>> {
        let last = part.end.checked_sub(BEGINNING_BYTES)?;
        // An earlier start would be longer than every form.
        let first = part.start.max(part.end.saturating_sub(self.longest()));
        (first..=last).filter(|start| self.first[usize::from(reading.bytes[*start])]).find_map(|start| {
            let ending = &reading.bytes[start..part.end];
            let mut matching = self.forms.iter().filter(|form| is_beginning(ending, form));
            matching.find_map(|form| Match::of(reading, start..part.end, form))
        })
    }

    /// The length of the longest encoded secret, with line breaks.
    ///
    /// ```
    /// let finder = branchpoint_runners::Finder::of(&["pa55word".into()]).unwrap();
    /// assert!(finder.longest() >= 8);
    /// ```
    pub fn longest(&self) -> usize {
        let most = |form: &Form| form.text.len() * if form.encoding.is_wrapped() { 1 + BREAK_BYTES } else { 1 };
        self.forms.iter().map(most).max().unwrap_or_default()
    }

    /// The end of a text that must be held back because it may be the beginning of a secret.
    ///
    /// ```
    /// let finder = branchpoint_runners::Finder::of(&["pa55word".into()]).unwrap();
    /// assert_eq!(finder.partial_secret("it is pa55").hidden_from, 6);
    /// ```
    pub fn partial_secret(&self, text: &str) -> PartialSecret {
        let (mut hidden_from, mut needed_from) = (text.len(), text.len());
        for reading in Reading::all(text.as_bytes()) {
            let bytes = &*reading.bytes;
            let forms = self.forms.iter().filter(|form| !reading.is_unwrapped() || form.encoding.is_wrapped());
            for form in forms {
                // Complete forms are found below.
                let mut starts = (bytes.len() + 1).saturating_sub(form.text.len())..bytes.len();
                let Some(start) = starts.find(|start| is_beginning(&bytes[*start..], form)) else { continue };
                let source = reading.source(start);
                needed_from = needed_from.min(source);
                if !reading.is_unwrapped() || bytes.len() - start >= WRAPPED_LETTERS {
                    hidden_from = hidden_from.min(source);
                }
            }
        }
        // A complete secret must not be split.
        let within = self.find(text).into_iter().find(|range| range.start < hidden_from && hidden_from < range.end);
        hidden_from = within.map_or(hidden_from, |range| range.start);
        PartialSecret { hidden_from, needed_from: needed_from.min(hidden_from) }
    }
}

impl<'f> Match<'f> {
    /// A match in a reading. In a reading without line breaks, it counts only for encodings that encoders wrap, and only across a break.
    fn of(reading: &Reading<'_>, range: Range<usize>, form: &'f Form) -> Option<Self> {
        let (letters, place) = (range.len(), reading.place(&range));
        let counts = !reading.is_unwrapped() || form.encoding.is_wrapped() && place.len() > letters;
        counts.then_some(Self { place, form, letters })
    }

    /// Its parts, one for each line of the text.
    fn lines(&self, text: &[u8]) -> Vec<SecretMatch> {
        let Self { place, form, letters } = self;
        let secret_match = |place, part| SecretMatch { place, secret: form.secret, encoding: form.encoding, part };
        if place.len() == *letters {
            return vec![secret_match(place.clone(), (*letters < form.text.len()).then_some(0..*letters))];
        }
        let lines = Reading::unwrapped(&text[place.clone()]);
        let lines = lines.iter().flat_map(Reading::lines);
        lines.map(|(part, at)| secret_match(place.start + at..place.start + at + part.len(), Some(part))).collect()
    }
}

/// Whether a text is a proper prefix of a form.
fn is_beginning(text: &[u8], form: &Form) -> bool {
    form.text.len() > text.len() && form.text.as_bytes().starts_with(text)
}

/// The offsets of a text in another.
fn positions<'t>(bytes: &'t [u8], wanted: &'t [u8]) -> impl Iterator<Item = usize> + 't {
    bytes.windows(wanted.len()).enumerate().filter(move |(_, window)| *window == wanted).map(|(at, _)| at)
}
