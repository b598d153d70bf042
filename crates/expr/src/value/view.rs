//! A copyable look at a value, wherever it lives.

use std::sync::Arc;

use super::{Fields, List, Object, Value, number};

/// A copyable look at a value: what an expression reads and what it yields.
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
    /// Null, nil, nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An exact 64-bit integer.
    Int(i64),
    /// A finite float.
    Float(f64),
    /// Borrowed text.
    Str(&'a str),
    /// Shared text of a [`Value`]: making a value of it again copies nothing.
    Text(&'a Arc<str>),
    /// A list.
    List(ListView<'a>),
    /// An object.
    Object(ObjectView<'a>),
}

/// A look at a list.
#[derive(Clone, Copy)]
pub enum ListView<'a> {
    /// The list of a [`Value`].
    Shared(&'a List),
    /// A JSON array.
    Json(&'a [serde_json::Value]),
    /// Made while evaluating.
    Made(&'a [View<'a>]),
    /// The integers from the first to the second, both included; empty when the first is greater.
    Range(i64, i64),
}

/// A look at an object.
#[derive(Clone, Copy)]
pub enum ObjectView<'a> {
    /// The object of a [`Value`].
    Shared(&'a Fields),
    /// A JSON object.
    Json(&'a serde_json::Map<String, serde_json::Value>),
    /// Made while evaluating; keys are unique.
    Made(&'a [(&'a str, View<'a>)]),
}

/// A value where it lies, of a context. It fits in two registers, which is what makes comparing two of them cheap.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// One of our own.
    Value(&'a Value),
    /// JSON.
    Json(&'a serde_json::Value),
}

impl<'a> Source<'a> {
    /// A look at the value.
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
    #[inline(always)]
    pub fn as_str(self) -> Option<&'a str> {
        match self {
            Self::Str(text) => Some(text),
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether this is null.
    #[inline]
    pub fn is_null(self) -> bool {
        matches!(self, Self::Null)
    }

    /// The field of an object.
    #[inline]
    pub fn get(self, key: &str) -> Option<Self> {
        match self {
            Self::Object(object) => object.get(key),
            _ => None,
        }
    }

    /// The name of this value's kind, as the builtin `type` gives it.
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

    /// An owned value. Parts that are shared already stay shared.
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
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The element at a position.
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
    pub fn iter(self) -> impl Iterator<Item = View<'a>> {
        (0..self.len()).map_while(move |index| self.get(index))
    }
}

impl<'a> ObjectView<'a> {
    /// The number of keys.
    pub fn len(self) -> usize {
        match self {
            Self::Shared(object) => object.len(),
            Self::Json(object) => object.len(),
            Self::Made(entries) => entries.len(),
        }
    }

    /// Whether there are no keys.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The value of a key.
    #[inline]
    pub fn get(self, key: &str) -> Option<View<'a>> {
        match self {
            Self::Shared(object) => object.get(key).map(Value::view),
            Self::Json(object) => object.get(key).map(View::from),
            Self::Made(entries) => entries.iter().find(|(name, _)| *name == key).map(|(_, value)| *value),
        }
    }

    /// What looking up one key costs, in parts looked at: only what was made while evaluating is searched.
    pub(crate) fn lookup_cost(self) -> usize {
        match self {
            Self::Shared(_) | Self::Json(_) => 1,
            Self::Made(entries) => 1 + entries.len() / 8,
        }
    }

    /// Keys and values in order.
    pub fn iter(self) -> Box<dyn Iterator<Item = (&'a str, View<'a>)> + 'a> {
        match self {
            Self::Shared(object) => Box::new(object.iter().map(|(key, value)| (&**key, value.view()))),
            Self::Json(object) => Box::new(object.iter().map(|(key, value)| (key.as_str(), View::from(value)))),
            Self::Made(entries) => Box::new(entries.iter().copied()),
        }
    }
}
