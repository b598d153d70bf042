//! Evaluates the comparisons of typed groups (`docs/spec/flow.md`, section 5).

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::Kind;
use crate::eval::operators::has_element;
use crate::fault::{Outcome, describe, fault, preview};
use crate::time::{self, Instant};
use crate::value::number::{self, Parsed};
use crate::value::{ListView, ObjectView, View, compare};
use crate::work::Work;

/// An operator of a typed group and the type by which it compares.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct TypedComparison {
    pub(crate) operator: Operator,
    pub(crate) ty: Type,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Type {
    Auto,
    String,
    Number,
    Boolean,
    Datetime,
    Array,
    Object,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Operator {
    Equals,
    NotEquals,
    GreaterThan,
    LessThan,
    GreaterThanOrEqual,
    LessThanOrEqual,
    Contains,
    NotContains,
    StartsWith,
    EndsWith,
    IsEmpty,
    IsNotEmpty,
}

impl Type {
    pub(crate) const ALL: [Self; 7] =
        [Self::Auto, Self::String, Self::Number, Self::Boolean, Self::Datetime, Self::Array, Self::Object];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Datetime => "datetime",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

impl Operator {
    pub(crate) const ALL: [Self; 12] = [
        Self::Equals,
        Self::NotEquals,
        Self::GreaterThan,
        Self::LessThan,
        Self::GreaterThanOrEqual,
        Self::LessThanOrEqual,
        Self::Contains,
        Self::NotContains,
        Self::StartsWith,
        Self::EndsWith,
        Self::IsEmpty,
        Self::IsNotEmpty,
    ];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Equals => "equals",
            Self::NotEquals => "not_equals",
            Self::GreaterThan => "greater_than",
            Self::LessThan => "less_than",
            Self::GreaterThanOrEqual => "greater_than_or_equal",
            Self::LessThanOrEqual => "less_than_or_equal",
            Self::Contains => "contains",
            Self::NotContains => "not_contains",
            Self::StartsWith => "starts_with",
            Self::EndsWith => "ends_with",
            Self::IsEmpty => "is_empty",
            Self::IsNotEmpty => "is_not_empty",
        }
    }

    pub(crate) fn takes_value(self) -> bool {
        !matches!(self, Self::IsEmpty | Self::IsNotEmpty)
    }

    /// Whether the operator supports a type.
    pub(crate) fn works_on(self, ty: Type) -> bool {
        match self {
            Self::Equals | Self::NotEquals | Self::IsEmpty | Self::IsNotEmpty => true,
            Self::GreaterThan | Self::LessThan | Self::GreaterThanOrEqual | Self::LessThanOrEqual => {
                matches!(ty, Type::Auto | Type::String | Type::Number | Type::Datetime)
            }
            Self::Contains | Self::NotContains => matches!(ty, Type::Auto | Type::String | Type::Array),
            Self::StartsWith | Self::EndsWith => matches!(ty, Type::Auto | Type::String),
        }
    }

    fn negated(self) -> bool {
        matches!(self, Self::NotEquals | Self::NotContains | Self::IsNotEmpty)
    }

    fn admits(self, order: Ordering) -> bool {
        match self {
            Self::GreaterThan => order.is_gt(),
            Self::LessThan => order.is_lt(),
            Self::GreaterThanOrEqual => order.is_ge(),
            Self::LessThanOrEqual => order.is_le(),
            _ => order.is_eq(),
        }
    }
}

