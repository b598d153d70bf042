//! Builds JSON values for `--json`.

use branchpoint_expr::{Object, Value};

/// An object with these fields.
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
