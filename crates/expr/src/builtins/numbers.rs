//! Functions on numbers. Integers stay exact; a result outside the 64-bit range is an error.

use std::cmp::Ordering;

use crate::Kind;
use crate::fault::{Outcome, fault, preview, wrong_kind};
use crate::value::number::{self, Parsed};
use crate::value::{View, compare};
use crate::work::Work;

pub(super) fn int<'a>(_: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let argument = arguments[0];
    match (argument, argument.as_str()) {
        (View::Int(int), _) => Ok(View::Int(int)),
        (View::Float(float), _) => whole(float.trunc()),
        (_, Some(text)) if number::is_integer_text(text) => match text.parse() {
            Ok(int) => Ok(View::Int(int)),
            Err(_) => fault(Kind::OutOfRange, format!("{} does not fit in 64 bits", preview(argument))),
        },
        (_, Some(_)) => fault(Kind::BadArgument, format!("int() cannot read {} as an integer", preview(argument))),
        _ => wrong_kind("int()", "a number or text", argument),
    }
}

fn whole<'a>(float: f64) -> Outcome<View<'a>> {
    match number::integral(float) {
        Some(int) => Ok(View::Int(int)),
        None => fault(Kind::OutOfRange, format!("{float} does not fit in 64 bits")),
    }
}

pub(super) fn float<'a>(_: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let argument = arguments[0];
    match (argument, argument.as_str()) {
        (View::Int(int), _) => Ok(View::Float(int as f64)),
        (View::Float(float), _) => Ok(View::Float(float)),
        (_, Some(text)) => match number::parse_decimal(text) {
            Some(Parsed::Int(int)) => Ok(View::Float(int as f64)),
            Some(Parsed::Float(float)) => Ok(View::Float(float)),
            Some(Parsed::Overflow) => fault(Kind::OutOfRange, format!("{} is out of range", preview(argument))),
            None => fault(Kind::BadArgument, format!("float() cannot read {} as a number", preview(argument))),
        },
        _ => wrong_kind("float()", "a number or text", argument),
    }
}

pub(super) fn abs<'a>(_: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    match arguments[0] {
        View::Int(int) => match int.checked_abs() {
            Some(int) => Ok(View::Int(int)),
            None => fault(Kind::OutOfRange, "the result of abs() does not fit in 64 bits"),
        },
        View::Float(float) => Ok(View::Float(float.abs())),
        other => wrong_kind("abs()", "a number", other),
    }
}

pub(super) fn round_with<'a>(function: &str, argument: View<'a>, round: fn(f64) -> f64) -> Outcome<View<'a>> {
    match argument {
        View::Int(int) => Ok(View::Int(int)),
        View::Float(float) => Ok(View::Float(round(float))),
        other => wrong_kind(function, "a number", other),
    }
}

pub(super) fn extreme<'a>(
    work: &Work<'a>,
    function: &str,
    arguments: &[View<'a>],
    wanted: Ordering,
) -> Outcome<View<'a>> {
    let numbers = numbers(work, function, arguments)?;
    let better = |best: View<'a>, next: View<'a>| {
        if compare::compare_numbers(&next, &best) == Some(wanted) { next } else { best }
    };
    Ok(numbers.into_iter().reduce(better).unwrap_or(View::Null))
}

pub(super) fn mean<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let numbers = numbers(work, "mean()", arguments)?;
    if numbers.is_empty() {
        return Ok(View::Int(0));
    }
    finite(numbers.iter().map(|number| as_float(*number)).sum::<f64>() / numbers.len() as f64)
}

pub(super) fn median<'a>(work: &Work<'a>, arguments: &[View<'a>]) -> Outcome<View<'a>> {
    let mut numbers = numbers(work, "median()", arguments)?;
    numbers.sort_by(|left, right| compare::compare_numbers(left, right).unwrap_or(Ordering::Equal));
    let middle = numbers.len() / 2;
    match (numbers.len(), numbers.len() % 2) {
        (0, _) => Ok(View::Int(0)),
        (_, 1) => Ok(numbers[middle]),
        _ => finite(f64::midpoint(as_float(numbers[middle - 1]), as_float(numbers[middle]))),
    }
}

/// Rejects infinity and NaN, which JSON cannot represent.
pub(crate) fn finite<'a>(float: f64) -> Outcome<View<'a>> {
    if float.is_finite() { Ok(View::Float(float)) } else { fault(Kind::OutOfRange, "the result is out of range") }
}

/// The numbers among the arguments, with lists of numbers flattened.
fn numbers<'a>(work: &Work<'a>, function: &str, arguments: &[View<'a>]) -> Outcome<Vec<View<'a>>> {
    let mut numbers = Vec::new();
    for argument in arguments {
        spread(work, function, *argument, 0, &mut numbers)?;
    }
    Ok(numbers)
}

fn spread<'a>(work: &Work<'a>, function: &str, view: View<'a>, depth: u16, numbers: &mut Vec<View<'a>>) -> Outcome<()> {
    match view {
        View::Int(_) | View::Float(_) => {
            work.check_room(numbers.len() + 1)?;
            numbers.push(view);
            Ok(())
        }
        View::List(list) => {
            work.check_depth(depth)?;
            work.spend(list.len())?;
            list.iter().try_for_each(|item| spread(work, function, item, depth + 1, numbers))
        }
        other => wrong_kind(function, "numbers", other),
    }
}

pub(crate) fn as_float(view: View<'_>) -> f64 {
    match view {
        View::Int(int) => int as f64,
        View::Float(float) => float,
        _ => 0.0,
    }
}

pub(super) fn bits<'a>(function: &str, arguments: &[View<'a>], combine: fn(i64, i64) -> i64) -> Outcome<View<'a>> {
    Ok(View::Int(combine(arguments[0].expect_integer(function)?, arguments[1].expect_integer(function)?)))
}

pub(super) fn shift<'a>(function: &str, arguments: &[View<'a>], apply: fn(i64, u32) -> i64) -> Outcome<View<'a>> {
    let by = arguments[1].expect_integer(function)?;
    if by < 0 {
        return fault(Kind::BadArgument, format!("{function} needs a shift of at least 0"));
    }
    Ok(View::Int(apply(arguments[0].expect_integer(function)?, u32::try_from(by).unwrap_or(u32::MAX))))
}
