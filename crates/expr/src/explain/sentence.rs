//! The one plain sentence: "false because states.check.ExitCode is 2, expected 0".

use super::Explainer;
use crate::fault::shown;
use crate::program::{Id, Node};
use crate::syntax::ast::Binary;

/// More reasons than this are counted, not listed.
const LISTED: usize = 3;

impl Explainer<'_> {
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
                format!("{}, and then {}", self.because(condition), self.because(chosen))
            }
            Node::Binary(operator, left, right) => self.comparison(operator, left, right, holds),
            Node::InSet { needle, .. } => {
                let among = if holds { "which is in the list" } else { "which is not in the list" };
                format!("{}, {among}", self.fact(needle))
            }
            Node::Matches { text, .. } => {
                let found = if holds { "in which the pattern is found" } else { "in which the pattern is not found" };
                format!("{}, {found}", self.fact(text))
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
        let mut sentence = listed.join(", and ");
        if rest > 0 {
            sentence.push_str(&format!(", and {rest} more"));
        }
        if sentence.is_empty() { "there is nothing to check".into() } else { sentence }
    }

    /// "x is 2".
    fn fact(&self, id: Id) -> String {
        match self.value(id) {
            Some(value) => format!("{} is {}", self.text(id), shown(value.view())),
            None => format!("{} was not looked at", self.text(id)),
        }
    }

    /// What the left side was compared with: a literal as it is, anything else with its value.
    fn expected(&self, id: Id) -> String {
        match (self.node(id), self.value(id)) {
            (Node::Constant(_), _) | (_, None) => self.text(id),
            (_, Some(value)) => format!("{} ({})", shown(value.view()), self.text(id)),
        }
    }

    fn comparison(&self, operator: Binary, left: Id, right: Id, holds: bool) -> String {
        // People write the value on either side; what varies is what the sentence is about.
        let (subject, object, operator) = match (self.node(left), self.node(right), operator) {
            (Node::Constant(_), Node::Constant(_), _) => return "that is what it says".into(),
            (Node::Constant(_), _, operator) if let Some(mirrored) = mirrored(operator) => (right, left, mirrored),
            _ => (left, right, operator),
        };
        let fact = self.fact(subject);
        let expected = self.expected(object);
        match (operator, holds) {
            (Binary::Equal, true) => fact,
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

    fn test(&self, test: u32, holds: bool) -> String {
        let test = &self.program.tests[test as usize];
        let operator = test.operator().trim_start_matches('$').replace('_', " ");
        let object = test.right.map(|right| format!(" {}", self.expected(right))).unwrap_or_default();
        format!("{}, {}{operator}{object}", self.fact(test.left), expectation(holds))
    }
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
        _ => None,
    }
}
