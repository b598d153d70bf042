//! Compiles history conditions, which test the tools used and the current message (`docs/spec/session.md`, section 1).

use crate::builtins;
use crate::located::{Located, Shape};
use crate::pattern::Pattern;
use crate::program::{Access, Id, Node};
use crate::syntax::ast::Binary;
use crate::unit::{UNKNOWN, Unit};
use crate::value::Value;
use crate::{Kind, Span};

const KEYS: [&str; 3] = ["type", "value", "description"];
/// Only `not_recently_used` has a window.
const WINDOW_KEYS: [&str; 4] = ["type", "value", "description", "window"];
const IF_KEYS: [&str; 2] = ["if", "description"];
const TYPES: [&str; 6] =
    ["tool_used", SEQUENCE, "message_contains", "message_starts_with", "message_regex", "not_recently_used"];

/// The default window of `not_recently_used`, in entries of the history.
const WINDOW: i64 = 5;

/// The type of the condition that compares the end of the history with a step's sequence, used in documents and explanations.
pub(crate) const SEQUENCE: &str = "sequence_match";

impl Unit<'_> {
    /// Compiles the conditions of a step, which must all hold.
    pub(crate) fn history(&mut self, conditions: &Located, sequence: Option<&Located>) -> Id {
        let Some(items) = self.entries(conditions, Kind::InvalidCondition) else {
            return UNKNOWN;
        };
        let ids: Vec<_> = items.iter().map(|item| self.history_entry(item, sequence)).collect();
        self.emit_all(Node::Every, &ids, conditions.span)
    }

    fn history_entry(&mut self, entry: &Located, sequence: Option<&Located>) -> Id {
        if !entry.is_object() {
            self.wrong_shape(Kind::InvalidCondition, entry, "a condition must be an object");
            return UNKNOWN;
        }
        let looks_back = entry.get("type").and_then(Located::text).is_some_and(|kind| &**kind == "not_recently_used");
        match (entry.get("if"), looks_back) {
            (Some(_), _) if entry.get("type").is_none() => self.unknown_keys(entry, &IF_KEYS),
            (Some(_), _) => {}
            (None, true) => self.unknown_keys(entry, &WINDOW_KEYS),
            (None, false) => self.unknown_keys(entry, &KEYS),
        }
        match (entry.get("if"), entry.get("type")) {
            (Some(condition), Some(_)) => {
                self.error(Kind::TwoConditions, condition.span, "both `type` and `if` are given").help =
                    Some("keep one of them".into());
                UNKNOWN
            }
            (Some(condition), None) => self.if_condition(condition),
            (None, written) => self.typed_entry(entry, written, sequence),
        }
    }

    fn typed_entry(&mut self, entry: &Located, written: Option<&Located>, sequence: Option<&Located>) -> Id {
        let Some(kind) = written.and_then(Located::text) else {
            self.error(Kind::InvalidCondition, entry.span, "`type` is missing or not text");
            return UNKNOWN;
        };
        let kind = &**kind;
        if !TYPES.contains(&kind) {
            let span = written.map_or(entry.span, |written| written.span);
            self.error(Kind::UnknownConditionType, span, format!("unknown condition type `{kind}`"));
            self.suggest(kind, TYPES);
            return UNKNOWN;
        }
        if kind == SEQUENCE {
            return self.sequence_match(entry.span, sequence);
        }
        let Some((value, value_span)) = self.history_value(entry) else {
            return UNKNOWN;
        };
        match kind {
            "tool_used" => {
                let tools = self.known_path(&["tools"], Access::Nil, entry.span);
                self.contained(&value, tools, entry.span)
            }
            "not_recently_used" => self.not_recently_used(entry, &value),
            "message_regex" => self.message_regex(&value, value_span, entry.span),
            "message_contains" => self.message_test(Binary::Contains, &value, entry.span),
            _ => self.message_test(Binary::StartsWith, &value, entry.span),
        }
    }

    fn history_value(&mut self, entry: &Located) -> Option<(String, Span)> {
        match entry.get("value").map(|value| (value, &value.shape)) {
            Some((value, Shape::Str { text, .. })) if !text.is_empty() => Some((text.to_string(), value.span)),
            None | Some((_, Shape::Null | Shape::Str { .. })) => {
                self.error(Kind::MissingValue, entry.span, "the condition needs a `value` that is not empty");
                None
            }
            Some((value, _)) => {
                self.wrong_shape(Kind::InvalidCondition, value, "`value` must be text");
                None
            }
        }
    }

    fn contained(&mut self, tool: &str, tools: Id, span: Span) -> Id {
        let tool = self.program.constant(Value::from(tool), span);
        self.program.emit(Node::Binary(Binary::In, tool, tools), span)
    }

    /// Compiles a comparison of the end of the history with the sequence, position by position.
    fn sequence_match(&mut self, span: Span, sequence: Option<&Located>) -> Id {
        let positions = sequence.and_then(Located::items).unwrap_or_default();
        if positions.is_empty() {
            self.error(Kind::MissingSequence, span, "`sequence_match` needs a step with a `sequence`");
            return UNKNOWN;
        }
        let tools = self.known_path(&["tools"], Access::Nil, span);
        let length = i64::try_from(positions.len()).unwrap_or(i64::MAX);
        let mut ids = Vec::new();
        for (index, position) in positions.iter().enumerate() {
            let from_end = i64::try_from(index).unwrap_or(i64::MAX) - length;
            let key = self.program.constant(Value::Int(from_end), position.span);
            let used = self.program.emit(Node::Member { object: tools, key, access: Access::Nil }, position.span);
            let fitting = match position.items() {
                Some(_) => position.to_value(),
                None => Value::from(vec![position.to_value()]),
            };
            let fitting = self.program.constant(fitting, position.span);
            ids.push(self.program.emit(Node::Binary(Binary::In, used, fitting), position.span));
        }
        let all = self.emit_all(Node::And, &ids, span);
        let listed = Value::from(positions.iter().map(Located::to_value).collect::<Vec<_>>());
        self.program.name_node(all, &format!("{SEQUENCE} {listed}"));
        all
    }

    fn not_recently_used(&mut self, entry: &Located, tool: &str) -> Id {
        let window = match entry.get("window").map(|window| (window, &window.shape)) {
            None => WINDOW,
            Some((_, Shape::Int(window))) if *window >= 1 => *window,
            Some((window, _)) => {
                self.error(Kind::InvalidCondition, window.span, "`window` must be an integer of at least 1");
                return UNKNOWN;
            }
        };
        let tools = self.known_path(&["tools"], Access::Nil, entry.span);
        let from = self.program.constant(Value::Int(-window), entry.span);
        let recent = self.program.emit(Node::Slice { object: tools, from: Some(from), to: None }, entry.span);
        let used = self.contained(tool, recent, entry.span);
        self.program.emit(Node::Not(used), entry.span)
    }

    fn message_regex(&mut self, pattern: &str, pattern_span: Span, span: Span) -> Id {
        let pattern = match Pattern::re2(pattern) {
            Ok(pattern) => pattern,
            Err(error) => {
                self.error(Kind::BadRegex, pattern_span, error.to_string());
                return UNKNOWN;
            }
        };
        let text = self.known_path(&["message"], Access::Nil, span);
        let pattern = self.program.pattern(pattern);
        self.program.emit(Node::Matches { text, pattern }, span)
    }

    /// Compiles a test of the message that ignores case.
    fn message_test(&mut self, operator: Binary, value: &str, span: Span) -> Id {
        let message = self.known_path(&["message"], Access::Nil, span);
        let arguments = self.program.ids(&[message]);
        let lower = self.program.emit(Node::Call { builtin: builtins::inner("lower"), arguments }, span);
        let value = self.program.constant(Value::from(value.to_lowercase()), span);
        self.program.emit(Node::Binary(operator, lower, value), span)
    }
}
