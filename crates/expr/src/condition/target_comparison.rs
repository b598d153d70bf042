//! Evaluates the comparisons of target lists (`docs/spec/steps.md`, section 5.1).

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::Kind;
use crate::fault::{Outcome, fault, preview};
use crate::pattern::Pattern;
use crate::time::{self, Instant, RelativeTime};
use crate::value::number::{self, Parsed};
use crate::value::{View, compare};
use crate::work::Work;

/// An operator of a target list and the type by which it compares.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TargetComparison {
    pub(crate) operator: Operator,
    pub(crate) value_type: ValueType,
    /// The compiled pattern of `$regex`, if it is a literal.
    pub(crate) pattern: Option<Pattern>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
    Regex,
    NotRegex,
    Empty,
    NotEmpty,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ValueType {
    Text,
    Number,
    Boolean,
    Date,
    Datetime,
    RelativeTime,
}

impl Operator {
    pub(crate) const ALL: [Self; 12] = [
        Self::Equal,
        Self::NotEqual,
        Self::Less,
        Self::LessOrEqual,
        Self::Greater,
        Self::GreaterOrEqual,
        Self::In,
        Self::NotIn,
        Self::Regex,
        Self::NotRegex,
        Self::Empty,
        Self::NotEmpty,
    ];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Equal => "$eq",
            Self::NotEqual => "$ne",
            Self::Less => "$lt",
            Self::LessOrEqual => "$lte",
            Self::Greater => "$gt",
            Self::GreaterOrEqual => "$gte",
            Self::In => "$in",
            Self::NotIn => "$nin",
            Self::Regex => "$regex",
            Self::NotRegex => "$not_regex",
            Self::Empty => "$empty",
            Self::NotEmpty => "$not_empty",
        }
    }

    pub(crate) fn takes_value(self) -> bool {
        !matches!(self, Self::Empty | Self::NotEmpty)
    }

    pub(crate) fn takes_pattern(self) -> bool {
        matches!(self, Self::Regex | Self::NotRegex)
    }

    pub(crate) fn takes_list(self) -> bool {
        matches!(self, Self::In | Self::NotIn)
    }

    pub(crate) fn is_ordering(self) -> bool {
        matches!(self, Self::Less | Self::LessOrEqual | Self::Greater | Self::GreaterOrEqual)
    }

    fn negated(self) -> bool {
        matches!(self, Self::NotEqual | Self::NotIn | Self::NotRegex | Self::NotEmpty)
    }

    fn admits(self, order: Ordering) -> bool {
        match self {
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
            _ => order.is_eq(),
        }
    }
}

impl ValueType {
    pub(crate) const ALL: [Self; 6] =
        [Self::Text, Self::Number, Self::Boolean, Self::Date, Self::Datetime, Self::RelativeTime];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Date => "date",
            Self::Datetime => "datetime",
            Self::RelativeTime => "relative_time",
        }
    }

    /// The remedy for a value that does not have this type.
    pub(crate) fn help(self) -> &'static str {
        match self {
            Self::Text => "write text",
            Self::Number => "write a number such as 1.5, or set another `value_type`",
            Self::Boolean => "write true or false, or set another `value_type`",
            Self::Date => "write a date such as 2026-02-18, or set another `value_type`",
            Self::Datetime => "write a time such as 2026-02-18T12:00:00Z, or set another `value_type`",
            Self::RelativeTime => "write a time such as `now`, `today`, `last week` or `3 days ago`",
        }
    }
}

/// A value converted to the type of the comparison.
#[derive(Clone, Copy, Debug)]
enum TypedValue {
    Int(i64),
    Float(f64),
    Bool(bool),
    Day(jiff::civil::Date),
    Instant(Instant),
}

