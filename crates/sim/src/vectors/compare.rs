//! Compares JSON values by the rules of the vectors.

use branchpoint_expr::Value;

/// The maximum relative difference of floats.
const TOLERANCE: f64 = 1e-9;

/// Compares numbers by value (integers exactly, floats approximately), objects ignoring key order, and lists in order.
pub(super) fn same(expected: &Value, got: &Value) -> bool {
    match (expected, got) {
        (Value::List(expected), Value::List(got)) => {
            expected.len() == got.len() && expected.iter().zip(got.iter()).all(|(expected, got)| same(expected, got))
        }
        (Value::Object(expected), Value::Object(got)) => {
            expected.len() == got.len()
                && expected.iter().all(|(key, value)| got.get(key).is_some_and(|other| same(value, other)))
        }
        _ => expected == got || nearly(expected, got),
    }
}

fn nearly(expected: &Value, got: &Value) -> bool {
    let float = |value: &Value| match value {
        Value::Int(int) => Some(*int as f64),
        Value::Float(float) => Some(*float),
        _ => None,
    };
    let both_integers = matches!((expected, got), (Value::Int(_), Value::Int(_)));
    match (float(expected), float(got)) {
        (Some(expected), Some(got)) if !both_integers => {
            (expected - got).abs() <= TOLERANCE * expected.abs().max(got.abs())
        }
        _ => false,
    }
}
