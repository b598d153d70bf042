//! The encodings in which a secret may appear in a text.
//!
//! The store contains names of encodings, so a name must keep its meaning.

use std::fmt::{self, Write as _};

use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Shorter secrets are not searched for in base64 and hexadecimal, because so few letters occur in other texts by accident.
const ENCODED_BYTES: usize = 6;

/// Longer secrets are searched for without encodings only, which would take too much memory.
const LARGE_BYTES: usize = 64 * 1024;

/// The characters beside letters and digits that URL encoders leave unchanged: encoders differ.
const URL_SAFE_SETS: [&str; 5] = ["-_.~", "-_.~!'()*", "-_.*", "-_.~!$&'()*+,;=:@", "-_.~!$&'()*+,;=:@/?#"];

/// An encoding of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Not encoded.
    Plain,
    /// Percent-encoded, with one of [`URL_SAFE_SETS`] unchanged.
    Percent {
        /// The index of the set.
        plain: u8,
        /// Whether a space is `+`.
        plus: bool,
        /// Whether hexadecimal digits are in lower case.
        lower: bool,
    },
    /// In base64, at one of three alignments.
    Base64 {
        /// Whether the URL-safe alphabet is used.
        url_safe: bool,
        /// The number of bytes before the secret in its first group of three.
        before: u8,
    },
    /// In hexadecimal.
    Hex {
        /// Whether hexadecimal digits are in lower case.
        lower: bool,
    },
    /// In a JSON string.
    Json(JsonEscapes),
}

/// The characters that a JSON serialiser escapes beside quotes, backslashes and control characters: non-ASCII ones, slashes, and `<`, `>`
/// and `&`; and whether its escapes are in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonEscapes([bool; 4]);

impl Encoding {
    /// All encodings.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let percent = (0..5).flat_map(|plain| {
            flags().flat_map(move |plus| flags().map(move |lower| Self::Percent { plain, plus, lower }))
        });
        let base64 = (0..3).flat_map(|before| flags().map(move |url_safe| Self::Base64 { url_safe, before }));
        let hex = flags().map(|lower| Self::Hex { lower });
        let json = (0..16).map(|bits: u8| Self::Json(JsonEscapes([0, 1, 2, 3].map(|at| bits & (1 << at) != 0))));
        [Self::Plain].into_iter().chain(percent).chain(base64).chain(hex).chain(json)
    }

    /// The secret in this encoding; `None` if it is too short or too long for it.
    ///
    /// ```
    /// use branchpoint_runners::Encoding;
    ///
    /// assert_eq!(Encoding::Hex { lower: true }.write("secret"), Some("736563726574".into()));
    /// ```
    pub fn write(self, secret: &str) -> Option<String> {
        match self {
            Self::Plain => Some(secret.to_owned()),
            _ if secret.len() > LARGE_BYTES => None,
            Self::Percent { plain, plus, lower } => {
                let encoded = percent(secret, URL_SAFE_SETS.get(usize::from(plain))?, lower);
                Some(if plus { encoded.replace("%20", "+") } else { encoded })
            }
            Self::Base64 { .. } | Self::Hex { .. } if secret.len() < ENCODED_BYTES => None,
            Self::Base64 { url_safe: false, before } => Some(base64_within(&STANDARD_NO_PAD, secret, before)),
            Self::Base64 { url_safe: true, before } => Some(base64_within(&URL_SAFE_NO_PAD, secret, before)),
            Self::Hex { lower } => Some(hex(secret, lower)),
            Self::Json(escapes) => Some(json(secret, escapes)),
        }
    }

    /// Whether encoders of this encoding (`base64`, MIME, PEM, `xxd -p`) insert line breaks that decoders ignore.
    pub(super) fn is_wrapped(self) -> bool {
        matches!(self, Self::Base64 { .. } | Self::Hex { .. })
    }

    /// The encoding of a name, as [`fmt::Display`] writes it.
    ///
    /// ```
    /// use branchpoint_runners::Encoding;
    ///
    /// let encoding = Encoding::Hex { lower: true };
    /// assert_eq!(Encoding::named(&encoding.to_string()), Some(encoding));
    /// ```
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

/// Percent-encodes every byte that is not a letter, a digit or in `plain`.
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

/// The base64 letters that depend only on the secret, at one alignment. Letters at either end that encode neighbouring bytes too are left
/// out.
fn base64_within(engine: &impl base64::Engine, secret: &str, before: u8) -> String {
    let before = usize::from(before);
    let bytes = [&vec![0; before], secret.as_bytes()].concat();
    let whole_letters = bytes.len() * 8 / 6;
    let shared = [0, 2, 3][before % 3];
    engine.encode(&bytes)[shared..whole_letters].to_owned()
}
