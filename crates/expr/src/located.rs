//! A document's value with the span of every part, from which structured conditions are compiled.

use std::sync::Arc;

use crate::diagnostic::Span;
use crate::value::{Object, Value, View};

/// A value with its span in a source text.
///
/// A reader of documents sets the spans. [`Located::from`] a [`Value`] sets every span to the empty one at the start.
///
/// ```
/// # use branchpoint_expr::*;
/// let located = Located::from(&Value::from(&serde_json::json!({"a": [1, null], "b": "text"})));
/// assert_eq!(located.get("b").unwrap().span, Span::default());
/// ```
#[derive(Clone, Debug)]
pub struct Located {
    /// The value.
    pub shape: Shape,
    /// Its span in the source text, including quotes and brackets.
    pub span: Span,
}

/// The value of a [`Located`].
///
/// ```
/// # use branchpoint_expr::*;
/// let located = Located::from(&Value::from(&serde_json::json!({"a": [1, null], "b": "text"})));
/// assert!(matches!(located.get("b").unwrap().shape, Shape::Str { .. }));
/// ```
#[derive(Clone, Debug)]
pub enum Shape {
    /// Null.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// Text.
    Str {
        /// The text.
        text: Arc<str>,
        /// The position of its first character, if the source contains the text verbatim. Then every position inside the text
        /// is a position in the source.
        verbatim: Option<u32>,
    },
    /// A list.
    List(Vec<Located>),
    /// An object; keys are unique.
    Object(Vec<Field>),
}

/// A key of an object and its value.
///
/// ```
/// # use branchpoint_expr::*;
/// let located = Located::from(&Value::from(&serde_json::json!({"a": [1, null], "b": "text"})));
/// assert_eq!(&*located.fields()[0].key, "a");
/// ```
#[derive(Clone, Debug)]
pub struct Field {
    /// The key.
    pub key: Arc<str>,
    /// The key's span.
    pub key_span: Span,
    /// The value.
    pub value: Located,
}

impl Located {
    /// The value of a key.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let located = Located::from(&Value::from(&serde_json::json!({"a": [1, null], "b": "text"})));
    /// assert!(located.get("a").is_some() && located.get("c").is_none());
    /// ```
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.fields().iter().find(|field| &*field.key == key).map(|field| &field.value)
    }

    /// The fields of an object; none for anything else.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let located = Located::from(&Value::from(&serde_json::json!({"a": [1, null], "b": "text"})));
    /// assert_eq!(located.fields().len(), 2);
    /// ```
    pub fn fields(&self) -> &[Field] {
        match &self.shape {
            Shape::Object(fields) => fields,
            _ => &[],
        }
    }

    /// The elements, if this is a list.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let located = Located::from(&Value::from(&serde_json::json!({"a": [1, null], "b": "text"})));
    /// assert_eq!(located.get("a").unwrap().items().unwrap().len(), 2);
    /// ```
    pub fn items(&self) -> Option<&[Self]> {
        match &self.shape {
            Shape::List(items) => Some(items),
            _ => None,
        }
    }

    /// The text, if this is text.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let located = Located::from(&Value::from(&serde_json::json!({"a": [1, null], "b": "text"})));
    /// assert_eq!(located.get("b").unwrap().text().map(|text| &**text), Some("text"));
    /// ```
    pub fn text(&self) -> Option<&Arc<str>> {
        match &self.shape {
            Shape::Str { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Whether this is null.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let located = Located::from(&Value::from(&serde_json::json!({"a": [1, null], "b": "text"})));
    /// assert!(located.get("a").unwrap().items().unwrap()[1].is_null());
    /// ```
    pub fn is_null(&self) -> bool {
        matches!(self.shape, Shape::Null)
    }

    /// Whether this is an object.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let located = Located::from(&Value::from(&serde_json::json!({"a": [1, null], "b": "text"})));
    /// assert!(located.is_object());
    /// ```
    pub fn is_object(&self) -> bool {
        matches!(self.shape, Shape::Object(_))
    }

    /// The kind of the value with its article, for messages.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let located = Located::from(&Value::from(&serde_json::json!({"a": [1, null], "b": "text"})));
    /// assert_eq!(located.describe(), "an object");
    /// ```
    pub fn describe(&self) -> &'static str {
        match self.shape {
            Shape::Null => "null",
            Shape::Bool(_) => "a boolean",
            Shape::Int(_) | Shape::Float(_) => "a number",
            Shape::Str { .. } => "text",
            Shape::List(_) => "a list",
            Shape::Object(_) => "an object",
        }
    }

    /// The value without spans.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let located = Located::from(&Value::from(&serde_json::json!({"a": [1, null], "b": "text"})));
    /// assert_eq!(located.to_value().to_string(), r#"{"a":[1,null],"b":"text"}"#);
    /// ```
    pub fn to_value(&self) -> Value {
        match &self.shape {
            Shape::Null => Value::Null,
            Shape::Bool(bool) => Value::Bool(*bool),
            Shape::Int(int) => Value::Int(*int),
            Shape::Float(float) => Value::number(*float),
            Shape::Str { text, .. } => Value::Str(Arc::clone(text)),
            Shape::List(items) => Value::from(items.iter().map(Self::to_value).collect::<Vec<_>>()),
            Shape::Object(fields) => {
                let entries = fields.iter().map(|field| (Arc::clone(&field.key), field.value.to_value()));
                Value::from(entries.collect::<Object>())
            }
        }
    }
}

impl From<&Value> for Located {
    fn from(value: &Value) -> Self {
        let shape = match value.view() {
            View::Null => Shape::Null,
            View::Bool(bool) => Shape::Bool(bool),
            View::Int(int) => Shape::Int(int),
            View::Float(float) => Shape::Float(float),
            View::Str(text) => Shape::Str { text: text.into(), verbatim: None },
            View::Text(text) => Shape::Str { text: Arc::clone(text), verbatim: None },
            View::List(_) => Shape::List(value.as_list().unwrap_or_default().iter().map(Self::from).collect()),
            View::Object(object) => Shape::Object(
                object
                    .iter()
                    .map(|(key, value)| Field {
                        key: key.into(),
                        key_span: Span::default(),
                        value: Self::from(&value.to_value()),
                    })
                    .collect(),
            ),
        };
        Self { shape, span: Span::default() }
    }
}