impl TypedComparison {
    pub(crate) fn holds<'a>(self, work: &Work<'a>, left: View<'a>, right: View<'a>) -> Outcome<bool> {
        if !self.operator.takes_value() {
            return Ok(self.is_empty(work, left)? != self.operator.negated());
        }
        if right.is_null() {
            return fault(Kind::MissingValue, "the `value` of the comparison is nil");
        }
        let plain = match self.ty {
            Type::Auto => self.auto(work, left, right)?,
            Type::String => {
                let (left, right) = (text(left)?, text(right)?);
                match self.operator {
                    Operator::Contains | Operator::NotContains => left.contains(right),
                    Operator::StartsWith => left.starts_with(right),
                    Operator::EndsWith => left.ends_with(right),
                    operator => operator.admits(left.cmp(right)),
                }
            }
            Type::Number => self.operator.admits(numbers(checked_number(left)?, checked_number(right)?)),
            Type::Boolean => boolean(left)? == boolean(right)?,
            Type::Datetime => self.operator.admits(instant(left)?.cmp(&instant(right)?)),
            Type::Array => match self.operator {
                Operator::Contains | Operator::NotContains => has_element(work, list(work, left)?, right)?,
                _ => work.equal(&View::List(list(work, left)?), &View::List(list(work, right)?))?,
            },
            Type::Object => work.equal(&View::Object(object(work, left)?), &View::Object(object(work, right)?))?,
        };
        Ok(plain != self.operator.negated())
    }

    /// Checks one operand alone, so that literals are rejected before the run starts.
    pub(crate) fn check_operand<'a>(self, work: &Work<'a>, view: View<'a>, is_value: bool) -> Outcome<()> {
        if !self.operator.takes_value() {
            return self.is_empty(work, view).map(drop);
        }
        let searched = is_value && matches!(self.operator, Operator::Contains | Operator::NotContains);
        match self.ty {
            Type::Auto => self.check_auto(view),
            Type::String => text(view).map(drop),
            Type::Number => checked_number(view).map(drop),
            Type::Boolean => boolean(view).map(drop),
            Type::Datetime => instant(view).map(drop),
            Type::Array if searched => Ok(()),
            Type::Array => list(work, view).map(drop),
            Type::Object => object(work, view).map(drop),
        }
    }

    fn check_auto(self, view: View<'_>) -> Outcome<()> {
        let collection = matches!(view, View::List(_) | View::Object(_));
        match self.operator {
            Operator::StartsWith | Operator::EndsWith if collection => not_on_collections(self.operator),
            Operator::GreaterThan | Operator::LessThan | Operator::GreaterThanOrEqual | Operator::LessThanOrEqual
                if collection || view.is_null() =>
            {
                incomparable(view, View::Null)
            }
            _ => Ok(()),
        }
    }

    fn auto<'a>(self, work: &Work<'a>, left: View<'a>, right: View<'a>) -> Outcome<bool> {
        match self.operator {
            Operator::Contains | Operator::NotContains => auto_contains(work, left, right),
            Operator::StartsWith | Operator::EndsWith => {
                if [left, right].iter().any(|view| matches!(view, View::List(_) | View::Object(_))) {
                    return not_on_collections(self.operator);
                }
                let (left, right) = (work.text_form(left)?, work.text_form(right)?);
                Ok(if self.operator == Operator::StartsWith { left.starts_with(right) } else { left.ends_with(right) })
            }
            Operator::Equals | Operator::NotEquals => auto_equals(work, left, right),
            operator => Ok(operator.admits(auto_order(work, left, right)?)),
        }
    }

    /// Whether a value is empty: null and empty text under every type, blank text under types that have text values.
    fn is_empty<'a>(self, work: &Work<'a>, view: View<'a>) -> Outcome<bool> {
        let blank = view.as_str().map(|text| (text.is_empty(), text.trim().is_empty()));
        if view.is_null() || matches!(blank, Some((true, _))) {
            return Ok(true);
        }
        if matches!(self.ty, Type::Auto | Type::String | Type::Datetime) && matches!(blank, Some((_, true))) {
            return Ok(true);
        }
        match self.ty {
            Type::Auto => Ok(match view {
                View::List(list) => list.is_empty(),
                View::Object(object) => object.is_empty(),
                _ => false,
            }),
            Type::String => text(view).map(|_| false),
            Type::Number => checked_number(view).map(|_| false),
            Type::Boolean => boolean(view).map(|_| false),
            Type::Datetime => instant(view).map(|_| false),
            Type::Array => list(work, view).map(ListView::is_empty),
            Type::Object => object(work, view).map(ObjectView::is_empty),
        }
    }
}

fn mismatch<T>(expected: &str, view: View<'_>) -> Outcome<T> {
    fault(Kind::TypeMismatch, format!("{} is not {expected}", describe(view)))
}

fn incomparable<T>(left: View<'_>, right: View<'_>) -> Outcome<T> {
    let odd = if matches!(left, View::List(_) | View::Object(_) | View::Null | View::Bool(_)) { left } else { right };
    fault(Kind::Incomparable, format!("{} cannot be ordered", describe(odd)))
}

fn not_on_collections<T>(operator: Operator) -> Outcome<T> {
    let message = format!("{} works on text, not on lists and objects", operator.as_str());
    fault(Kind::InvalidOperatorForType, message)
}

fn text(view: View<'_>) -> Outcome<&str> {
    view.as_str().map_or_else(|| mismatch("text", view), Ok)
}

