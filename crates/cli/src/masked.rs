//! What is shown of values: secrets masked, long ones cut.

use branchpoint_expr::{Object, Value};
use branchpoint_runners::Secrets;

use crate::lines::{LONGEST_ERROR, shortened};

/// How much of a value is shown on a line.
pub(crate) const LONGEST: usize = 100;

/// How much of a value is written out before it is shortened to a line.
const READ_BYTES: usize = 4096;

/// A value on one line, masked and not too long.
pub(crate) fn line(secrets: &Secrets, value: &Value) -> String {
    shortened_value(secrets, value, LONGEST)
}

/// A value on one line, masked and of at most so many characters.
pub(crate) fn shortened_value(secrets: &Secrets, value: &Value, longest: usize) -> String {
    shortened(&secrets.beginning(value, READ_BYTES), longest)
}

/// An error on one line, masked.
pub(crate) fn error(secrets: &Secrets, message: &Value) -> String {
    shortened_value(secrets, message, LONGEST_ERROR)
}

/// A text on one line, not too long.
pub(crate) fn cut(text: &str) -> String {
    shortened(text, LONGEST)
}

/// An object of these fields.
pub(crate) fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::from(fields.into_iter().map(|(key, value)| (key.into(), value)).collect::<Object>())
}

/// Adds a field to an object.
pub(crate) fn insert(object: &mut Value, key: &str, value: Value) {
    if let Value::Object(fields) = object {
        fields.edit(|fields| fields.insert(key.into(), value));
    }
}

/// A count as a value.
pub(crate) fn count(number: impl TryInto<i64>) -> Value {
    Value::Int(number.try_into().unwrap_or(i64::MAX))
}
