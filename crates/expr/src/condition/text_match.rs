//! Compiles the text match of graphs, which compares lower-cased text (`docs/spec/graph.md`, section 3).

use crate::Kind;
use crate::builtins;
use crate::located::{Located, Shape};
use crate::program::{Access, Id, Node};
use crate::syntax::ast::Binary;
use crate::unit::{UNKNOWN, Unit};
use crate::value::{Value, View};

impl Unit<'_> {
    /// Compiles one entry of an `if` node's `conditions`.
    pub(crate) fn text_match(&mut self, entry: &Located) -> Id {
        if !entry.is_object() {
            self.wrong_shape(Kind::InvalidField, entry, "a condition must be an object");
            return UNKNOWN;
        }
        self.unknown_keys(entry, &["operator", "value", "if"]);
        if let Some(condition) = entry.get("if") {
            if let Some(other) = ["operator", "value"].into_iter().find(|key| entry.get(key).is_some()) {
                let message = format!("both `{other}` and `if` are given");
                self.error(Kind::TwoConditions, condition.span, message).help = Some("keep one of them".into());
                return UNKNOWN;
            }
            return self.if_condition(condition);
        }
        let operator = match entry.get("operator").map(|operator| (operator, operator.text().map(|text| &**text))) {
            None | Some((_, Some("equal"))) => Binary::Equal,
            Some((_, Some("contains"))) => Binary::Contains,
            Some((operator, written)) => {
                let written = written.unwrap_or(operator.describe());
                self.error(Kind::UnknownOperator, operator.span, format!("unknown operator `{written}`"));
                self.suggest(written, ["equal", "contains"]);
                return UNKNOWN;
            }
        };
        let Some(wanted) = self.wanted_text(entry) else {
            return UNKNOWN;
        };
        let word = if operator == Binary::Equal { "equal" } else { "contains" };
        if wanted.is_empty() {
            return self.blank_match(entry, word);
        }
        let text = self.lowered_input(entry);
        // `text` is the name in the specification.
        self.program.name_node(text, "text");
        let words = format!("text {word} {:?}", View::Str(&wanted));
        let wanted = self.program.constant(Value::from(wanted), entry.span);
        let test = self.program.emit(Node::Binary(operator, text, wanted), entry.span);
        self.program.name_node(test, &words);
        test
    }

    /// Compiles a condition with a blank value, which never matches, to false with a reason for explanations.
    fn blank_match(&mut self, entry: &Located, word: &str) -> Id {
        let reason = self.program.constant(Value::Bool(false), entry.span);
        self.program.name_node(reason, "a blank value never matches");
        let test = self.program.emit(Node::Sequence(reason, reason), entry.span);
        let value = entry.get("value").map_or_else(|| Value::from(""), Located::to_value);
        self.program.name_node(test, &format!("text {word} {:?}", value.view()));
        test
    }

    /// The value's text form, trimmed and in lower case. Null is empty.
    fn wanted_text(&mut self, entry: &Located) -> Option<String> {
        let Some(value) = entry.get("value") else {
            return Some(String::new());
        };
        if matches!(value.shape, Shape::List(_) | Shape::Object(_)) {
            self.wrong_shape(Kind::InvalidField, value, "the value of a condition must be text");
            return None;
        }
        let text = match value.to_value().view() {
            View::Null => String::new(),
            view => view.to_string(),
        };
        Some(text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}').to_lowercase())
    }

    /// Compiles the previous output's text form in lower case. Null is empty text.
    fn lowered_input(&mut self, entry: &Located) -> Id {
        let span = entry.span;
        let input = self.known_path(&["input"], Access::Nil, span);
        let nothing = self.program.constant(Value::from(""), span);
        let input = self.program.emit(Node::Coalesce(input, nothing), span);
        let text = self.emit_all(Node::Template, &[input], span);
        let arguments = self.program.ids(&[text]);
        self.program.emit(Node::Call { builtin: builtins::inner("lower"), arguments }, span)
    }
}
