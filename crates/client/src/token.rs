//! The token of a client. It is never shown.

use std::fmt;

use reqwest::header::HeaderValue;

/// The environment variable of the token.
const VARIABLE: &str = "BRANCHPOINT_TOKEN";

/// A bearer token. `Debug` does not show it.
///
/// ```
/// use branchpoint_client::Token;
///
/// let token = Token::new("bp_1_2").unwrap();
/// assert_eq!(format!("{token:?}"), "Token(***)");
/// assert!(Token::new("with\nlines").is_none());
/// ```
#[derive(Clone)]
pub struct Token(HeaderValue);

impl Token {
    /// A token; none if it cannot be part of a header.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        let mut value = HeaderValue::from_str(&format!("Bearer {text}")).ok().filter(|_| is_plain)?;
        value.set_sensitive(true);
        Some(Self(value))
    }

    /// The token in `BRANCHPOINT_TOKEN`. It is not an option of the command line, because other users see the arguments of processes.
    pub fn from_environment() -> Option<Self> {
        std::env::var(VARIABLE).ok().and_then(|text| Self::new(&text))
    }

    pub(crate) fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}
