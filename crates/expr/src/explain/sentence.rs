//! Builds the sentence of an explanation: "false because states.check.ExitCode is 2, expected 0".

use super::{Explainer, Phrase};
use crate::condition::SEQUENCE;
use crate::program::{Id, Node};
use crate::syntax::ast::Binary;
use crate::value::{Value, View};

/// How many reasons are listed; the others are counted.
const LISTED: usize = 3;

impl Explainer<'_, '_> {
    /// The reason for the result of a part, as a clause after "because".
    pub(super) fn because(&self, id: Id) -> Phrase {
        let holds = self.holds(id);
        match self.node(id) {
            Node::And(parts) if !holds && let Some(phrase) = self.history_end(id, self.program.list(parts)) => phrase,
            Node::And(_) | Node::Every(_) | Node::Or(_) | Node::Some(_) => self.reasons(id),
            Node::Both(..) | Node::Either(..) if matches!(self.value(id), Some(View::Bool(_))) => self.reasons(id),
            Node::Not(operand) => self.because(operand),
            Node::Let { body, .. } => self.because(body),
            Node::Sequence(_, rest) => self.because(rest),
            Node::Conditional(condition, then, otherwise) => {
                let chosen = if self.holds(condition) { then } else { otherwise };
                let because = self.because(condition);
                match self.node(chosen) {
                    Node::Constant(_) => because.text(", and then the result is ").text(self.text(chosen)),
                    _ => because.text(", and then ").phrase(self.because(chosen)),
                }
            }
            Node::Binary(operator, left, right) => self.comparison(operator, left, right, holds),
            Node::InSet { needle, .. } => {
                self.fact(needle).text(if holds { ", which is in the list" } else { ", which is not in the list" })
            }
            Node::Matches { text, pattern } => {
                comparison_phrase(Binary::Matches, holds, self.fact(text), self.program.pattern_text(pattern).into())
            }
            Node::Clause(test) => self.test(test, holds),
            Node::Constant(_) if let Some(name) = self.program.node_name(id) => name.into(),
            Node::Constant(_) if id == self.program.root => {
                format!("the condition is the constant `{}`", self.text(id)).into()
            }
            Node::Constant(_) => format!("`{}` is a constant", self.text(id)).into(),
            _ => self.fact(id),
        }
    }

    fn text(&self, id: Id) -> String {
        self.program.part_text(id)
    }

    fn reasons(&self, id: Id) -> Phrase {
        let deciding = self.deciding(id);
        if deciding.is_empty() {
            return "there is nothing to check".into();
        }
        let mut reasons = Phrase::default();
        for (position, part) in deciding.iter().take(LISTED).enumerate() {
            let between = if position == 0 { "" } else { ", and " };
            reasons = reasons.text(between).phrase(self.because(*part));
        }
        match deciding.len().saturating_sub(LISTED) {
            0 => reasons,
            rest => reasons.text(format!(", and {rest} more")),
        }
    }

    /// "x is 2".
    fn fact(&self, id: Id) -> Phrase {
        let subject = Phrase::from(self.text(id));
        match self.value(id) {
            Some(value) => subject.text(" is ").view(value, &self.work),
            None => subject.text(" was not evaluated"),
        }
    }

    /// The right side of a comparison: a literal, or a value with its text.
    fn expected(&self, id: Id) -> Phrase {
        let text = self.text(id);
        match (self.node(id), self.value(id)) {
            (Node::Constant(_), _) | (_, None) => text.into(),
            (_, Some(value)) => Phrase::default().view(value, &self.work).text(format!(" ({text})")),
        }
    }

    fn comparison(&self, operator: Binary, left: Id, right: Id, holds: bool) -> Phrase {
        // If the left side is a constant, the sides are exchanged, so that the sentence is about the variable.
        let (subject, object, operator) = match (self.node(left), self.node(right), operator) {
            (Node::Constant(_), Node::Constant(_), _) => return "both sides are constants".into(),
            (Node::Constant(_), _, operator) if let Some(mirrored) = mirror(operator) => (right, left, mirrored),
            _ => (left, right, operator),
        };
        comparison_phrase(operator, holds, self.fact(subject), self.expected(object))
    }

