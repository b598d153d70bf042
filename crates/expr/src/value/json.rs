//! Serializes and deserializes values, with keys in document order.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use bumpalo::Bump;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use super::{ListView, Object, ObjectView, Value, View, number};
use crate::limits;

/// Parses JSON text into the memory of an evaluation.
pub(crate) fn parse_json<'a>(text: &str, bump: &'a Bump) -> Result<View<'a>, serde_json::Error> {
    serde_json::from_str::<Value>(text).map(|value| keep(value.view(), bump))
}

/// Copies a value into the memory of an evaluation.
///
/// The memory is freed without running destructors, so it must not contain reference counts.
pub(crate) fn keep<'a>(view: View<'_>, bump: &'a Bump) -> View<'a> {
    match view {
        View::Null => View::Null,
        View::Bool(bool) => View::Bool(bool),
        View::Int(int) => View::Int(int),
        View::Float(float) => View::Float(float),
        View::Str(text) => View::Str(bump.alloc_str(text)),
        View::Text(text) => View::Str(bump.alloc_str(text)),
        View::List(list) => {
            let items: Vec<_> = list.iter().map(|item| keep(item, bump)).collect();
            View::List(ListView::Made(bump.alloc_slice_copy(&items)))
        }
        View::Object(object) => {
            let entries: Vec<_> =
                object.iter().map(|(key, value)| (&*bump.alloc_str(key), keep(value, bump))).collect();
            View::Object(ObjectView::Made(bump.alloc_slice_copy(&entries)))
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return deserializer.deserialize_any(IntoValue);
        }
        let _level = Level::enter().ok_or_else(|| D::Error::custom(TOO_DEEP))?;
        Stored::deserialize(deserializer).map(Self::from)
    }
}

/// A value in formats that are not self-describing, with a tag for its type. [`Value::store`] writes it.
#[derive(Deserialize)]
enum Stored<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(#[serde(borrow)] Cow<'a, str>),
    List(Vec<Value>),
    Object(Vec<(Arc<str>, Value)>),
}

const STORED: &str = "Stored";
const TOO_DEEP: &str = "a value is nested too deeply to be stored";

thread_local! {
    static LEVEL: Cell<u16> = const { Cell::new(0) };
}

/// One level of a stored value during reading or writing. It limits the depth, because such formats do not, and damaged bytes
/// must not overflow the stack.
struct Level;

impl Level {
    fn enter() -> Option<Self> {
        let level = LEVEL.get();
        (level < limits::STORED_DEPTH).then(|| {
            LEVEL.set(level + 1);
            Self
        })
    }
}

impl Drop for Level {
    fn drop(&mut self) {
        LEVEL.set(LEVEL.get() - 1);
    }
}

impl From<Stored<'_>> for Value {
    fn from(stored: Stored<'_>) -> Self {
        match stored {
            Stored::Null => Self::Null,
            Stored::Bool(bool) => Self::Bool(bool),
            Stored::Int(int) => Self::Int(int),
            Stored::Float(float) => Self::number(float),
            Stored::Str(text) => Self::Str(text.into()),
            Stored::List(items) => Self::from(items),
            Stored::Object(entries) => Self::from(entries.into_iter().collect::<Object>()),
        }
    }
}

struct IntoValue;

impl<'de> Visitor<'de> for IntoValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, bool: bool) -> Result<Value, E> {
        Ok(Value::Bool(bool))
    }

    fn visit_i64<E: Error>(self, int: i64) -> Result<Value, E> {
        Ok(Value::Int(int))
    }

    fn visit_u64<E: Error>(self, int: u64) -> Result<Value, E> {
        Ok(i64::try_from(int).map_or_else(|_| Value::Float(int as f64), Value::Int))
    }

    fn visit_f64<E: Error>(self, float: f64) -> Result<Value, E> {
        Ok(Value::number(float))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Str(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::from(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Object::default();
        while let Some((key, value)) = map.next_entry::<Cow<'_, str>, Value>()? {
            object.insert(key.into(), value);
        }
        Ok(Value::from(object))
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            self.view().serialize(serializer)
        } else {
            let _level = Level::enter().ok_or_else(|| serde::ser::Error::custom(TOO_DEEP))?;
            self.store(serializer)
        }
    }
}

impl Value {
    /// Writes the format of [`Stored`] without copying the value.
    fn store<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit_variant(STORED, 0, "Null"),
            Self::Bool(bool) => serializer.serialize_newtype_variant(STORED, 1, "Bool", bool),
            Self::Int(int) => serializer.serialize_newtype_variant(STORED, 2, "Int", int),
            // Equal values must have equal bytes, so an integral float is stored as an integer.
            Self::Float(float) => match Self::number(*float) {
                Self::Float(float) => serializer.serialize_newtype_variant(STORED, 3, "Float", &float),
                other => other.store(serializer),
            },
            Self::Str(text) => serializer.serialize_newtype_variant(STORED, 4, "Str", &**text),
            Self::List(items) => serializer.serialize_newtype_variant(STORED, 5, "List", &**items),
            Self::Object(object) => serializer.serialize_newtype_variant(STORED, 6, "Object", &Entries(object)),
        }
    }
}

/// The entries of an object, as pairs.
struct Entries<'a>(&'a Object);

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|(key, value)| (&**key, value)))
    }
}

impl Serialize for View<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(bool) => serializer.serialize_bool(bool),
            Self::Int(int) => serializer.serialize_i64(int),
            Self::Float(float) => match number::integral(float) {
                Some(int) => serializer.serialize_i64(int),
                None => serializer.serialize_f64(float),
            },
            Self::Str(text) => serializer.serialize_str(text),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(list) => serializer.collect_seq(list.iter()),
            Self::Object(object) => serializer.collect_map(object.iter()),
        }
    }
}
