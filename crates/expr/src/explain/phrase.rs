//! A sentence that holds unformatted values, so that they can be redacted before they are truncated.

use std::fmt::{self, Display, Formatter};

use crate::fault::preview;
use crate::value::{Value, View};
use crate::work::Work;

/// A sentence with values.
///
/// ```
/// use branchpoint_expr::{Condition, Value};
/// use serde_json::json;
///
/// let condition = Condition::compile("inputs.token == 'x'")?;
/// let sentence = condition.explain(&json!({"inputs": {"token": "secret"}})).sentence;
/// assert_eq!(sentence.to_string(), "false because inputs.token is \"secret\", expected \"x\"");
/// let redacted = sentence.render(|_: &Value| "***".to_owned());
/// assert_eq!(redacted, "false because inputs.token is ***, expected \"x\"");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phrase(Vec<Piece>);

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    Value(Value),
}

impl Phrase {
    /// Appends text.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert_eq!(Phrase::default().text("a is ").text("b").to_string(), "a is b");
    /// ```
    #[must_use]
    pub fn text(mut self, text: impl AsRef<str>) -> Self {
        match self.0.last_mut() {
            Some(Piece::Text(last)) => last.push_str(text.as_ref()),
            _ => self.0.push(Piece::Text(text.as_ref().to_owned())),
        }
        self
    }

    /// Appends a value of the run.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert_eq!(Phrase::from("a is ").value(Value::Int(1)).to_string(), "a is 1");
    /// ```
    #[must_use]
    pub fn value(mut self, value: Value) -> Self {
        self.0.push(Piece::Value(value));
        self
    }

    /// Appends another phrase.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert_eq!(Phrase::from("a ").phrase(Phrase::from("and b")).to_string(), "a and b");
    /// ```
    #[must_use]
    pub fn phrase(mut self, other: Self) -> Self {
        for piece in other.0 {
            self = match piece {
                Piece::Text(text) => self.text(text),
                Piece::Value(value) => self.value(value),
            };
        }
        self
    }

    /// Appends a borrowed value. One that is too large to copy is formatted immediately.
    pub(super) fn view(self, view: View<'_>, work: &Work<'_>) -> Self {
        match work.value(view) {
            Ok(value) => self.value(value),
            Err(_) => self.text(preview(view)),
        }
    }

    /// The sentence with its values formatted by `show`.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert_eq!(Phrase::from("a is ").value(Value::Int(1)).render(|_| "…".into()), "a is …");
    /// ```
    pub fn render(&self, show: impl Fn(&Value) -> String) -> String {
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Value(value) => show(value),
        });
        pieces.collect()
    }
}

impl From<&str> for Phrase {
    fn from(text: &str) -> Self {
        Self::default().text(text)
    }
}

impl From<String> for Phrase {
    fn from(text: String) -> Self {
        Self(vec![Piece::Text(text)])
    }
}

/// Formats every value as JSON, truncated if it is long.
impl Display for Phrase {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(|value| preview(value.view())))
    }
}

impl PartialEq<str> for Phrase {
    fn eq(&self, other: &str) -> bool {
        self.render(|value| preview(value.view())) == other
    }
}

impl PartialEq<&str> for Phrase {
    fn eq(&self, other: &&str) -> bool {
        self == *other
    }
}
