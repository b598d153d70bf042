//! The value type: JSON with exact 64-bit integers and floats.
//!
//! [`Value`] is owned and cheap to clone, because text, lists and objects are shared. [`View`] is a `Copy` reference to a
//! [`Value`], to a `serde_json::Value` or to a value produced by an evaluation. Contexts are read through views without
//! conversion, so their size does not matter.

pub(crate) mod compare;
mod json;
pub(crate) mod number;
mod shared;
mod text_form;
mod view;

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;

pub(crate) use json::{keep, parse_json};
pub use shared::{Fields, List, Shared, Size};
pub(crate) use text_form::{push_canonical, push_json, push_shown, push_text};
pub use view::{ListView, ObjectView, Source, View};

/// An object with keys in insertion order.
///
/// ```
/// # use branchpoint_expr::*;
/// let object = Object::from_iter([("a".into(), Value::Int(1))]);
/// assert_eq!(Value::from(object).to_string(), r#"{"a":1}"#);
/// ```
pub type Object = IndexMap<Arc<str>, Value, foldhash::fast::RandomState>;

/// A JSON value that is cheap to clone.
///
/// Floats are always finite. A JSON number with an integral value that fits in 64 bits becomes [`Value::Int`], however it is
/// written.
///
/// ```
/// use branchpoint_expr::Value;
///
/// let value: Value = serde_json::from_str(r#"{"b": 7.0, "a": [1.5, "x"]}"#).unwrap();
/// assert_eq!(value.to_string(), r#"{"b":7,"a":[1.5,"x"]}"#);
/// assert_eq!(value.get("b"), Some(&Value::Int(7)));
/// ```
#[derive(Clone, Default)]
pub enum Value {
    /// JSON `null`. A missing value is also null in most dialects.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An exact 64-bit integer.
    Int(i64),
    /// Any other number; finite.
    Float(f64),
    /// Text.
    Str(Arc<str>),
    /// A list.
    List(List),
    /// An object.
    Object(Fields),
}

impl Value {
    /// Converts a float: to an integer if it is integral and fits, to null if it is not finite.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert_eq!(Value::number(2.0), Value::Int(2));
    /// assert_eq!(Value::number(f64::NAN), Value::Null);
    /// ```
    pub fn number(number: f64) -> Self {
        match number::integral(number) {
            Some(int) => Self::Int(int),
            None if number.is_finite() => Self::Float(number),
            None => Self::Null,
        }
    }

    /// The field of an object.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let value = Value::from(&serde_json::json!({"a": [1, 2], "b": "text"}));
    /// assert_eq!(value.get("b"), Some(&Value::from("text")));
    /// ```
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(object) => object.get(key),
            _ => None,
        }
    }

    /// The text, if this is text.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let value = Value::from(&serde_json::json!({"a": [1, 2], "b": "text"}));
    /// assert_eq!(value.get("b").and_then(Value::as_str), Some("text"));
    /// ```
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The elements, if this is a list.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let value = Value::from(&serde_json::json!({"a": [1, 2], "b": "text"}));
    /// assert_eq!(value.get("a").and_then(Value::as_list).map(<[_]>::len), Some(2));
    /// ```
    pub fn as_list(&self) -> Option<&[Self]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// The object, if this is one.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let value = Value::from(&serde_json::json!({"a": [1, 2], "b": "text"}));
    /// assert_eq!(value.as_object().map(|object| object.len()), Some(2));
    /// ```
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Whether lists and objects are nested at most this many levels.
    ///
    /// A value that grows by a shared level at a time would otherwise become too deep to be stored or even dropped.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let value = Value::from(&serde_json::json!({"a": [1, 2], "b": "text"}));
    /// assert!(value.is_within_depth(2) && !value.is_within_depth(1));
    /// ```
    pub fn is_within_depth(&self, levels: u16) -> bool {
        self.size().depth <= levels
    }

    /// A view of this value.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let value = Value::from(&serde_json::json!({"a": [1, 2], "b": "text"}));
    /// assert_eq!(value.view().type_name(), "map");
    /// ```
    #[inline(always)]
    pub fn view(&self) -> View<'_> {
        match self {
            Self::Null => View::Null,
            Self::Bool(bool) => View::Bool(*bool),
            Self::Int(int) => View::Int(*int),
            Self::Float(float) => View::Float(*float),
            Self::Str(text) => View::Text(text),
            Self::List(items) => View::List(ListView::Shared(items)),
            Self::Object(object) => View::Object(ObjectView::Shared(object)),
        }
    }
}

/// Structural equality: numbers by value (`1` equals `1.0`), objects ignoring key order.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        let Ok(equal) = compare::equal(&self.view(), &other.view(), &|_, _| Ok::<_, std::convert::Infallible>(()));
        equal
    }
}

/// The text form: text itself, or compact JSON.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.view(), f)
    }
}

/// Compact JSON with quoted text.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.view(), f)
    }
}

impl From<bool> for Value {
    fn from(bool: bool) -> Self {
        Self::Bool(bool)
    }
}

impl From<i64> for Value {
    fn from(int: i64) -> Self {
        Self::Int(int)
    }
}

impl From<f64> for Value {
    fn from(float: f64) -> Self {
        Self::number(float)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Str(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Str(text.into())
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Self::List(items.into())
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Self::Object(object.into())
    }
}

impl From<&serde_json::Value> for Value {
    fn from(json: &serde_json::Value) -> Self {
        View::from(json).to_value()
    }
}
