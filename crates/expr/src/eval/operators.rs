//! The operators: their rules for numbers, text and nil.

use std::cmp::Ordering;

use crate::Kind;
use crate::builtins::{as_float, finite};
use crate::fault::{Outcome, describe, fault, wrong_kind};
use crate::pattern::Pattern;
use crate::syntax::ast::Binary;
use crate::value::{ListView, View};
use crate::work::Work;

/// Evaluates an operator whose result is true or false.
///
/// It is inlined and takes references, because copying a view costs more than comparing two.
#[inline(always)]
pub(crate) fn test<'a>(work: &Work<'a>, operator: Binary, left: &View<'a>, right: &View<'a>) -> Outcome<bool> {
    match operator {
        Binary::Equal => work.equal(left, right),
        Binary::NotEqual => work.equal(left, right).map(|equal| !equal),
        Binary::Less => ordered(work, operator, left, right, Ordering::is_lt),
        Binary::LessOrEqual => ordered(work, operator, left, right, Ordering::is_le),
        Binary::Greater => ordered(work, operator, left, right, Ordering::is_gt),
        Binary::GreaterOrEqual => ordered(work, operator, left, right, Ordering::is_ge),
        Binary::Contains => texts(work, operator, left, right, |whole, part| whole.contains(part)),
        Binary::StartsWith => texts(work, operator, left, right, |whole, part| whole.starts_with(part)),
        Binary::EndsWith => texts(work, operator, left, right, |whole, part| whole.ends_with(part)),
        Binary::In => contained(work, *left, *right),
        _ => matches_text(work, *left, *right),
    }
}

/// Evaluates an operator whose result is a value. With a nil operand, the result is nil.
pub(crate) fn compute<'a>(work: &Work<'a>, operator: Binary, left: View<'a>, right: View<'a>) -> Outcome<View<'a>> {
    match operator {
        _ if left.is_null() || right.is_null() => Ok(View::Null),
        Binary::Range => range(left, right),
        Binary::Add => add(work, left, right),
        Binary::Subtract => arithmetic(operator, left, right, i64::checked_sub, |left, right| left - right),
        Binary::Multiply => arithmetic(operator, left, right, i64::checked_mul, |left, right| left * right),
        Binary::Divide => divide(left, right),
        Binary::Remainder => remainder(left, right),
        Binary::Power => power(left, right),
        _ => test(work, operator, &left, &right).map(View::Bool),
    }
}

/// Orders two numbers or two texts. With a nil operand, the result is false.
#[inline(always)]
fn ordered(
    work: &Work<'_>,
    operator: Binary,
    left: &View<'_>,
    right: &View<'_>,
    holds: fn(Ordering) -> bool,
) -> Outcome<bool> {
    if let (Some(left), Some(right)) = (left.as_str(), right.as_str()) {
        work.scan(left.len().min(right.len()))?;
    }
    match left.compare(right) {
        Some(order) => Ok(holds(order)),
        None if left.is_null() || right.is_null() => Ok(false),
        None => clash(operator, *left, *right),
    }
}

/// A longer text is not a number that a person wrote, in bytes.
const LONGEST_NUMBER: usize = 64;

#[cold]
fn clash(operator: Binary, left: View<'_>, right: View<'_>) -> Outcome<bool> {
    let mut message = format!("{} cannot compare {} with {}", operator.quoted(), describe(left), describe(right));
    if let Some(remedy) = conversion(left, right).or_else(|| conversion(right, left)) {
        message = format!("{message}; {remedy}");
    }
    fault(Kind::WrongKind, message)
}

/// How to compare a text with a number: often the output of a command, which ends with a newline.
fn conversion(text: View<'_>, number: View<'_>) -> Option<&'static str> {
    if !matches!(number, View::Int(_) | View::Float(_)) {
        return None;
    }
    let text = text.as_str()?;
    if text.len() > LONGEST_NUMBER {
        return None;
    }
    let is_number = |text: &str| text.parse::<f64>().is_ok_and(f64::is_finite);
    match (is_number(text), is_number(text.trim())) {
        (true, _) => Some("convert the text with `float(...)`"),
        (_, true) if text.ends_with('\n') => Some("remove the newline and convert the text with `float(trim(...))`"),
        (_, true) => Some("remove the spaces and convert the text with `float(trim(...))`"),
        _ if text.is_empty() => Some("the text is empty"),
        _ => Some("the text is not a number"),
    }
}

#[inline(always)]
fn texts(
    work: &Work<'_>,
    operator: Binary,
    left: &View<'_>,
    right: &View<'_>,
    holds: fn(&str, &str) -> bool,
) -> Outcome<bool> {
    match (left.as_str(), right.as_str()) {
        (Some(left), Some(right)) => {
            work.scan(left.len())?;
            Ok(holds(left, right))
        }
        _ if left.is_null() || right.is_null() => Ok(false),
        (None, _) => wrong_kind(operator.quoted(), "text", *left),
        _ => wrong_kind(operator.quoted(), "text", *right),
    }
}

fn contained<'a>(work: &Work<'a>, needle: View<'a>, container: View<'a>) -> Outcome<bool> {
    match container {
        View::Null => Ok(false),
        _ if needle.is_null() => Ok(false),
        View::List(list) => in_list(work, needle, list),
        View::Object(object) => match needle.as_str() {
            Some(key) => Ok(work.field(object, key)?.is_some()),
            None => wrong_kind("a key of an object", "text", needle),
        },
        other => wrong_kind("the right side of `in`", "a list or an object", other),
    }
}

