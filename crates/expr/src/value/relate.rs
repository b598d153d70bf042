//! How two values relate: structural equality and the order of numbers.

use std::cmp::Ordering;

use super::{ListView, ObjectView, View, number};

/// Structural equality: numbers by value, lists in order, objects without regard to key order, kinds never mixed.
#[inline(always)]
pub(crate) fn equal(left: &View<'_>, right: &View<'_>) -> bool {
    if let (Some(left), Some(right)) = (left.as_str(), right.as_str()) {
        return left == right;
    }
    match (left, right) {
        (View::Int(left), View::Int(right)) => left == right,
        _ => equal_others(left, right),
    }
}

fn equal_others(left: &View<'_>, right: &View<'_>) -> bool {
    match (left, right) {
        (View::Null, View::Null) => true,
        (View::Bool(left), View::Bool(right)) => left == right,
        (View::List(left), View::List(right)) => equal_lists(*left, *right),
        (View::Object(left), View::Object(right)) => equal_objects(*left, *right),
        _ => compare_numbers(left, right) == Some(Ordering::Equal),
    }
}

fn equal_lists(left: ListView<'_>, right: ListView<'_>) -> bool {
    left.len() == right.len() && left.iter().zip(right.iter()).all(|(left, right)| equal(&left, &right))
}

fn equal_objects(left: ObjectView<'_>, right: ObjectView<'_>) -> bool {
    left.len() == right.len()
        && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| equal(&value, &other)))
}

/// The order of two numbers by value; none when either is no number.
#[inline]
pub(crate) fn compare_numbers(left: &View<'_>, right: &View<'_>) -> Option<Ordering> {
    match (left, right) {
        (View::Int(left), View::Int(right)) => Some(left.cmp(right)),
        (View::Int(left), View::Float(right)) => Some(number::compare_int_float(*left, *right)),
        (View::Float(left), View::Int(right)) => Some(number::compare_int_float(*right, *left).reverse()),
        (View::Float(left), View::Float(right)) => left.partial_cmp(right),
        _ => None,
    }
}