    fn test(&self, test: u32, holds: bool) -> Phrase {
        let test = &self.program.clauses[test as usize];
        let fact = self.fact(test.left);
        let Some((operator, negated)) = relation(test.operator()) else {
            let is_empty = holds != test.operator().contains("not");
            return fact.text(if is_empty { ", which is empty" } else { ", which is not empty" });
        };
        let expected = test.right.map(|right| self.expected(right)).unwrap_or_default();
        if let (Binary::Equal, true, Some(right)) = (operator, holds != negated, test.right)
            && !self.same_value(test.left, right)
        {
            // The values differ, but are equal by the rules of the dialect.
            let are_texts = self.is_text(test.left) && self.is_text(right);
            let how = if are_texts { " ignoring case" } else { "" };
            return fact.text(", which equals ").phrase(expected).text(how);
        }
        if operator == Binary::In && holds != negated && test.compares_numbers() && self.is_text(test.left) {
            return fact.text(", which as a number is in ").phrase(expected);
        }
        comparison_phrase(operator, holds != negated, fact, expected)
    }

    /// The end of the history that does not match a sequence, because single positions do not show the order.
    fn history_end(&self, id: Id, positions: &[Id]) -> Option<Phrase> {
        let expected = self.program.node_name(id)?.strip_prefix(SEQUENCE)?;
        let Node::Binary(Binary::In, used, _) = self.node(*positions.first()?) else { return None };
        let Node::Member { object, .. } = self.node(used) else { return None };
        let history = self.work.value(self.value(object)?).ok()?;
        let history = history.as_list().unwrap_or_default();
        let end = history[history.len().saturating_sub(positions.len())..].to_vec();
        let end = Phrase::from("the history ends with ").value(Value::from(end));
        Some(end.text(", expected").text(expected))
    }

    fn is_text(&self, id: Id) -> bool {
        self.value(id).is_some_and(|view| view.as_str().is_some())
    }
}

/// The outcome of a comparison in words.
fn comparison_phrase(operator: Binary, holds: bool, fact: Phrase, expected: Phrase) -> Phrase {
    let relation = match (operator, holds) {
        (Binary::Equal, true) => return fact,
        (Binary::NotEqual, false) => ", expected a value other than ",
        (Binary::Equal, false) => ", expected ",
        (Binary::NotEqual, true) => ", not ",
        (Binary::Less, true) => ", less than ",
        (Binary::Less, false) => ", expected less than ",
        (Binary::LessOrEqual, true) => ", at most ",
        (Binary::LessOrEqual, false) => ", expected at most ",
        (Binary::Greater, true) => ", more than ",
        (Binary::Greater, false) => ", expected more than ",
        (Binary::GreaterOrEqual, true) => ", at least ",
        (Binary::GreaterOrEqual, false) => ", expected at least ",
        (Binary::In, true) => ", which is in ",
        (Binary::In, false) => ", which is not in ",
        (Binary::Contains, true) => ", which contains ",
        (Binary::Contains, false) => ", which does not contain ",
        (Binary::StartsWith, true) => ", which starts with ",
        (Binary::StartsWith, false) => ", which does not start with ",
        (Binary::EndsWith, true) => ", which ends with ",
        (Binary::EndsWith, false) => ", which does not end with ",
        (_, true) => ", which matches ",
        (_, false) => ", which does not match ",
    };
    fact.text(relation).phrase(expected)
}

/// The expression operator for an operator of a typed group or a target list, and whether it is negated. `None` for tests of
/// emptiness.
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

/// The equivalent operator with exchanged sides.
fn mirror(operator: Binary) -> Option<Binary> {
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
