//! A clause of a structured condition: one comparison by the rules of a typed group or a target list.

use super::target_comparison::{TargetComparison, ValueType};
use super::typed_comparison::TypedComparison;
use serde::{Deserialize, Serialize};

use crate::fault::Outcome;
use crate::program::Id;
use crate::value::View;
use crate::work::Work;

/// A comparison with the nodes of its operands.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Clause {
    pub(crate) rule: Rule,
    pub(crate) left: Id,
    /// None for operators that take no value.
    pub(crate) right: Option<Id>,
    /// The clock, for relative times.
    pub(crate) now: Option<Id>,
}

/// The rules by which a clause compares.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Rule {
    Typed(TypedComparison),
    Target(TargetComparison),
    /// Equal, or the same text form ignoring case.
    Same,
}

impl Clause {
    pub(crate) fn holds<'a>(&self, work: &Work<'a>, left: View<'a>, right: View<'a>, now: View<'a>) -> Outcome<bool> {
        work.scan([left, right].iter().filter_map(|view| view.as_str()).map(str::len).sum())?;
        match &self.rule {
            Rule::Typed(test) => test.holds(work, left, right),
            Rule::Target(test) => test.holds(work, left, right, now),
            Rule::Same => work.same(left, right),
        }
    }

    /// Whether a target list compares its operands as numbers.
    pub(crate) fn compares_numbers(&self) -> bool {
        matches!(&self.rule, Rule::Target(TargetComparison { value_type: ValueType::Number, .. }))
    }

    /// The operator as the document writes it.
    pub(crate) fn operator(&self) -> &'static str {
        match &self.rule {
            Rule::Typed(test) => test.operator.as_str(),
            Rule::Target(test) => test.operator.as_str(),
            Rule::Same => "equals",
        }
    }
}
