//! Views: `Copy` references to values in any representation.

use std::cmp::Ordering;
use std::sync::Arc;

use super::number::Parsed;
use super::{Fields, List, Object, Value, compare, number};
use crate::condition::typed_comparison;
use crate::fault::{Outcome, wrong_kind};

/// A `Copy` reference to a value, which expressions read and produce.
///
/// ```
/// use branchpoint_expr::View;
///
/// let json = serde_json::json!({"count": 10.0});
/// let count = View::from(&json).get("count").unwrap();
/// assert_eq!(count.to_string(), "10");
/// ```
#[derive(Clone, Copy)]
pub enum View<'a> {
    /// Null, also called nil.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An exact 64-bit integer.
    Int(i64),
    /// A finite float.
    Float(f64),
    /// Borrowed text.
    Str(&'a str),
    /// Shared text of a [`Value`], which converts back to a value without a copy.
    Text(&'a Arc<str>),
    /// A list.
    List(ListView<'a>),
    /// An object.
    Object(ObjectView<'a>),
}

/// A view of a list.
///
/// ```
/// # use branchpoint_expr::*;
/// let json = serde_json::json!({"list": [1, 2], "object": {"a": 1}, "text": "abc"});
/// let view = View::from(&json);
/// assert!(matches!(view.get("list"), Some(View::List(ListView::Json(_)))));
/// ```
#[derive(Clone, Copy)]
pub enum ListView<'a> {
    /// The list of a [`Value`].
    Shared(&'a List),
    /// A JSON array.
    Json(&'a [serde_json::Value]),
    /// A list produced by an evaluation.
    Made(&'a [View<'a>]),
    /// The integers from the first to the second, both included; empty when the first is greater.
    Range(i64, i64),
}

/// A view of an object.
///
/// ```
/// # use branchpoint_expr::*;
/// let json = serde_json::json!({"list": [1, 2], "object": {"a": 1}, "text": "abc"});
/// let view = View::from(&json);
/// assert!(matches!(view, View::Object(ObjectView::Json(_))));
/// ```
#[derive(Clone, Copy)]
pub enum ObjectView<'a> {
    /// The object of a [`Value`].
    Shared(&'a Fields),
    /// A JSON object.
    Json(&'a serde_json::Map<String, serde_json::Value>),
    /// An object produced by an evaluation, with unique keys.
    Made(&'a [(&'a str, View<'a>)]),
}

/// A reference to a value of a context. It fits in two registers, so that comparisons are cheap.
///
/// ```
/// # use branchpoint_expr::*;
/// let json = serde_json::json!({"list": [1, 2], "object": {"a": 1}, "text": "abc"});
/// let view = View::from(&json);
/// assert_eq!(Source::Json(&json["text"]).view().as_str(), Some("abc"));
/// # let _ = view;
/// ```
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// A [`Value`].
    Value(&'a Value),
    /// JSON.
    Json(&'a serde_json::Value),
}

impl<'a> Source<'a> {
    /// A view of the value.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert_eq!(Source::Value(&Value::Int(1)).view().as_integer(), Some(1));
    /// ```
    #[inline(always)]
    pub fn view(self) -> View<'a> {
        match self {
            Self::Value(value) => value.view(),
            Self::Json(json) => View::from(json),
        }
    }

    #[inline(always)]
    pub(crate) fn field(self, key: &str) -> Option<Self> {
        match self {
            Self::Value(Value::Object(object)) => object.get(key).map(Self::Value),
            Self::Json(serde_json::Value::Object(object)) => object.get(key).map(Self::Json),
            _ => None,
        }
    }
}

impl<'a> View<'a> {
    /// The text, if this is text.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let json = serde_json::json!({"list": [1, 2], "object": {"a": 1}, "text": "abc"});
    /// let view = View::from(&json);
    /// assert_eq!(view.get("text").and_then(View::as_str), Some("abc"));
    /// ```
    #[inline(always)]
    pub fn as_str(self) -> Option<&'a str> {
        match self {
            Self::Str(text) => Some(text),
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether this is null.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert!(View::Null.is_null());
    /// ```
    #[inline]
    pub fn is_null(self) -> bool {
        matches!(self, Self::Null)
    }

    /// The field of an object.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let json = serde_json::json!({"list": [1, 2], "object": {"a": 1}, "text": "abc"});
    /// let view = View::from(&json);
    /// assert!(view.get("nothing").is_none());
    /// ```
    #[inline]
    pub fn get(self, key: &str) -> Option<Self> {
        match self {
            Self::Object(object) => object.get(key),
            _ => None,
        }
    }

    /// The text, or an error that names the operation.
    ///
    /// ```
    /// # use branchpoint_expr::View;
    /// let error = View::Int(1).expect_text("shout()").unwrap_err();
    /// assert_eq!(error.message, "shout() takes text, not the number 1");
    /// ```
    pub fn expect_text(self, user: &str) -> Outcome<&'a str> {
        self.as_str().map_or_else(|| wrong_kind(user, "text", self), Ok)
    }

    /// The integer, or an error that names the operation. An integral float is an integer.
    ///
    /// ```
    /// # use branchpoint_expr::View;
    /// assert_eq!(View::Float(2.0).expect_integer("repeat()").unwrap(), 2);
    /// ```
    pub fn expect_integer(self, user: &str) -> Outcome<i64> {
        self.as_integer().map_or_else(|| wrong_kind(user, "an integer", self), Ok)
    }

    /// The list, or an error that names the operation.
    ///
    /// ```
    /// # use branchpoint_expr::View;
    /// assert!(View::Null.expect_list("first()").is_err());
    /// ```
    pub fn expect_list(self, user: &str) -> Outcome<ListView<'a>> {
        match self {
            Self::List(list) => Ok(list),
            _ => wrong_kind(user, "a list", self),
        }
    }

    /// The object, or an error that names the operation.
    ///
    /// ```
    /// # use branchpoint_expr::View;
    /// assert!(View::Null.expect_object("keys()").is_err());
    /// ```
    pub fn expect_object(self, user: &str) -> Outcome<ObjectView<'a>> {
        match self {
            Self::Object(object) => Ok(object),
            _ => wrong_kind(user, "an object", self),
        }
    }

    /// The integer, if this is one. An integral float is an integer.
    ///
    /// ```
    /// # use branchpoint_expr::View;
    /// assert_eq!([View::Float(3.0), View::Float(0.5)].map(View::as_integer), [Some(3), None]);
    /// ```
    pub fn as_integer(self) -> Option<i64> {
        match self {
            Self::Int(int) => Some(int),
            Self::Float(float) => number::integral(float),
            _ => None,
        }
    }

    /// The order of two numbers or two texts; `None` for other values.
    ///
    /// ```
    /// # use branchpoint_expr::View;
    /// assert!(View::Int(1).compare(&View::Float(1.5)).unwrap().is_lt());
    /// assert!(View::Int(1).compare(&View::Str("1")).is_none());
    /// ```
    #[inline(always)]
    pub fn compare(&self, other: &View<'_>) -> Option<Ordering> {
        match (self.as_str(), other.as_str()) {
            (Some(left), Some(right)) => Some(left.cmp(right)),
            _ => compare::compare_numbers(self, other),
        }
    }

    /// Parses decimal text; `None` for other text and for numbers beyond the range of floats.
    ///
    /// ```
    /// # use branchpoint_expr::View;
    /// assert_eq!(View::parse_number("1e3").unwrap().as_integer(), Some(1_000));
    /// assert!(View::parse_number("1,000").is_none());
    /// ```
    pub fn parse_number(text: &str) -> Option<View<'static>> {
        match number::parse_decimal(text)? {
            Parsed::Int(int) => Some(View::Int(int)),
            Parsed::Float(float) => Some(View::Float(float)),
            Parsed::Overflow => None,
        }
    }

    /// Whether this is a datetime: ISO 8601 text, or Unix seconds in the years 1 to 9999.
    ///
    /// ```
    /// # use branchpoint_expr::View;
    /// assert!(View::Str("2026-02-18T12:00:00Z").is_instant() && View::Int(0).is_instant());
    /// assert!(!View::Str("tomorrow").is_instant());
    /// ```
    pub fn is_instant(self) -> bool {
        typed_comparison::instant(self).is_ok()
    }

    /// The name of this value's type, as the built-in function `type` returns it.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let json = serde_json::json!({"list": [1, 2], "object": {"a": 1}, "text": "abc"});
    /// let view = View::from(&json);
    /// assert_eq!(view.get("list").unwrap().type_name(), "array");
    /// ```
    pub fn type_name(self) -> &'static str {
        match self {
            Self::Null => "nil",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Str(_) | Self::Text(_) => "string",
            Self::List(_) => "array",
            Self::Object(_) => "map",
        }
    }

    /// Converts to an owned value. Shared parts stay shared.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let json = serde_json::json!({"list": [1, 2], "object": {"a": 1}, "text": "abc"});
    /// let view = View::from(&json);
    /// assert_eq!(view.get("list").unwrap().to_value().to_string(), "[1,2]");
    /// ```
    pub fn to_value(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(bool) => Value::Bool(bool),
            Self::Int(int) => Value::Int(int),
            Self::Float(float) => Value::number(float),
            Self::Str(text) => Value::Str(text.into()),
            Self::Text(text) => Value::Str(Arc::clone(text)),
            Self::List(ListView::Shared(items)) => Value::List(items.clone()),
            Self::List(list) => Value::from(list.iter().map(View::to_value).collect::<Vec<_>>()),
            Self::Object(ObjectView::Shared(object)) => Value::Object(object.clone()),
            Self::Object(object) => {
                let entries = object.iter().map(|(key, value)| (key.into(), value.to_value()));
                Value::from(entries.collect::<Object>())
            }
        }
    }
}

