//! The text of the parts of a condition: as the author wrote it, or composed from its parts if it was not written as an
//! expression.

use crate::fault::preview;
use crate::program::{Id, Ids, Node, Program};
use crate::value::{Value, View};

impl Program {
    /// The whole condition as one line of text.
    pub(crate) fn condition_text(&self) -> String {
        self.clause_text(self.root, false)
    }

    /// The text of a part that may be a list of clauses. `inner` ones get parentheses.
    fn clause_text(&self, id: Id, inner: bool) -> String {
        let (clauses, word) = match self.node(id) {
            Node::Every(clauses) => (clauses, " and "),
            Node::Some(clauses) => (clauses, " or "),
            Node::Not(operand) if self.written_text(id).is_none() => {
                return format!("not ({})", self.clause_text(operand, false));
            }
            _ => return self.part_text(id),
        };
        let clauses = self.list(clauses);
        let text: Vec<String> = clauses.iter().map(|clause| self.clause_text(*clause, clauses.len() > 1)).collect();
        if inner && clauses.len() > 1 { format!("({})", text.join(word)) } else { text.join(word) }
    }

    /// The text of one part.
    pub(crate) fn part_text(&self, id: Id) -> String {
        match self.node(id) {
            Node::Constant(constant) => match self.node_name(id) {
                Some(name) => name.to_owned(),
                None => preview(self.constants[constant as usize].view()),
            },
            Node::Path(path) => self.paths[path as usize].to_string(),
            Node::Clause(test) => {
                let test = &self.clauses[test as usize];
                let right = test.right.map(|right| format!(" {}", self.part_text(right))).unwrap_or_default();
                format!("{} {}{right}", self.part_text(test.left), operator_text(test.operator()))
            }
            Node::Every(_) => "all of".into(),
            Node::Some(_) => "any of".into(),
            node => self.written_text(id).unwrap_or_else(|| self.composed_text(id, node)),
        }
    }

    fn composed_text(&self, id: Id, node: Node) -> String {
        match node {
            Node::Binary(operator, left, right) => {
                let operator = operator.quoted();
                format!("{} {} {}", self.part_text(left), operator.trim_matches('`'), self.part_text(right))
            }
            Node::Not(operand) => format!("not ({})", self.part_text(operand)),
            Node::Call { builtin, arguments } => {
                let name = self.function_name(builtin);
                format!("{name}({})", self.texts(arguments, ", "))
            }
            Node::Template(parts) => self.texts(parts, ""),
            Node::And(parts) => self.texts(parts, " && "),
            Node::Or(parts) => self.texts(parts, " || "),
            Node::Coalesce(part, _) | Node::Coerced(part) => self.part_text(part),
            Node::Slice { object, from, to } => match (from.and_then(|from| self.constant_of(from)), to) {
                (Some(Value::Int(from @ ..0)), None) => {
                    format!("the last {} of {}", from.unsigned_abs(), self.part_text(object))
                }
                _ => format!("part of {}", self.part_text(object)),
            },
            Node::Member { object, key, .. } => format!("{}[{}]", self.part_text(object), self.part_text(key)),
            Node::Matches { text, pattern } => {
                format!("{} matches {}", self.part_text(text), self.pattern_text(pattern))
            }
            _ => self.compiled_text(id),
        }
    }

    fn texts(&self, ids: Ids, between: &str) -> String {
        self.list(ids).iter().map(|id| self.part_text(*id)).collect::<Vec<_>>().join(between)
    }

    fn constant_of(&self, id: Id) -> Option<&Value> {
        match self.node(id) {
            Node::Constant(constant) => Some(&self.constants[constant as usize]),
            _ => None,
        }
    }

    pub(crate) fn pattern_text(&self, pattern: u32) -> String {
        preview(View::Str(self.patterns[pattern as usize].as_str()))
    }
}

/// The expression syntax for an operator; operators that are words stay the same.
fn operator_text(operator: &'static str) -> &'static str {
    match operator {
        "$eq" => "==",
        "$ne" => "!=",
        "$lt" => "<",
        "$lte" => "<=",
        "$gt" => ">",
        "$gte" => ">=",
        "$in" => "in",
        "$nin" => "not in",
        "$regex" => "matches",
        "$not_regex" => "not matches",
        "$empty" => "is empty",
        "$not_empty" => "is not empty",
        word => word,
    }
}
