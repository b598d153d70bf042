//! Reads the fields of a request from the two halves of a call.

use std::num::NonZeroU32;
use std::sync::Arc;

use branchpoint_expr::{Object, Value};

use super::Kind;

/// Why a request cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` of a `{kind}` request {problem}")]
pub struct FieldError {
    /// The kind of the request.
    pub kind: Kind,
    /// The field.
    pub field: Arc<str>,
    /// The problem, as the end of the message.
    pub problem: String,
}

/// The fields of one request. Fields of the call override fields of the effect.
pub(super) struct Fields<'v> {
    pub(super) kind: Kind,
    pub(super) fixed: &'v Object,
    pub(super) input: &'v Value,
}

impl<'v> Fields<'v> {
    /// The value of a field. Null counts as absent.
    pub(super) fn get(&self, name: &str) -> Option<&'v Value> {
        let given = |value: &&Value| **value != Value::Null;
        self.input.get(name).filter(given).or_else(|| self.fixed.get(name).filter(given))
    }

    pub(super) fn read<T: FromField>(&self, name: &str) -> Result<T, FieldError> {
        let Some(value) = self.get(name) else { return Ok(T::default()) };
        T::from_field(value).map_err(|expected| {
            let text = value.to_string();
            let shown = if text.len() <= 40 { format!(", but is `{text}`") } else { String::new() };
            self.error(name, format!("must be {expected}{shown}"))
        })
    }

    /// Rejects fields that the request does not have.
    pub(super) fn check_names(&self, known: &[&str]) -> Result<(), FieldError> {
        if !matches!(self.input, Value::Null | Value::Object(_)) {
            return Err(self.error("input", "must be an object".to_owned()));
        }
        let mut names = self.input.as_object().into_iter().flatten().chain(self.fixed).map(|(name, _)| name);
        match names.find(|name| !known.contains(&&***name)) {
            Some(name) => Err(self.error(name, format!("is unknown; known fields: {}", known.join(", ")))),
            None => Ok(()),
        }
    }

    fn error(&self, field: &str, problem: String) -> FieldError {
        FieldError { kind: self.kind, field: field.into(), problem }
    }
}

/// A request that is read from fields.
pub(super) trait ReadRequest: Sized {
    /// The names of the fields; none if any name is valid.
    const FIELDS: Option<&'static [&'static str]>;

    fn read(fields: &Fields<'_>) -> Result<Self, FieldError>;
}

impl<R: ReadRequest> ReadRequest for Box<R> {
    const FIELDS: Option<&'static [&'static str]> = R::FIELDS;

    fn read(fields: &Fields<'_>) -> Result<Self, FieldError> {
        R::read(fields).map(Self::new)
    }
}

/// The fields of a step that only a script can answer.
impl ReadRequest for Value {
    const FIELDS: Option<&'static [&'static str]> = None;

    fn read(fields: &Fields<'_>) -> Result<Self, FieldError> {
        Ok(fields.input.clone())
    }
}

/// A type of field. The default is the value of an absent field.
pub(super) trait FromField: Sized + Default {
    /// Reads the value. The error says what the value must be.
    fn from_field(value: &Value) -> Result<Self, &'static str>;
}

impl FromField for Value {
    fn from_field(value: &Value) -> Result<Self, &'static str> {
        Ok(value.clone())
    }
}

impl FromField for bool {
    fn from_field(value: &Value) -> Result<Self, &'static str> {
        match value {
            Value::Bool(flag) => Ok(*flag),
            _ => Err("true or false"),
        }
    }
}

impl FromField for Option<bool> {
    fn from_field(value: &Value) -> Result<Self, &'static str> {
        bool::from_field(value).map(Some)
    }
}

/// Accepts any value and converts it to text, because templates may insert data of any type.
impl FromField for Option<String> {
    fn from_field(value: &Value) -> Result<Self, &'static str> {
        Ok(Some(value.to_string()))
    }
}

impl FromField for Object {
    fn from_field(value: &Value) -> Result<Self, &'static str> {
        value.as_object().cloned().ok_or("an object")
    }
}

impl FromField for Option<Object> {
    fn from_field(value: &Value) -> Result<Self, &'static str> {
        Object::from_field(value).map(Some)
    }
}

