//! Structural equality of values, and the order of numbers.

use std::cmp::Ordering;

use super::{ListView, ObjectView, View, number};
use crate::limits;

/// Structural equality: numbers by value, lists in order, objects ignoring key order. Values of different types differ.
///
/// Comparing values with shared parts can take exponential time. So `pay` is called with the number of parts and the depth before
/// a list or an object is compared, and can return an error.
#[inline(always)]
pub(crate) fn equal<E>(
    left: &View<'_>,
    right: &View<'_>,
    pay: &impl Fn(usize, u16) -> Result<(), E>,
) -> Result<bool, E> {
    if let (Some(left), Some(right)) = (left.as_str(), right.as_str()) {
        return texts(left, right, pay);
    }
    match (left, right) {
        (View::Int(left), View::Int(right)) => Ok(left == right),
        _ => Relation { pay }.equal(left, right, 0),
    }
}

#[inline(always)]
fn texts<E>(left: &str, right: &str, pay: &impl Fn(usize, u16) -> Result<(), E>) -> Result<bool, E> {
    if left.len() != right.len() {
        return Ok(false);
    }
    if left.len() > limits::BYTES_PER_STEP {
        pay(left.len() / limits::BYTES_PER_STEP, 0)?;
    }
    Ok(left == right)
}

struct Relation<'p, P> {
    pay: &'p P,
}

impl<P> Relation<'_, P> {
    fn equal<E>(&self, left: &View<'_>, right: &View<'_>, depth: u16) -> Result<bool, E>
    where
        P: Fn(usize, u16) -> Result<(), E>,
    {
        match (left, right) {
            (View::Null, View::Null) => Ok(true),
            (View::Bool(left), View::Bool(right)) => Ok(left == right),
            (View::List(left), View::List(right)) => self.lists(*left, *right, depth),
            (View::Object(left), View::Object(right)) => self.objects(*left, *right, depth),
            _ => match (left.as_str(), right.as_str()) {
                (Some(left), Some(right)) => texts(left, right, self.pay),
                _ => Ok(compare_numbers(left, right) == Some(Ordering::Equal)),
            },
        }
    }

    fn lists<E>(&self, left: ListView<'_>, right: ListView<'_>, depth: u16) -> Result<bool, E>
    where
        P: Fn(usize, u16) -> Result<(), E>,
    {
        if left.len() != right.len() {
            return Ok(false);
        }
        (self.pay)(left.len(), depth)?;
        for (left, right) in left.iter().zip(right.iter()) {
            if !self.equal(&left, &right, depth.saturating_add(1))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn objects<E>(&self, left: ObjectView<'_>, right: ObjectView<'_>, depth: u16) -> Result<bool, E>
    where
        P: Fn(usize, u16) -> Result<(), E>,
    {
        if left.len() != right.len() {
            return Ok(false);
        }
        (self.pay)(left.len().saturating_mul(right.lookup_cost()), depth)?;
        for (key, value) in left.iter() {
            let Some(other) = right.get(key) else { return Ok(false) };
            if !self.equal(&value, &other, depth.saturating_add(1))? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The order of two numbers by value; `None` if one is not a number.
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
