//! The search for secrets in a text, in every encoding at once.

use std::collections::BTreeMap;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

use super::encoding::Encoding;
use super::unwrap::{BREAK_BYTES, Reading};

/// The fewest bytes of a secret that count as its beginning where a text was cut.
pub(super) const BEGINNING_BYTES: usize = 3;

/// The fewest letters before a line break that are held back because the next line may continue them as a secret. Fewer letters end
/// too many lines by accident.
const WRAPPED_LETTERS: usize = 4;

/// What follows a value that was cut short.
const CUT_MARK: &str = "…";

/// A secret in one encoding.
#[derive(Debug)]
struct Form {
    text: String,
    secret: usize,
    encoding: Encoding,
}

/// A form in a text: `letters` bytes of it, which take more bytes of the text if line breaks are among them.
struct Match<'f> {
    place: Range<usize>,
    form: &'f Form,
    letters: usize,
}

/// A form of a secret in a text, or the part of it on one line.
#[derive(Debug, PartialEq, Eq)]
pub struct SecretMatch {
    /// Where it is.
    pub place: Range<usize>,
    /// Which secret it is.
    pub secret: usize,
    /// How it is written.
    pub encoding: Encoding,
    /// Which bytes of the encoded secret it is, unless it is all of them.
    pub part: Option<Range<usize>>,
}

/// The end of a text that may be the beginning of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartialSecret {
    /// From here on, the text is not shown before more is known.
    pub hidden_from: usize,
    /// From here on, the text is needed to recognise the rest of a secret.
    pub needed_from: usize,
}

/// Finds secrets in a text, in every form.
#[derive(Debug)]
pub struct Finder {
    forms: Vec<Form>,
    /// None if the secrets are too large to be searched: then nothing may be shown.
    automaton: Option<AhoCorasick>,
    /// The bytes that forms begin with.
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
        // A secret as it is comes before a form of another.
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
        // Every occurrence is wanted, those that overlap others too.
        let automaton =
            AhoCorasick::builder().match_kind(MatchKind::Standard).build(forms.iter().map(|form| &form.text));
        Some(Self { automaton: automaton.ok(), forms, first })
    }

    /// The places of secrets, in order; places that overlap are joined.
    ///
    /// ```
    /// let finder = branchpoint_runners::Finder::of(&["pa55word".into()]).unwrap();
    /// assert_eq!(finder.find("my pa55word!"), vec![3..11]);
    /// ```
    pub fn find(&self, text: &str) -> Vec<Range<usize>> {
        let Some(mut all) = self.matches(text.as_bytes()) else { return std::iter::once(0..text.len()).collect() };
        all.extend(self.beginnings(text));
        all.sort_by_key(|found| (found.place.start, found.place.end));
        let mut merged: Vec<Range<usize>> = Vec::new();
        for Match { place, .. } in all {
            match merged.last_mut() {
                Some(last) if place.start < last.end => last.end = last.end.max(place.end),
                _ => merged.push(place),
            }
        }
        merged
    }

    /// The forms in a text that do not overlap, in order, the longest first where several begin. Of a form on several lines, the part
    /// on each line is apart.
    ///
    /// ```
    /// let finder = branchpoint_runners::Finder::of(&["pa55word".into()]).unwrap();
    /// assert_eq!(finder.forms_in("my pa55word!")[0].place, 3..11);
    /// ```
    pub fn forms_in(&self, text: &str) -> Vec<SecretMatch> {
        let mut all = self.matches(text.as_bytes()).unwrap_or_else(|| self.plain_in(text));
        all.extend(self.beginnings(text));
        let mut all: Vec<SecretMatch> = all.iter().flat_map(|found| found.lines(text.as_bytes())).collect();
        all.sort_by_key(|found| (found.place.start, std::cmp::Reverse(found.place.end)));
        let mut end = 0;
        all.retain(|found| {
            found.place.start >= end && {
                end = found.place.end;
                true
            }
        });
        all
    }

    /// Which secrets are in these bytes, in any form.
    ///
    /// ```
    /// let finder = branchpoint_runners::Finder::of(&["pa55word".into(), "t0psecret".into()]).unwrap();
    /// assert_eq!(finder.secrets_in(b"t0psecret"), [1]);
    /// ```
    pub fn secrets_in(&self, bytes: &[u8]) -> Vec<usize> {
        let found = self.matches(bytes).unwrap_or_default();
        let mut secrets: Vec<usize> = found.into_iter().map(|found| found.form.secret).collect();
        secrets.sort_unstable();
        secrets.dedup();
        secrets
    }

    /// Every whole form, also where line breaks divide it.
    fn matches(&self, text: &[u8]) -> Option<Vec<Match<'_>>> {
        let automaton = self.automaton.as_ref()?;
        let mut all = Vec::new();
        for reading in Reading::all(text) {
            let found = automaton.find_overlapping_iter(&*reading.bytes);
            all.extend(
                found.filter_map(|found| Match::of(&reading, found.range(), &self.forms[found.pattern().as_usize()])),
            );
        }
        Some(all)
    }

    /// Slow, for secrets that are too large to be searched together.
    fn plain_in(&self, text: &str) -> Vec<Match<'_>> {
        let plain = self.forms.iter().filter(|form| form.encoding == Encoding::Plain);
        let found = plain.flat_map(|form| text.match_indices(&form.text).map(move |(at, _)| (at, form)));
        found.map(|(at, form)| Match { place: at..at + form.text.len(), form, letters: form.text.len() }).collect()
    }

    /// The beginnings of secrets that stand where a text was cut.
    fn beginnings(&self, text: &str) -> Vec<Match<'_>> {
        let mut all = Vec::new();
        if !text.contains(CUT_MARK) {
            return all;
        }
        for reading in Reading::all(text.as_bytes()) {
            let mut from = 0;
            for at in positions(&reading.bytes, CUT_MARK.as_bytes()) {
                // A text that is shown in quotes is cut inside of them.
                let end = if reading.bytes[from..at].ends_with(b"\"") { at - 1 } else { at };
                all.extend(self.beginning(&reading, from..end));
                from = at + CUT_MARK.len();
            }
        }
        all
    }

    /// The longest beginning of a form that a part of a text ends with. Each part is read once.
    fn beginning(&self, reading: &Reading<'_>, part: Range<usize>) -> Option<Match<'_>> {
        let last = part.end.checked_sub(BEGINNING_BYTES)?;
        // What begins earlier is longer than every form.
        let first = part.start.max(part.end.saturating_sub(self.longest()));
        (first..=last).filter(|start| self.first[usize::from(reading.bytes[*start])]).find_map(|start| {
            let ending = &reading.bytes[start..part.end];
            let mut begun = self.forms.iter().filter(|form| is_beginning(ending, form));
            begun.find_map(|form| Match::of(reading, start..part.end, form))
        })
    }

    /// The length of the longest form in a text.
    ///
    /// ```
    /// let finder = branchpoint_runners::Finder::of(&["pa55word".into()]).unwrap();
    /// assert!(finder.longest() >= 8);
    /// ```
    pub fn longest(&self) -> usize {
        let most = |form: &Form| form.text.len() * if form.encoding.is_wrapped() { 1 + BREAK_BYTES } else { 1 };
        self.forms.iter().map(most).max().unwrap_or_default()
    }

    /// How much of a text must wait for the rest of it, because it may be the beginning of a secret.
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
                // Untruncated forms are found below.
                let mut starts = (bytes.len() + 1).saturating_sub(form.text.len())..bytes.len();
                let Some(start) = starts.find(|start| is_beginning(&bytes[*start..], form)) else { continue };
                let source = reading.source(start);
                needed_from = needed_from.min(source);
                if !reading.is_unwrapped() || bytes.len() - start >= WRAPPED_LETTERS {
                    hidden_from = hidden_from.min(source);
                }
            }
        }
        // A secret that is whole must not be cut in two.
        let within = self.find(text).into_iter().find(|range| range.start < hidden_from && hidden_from < range.end);
        hidden_from = within.map_or(hidden_from, |range| range.start);
        PartialSecret { hidden_from, needed_from: needed_from.min(hidden_from) }
    }
}