impl<'a> From<&'a Value> for View<'a> {
    fn from(value: &'a Value) -> Self {
        value.view()
    }
}

impl<'a> From<&'a serde_json::Value> for View<'a> {
    #[inline]
    fn from(json: &'a serde_json::Value) -> Self {
        use serde_json::Value as Json;
        match json {
            Json::Null => Self::Null,
            Json::Bool(bool) => Self::Bool(*bool),
            Json::Number(number) => match number.as_i64() {
                Some(int) => Self::Int(int),
                None => number
                    .as_f64()
                    .map_or(Self::Null, |float| number::integral(float).map_or(Self::Float(float), Self::Int)),
            },
            Json::String(text) => Self::Str(text),
            Json::Array(items) => Self::List(ListView::Json(items)),
            Json::Object(object) => Self::Object(ObjectView::Json(object)),
        }
    }
}

impl<'a> ListView<'a> {
    /// The number of elements.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let json = serde_json::json!({"list": [1, 2], "object": {"a": 1}, "text": "abc"});
    /// let view = View::from(&json);
    /// let list = view.get("list").unwrap().expect_list("it").unwrap();
    /// assert_eq!(list.len(), 2);
    /// ```
    pub fn len(self) -> usize {
        match self {
            Self::Shared(items) => items.len(),
            Self::Json(items) => items.len(),
            Self::Made(items) => items.len(),
            Self::Range(first, last) if first > last => 0,
            Self::Range(first, last) => {
                usize::try_from(last.abs_diff(first)).map_or(usize::MAX, |n| n.saturating_add(1))
            }
        }
    }

