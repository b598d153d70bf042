//! Comparisons of two leaves where they lie, in registers. What is not answered here goes the long way, which gives the
//! same answer: this file adds no meaning, only speed.

use std::cmp::Ordering;

use serde_json::Value as Json;

use crate::syntax::ast::Binary;
use crate::value::{Source, Value, number};

/// The answer for two texts, two numbers, or text in a list of text.
#[inline(always)]
pub(super) fn test(operator: Binary, left: Source<'_>, right: Source<'_>) -> Option<bool> {
    if let (Some(left), Some(right)) = (text(left), text(right)) {
        return texts(operator, left, right);
    }
    if operator == Binary::In {
        return in_list(text(left)?, right);
    }
    let order = match (int(left), int(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(left), None) => number::compare_int_float(left, float(right)?),
        (None, Some(right)) => number::compare_int_float(right, float(left)?).reverse(),
        (None, None) => float(left)?.partial_cmp(&float(right)?)?,
    };
    admits(operator, order)
}

#[inline(always)]
fn texts(operator: Binary, left: &str, right: &str) -> Option<bool> {
    match operator {
        Binary::Equal => Some(left == right),
        Binary::NotEqual => Some(left != right),
        Binary::Contains => Some(left.contains(right)),
        Binary::StartsWith => Some(left.starts_with(right)),
        Binary::EndsWith => Some(left.ends_with(right)),
        Binary::In | Binary::Matches => None,
        _ => admits(operator, left.cmp(right)),
    }
}

#[inline(always)]
fn admits(operator: Binary, order: Ordering) -> Option<bool> {
    match operator {
        Binary::Equal => Some(order.is_eq()),
        Binary::NotEqual => Some(order.is_ne()),
        Binary::Less => Some(order.is_lt()),
        Binary::LessOrEqual => Some(order.is_le()),
        Binary::Greater => Some(order.is_gt()),
        Binary::GreaterOrEqual => Some(order.is_ge()),
        _ => None,
    }
}

fn in_list(needle: &str, list: Source<'_>) -> Option<bool> {
    match list {
        Source::Value(Value::List(items)) => Some(items.iter().any(|item| item.as_str() == Some(needle))),
        Source::Json(Json::Array(items)) => Some(items.iter().any(|item| item.as_str() == Some(needle))),
        _ => None,
    }
}

#[inline(always)]
pub(super) fn text(source: Source<'_>) -> Option<&str> {
    match source {
        Source::Value(Value::Str(text)) => Some(text),
        Source::Json(Json::String(text)) => Some(text),
        _ => None,
    }
}

#[inline(always)]
fn int(source: Source<'_>) -> Option<i64> {
    match source {
        Source::Value(Value::Int(int)) => Some(*int),
        Source::Json(Json::Number(number)) => number.as_i64(),
        _ => None,
    }
}

/// A number that is no integer as it lies; an integral float compares by value all the same.
#[inline(always)]
fn float(source: Source<'_>) -> Option<f64> {
    match source {
        Source::Value(Value::Float(float)) => Some(*float),
        Source::Json(Json::Number(number)) => number.as_f64(),
        _ => None,
    }
}