fn boolean(view: View<'_>) -> Outcome<bool> {
    match view {
        View::Bool(bool) => Ok(bool),
        other => mismatch("a boolean", other),
    }
}

fn checked_number(view: View<'_>) -> Outcome<View<'_>> {
    match view {
        View::Int(_) | View::Float(_) => Ok(view),
        other => mismatch("a number", other),
    }
}

fn numbers(left: View<'_>, right: View<'_>) -> Ordering {
    compare::compare_numbers(&left, &right).unwrap_or(Ordering::Equal)
}

pub(crate) fn instant(view: View<'_>) -> Outcome<Instant> {
    let operand = match (view, view.as_str()) {
        (_, Some(text)) => time::parse_strict(text),
        (View::Int(seconds), _) => Instant::from_unix_seconds_int(seconds),
        (View::Float(seconds), _) => Instant::from_unix_seconds_float(seconds),
        _ => return mismatch("a date or a time", view),
    };
    match operand {
        Some(instant) => Ok(instant),
        None => fault(Kind::Parse, format!("{} is not a date or time in ISO 8601 or Unix seconds", preview(view))),
    }
}

fn list<'a>(work: &Work<'a>, view: View<'a>) -> Outcome<ListView<'a>> {
    match collection(work, view)? {
        View::List(list) => Ok(list),
        _ => mismatch("a list", view),
    }
}

fn object<'a>(work: &Work<'a>, view: View<'a>) -> Outcome<ObjectView<'a>> {
    match collection(work, view)? {
        View::Object(object) => Ok(object),
        _ => mismatch("an object", view),
    }
}

/// A collection, parsed from JSON if it is text.
fn collection<'a>(work: &Work<'a>, view: View<'a>) -> Outcome<View<'a>> {
    match view.as_str() {
        Some(text) => Ok(work.json(text)?.unwrap_or(View::Null)),
        None => Ok(view),
    }
}

fn auto_contains<'a>(work: &Work<'a>, left: View<'a>, right: View<'a>) -> Outcome<bool> {
    match left {
        View::Null => Ok(false),
        View::List(list) => has_element(work, list, right),
        View::Object(object) => Ok(work.field(object, work.text_form(right)?)?.is_some()),
        _ => Ok(work.text_form(left)?.contains(work.text_form(right)?)),
    }
}

/// The number that a value counts as under `auto`: a number, or numeric text with blanks around it.
fn numeric(view: View<'_>) -> Option<Parsed> {
    match view {
        View::Int(int) => Some(Parsed::Int(int)),
        View::Float(float) => Some(Parsed::Float(float)),
        _ => number::parse_decimal(view.as_str()?.trim()),
    }
}

/// The order of two numeric values; `None` if one is not numeric.
fn numeric_order(left: View<'_>, right: View<'_>) -> Outcome<Option<Ordering>> {
    let (Some(left), Some(right)) = (numeric(left), numeric(right)) else {
        return Ok(None);
    };
    let view = |parsed| match parsed {
        Parsed::Int(int) => Ok(View::Int(int)),
        Parsed::Float(float) => Ok(View::Float(float)),
        Parsed::Overflow => fault(Kind::Overflow, "the number in the text is out of range"),
    };
    Ok(compare::compare_numbers(&view(left)?, &view(right)?))
}

fn auto_equals<'a>(work: &Work<'a>, left: View<'a>, right: View<'a>) -> Outcome<bool> {
    if let Some(order) = numeric_order(left, right)? {
        return Ok(order.is_eq());
    }
    match (left, right) {
        (View::List(_), View::List(_)) | (View::Object(_), View::Object(_)) => work.equal(&left, &right),
        (View::Null, _) | (_, View::Null) => Ok(left.is_null() && right.is_null()),
        _ => Ok(work.text_form(left)? == work.text_form(right)?),
    }
}

fn auto_order<'a>(work: &Work<'a>, left: View<'a>, right: View<'a>) -> Outcome<Ordering> {
    if let Some(order) = numeric_order(left, right)? {
        return Ok(order);
    }
    let unordered = |view| matches!(view, View::List(_) | View::Object(_) | View::Null);
    let number = |view| matches!(view, View::Int(_) | View::Float(_));
    let boolean = |view| matches!(view, View::Bool(_));
    if unordered(left) || unordered(right) || (boolean(left) && number(right)) || (number(left) && boolean(right)) {
        return incomparable(left, right);
    }
    Ok(work.text_form(left)?.cmp(work.text_form(right)?))
}
