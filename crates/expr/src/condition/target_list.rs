//! Compiles target lists: `conditions: [{target, operator, value, value_type}]` with `match: all | any`, or `if`.

use bumpalo::Bump;

use super::clause::{Clause, Rule};
use super::target_comparison::{Operator, TargetComparison, ValueType, refusal};
use crate::builtins;
use crate::compile::Place;
use crate::dialect::Dialect;
use crate::located::{Located, Shape};
use crate::pattern::Pattern;
use crate::program::{Access, Id, Node};
use crate::template::Single;
use crate::unit::{UNKNOWN, Unit, place_of};
use crate::value::keep;
use crate::work::Work;
use crate::{Kind, Span};

const ENTRY_KEYS: [&str; 5] = ["target", "operator", "value", "value_type", "comment"];

impl Unit<'_> {
    /// Compiles the condition of a step, which has either `conditions` or `if`.
    pub(crate) fn step_condition(&mut self, step: &Located) -> Id {
        match (step.get("conditions"), step.get("if")) {
            (Some(_), Some(condition)) => {
                self.error(Kind::TwoConditions, condition.span, "both `conditions` and `if` are given").help =
                    Some("keep one of them".into());
                UNKNOWN
            }
            (None, None) => {
                self.error(Kind::NoConditions, step.span, "`if` or `conditions` is missing").help =
                    Some("add `if` with an expression, or `conditions` with a list".into());
                UNKNOWN
            }
            (None, Some(condition)) => self.if_condition(condition),
            (Some(conditions), None) => self.target_list(conditions, step.get("match")),
        }
    }

    /// Compiles the value of the key `if`: an expression or a typed group.
    pub(crate) fn if_condition(&mut self, located: &Located) -> Id {
        match &located.shape {
            Shape::Str { text, .. } => self.condition(text, place_of(located)),
            // YAML reads `if: true` as a boolean, which is a valid expression.
            Shape::Bool(bool) => self.condition(if *bool { "true" } else { "false" }, Place::At(located.span)),
            Shape::Object(_) => self.group(located),
            _ => {
                let kind = if self.dialect() == Dialect::Steps { Kind::BadField } else { Kind::InvalidCondition };
                self.wrong_shape(kind, located, "`if` must be an expression or a group").help =
                    Some("write an expression such as `input == 'yes'`".into());
                UNKNOWN
            }
        }
    }

    fn target_list(&mut self, conditions: &Located, mode: Option<&Located>) -> Id {
        let all = match mode.map(|mode| (mode, mode.text().map(|text| &**text))) {
            None | Some((_, Some("all"))) => true,
            Some((_, Some("any"))) => false,
            Some((mode, written)) => {
                let message = format!("`match` must be `all` or `any`, not `{}`", written.unwrap_or(mode.describe()));
                self.error(Kind::UnknownMatch, mode.span, message).help =
                    Some("`all` requires every condition to hold, `any` at least one".into());
                true
            }
        };
        let Some(items) = self.entries(conditions, Kind::BadField) else {
            return UNKNOWN;
        };
        if items.is_empty() {
            self.error(Kind::NoConditions, conditions.span, "`conditions` is empty").help =
                Some("add `{target: input, operator: $eq, value: …}`".into());
            return UNKNOWN;
        }
        let ids: Vec<_> = items.iter().map(|item| self.target_entry(item)).collect();
        self.emit_all(if all { Node::Every } else { Node::Some }, &ids, conditions.span)
    }

    /// Compiles an entry: a comparison, an expression or a group.
    fn target_entry(&mut self, entry: &Located) -> Id {
        match &entry.shape {
            Shape::Str { text, .. } => self.condition(text, place_of(entry)),
            Shape::Object(_) if super::typed_group::is_group(entry) => self.group(entry),
            Shape::Object(_) => self.comparison(entry),
            _ => {
                self.wrong_shape(Kind::BadField, entry, "a condition must be an object or an expression").help =
                    Some("write `{target: input, operator: $eq, value: …}`".into());
                UNKNOWN
            }
        }
    }

    fn comparison(&mut self, entry: &Located) -> Id {
        self.unknown_keys(entry, &ENTRY_KEYS);
        let target = self.target(entry);
        let (Some(operator), Some(value_type)) = (self.operator(entry), self.value_type(entry, &ValueType::ALL)) else {
            return UNKNOWN;
        };
        let unordered = operator.is_ordering() || operator.takes_pattern();
        if value_type == ValueType::Boolean && unordered {
            let message = format!("the operator `{}` does not support booleans", operator.as_str());
            self.error(Kind::OperatorValueType, entry.span, message).help =
                Some("booleans support $eq, $ne, $in and $nin".into());
            return UNKNOWN;
        }
        let mut test = TargetComparison { operator, value_type, pattern: None };
        let null = Located { shape: Shape::Null, span: entry.span };
        let value = entry.get("value").unwrap_or(&null);
        let right = operator.takes_value().then(|| {
            let compiled = self.template_value(value, Single::Text);
            if operator.takes_pattern() {
                test.pattern = if compiled.literal { self.literal_pattern(value) } else { None };
            } else {
                self.literal_values(value, &test);
            }
            compiled.id
        });
        let now = (value_type == ValueType::RelativeTime && operator.takes_value() && !operator.takes_pattern())
            .then(|| self.known_path(&["datetime", "now"], Access::JsonText, entry.span));
        self.program.clause(Clause { rule: Rule::Target(test), left: target, right, now }, entry.span)
    }

    fn target(&mut self, entry: &Located) -> Id {
        let Some(target) = entry.get("target") else {
            self.warn(Kind::TargetOmitted, entry.span, "`target` is missing; the default is `input`").help =
                Some("write `target: input`".into());
            return self.known_path(&["input"], Access::JsonText, entry.span);
        };
        let written = target.text().map_or("", |text| &**text);
        if let Some(path) =
            written.strip_prefix("metadata.").filter(|path| path.split('.').all(|part| !part.is_empty()))
        {
            let parts: Vec<_> = std::iter::once("metadata").chain(path.split('.')).collect();
            return self.known_path(&parts, Access::JsonText, target.span);
        }
        if let Some((root @ ("run" | "budget"), field)) = written.split_once('.')
            && !field.is_empty()
        {
            return self.known_path(&[root, field], Access::JsonText, target.span);
        }
        match written {
            "input" | "input_content_type" => self.known_path(&[written], Access::JsonText, target.span),
            "input_length" => self.input_length(target.span),
            _ => {
                self.error(Kind::UnknownTarget, target.span, format!("unknown target `{written}`")).help = Some(
                    "targets are input, input_length, input_content_type, metadata.<path>, run.<name> and budget.<name>; `if` takes any reference"
                        .into(),
                );
                self.suggest(written, ["input", "input_length", "input_content_type", "metadata."]);
                UNKNOWN
            }
        }
    }

    /// Compiles `input_length`, the number of characters of the input's text form.
    fn input_length(&mut self, span: Span) -> Id {
        let input = self.known_path(&["input"], Access::Blank, span);
        let text = self.emit_all(Node::Template, &[input], span);
        let arguments = self.program.ids(&[text]);
        let length = self.program.emit(Node::Call { builtin: builtins::inner("len"), arguments }, span);
        self.program.name_node(length, "input_length");
        length
    }

    fn operator(&mut self, entry: &Located) -> Option<Operator> {
        let written = entry.get("operator").and_then(Located::text).map_or("", |text| &**text);
        let span = entry.get("operator").map_or(entry.span, |operator| operator.span);
        if written == "equals" {
            self.warn(Kind::AliasUsed, span, "`equals` is deprecated").help = Some("write `$eq`".into());
            return Some(Operator::Equal);
        }
        let known = Operator::ALL.into_iter().find(|known| known.as_str() == written);
        if known.is_none() {
            let message = match entry.get("operator") {
                None => "`operator` is missing".to_owned(),
                Some(_) => format!("unknown operator `{written}`"),
            };
            let known = Operator::ALL.map(Operator::as_str).join(", ");
            self.error(Kind::UnknownOperator, span, message).help = Some(format!("the operators are {known}"));
            let dollar = format!("${}", written.trim_start_matches('$'));
            self.suggest(&dollar, Operator::ALL.map(Operator::as_str));
        }
        known
    }

    pub(crate) fn value_type(&mut self, entry: &Located, allowed: &[ValueType]) -> Option<ValueType> {
        let Some(value_type) = entry.get("value_type").filter(|value_type| !value_type.is_null()) else {
            return Some(ValueType::Text);
        };
        let written = value_type.text().map_or("", |text| &**text);
        let known = allowed.iter().copied().find(|known| known.as_str() == written);
        if known.is_none() {
            let known: Vec<&str> = allowed.iter().map(|known| known.as_str()).collect();
            self.error(Kind::UnknownValueType, value_type.span, format!("unknown value type `{written}`")).help =
                Some(format!("the value types are {}", known.join(", ")));
            self.suggest(written, allowed.iter().map(|known| known.as_str()));
        }
        known
    }

    fn literal_pattern(&mut self, value: &Located) -> Option<Pattern> {
        let refused = match Pattern::python(&value.to_value().to_string()) {
            _ if value.is_null() => "the regular expression is missing".to_owned(),
            Ok(pattern) => return Some(pattern),
            Err(error) => error.to_string(),
        };
        self.error(Kind::BadRegex, value.span, refused).help =
            Some("correct the regular expression; a backslash escapes the next character".into());
        None
    }

    /// Reports literals that cannot be read as their type. Texts with placeholders are checked when they are evaluated.
    fn literal_values(&mut self, value: &Located, test: &TargetComparison) {
        let bump = Bump::new();
        if let (true, Some(items)) = (test.operator.takes_list(), value.items()) {
            for item in items {
                self.literal_value(item, test, &bump);
            }
        } else {
            self.literal_value(value, test, &bump);
        }
    }

    fn literal_value(&mut self, value: &Located, test: &TargetComparison, bump: &Bump) {
        if value.text().is_some_and(|text| text.contains("{{")) {
            return;
        }
        let view = keep(value.to_value().view(), bump);
        let mut literals = vec![view];
        if test.operator.takes_list()
            && let Some(text) = view.as_str().filter(|text| text.trim_start().starts_with('['))
            && let Ok(Ok(crate::View::List(list))) = Work::new(bump, &crate::Limits::DEFAULT).json(text)
        {
            literals = list.iter().collect();
        }
        if let Some(code) = literals.into_iter().find_map(|literal| refusal(test.value_type, literal)) {
            let message = format!("{} cannot be read as {}", crate::fault::preview(view), test.value_type.as_str());
            self.error(code, value.span, message).help = Some(test.value_type.help().into());
        }
    }
}
