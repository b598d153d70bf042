//! The forms in which a secret may appear in a text, and the search for all of them at once.
//!
//! A form is a secret and an [`Encoding`]. The store names forms in its rows, so an encoding that has a name keeps its meaning.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Shorter secrets are not searched in base64 and hexadecimal: their few letters appear in other texts by accident.
const ENCODED_BYTES: usize = 6;

/// Longer secrets are searched only as they are: the forms of a very large one would take too much memory.
const LARGE_BYTES: usize = 64 * 1024;

/// The fewest bytes of a secret that count as its beginning where a text was cut.
pub(super) const BEGINNING_BYTES: usize = 3;

/// What follows a value that was cut short.
const CUT_MARK: &str = "…";

/// What encoders of addresses leave unchanged beside letters and digits: each kind of encoder leaves something else.
const PLAIN_IN_ADDRESSES: [&str; 5] = ["-_.~", "-_.~!'()*", "-_.*", "-_.~!$&'()*+,;=:@", "-_.~!$&'()*+,;=:@/?#"];

/// How a secret is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// As it is.
    Plain,
    /// With `%XX`, where one of [`PLAIN_IN_ADDRESSES`] is left unchanged.
    Percent {
        /// Which one.
        plain: u8,
        /// Whether a space is `+`.
        plus: bool,
        /// Whether digits are small letters.
        lower: bool,
    },
    /// In base64, with so many bytes of each three before it.
    Base64 {
        /// Whether the alphabet is that of addresses.
        url_safe: bool,
        /// How many bytes of the first group come before the secret.
        before: u8,
    },
    /// In hexadecimal.
    Hex {
        /// Whether digits are small letters.
        lower: bool,
    },
    /// In a JSON string.
    Json(JsonEscapes),
}

/// What a writer of JSON escapes beside quotes, backslashes and control characters: what is not ASCII, slashes, and `<`, `>` and
/// `&`; and whether its escapes have small letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonEscapes([bool; 4]);

impl Encoding {
    /// Every way to write a whole secret.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let percent = (0..5).flat_map(|plain| {
            flags().flat_map(move |plus| flags().map(move |lower| Self::Percent { plain, plus, lower }))
        });
        let base64 = (0..3).flat_map(|before| flags().map(move |url_safe| Self::Base64 { url_safe, before }));
        let hex = flags().map(|lower| Self::Hex { lower });
        let json = (0..16).map(|bits: u8| Self::Json(JsonEscapes([0, 1, 2, 3].map(|at| bits & (1 << at) != 0))));
        [Self::Plain].into_iter().chain(percent).chain(base64).chain(hex).chain(json)
    }

    /// The secret in this encoding. None if it is too short or too long for it.
    pub fn write(self, secret: &str) -> Option<String> {
        match self {
            Self::Plain => Some(secret.to_owned()),
            _ if secret.len() > LARGE_BYTES => None,
            Self::Percent { plain, plus, lower } => {
                let encoded = percent(secret, PLAIN_IN_ADDRESSES.get(usize::from(plain))?, lower);
                Some(if plus { encoded.replace("%20", "+") } else { encoded })
            }
            Self::Base64 { .. } | Self::Hex { .. } if secret.len() < ENCODED_BYTES => None,
            Self::Base64 { url_safe: false, before } => Some(base64_within(&STANDARD_NO_PAD, secret, before)),
            Self::Base64 { url_safe: true, before } => Some(base64_within(&URL_SAFE_NO_PAD, secret, before)),
            Self::Hex { lower } => Some(hex(secret, lower)),
            Self::Json(escapes) => Some(json(secret, escapes)),
        }
    }

    /// The encoding of a name, as [`fmt::Display`] writes it.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|encoding| encoding.to_string() == name)
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = |flags: &[bool]| flags.iter().map(|flag| if *flag { '1' } else { '0' }).collect::<String>();
        match *self {
            Self::Plain => Ok(()),
            Self::Percent { plain, plus, lower } => write!(f, "p{plain}{}", bits(&[plus, lower])),
            Self::Base64 { url_safe, before } => write!(f, "b{before}{}", bits(&[url_safe])),
            Self::Hex { lower } => write!(f, "h{}", bits(&[lower])),
            Self::Json(JsonEscapes(escapes)) => write!(f, "j{}", bits(&escapes)),
        }
    }
}

fn flags() -> impl Iterator<Item = bool> {
    [false, true].into_iter()
}

/// One form of one secret.
#[derive(Debug)]
struct Form {
    text: String,
    secret: usize,
    encoding: Encoding,
}

