//! Typed access to checked fields. A value of the wrong type was reported and reads as absent.

use std::sync::Arc;

use branchpoint_expr::{Located, Shape, Span, duration_ms, seconds_ms};

/// Typed access to the fields of an object. Null reads as absent.
pub(crate) trait Access {
    fn object(&self) -> &Located;

    fn given(&self, key: &str) -> Option<&Located> {
        self.object().get(key).filter(|value| !value.is_null())
    }

    fn str(&self, key: &str) -> Option<&Arc<str>> {
        self.object().get(key)?.text()
    }

    fn flag(&self, key: &str) -> Option<bool> {
        match self.object().get(key)?.shape {
            Shape::Bool(flag) => Some(flag),
            _ => None,
        }
    }

    fn int(&self, key: &str) -> Option<i64> {
        integer(self.object().get(key)?)
    }

    fn number(&self, key: &str) -> Option<f64> {
        number(self.object().get(key)?)
    }

    fn list(&self, key: &str) -> &[Located] {
        self.object().get(key).and_then(Located::items).unwrap_or_default()
    }

    /// The text of a field in a lenient dialect.
    fn text_at(&self, key: &str) -> Option<Text> {
        self.object().get(key).and_then(Text::of)
    }

    /// The text of a field; empty text reads as absent.
    fn filled(&self, key: &str) -> Option<Text> {
        self.text_at(key).filter(|text| !text.text().is_empty())
    }

    /// A list of texts, or one text.
    fn texts(&self, key: &str) -> Option<Vec<Text>> {
        let value = self.given(key)?;
        Some(value.items().unwrap_or(std::slice::from_ref(value)).iter().filter_map(Text::of).collect())
    }

    /// A word in lower case; empty if it is absent.
    fn word(&self, key: &str) -> String {
        self.text_at(key).map(|text| text.text().to_ascii_lowercase()).unwrap_or_default()
    }

    fn duration_ms(&self, key: &str) -> Option<u64> {
        duration(self.object().get(key)?)
    }
}

impl Access for Located {
    fn object(&self) -> &Located {
        self
    }
}

pub(crate) fn integer(value: &Located) -> Option<i64> {
    match value.shape {
        Shape::Int(int) => Some(int),
        _ => None,
    }
}

pub(super) fn number(value: &Located) -> Option<f64> {
    match value.shape {
        Shape::Int(int) => Some(int as f64),
        Shape::Float(float) => Some(float),
        _ => None,
    }
}

/// Milliseconds: `1m30s`, `500ms`, or a number of seconds.
pub(super) fn duration(value: &Located) -> Option<u64> {
    match value.text() {
        Some(text) => duration_ms(text).or_else(|| seconds_ms(text.trim().parse().ok()?)),
        None => seconds_ms(number(value)?),
    }
}

/// A text of the document with its span. Numbers and booleans become text.
#[derive(Clone, Debug)]
pub(crate) struct Text(pub(crate) Located);

impl Text {
    pub(crate) fn of(located: &Located) -> Option<Self> {
        match located.shape {
            Shape::Str { .. } => Some(Self(located.clone())),
            Shape::Bool(_) | Shape::Int(_) | Shape::Float(_) => Some(Self::shown(located)),
            _ => None,
        }
    }

    /// The JSON text of a value.
    pub(crate) fn shown(located: &Located) -> Self {
        Self::new(located.to_value().to_string().into(), located.span)
    }

    pub(crate) fn new(text: Arc<str>, span: Span) -> Self {
        Self(Located { shape: Shape::Str { text, verbatim: None }, span })
    }

    pub(crate) fn text(&self) -> &Arc<str> {
        self.0.text().expect("only text is ever put in")
    }

    pub(crate) fn span(&self) -> Span {
        self.0.span
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        &**self.text() == other
    }
}