    /// Whether there are no elements.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let json = serde_json::json!({"list": [1, 2], "object": {"a": 1}, "text": "abc"});
    /// let view = View::from(&json);
    /// let list = view.get("list").unwrap().expect_list("it").unwrap();
    /// assert!(!list.is_empty());
    /// ```
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The element at a position.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let json = serde_json::json!({"list": [1, 2], "object": {"a": 1}, "text": "abc"});
    /// let view = View::from(&json);
    /// let list = view.get("list").unwrap().expect_list("it").unwrap();
    /// assert_eq!(list.get(1).and_then(View::as_integer), Some(2));
    /// ```
    pub fn get(self, index: usize) -> Option<View<'a>> {
        match self {
            Self::Shared(items) => items.get(index).map(Value::view),
            Self::Json(items) => items.get(index).map(View::from),
            Self::Made(items) => items.get(index).copied(),
            Self::Range(first, _) if index < self.len() => {
                i64::try_from(index).ok().and_then(|index| first.checked_add(index)).map(View::Int)
            }
            Self::Range(..) => None,
        }
    }

    /// The elements in order.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let json = serde_json::json!({"list": [1, 2], "object": {"a": 1}, "text": "abc"});
    /// let view = View::from(&json);
    /// let list = view.get("list").unwrap().expect_list("it").unwrap();
    /// assert_eq!(list.iter().filter_map(View::as_integer).sum::<i64>(), 3);
    /// ```
    pub fn iter(self) -> impl Iterator<Item = View<'a>> {
        (0..self.len()).map_while(move |index| self.get(index))
    }
}