impl<'f> Match<'f> {
    /// A form in a reading. Without line breaks, only encodings that are wrapped count, and only where a break was.
    fn of(reading: &Reading<'_>, range: Range<usize>, form: &'f Form) -> Option<Self> {
        let (letters, place) = (range.len(), reading.place(&range));
        let counts = !reading.is_unwrapped() || form.encoding.is_wrapped() && place.len() > letters;
        counts.then_some(Self { place, form, letters })
    }

    /// The parts of it, one for each line of a text.
    fn lines(&self, text: &[u8]) -> Vec<SecretMatch> {
        let Self { place, form, letters } = self;
        let found = |place, part| SecretMatch { place, secret: form.secret, encoding: form.encoding, part };
        if place.len() == *letters {
            return vec![found(place.clone(), (*letters < form.text.len()).then_some(0..*letters))];
        }
        let lines = Reading::unwrapped(&text[place.clone()]);
        let lines = lines.iter().flat_map(Reading::lines);
        lines.map(|(part, at)| found(place.start + at..place.start + at + part.len(), Some(part))).collect()
    }
}

/// Whether a text is the beginning of a form, and not all of it.
fn is_beginning(text: &[u8], form: &Form) -> bool {
    form.text.len() > text.len() && form.text.as_bytes().starts_with(text)
}

/// Where a text stands in another.
fn positions<'t>(bytes: &'t [u8], wanted: &'t [u8]) -> impl Iterator<Item = usize> + 't {
    bytes.windows(wanted.len()).enumerate().filter(move |(_, window)| *window == wanted).map(|(at, _)| at)
}
