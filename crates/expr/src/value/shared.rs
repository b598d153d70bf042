//! Shared lists and objects that store their unfolded size, which counts shared parts each time.
//!
//! A value can be small in memory and enormous in JSON: `[x, x]`, nested forty times, is forty small lists and 2^40 parts in JSON.
//! So every list and object computes its unfolded size when it is created. Code that stores, writes or compares values can check
//! the size first, in constant time.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::de::Deserializer;
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use super::{Object, Value};

/// The shared list of a [`Value`].
///
/// ```
/// # use branchpoint_expr::*;
/// let list = List::from(vec![Value::Int(1)]);
/// assert_eq!(list.len(), 1);
/// ```
pub type List = Shared<Vec<Value>>;

/// The shared object of a [`Value`].
///
/// ```
/// # use branchpoint_expr::*;
/// let fields = Fields::from(Object::default());
/// assert!(fields.is_empty());
/// ```
pub type Fields = Shared<Object>;

/// The size of each value and each key, without its text.
const PART_BYTES: u64 = 8;

/// The unfolded size of a value. Equal values have equal sizes.
///
/// ```
/// # use branchpoint_expr::*;
/// assert_eq!(Value::from(vec![Value::Int(1)]).size(), Size { bytes: 16, depth: 1 });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Eight bytes for each value and each key, plus the bytes of all texts. Saturates at `u64::MAX`.
    pub bytes: u64,
    /// How deeply lists and objects are nested; 0 for everything else.
    pub depth: u16,
}

impl Size {
    /// The size of an empty list or object.
    const EMPTY: Self = Self { bytes: PART_BYTES, depth: 1 };

    /// The size of text.
    fn text(text: &str) -> Self {
        Self { bytes: PART_BYTES.saturating_add(text.len() as u64), depth: 0 }
    }

    /// Adds a part to the size of a list or object.
    fn with(self, part: Self) -> Self {
        Self { bytes: self.bytes.saturating_add(part.bytes), depth: self.depth.max(part.depth.saturating_add(1)) }
    }
}

impl Value {
    /// The unfolded size of this value, in constant time.
    ///
    /// ```
    /// use branchpoint_expr::Value;
    ///
    /// let mut value = Value::from("abcdefgh");
    /// assert_eq!(value.size().bytes, 16);
    /// for _ in 0..40 {
    ///     value = Value::from(vec![value.clone(), value]);
    /// }
    /// assert!(value.size().bytes > 1 << 44);
    /// assert_eq!(value.size().depth, 40);
    /// ```
    pub fn size(&self) -> Size {
        match self {
            Self::Null | Self::Bool(_) | Self::Int(_) | Self::Float(_) => Size { bytes: PART_BYTES, depth: 0 },
            Self::Str(text) => Size::text(text),
            Self::List(list) => list.size(),
            Self::Object(fields) => fields.size(),
        }
    }
}

/// A list or object that is cheap to clone and stores its unfolded size. It dereferences to the list or object.
///
/// ```
/// # use branchpoint_expr::*;
/// let list: Shared<Vec<Value>> = vec![Value::Null].into();
/// assert_eq!(list.clone().identity(), list.identity());
/// ```
#[derive(Clone)]
pub struct Shared<T>(Arc<Inner<T>>);

#[derive(Clone)]
struct Inner<T> {
    parts: T,
    size: Size,
}

/// The content of a [`Shared`].
///
/// ```
/// # use branchpoint_expr::*;
/// assert_eq!(List::from(vec![Value::Null, Value::Null]).size().bytes, 24);
/// ```
pub trait Parts: Clone + Default {
    /// The unfolded size, from the sizes of the direct parts.
    fn size(&self) -> Size;
}

impl Parts for Vec<Value> {
    fn size(&self) -> Size {
        self.iter().fold(Size::EMPTY, |size, item| size.with(item.size()))
    }
}

impl Parts for Object {
    fn size(&self) -> Size {
        self.iter().fold(Size::EMPTY, |size, (key, value)| size.with(Size::text(key)).with(value.size()))
    }
}

impl<T: Parts> Shared<T> {
    /// The unfolded size.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert_eq!(List::from(vec![Value::Null]).size().bytes, 16);
    /// ```
    pub fn size(&self) -> Size {
        self.0.size
    }

    /// The address of this list or object. Clones have the same identity.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let (list, other) = (List::from(vec![Value::Null]), List::from(vec![Value::Null]));
    /// assert!(list == other && list.identity() != other.identity());
    /// ```
    pub fn identity(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// Changes the parts and updates the size. Other clones are not changed.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let mut list = List::from(vec![Value::Null]);
    /// let before = list.clone();
    /// list.edit(|items| items.push(Value::Int(1)));
    /// assert_eq!((list.len(), before.len()), (2, 1));
    /// ```
    pub fn edit<R>(&mut self, change: impl FnOnce(&mut T) -> R) -> R {
        let inner = Arc::make_mut(&mut self.0);
        let result = change(&mut inner.parts);
        inner.size = inner.parts.size();
        result
    }

    /// The parts, copied only if they are shared.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert_eq!(List::from(vec![Value::Null]).into_parts(), [Value::Null]);
    /// ```
    pub fn into_parts(self) -> T {
        Arc::unwrap_or_clone(self.0).parts
    }
}

impl List {
    /// Appends a value. Returns the previous size, for [`Self::undo_push`].
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let mut list = List::from(vec![]);
    /// assert_eq!(list.push(Value::Null).bytes, 8);
    /// assert_eq!(list.size().bytes, 16);
    /// ```
    pub fn push(&mut self, value: Value) -> Size {
        let inner = Arc::make_mut(&mut self.0);
        let before = inner.size;
        inner.size = before.with(value.size());
        inner.parts.push(value);
        before
    }

    /// Removes the value of the latest [`Self::push`], which returned `before`.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let mut list = List::from(vec![]);
    /// let before = list.push(Value::Null);
    /// list.undo_push(before);
    /// assert!(list.is_empty());
    /// ```
    pub fn undo_push(&mut self, before: Size) {
        let inner = Arc::make_mut(&mut self.0);
        inner.parts.pop();
        inner.size = before;
    }
}

impl<T: Parts> From<T> for Shared<T> {
    fn from(parts: T) -> Self {
        let size = parts.size();
        Self(Arc::new(Inner { parts, size }))
    }
}

impl<T: Parts> Default for Shared<T> {
    fn default() -> Self {
        Self::from(T::default())
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0.parts
    }
}

impl<T: PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: Serialize> Serialize for Shared<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de, T: Parts + Deserialize<'de>> Deserialize<'de> for Shared<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::from)
    }
}