impl TargetComparison {
    pub(crate) fn holds<'a>(&self, work: &Work<'a>, target: View<'a>, value: View<'a>, now: View<'a>) -> Outcome<bool> {
        let plain = match self.operator {
            Operator::Empty | Operator::NotEmpty => is_empty(target),
            Operator::Regex | Operator::NotRegex => self.matches(work, target, value)?,
            Operator::In | Operator::NotIn => self.is_among(work, target, value, now)?,
            _ => self.compares(work, target, value, now)?,
        };
        Ok(plain != self.operator.negated())
    }

    fn compares<'a>(&self, work: &Work<'a>, target: View<'a>, value: View<'a>, now: View<'a>) -> Outcome<bool> {
        if self.value_type != ValueType::Text {
            // The value is read first, so that an invalid phrase is reported for every target.
            let (value, target) = (self.read_value(value, now)?, read(self.target_type(), target));
            let order = target.zip(value).and_then(|(target, value)| order(target, value));
            return Ok(order.is_some_and(|order| self.operator.admits(order)));
        }
        if target.is_null() || value.is_null() {
            return Ok(!self.operator.is_ordering() && target.is_null() && value.is_null());
        }
        if self.operator.is_ordering()
            && let Some(order) = read(ValueType::Number, target)
                .zip(read(ValueType::Number, value))
                .and_then(|(target, value)| order(target, value))
        {
            return Ok(self.operator.admits(order));
        }
        Ok(self.operator.admits(work.text_form(target)?.cmp(work.text_form(value)?)))
    }

    fn is_among<'a>(&self, work: &Work<'a>, target: View<'a>, value: View<'a>, now: View<'a>) -> Outcome<bool> {
        let equal = Self { operator: Operator::Equal, ..self.clone() };
        let list = match (value, value.as_str()) {
            (View::List(list), _) => Some(list),
            (_, Some(text)) if text.trim_start().starts_with('[') => match work.json(text)? {
                Ok(View::List(list)) => Some(list),
                _ => None,
            },
            _ => None,
        };
        let Some(list) = list else {
            return equal.compares(work, target, value, now);
        };
        work.spend(list.len())?;
        let mut is_equal = false;
        for item in list.iter() {
            is_equal |= equal.compares(work, target, item, now)?;
        }
        Ok(is_equal)
    }

    fn matches<'a>(&self, work: &Work<'a>, target: View<'a>, value: View<'a>) -> Outcome<bool> {
        let pattern = match &self.pattern {
            Some(known) => known.clone(),
            None => work.python(work.text_form(value)?)?,
        };
        if target.is_null() {
            return Ok(false);
        }
        work.search(&pattern, work.text_form(target)?)
    }

    /// The type by which the target is read: a relative time is compared with a datetime.
    fn target_type(&self) -> ValueType {
        if self.value_type == ValueType::RelativeTime { ValueType::Datetime } else { self.value_type }
    }

    fn read_value(&self, value: View<'_>, now: View<'_>) -> Outcome<Option<TypedValue>> {
        if self.value_type != ValueType::RelativeTime {
            return Ok(read(self.value_type, value));
        }
        let Some(phrase) = value.as_str().and_then(RelativeTime::parse) else {
            return fault(Kind::BadRelativeTime, format!("{} is not a relative time", preview(value)));
        };
        let now = now.as_str().and_then(time::parse_iso);
        match now.and_then(|now| phrase.resolve(now)) {
            Some(instant) => Ok(Some(TypedValue::Instant(instant))),
            None => fault(Kind::BadRelativeTime, format!("{} cannot be resolved without a clock", preview(value))),
        }
    }
}

/// Converts a value to a type, or `None` if it does not parse.
fn read(value_type: ValueType, view: View<'_>) -> Option<TypedValue> {
    match value_type {
        ValueType::Number => match view {
            View::Int(int) => Some(TypedValue::Int(int)),
            View::Float(float) => Some(TypedValue::Float(float)),
            _ => match number::parse_decimal(view.as_str()?.trim())? {
                Parsed::Int(int) => Some(TypedValue::Int(int)),
                Parsed::Float(float) => Some(TypedValue::Float(float)),
                Parsed::Overflow => None,
            },
        },
        ValueType::Boolean => match (view, view.as_str()) {
            (View::Bool(bool), _) => Some(TypedValue::Bool(bool)),
            (_, Some(text)) if text.eq_ignore_ascii_case("true") => Some(TypedValue::Bool(true)),
            (_, Some(text)) if text.eq_ignore_ascii_case("false") => Some(TypedValue::Bool(false)),
            _ => None,
        },
        ValueType::Date => time::parse_iso(view.as_str()?).map(|instant| TypedValue::Day(instant.date())),
        ValueType::Datetime | ValueType::RelativeTime => time::parse_iso(view.as_str()?).map(TypedValue::Instant),
        ValueType::Text => None,
    }
}

fn order(left: TypedValue, right: TypedValue) -> Option<Ordering> {
    let number = |read| match read {
        TypedValue::Int(int) => View::Int(int),
        TypedValue::Float(float) => View::Float(float),
        _ => View::Null,
    };
    match (left, right) {
        (TypedValue::Bool(left), TypedValue::Bool(right)) => Some(left.cmp(&right)),
        (TypedValue::Day(left), TypedValue::Day(right)) => Some(left.cmp(&right)),
        (TypedValue::Instant(left), TypedValue::Instant(right)) => Some(left.cmp(&right)),
        _ => compare::compare_numbers(&number(left), &number(right)),
    }
}

/// Whether a value is null or blank text. Zero and false are not empty.
fn is_empty(view: View<'_>) -> bool {
    view.is_null() || view.as_str().is_some_and(|text| text.trim().is_empty())
}

/// The error kind of a literal that cannot be read as its type.
pub(crate) fn refusal(value_type: ValueType, literal: View<'_>) -> Option<Kind> {
    let code = match value_type {
        ValueType::Text => return None,
        ValueType::Number => Kind::BadNumberValue,
        ValueType::Boolean => Kind::BadBooleanValue,
        ValueType::Date | ValueType::Datetime => Kind::BadDateValue,
        ValueType::RelativeTime => {
            let parses = literal.as_str().and_then(RelativeTime::parse).is_some();
            return (!parses).then_some(Kind::BadRelativeTime);
        }
    };
    read(value_type, literal).is_none().then_some(code)
}

/// Whether a match value of a switch has the format of the switch's value type.
pub(crate) fn has_format(value_type: ValueType, literal: View<'_>) -> bool {
    match (value_type, literal.as_str()) {
        (ValueType::Date, text) => text.is_some_and(time::is_date_format),
        (ValueType::Datetime, text) => text.is_some_and(time::is_datetime_format),
        _ => refusal(value_type, literal).is_none(),
    }
}
