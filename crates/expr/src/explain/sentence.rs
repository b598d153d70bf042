//! The one plain sentence: "false because states.check.ExitCode is 2, expected 0".

use super::Explainer;
use crate::fault::shown;
use crate::program::{Id, Node};
use crate::syntax::ast::Binary;

/// More reasons than this are counted, not listed.
const LISTED: usize = 3;

impl Explainer<'_, '_> {
    /// The reason for what a part gave, as a clause that can follow "because".
    pub(super) fn because(&self, id: Id) -> String {
        let holds = self.holds(id);
        match self.node(id) {
            Node::And(_) | Node::Every(_) | Node::Or(_) | Node::Some(_) => self.reasons(id),
            Node::Not(operand) => self.because(operand),
            Node::Let { body, .. } => self.because(body),
            Node::Sequence(_, rest) => self.because(rest),
            Node::Conditional(condition, then, otherwise) => {
                let chosen = if self.holds(condition) { then } else { otherwise };
                match self.node(chosen) {
                    Node::Constant(_) => format!("{}, and then it says {}", self.because(condition), self.text(chosen)),
                    _ => format!("{}, and then {}", self.because(condition), self.because(chosen)),
                }
            }
            Node::Binary(operator, left, right) => self.comparison(operator, left, right, holds),
            Node::InSet { needle, .. } => {
                let among = if holds { "which is in the list" } else { "which is not in the list" };
                format!("{}, {among}", self.fact(needle))
            }
            Node::Matches { text, pattern } => {
                told(Binary::Matches, holds, &self.fact(text), &self.pattern_text(pattern))
            }
            Node::Test(test) => self.test(test, holds),
            Node::Constant(_) => "that is what it says".into(),
            _ => self.fact(id),
        }
    }

    fn reasons(&self, id: Id) -> String {
        let deciding = self.deciding(id);
        let listed: Vec<_> = deciding.iter().take(LISTED).map(|part| self.because(*part)).collect();
        let rest = deciding.len().saturating_sub(LISTED);
        match (&listed[..], rest) {
            ([], _) => "there is nothing to check".into(),
            (_, 0) => listed.join(", and "),
            _ => format!("{}, and {rest} more", listed.join(", and ")),
        }
    }

    /// "x is 2".
    fn fact(&self, id: Id) -> String {
        match self.value(id) {
            Some(value) => format!("{} is {}", self.text(id), shown(value)),
            None => format!("{} was not looked at", self.text(id)),
        }
    }

    /// What the left side was compared with: a literal as it is, anything else with its value.
    fn expected(&self, id: Id) -> String {
        let text = self.text(id);
        match (self.node(id), self.value(id)) {
            (Node::Constant(_), _) | (_, None) => text,
            (_, Some(value)) => format!("{} ({text})", shown(value)),
        }
    }

    fn comparison(&self, operator: Binary, left: Id, right: Id, holds: bool) -> String {
        // People write the value on either side; what varies is what the sentence is about.
        let (subject, object, operator) = match (self.node(left), self.node(right), operator) {
            (Node::Constant(_), Node::Constant(_), _) => return "that is what it says".into(),
            (Node::Constant(_), _, operator) if let Some(mirrored) = mirrored(operator) => (right, left, mirrored),
            _ => (left, right, operator),
        };
        told(operator, holds, &self.fact(subject), &self.expected(object))
    }

    fn test(&self, test: u32, holds: bool) -> String {
        let test = &self.program.tests[test as usize];
        let fact = self.fact(test.left);
        let Some((operator, negated)) = relation(test.operator()) else {
            let is_empty = holds != test.operator().contains("not");
            return format!("{fact}, which is {}", if is_empty { "empty" } else { "not empty" });
        };
        let expected = test.right.map(|right| self.expected(right)).unwrap_or_default();
        told(operator, holds != negated, &fact, &expected)
    }
}

/// What a comparison found, as people say it.
fn told(operator: Binary, holds: bool, fact: &str, expected: &str) -> String {
    match (operator, holds) {
        (Binary::Equal, true) => fact.into(),
        (Binary::Equal, false) => format!("{fact}, expected {expected}"),
        (Binary::NotEqual, true) => format!("{fact}, not {expected}"),
        (Binary::NotEqual, false) => format!("{fact}, expected anything else"),
        (Binary::Less, _) => format!("{fact}, {}less than {expected}", expectation(holds)),
        (Binary::LessOrEqual, _) => format!("{fact}, {}at most {expected}", expectation(holds)),
        (Binary::Greater, _) => format!("{fact}, {}more than {expected}", expectation(holds)),
        (Binary::GreaterOrEqual, _) => format!("{fact}, {}at least {expected}", expectation(holds)),
        (Binary::In, true) => format!("{fact}, which is in {expected}"),
        (Binary::In, false) => format!("{fact}, which is not in {expected}"),
        (Binary::Contains, true) => format!("{fact}, which contains {expected}"),
        (Binary::Contains, false) => format!("{fact}, which does not contain {expected}"),
        (Binary::StartsWith, true) => format!("{fact}, which starts with {expected}"),
        (Binary::StartsWith, false) => format!("{fact}, which does not start with {expected}"),
        (Binary::EndsWith, true) => format!("{fact}, which ends with {expected}"),
        (Binary::EndsWith, false) => format!("{fact}, which does not end with {expected}"),
        (_, true) => format!("{fact}, which matches {expected}"),
        (_, false) => format!("{fact}, which does not match {expected}"),
    }
}

/// The operator of the language that says the same as one of a typed group or a target list, and whether it is negated.
/// None for those that only ask whether there is a value.
fn relation(operator: &str) -> Option<(Binary, bool)> {
    Some(match operator {
        "equals" | "$eq" => (Binary::Equal, false),
        "not_equals" | "$ne" => (Binary::NotEqual, false),
        "less_than" | "$lt" => (Binary::Less, false),
        "less_than_or_equal" | "$lte" => (Binary::LessOrEqual, false),
        "greater_than" | "$gt" => (Binary::Greater, false),
        "greater_than_or_equal" | "$gte" => (Binary::GreaterOrEqual, false),
        "contains" => (Binary::Contains, false),
        "not_contains" => (Binary::Contains, true),
        "starts_with" => (Binary::StartsWith, false),
        "ends_with" => (Binary::EndsWith, false),
        "$in" => (Binary::In, false),
        "$nin" => (Binary::In, true),
        "$regex" => (Binary::Matches, false),
        "$not_regex" => (Binary::Matches, true),
        _ => return None,
    })
}

fn expectation(holds: bool) -> &'static str {
    if holds { "" } else { "expected " }
}

/// The operator that says the same with its sides exchanged.
fn mirrored(operator: Binary) -> Option<Binary> {
    match operator {
        Binary::Equal | Binary::NotEqual => Some(operator),
        Binary::Less => Some(Binary::Greater),
        Binary::LessOrEqual => Some(Binary::GreaterOrEqual),
        Binary::Greater => Some(Binary::Less),
        Binary::GreaterOrEqual => Some(Binary::LessOrEqual),
        Binary::In => Some(Binary::Contains),
        Binary::Contains => Some(Binary::In),
        _ => None,
    }
}