fn in_list<'a>(work: &Work<'a>, needle: View<'a>, list: ListView<'a>) -> Outcome<bool> {
    if let ListView::Range(first, last) = list {
        return Ok(needle.as_integer().is_some_and(|int| (first..=last).contains(&int)));
    }
    has_element(work, list, needle)
}

/// Whether a list has an element that equals `wanted`.
pub(crate) fn has_element<'a>(work: &Work<'a>, list: ListView<'a>, wanted: View<'a>) -> Outcome<bool> {
    work.spend(list.len())?;
    for item in list.iter() {
        if work.equal(&item, &wanted)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Searches with a computed pattern.
fn matches_text<'a>(work: &Work<'a>, text: View<'a>, pattern: View<'a>) -> Outcome<bool> {
    match (text.as_str(), pattern.as_str()) {
        (Some(_), Some(pattern)) => matches(work, text, &work.re2(pattern)?),
        _ => texts(work, Binary::Matches, &text, &pattern, |_, _| false),
    }
}

pub(crate) fn matches(work: &Work<'_>, text: View<'_>, pattern: &Pattern) -> Outcome<bool> {
    match text.as_str() {
        Some(text) => work.search(pattern, text),
        None if text.is_null() => Ok(false),
        None => wrong_kind("`matches`", "text", text),
    }
}

fn range<'a>(first: View<'a>, last: View<'a>) -> Outcome<View<'a>> {
    Ok(View::List(ListView::Range(first.expect_integer("`..`")?, last.expect_integer("`..`")?)))
}

fn add<'a>(work: &Work<'a>, left: View<'a>, right: View<'a>) -> Outcome<View<'a>> {
    if let (Some(left), Some(right)) = (left.as_str(), right.as_str()) {
        work.reserve(left.len() + right.len())?;
        return Ok(View::Str(work.bump.alloc_str(&[left, right].concat())));
    }
    arithmetic(Binary::Add, left, right, i64::checked_add, |left, right| left + right)
}

/// Computes with integers if both operands are integers, and never wraps. Otherwise both are converted to floats.
fn arithmetic<'a>(
    operator: Binary,
    left: View<'a>,
    right: View<'a>,
    ints: fn(i64, i64) -> Option<i64>,
    floats: fn(f64, f64) -> f64,
) -> Outcome<View<'a>> {
    if let (View::Int(left), View::Int(right)) = (left, right) {
        return match ints(left, right) {
            Some(int) => Ok(View::Int(int)),
            None => fault(Kind::OutOfRange, format!("the result of {} does not fit in 64 bits", operator.quoted())),
        };
    }
    numbers(operator, left, right)?;
    finite(floats(as_float(left), as_float(right)))
}

fn numbers(operator: Binary, left: View<'_>, right: View<'_>) -> Outcome<()> {
    for operand in [left, right] {
        if !matches!(operand, View::Int(_) | View::Float(_)) {
            let other = if operator == Binary::Add { "two numbers or two texts" } else { "numbers" };
            return wrong_kind(operator.quoted(), other, operand);
        }
    }
    Ok(())
}

fn divide<'a>(left: View<'a>, right: View<'a>) -> Outcome<View<'a>> {
    numbers(Binary::Divide, left, right)?;
    match as_float(right) {
        0.0 => fault(Kind::DivisionByZero, "division by zero"),
        divisor => finite(as_float(left) / divisor),
    }
}

fn remainder<'a>(left: View<'a>, right: View<'a>) -> Outcome<View<'a>> {
    numbers(Binary::Remainder, left, right)?;
    match (left.expect_integer("`%`")?, right.expect_integer("`%`")?) {
        (_, 0) => fault(Kind::DivisionByZero, "division by zero"),
        // `i64::MIN / -1` overflows, but its remainder is 0.
        (left, right) => Ok(View::Int(left.checked_rem(right).unwrap_or(0))),
    }
}

fn power<'a>(left: View<'a>, right: View<'a>) -> Outcome<View<'a>> {
    numbers(Binary::Power, left, right)?;
    finite(as_float(left).powf(as_float(right)))
}

pub(crate) fn negate(operand: View<'_>) -> Outcome<View<'_>> {
    match operand {
        View::Null => Ok(View::Null),
        View::Int(int) => match int.checked_neg() {
            Some(int) => Ok(View::Int(int)),
            None => fault(Kind::OutOfRange, "the result of `-` does not fit in 64 bits"),
        },
        View::Float(float) => Ok(View::Float(-float)),
        other => wrong_kind("`-`", "a number", other),
    }
}

pub(crate) fn plus(operand: View<'_>) -> Outcome<View<'_>> {
    match operand {
        View::Null | View::Int(_) | View::Float(_) => Ok(operand),
        other => wrong_kind("`+`", "a number", other),
    }
}

/// Whether a value is not empty by the rules of template blocks.
pub(crate) fn is_filled(value: View<'_>) -> bool {
    match value {
        View::Null => false,
        View::Bool(bool) => bool,
        View::Int(int) => int != 0,
        View::Float(float) => float != 0.0,
        View::Str(text) => !text.is_empty(),
        View::Text(text) => !text.is_empty(),
        View::List(list) => !list.is_empty(),
        View::Object(object) => !object.is_empty(),
    }
}

/// Whether a default replaces the value: null, false, and empty text, lists and objects. Zero is not replaced.
pub(crate) fn is_falsy(view: View<'_>) -> bool {
    match view {
        View::Null => true,
        View::Bool(bool) => !bool,
        View::Str(text) => text.is_empty(),
        View::Text(text) => text.is_empty(),
        View::List(list) => list.is_empty(),
        View::Object(object) => object.is_empty(),
        View::Int(_) | View::Float(_) => false,
    }
}