/// A form of a secret in a text.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it is.
    pub place: Range<usize>,
    /// Which secret it is.
    pub secret: usize,
    /// How it is written.
    pub encoding: Encoding,
    /// Whether only the beginning of the form is there, because the text was cut.
    pub is_cut: bool,
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
    /// None: there is nothing to find.
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

    /// The places of secrets, in order; those that overlap are one.
    pub fn find(&self, text: &str) -> Vec<Range<usize>> {
        let Some(all) = self.occurrences(text.as_bytes()) else { return std::iter::once(0..text.len()).collect() };
        let cut = self.beginnings(text).into_iter().map(|found| found.place);
        let mut all: Vec<Range<usize>> = all.into_iter().map(|(place, _)| place).chain(cut).collect();
        all.sort_by_key(|range| (range.start, range.end));
        let mut merged: Vec<Range<usize>> = Vec::new();
        for range in all {
            match merged.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        merged
    }

    /// The forms in a text that do not overlap, in order, the longest first where several begin.
    pub fn forms_in(&self, text: &str) -> Vec<Found> {
        let whole = self.occurrences(text.as_bytes()).unwrap_or_else(|| self.plain_in(text)).into_iter();
        let whole =
            whole.map(|(place, form)| Found { place, secret: form.secret, encoding: form.encoding, is_cut: false });
        let mut all: Vec<Found> = whole.chain(self.beginnings(text)).collect();
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
    pub fn secrets_in(&self, bytes: &[u8]) -> Vec<usize> {
        let found = self.occurrences(bytes).unwrap_or_default();
        let mut secrets: Vec<usize> = found.into_iter().map(|(_, form)| form.secret).collect();
        secrets.sort_unstable();
        secrets.dedup();
        secrets
    }

    fn occurrences(&self, bytes: &[u8]) -> Option<Vec<(Range<usize>, &Form)>> {
        let automaton = self.automaton.as_ref()?;
        let found = automaton.find_overlapping_iter(bytes);
        Some(found.map(|found| (found.range(), &self.forms[found.pattern().as_usize()])).collect())
    }

    /// Slow, for secrets that are too large to be searched together.
    fn plain_in(&self, text: &str) -> Vec<(Range<usize>, &Form)> {
        let plain = self.forms.iter().filter(|form| form.encoding == Encoding::Plain);
        plain
            .flat_map(|form| text.match_indices(&form.text).map(move |(at, part)| (at..at + part.len(), form)))
            .collect()
    }

    /// The beginnings of secrets that stand where a text was cut.
    fn beginnings(&self, text: &str) -> Vec<Found> {
        let mut found = Vec::new();
        let mut from = 0;
        for (at, mark) in text.match_indices(CUT_MARK) {
            // A text that is shown in quotes is cut inside of them.
            let end = if text[from.min(at)..at].ends_with('"') { at - 1 } else { at };
            found.extend(self.beginning(text, from.min(end), end));
            from = at + mark.len();
        }
        found
    }

    /// The longest beginning of a form that a part of a text ends with. Each part is read once.
    fn beginning(&self, text: &str, from: usize, end: usize) -> Option<Found> {
        let bytes = text.as_bytes();
        let last = end.checked_sub(BEGINNING_BYTES)?;
        for start in from..=last {
            if !self.first[usize::from(bytes[start])] {
                continue;
            }
            let ending = &bytes[start..end];
            let is_beginning =
                |form: &&Form| form.text.len() > ending.len() && form.text.as_bytes().starts_with(ending);
            if let Some(form) = self.forms.iter().find(is_beginning) {
                let (secret, encoding) = (form.secret, form.encoding);
                return Some(Found { place: start..end, secret, encoding, is_cut: true });
            }
        }
        None
    }

    /// The length of the longest form.
    pub fn longest(&self) -> usize {
        self.forms.iter().map(|form| form.text.len()).max().unwrap_or_default()
    }

    /// How much of a text can be shown before the rest of it is known.
    pub fn tellable(&self, text: &str) -> usize {
        let unfinished = |form: &Form| {
            // What is whole is found below: only fewer letters than the form has can be its beginning.
            let mut starts = (text.len() + 1).saturating_sub(form.text.len())..text.len();
            starts.find(|at| text.is_char_boundary(*at) && form.text.starts_with(&text[*at..]))
        };
        let cut = self.forms.iter().filter_map(unfinished).min().unwrap_or(text.len());
        // A secret that is whole must not be cut in two.
        let within = self.find(text).into_iter().find(|range| range.start < cut && cut < range.end);
        within.map_or(cut, |range| range.start)
    }
}

/// The secret with `%XX` for what is neither a letter, a digit nor plain.
fn percent(secret: &str, plain: &str, lower: bool) -> String {
    let mut encoded = String::new();
    for byte in secret.bytes() {
        if byte.is_ascii_alphanumeric() || byte.is_ascii() && plain.contains(char::from(byte)) {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            push_hex(&mut encoded, byte, lower);
        }
    }
    encoded
}

fn hex(secret: &str, lower: bool) -> String {
    let mut encoded = String::new();
    secret.bytes().for_each(|byte| push_hex(&mut encoded, byte, lower));
    encoded
}

fn push_hex(text: &mut String, byte: u8, lower: bool) {
    // Writing into a text cannot fail.
    let _ = if lower { write!(text, "{byte:02x}") } else { write!(text, "{byte:02X}") };
}

/// The secret as a part of a JSON string.
fn json(secret: &str, JsonEscapes([ascii, slash, html, lower]): JsonEscapes) -> String {
    let mut encoded = String::new();
    for c in secret.chars() {
        let short = match c {
            '"' => Some("\\\""),
            '\\' => Some("\\\\"),
            '\n' => Some("\\n"),
            '\r' => Some("\\r"),
            '\t' => Some("\\t"),
            '\u{8}' => Some("\\b"),
            '\u{c}' => Some("\\f"),
            '/' if slash => Some("\\/"),
            _ => None,
        };
        match short {
            Some(escape) => encoded.push_str(escape),
            None if c < ' ' || ascii && !c.is_ascii() || html && matches!(c, '<' | '>' | '&') => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    encoded.push_str("\\u");
                    unit.to_be_bytes().into_iter().for_each(|byte| push_hex(&mut encoded, byte, lower));
                }
            }
            None => encoded.push(c),
        }
    }
    encoded
}

/// The letters of base64 that the secret alone decides, where so many bytes, of each three, stand before it. The letters at either end that
/// it shares with its neighbours are not among them.
fn base64_within(engine: &impl base64::Engine, secret: &str, before: u8) -> String {
    let before = usize::from(before);
    let bytes = [&vec![0; before], secret.as_bytes()].concat();
    let whole_letters = bytes.len() * 8 / 6;
    let shared = [0, 2, 3][before % 3];
    engine.encode(&bytes)[shared..whole_letters].to_owned()
}
