//! The fast path for conditions that only compare leaves of the same type, without a copy of any value.
//!
//! It returns `None` for everything else, and never a result that full evaluation would not give.

use std::cmp::Ordering;

use serde_json::Value as Json;

use super::access;
use crate::context::Context;
use crate::program::{Compare, Id, Ids, Key, Node, Path, Program, Shortcut};
use crate::syntax::ast::Binary;
use crate::value::{Source, Value, number};

/// Evaluates a condition on the fast path; `None` if it needs full evaluation.
#[inline]
pub(crate) fn holds<C: Context + ?Sized>(program: &Program, context: &C) -> Option<bool> {
    let mut fast_path = FastPath { program, context, parent: NONE, object: None };
    match program.shortcut {
        Shortcut::All(count) => fast_path.each(count, false),
        Shortcut::Any(count) => fast_path.each(count, true),
        Shortcut::None => fast_path.holds(program.root),
    }
}

/// The parent before the first read.
const NONE: u32 = u32::MAX;

struct FastPath<'a, C: ?Sized> {
    program: &'a Program,
    context: &'a C,
    /// The number of the object that was read last, because conditions often read one object several times.
    parent: u32,
    object: Option<Source<'a>>,
}

impl<'a, C: Context + ?Sized> FastPath<'a, C> {
    fn holds(&mut self, id: Id) -> Option<bool> {
        match self.program.nodes[id as usize] {
            Node::Compare(compare) => self.compare(&self.program.compares[compare as usize]),
            Node::And(parts) => self.until(parts, false),
            Node::Or(parts) => self.until(parts, true),
            Node::Not(operand) => self.holds(operand).map(|holds| !holds),
            Node::Binary(operator, left, right) if operator.is_test() => {
                test(operator, self.leaf(left)?, self.leaf(right)?)
            }
            Node::InSet { needle, set } => {
                let needle = text(self.leaf(needle)?)?;
                Some(self.program.sets[set as usize].contains(needle))
            }
            Node::Path(_) | Node::Constant(_) => boolean(self.leaf(id)?),
            _ => None,
        }
    }

    /// Evaluates the comparisons of a condition until one has the deciding result.
    #[inline(always)]
    fn each(&mut self, count: u32, deciding: bool) -> Option<bool> {
        for compare in self.program.compares.get(..count as usize)? {
            if self.compare(compare)? == deciding {
                return Some(deciding);
            }
        }
        Some(!deciding)
    }

    /// Evaluates the parts until one has the deciding result.
    #[inline(always)]
    fn until(&mut self, parts: Ids, deciding: bool) -> Option<bool> {
        for part in self.program.list(parts) {
            let holds = match self.program.nodes[*part as usize] {
                Node::Compare(compare) => self.compare(&self.program.compares[compare as usize])?,
                _ => self.holds(*part)?,
            };
            if holds == deciding {
                return Some(deciding);
            }
        }
        Some(!deciding)
    }

    #[inline(always)]
    fn compare(&mut self, compare: &'a Compare) -> Option<bool> {
        let actual = self.path(&compare.path)?;
        match &compare.constant {
            Value::Str(wanted) => texts(compare.operator, text(actual)?, wanted),
            Value::Int(wanted) => match int(actual) {
                Some(actual) => admits(compare.operator, actual.cmp(wanted)),
                None => admits(compare.operator, number::compare_int_float(*wanted, float(actual)?).reverse()),
            },
            Value::Float(wanted) => match float(actual) {
                Some(actual) => admits(compare.operator, actual.partial_cmp(wanted)?),
                None => admits(compare.operator, number::compare_int_float(int(actual)?, *wanted)),
            },
            constant => test(compare.operator, actual, Source::Value(constant)),
        }
    }

    /// The value of a constant or of a path through objects.
    #[inline(always)]
    fn leaf(&mut self, id: Id) -> Option<Source<'a>> {
        match self.program.nodes[id as usize] {
            Node::Constant(constant) => Some(Source::Value(&self.program.constants[constant as usize])),
            Node::Path(path) => self.path(&self.program.paths[path as usize]),
            _ => None,
        }
    }

    #[inline(always)]
    fn path(&mut self, path: &'a Path) -> Option<Source<'a>> {
        let Some((last, before)) = path.keys.split_last() else {
            return self.context.read(&path.root);
        };
        if path.parent != self.parent || self.object.is_none() {
            let mut object = self.context.read(&path.root)?;
            for key in before {
                object = field(object, key)?;
                if path.coerce && access::may_coerce(object) {
                    return None;
                }
            }
            (self.parent, self.object) = (path.parent, Some(object));
        }
        let actual = field(self.object?, last)?;
        if path.coerce && access::may_coerce(actual) { None } else { Some(actual) }
    }
}

#[inline(always)]
fn field<'a>(object: Source<'a>, key: &Key) -> Option<Source<'a>> {
    match key {
        Key::Field(field) => object.field(field),
        Key::Index(_) => None,
    }
}

fn boolean(source: Source<'_>) -> Option<bool> {
    match source {
        Source::Value(Value::Bool(bool)) | Source::Json(Json::Bool(bool)) => Some(*bool),
        _ => None,
    }
}

/// Compares two texts, two numbers, or text with a list of text.
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
        Binary::Equal => Some(are_equal(left.as_bytes(), right.as_bytes())),
        Binary::NotEqual => Some(!are_equal(left.as_bytes(), right.as_bytes())),
        Binary::Contains => Some(left.contains(right)),
        Binary::StartsWith => Some(left.starts_with(right)),
        Binary::EndsWith => Some(left.ends_with(right)),
        Binary::In | Binary::Matches => None,
        _ => admits(operator, left.cmp(right)),
    }
}

/// Whether two texts are equal. Most texts in conditions are short, and these are compared in registers without a call.
#[inline(always)]
fn are_equal(left: &[u8], right: &[u8]) -> bool {
    match (left.len(), right.len()) {
        (4..=8, length) if left.len() == length => ends::<4>(left) == ends::<4>(right),
        (9..=16, length) if left.len() == length => ends::<8>(left) == ends::<8>(right),
        _ => left == right,
    }
}

/// The first and the last `N` bytes of a text, which cover all of a text of up to `2 * N` bytes.
#[inline(always)]
fn ends<const N: usize>(text: &[u8]) -> (Option<&[u8; N]>, Option<&[u8; N]>) {
    (text.first_chunk(), text.last_chunk())
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

/// A number that is stored as a float.
#[inline(always)]
fn float(source: Source<'_>) -> Option<f64> {
    match source {
        Source::Value(Value::Float(float)) => Some(*float),
        Source::Json(Json::Number(number)) if number.is_f64() => number.as_f64(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::are_equal;

    #[test]
    fn texts_of_every_length_are_equal_only_to_themselves() {
        for length in 0..40 {
            let text = vec![b'a'; length];
            assert!(are_equal(&text, &text.clone()), "{length}");
            assert!(!are_equal(&text, &vec![b'a'; length + 1]), "{length}");
            for at in 0..length {
                let mut other = text.clone();
                other[at] = b'b';
                assert!(!are_equal(&text, &other), "{length}, byte {at}");
            }
        }
    }
}