/// A list of values.
impl FromField for Vec<Value> {
    fn from_field(value: &Value) -> Result<Self, &'static str> {
        value.as_list().map(<[Value]>::to_vec).ok_or("a list")
    }
}

/// A list of texts, or one text.
impl FromField for Vec<String> {
    fn from_field(value: &Value) -> Result<Self, &'static str> {
        Ok(value.as_list().unwrap_or(std::slice::from_ref(value)).iter().map(ToString::to_string).collect())
    }
}

/// A list of texts, which may be empty or absent.
impl FromField for Option<Vec<String>> {
    fn from_field(value: &Value) -> Result<Self, &'static str> {
        value.as_list().map(|items| Some(items.iter().map(ToString::to_string).collect())).ok_or("a list of texts")
    }
}

impl FromField for Option<f64> {
    fn from_field(value: &Value) -> Result<Self, &'static str> {
        parsed(value, "a number of at least 0", |number: &f64| number.is_finite() && *number >= 0.0)
    }
}

impl FromField for Option<u64> {
    fn from_field(value: &Value) -> Result<Self, &'static str> {
        parsed(value, "a whole number from 0 to 18446744073709551615", |_| true)
    }
}

impl FromField for Option<NonZeroU32> {
    fn from_field(value: &Value) -> Result<Self, &'static str> {
        parsed(value, "a whole number from 1 to 4294967295", |_| true)
    }
}

/// Reads a number, or text with a number, such as the result of a template. Blank text counts as absent.
pub(super) fn parsed<N: std::str::FromStr>(
    value: &Value,
    expected: &'static str,
    is_valid: impl Fn(&N) -> bool,
) -> Result<Option<N>, &'static str> {
    let text = match value {
        // Some front-ends have only floating-point numbers.
        Value::Float(float) if float.fract() == 0.0 => format!("{float}"),
        Value::Bool(_) | Value::List(_) | Value::Object(_) => return Err(expected),
        value => value.to_string(),
    };
    if text.trim().is_empty() {
        return Ok(None);
    }
    text.trim().parse().ok().filter(is_valid).map(Some).ok_or(expected)
}

/// Defines a request: a struct whose fields are read by name.
macro_rules! request {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $field:ident: $of:ty,)* }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name {
            $($(#[$doc])* pub $field: $of,)*
        }

        impl $crate::effect::fields::ReadRequest for $name {
            const FIELDS: Option<&'static [&'static str]> = Some(&[$(stringify!($field)),*]);

            fn read(fields: &$crate::effect::fields::Fields<'_>) -> Result<Self, $crate::effect::FieldError> {
                fields.check_names(Self::FIELDS.unwrap_or_default())?;
                Ok(Self { $($field: fields.read(stringify!($field))?,)* })
            }
        }
    };
}

/// Defines an enum whose variants are written as words.
macro_rules! word {
    ($(#[$about:meta])* $name:ident, $expected:literal { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            /// The word of the variant.
            ///
            /// ```
            $(#[doc = concat!("assert_eq!(branchpoint_core::effect::", stringify!($name), "::", stringify!($variant), ".as_str(), \"", $word, "\");")])*
            /// ```
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            /// The variant with a word.
            ///
            /// ```
            #[doc = concat!("use branchpoint_core::effect::", stringify!($name), ";")]
            ///
            $(#[doc = concat!("assert_eq!(", stringify!($name), "::named(\"", $word, "\"), Some(", stringify!($name), "::", stringify!($variant), "));")])*
            /// ```
            pub fn named(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }

        impl From<$name> for branchpoint_expr::Value {
            fn from(word: $name) -> Self {
                Self::from(word.as_str())
            }
        }

        impl $crate::effect::fields::FromField for $name {
            fn from_field(value: &branchpoint_expr::Value) -> Result<Self, &'static str> {
                value.as_str().and_then(Self::named).ok_or($expected)
            }
        }
    };
}

/// Defines a result: a struct that converts to an object of its fields.
macro_rules! result {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $field:ident: $of:ty,)* }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name {
            $($(#[$doc])* pub $field: $of,)*
        }

        impl From<$name> for branchpoint_expr::Value {
            fn from(result: $name) -> Self {
                let fields = [$((stringify!($field).into(), Self::from(result.$field))),*];
                Self::from(branchpoint_expr::Object::from_iter(fields))
            }
        }
    };
}

pub(super) use {request, result, word};
