//! The forms in which a secret may stand in a text, and what finds all of them at once.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Shorter secrets are not looked for in base64: so few letters stand in other texts by accident.
const BASE64_BYTES: usize = 6;

/// What encoders of addresses leave as it is beside letters and digits: each kind of encoder leaves something else.
const PLAIN_IN_ADDRESSES: [&str; 5] = ["-_.~", "-_.~!'()*", "-_.*", "-_.~!$&'()*+,;=:@", "-_.~!$&'()*+,;=:@/?#"];

/// Finds secrets in a text, in whatever form they stand there.
#[derive(Debug)]
pub(super) struct Finder {
    forms: Vec<String>,
    /// None if they are too large to be looked for: then nothing can be told.
    automaton: Option<AhoCorasick>,
}

impl Finder {
    /// None: there is nothing to find.
    pub(super) fn of(values: &[String]) -> Option<Self> {
        let forms: Vec<String> =
            values.iter().flat_map(|value| forms(value)).collect::<BTreeSet<_>>().into_iter().collect();
        if forms.is_empty() {
            return None;
        }
        // Every occurrence is wanted, those that overlap others too.
        let automaton = AhoCorasick::builder().match_kind(MatchKind::Standard).build(&forms);
        Some(Self { automaton: automaton.ok(), forms })
    }

    /// The places of secrets, in order; those that overlap are one.
    pub(super) fn find(&self, text: &str) -> Vec<Range<usize>> {
        let Some(automaton) = &self.automaton else { return std::iter::once(0..text.len()).collect() };
        let mut all: Vec<Range<usize>> = automaton.find_overlapping_iter(text).map(|found| found.range()).collect();
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

    /// The length of the longest form.
    pub(super) fn longest(&self) -> usize {
        self.forms.iter().map(String::len).max().unwrap_or_default()
    }

    /// How much of a text can be told before the rest of it is known.
    pub(super) fn tellable(&self, text: &str) -> usize {
        let unfinished = |form: &String| {
            // What is whole is found below: only fewer letters than the form has can be its beginning.
            let mut starts = (text.len() + 1).saturating_sub(form.len())..text.len();
            starts.find(|at| text.is_char_boundary(*at) && form.starts_with(&text[*at..]))
        };
        let cut = self.forms.iter().filter_map(unfinished).min().unwrap_or(text.len());
        // A secret that is whole must not be cut in two.
        let within = self.find(text).into_iter().find(|range| range.start < cut && cut < range.end);
        within.map_or(cut, |range| range.start)
    }
}

/// The secret as it is, as a part of an address, and as a part of something in base64.
fn forms(secret: &str) -> BTreeSet<String> {
    let mut forms = BTreeSet::from([secret.to_owned()]);
    for plain in PLAIN_IN_ADDRESSES {
        let encoded = percent(secret, plain);
        forms.insert(encoded.replace("%20", "+"));
        forms.insert(lower_hex(&encoded.replace("%20", "+")));
        forms.insert(lower_hex(&encoded));
        forms.insert(encoded);
    }
    if secret.len() >= BASE64_BYTES {
        for before in 0..3 {
            forms.extend([
                base64_within(&STANDARD_NO_PAD, secret, before),
                base64_within(&URL_SAFE_NO_PAD, secret, before),
            ]);
        }
    }
    forms
}

/// The secret with `%XX` for what is neither a letter, a digit nor plain.
fn percent(secret: &str, plain: &str) -> String {
    let mut encoded = String::new();
    for byte in secret.bytes() {
        if byte.is_ascii_alphanumeric() || byte.is_ascii() && plain.contains(char::from(byte)) {
            encoded.push(char::from(byte));
        } else {
            // Writing into a text cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// The same with small letters in `%XX`.
fn lower_hex(encoded: &str) -> String {
    let mut parts = encoded.split('%');
    let mut lower = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2).unwrap_or((part, ""));
        lower.push('%');
        lower.push_str(&digits.to_ascii_lowercase());
        lower.push_str(rest);
    }
    lower
}

/// The letters of base64 that the secret alone decides, where so many bytes, of each three, stand before it. The letters at either end that
/// it shares with its neighbours are not among them.
fn base64_within(engine: &impl base64::Engine, secret: &str, before: usize) -> String {
    let bytes = [&vec![0; before], secret.as_bytes()].concat();
    let whole_letters = bytes.len() * 8 / 6;
    let shared = [0, 2, 3][before % 3];
    engine.encode(&bytes)[shared..whole_letters].to_owned()
}