impl<'a> ObjectView<'a> {
    /// The number of keys.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let json = serde_json::json!({"list": [1, 2], "object": {"a": 1}, "text": "abc"});
    /// let view = View::from(&json);
    /// let object = view.expect_object("it").unwrap();
    /// assert_eq!(object.len(), 3);
    /// ```
    pub fn len(self) -> usize {
        match self {
            Self::Shared(object) => object.len(),
            Self::Json(object) => object.len(),
            Self::Made(entries) => entries.len(),
        }
    }

    /// Whether there are no keys.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let json = serde_json::json!({"list": [1, 2], "object": {"a": 1}, "text": "abc"});
    /// let view = View::from(&json);
    /// let object = view.expect_object("it").unwrap();
    /// assert!(!object.is_empty());
    /// ```
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The value of a key.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let json = serde_json::json!({"list": [1, 2], "object": {"a": 1}, "text": "abc"});
    /// let view = View::from(&json);
    /// let object = view.expect_object("it").unwrap();
    /// assert!(object.get("text").is_some());
    /// ```
    #[inline]
    pub fn get(self, key: &str) -> Option<View<'a>> {
        match self {
            Self::Shared(object) => object.get(key).map(Value::view),
            Self::Json(object) => object.get(key).map(View::from),
            Self::Made(entries) => entries.iter().find(|(name, _)| *name == key).map(|(_, value)| *value),
        }
    }

    /// The cost of looking up a key, in steps. Only objects produced by an evaluation are searched linearly.
    pub(crate) fn lookup_cost(self) -> usize {
        match self {
            Self::Shared(_) | Self::Json(_) => 1,
            Self::Made(entries) => 1 + entries.len() / 8,
        }
    }

    /// Keys and values in order.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let json = serde_json::json!({"list": [1, 2], "object": {"a": 1}, "text": "abc"});
    /// let view = View::from(&json);
    /// let object = view.expect_object("it").unwrap();
    /// assert_eq!(object.iter().map(|(key, _)| key).collect::<Vec<_>>(), ["list", "object", "text"]);
    /// ```
    pub fn iter(self) -> Box<dyn Iterator<Item = (&'a str, View<'a>)> + 'a> {
        match self {
            Self::Shared(object) => Box::new(object.iter().map(|(key, value)| (&**key, value.view()))),
            Self::Json(object) => Box::new(object.iter().map(|(key, value)| (key.as_str(), View::from(value)))),
            Self::Made(entries) => Box::new(entries.iter().copied()),
        }
    }
}
