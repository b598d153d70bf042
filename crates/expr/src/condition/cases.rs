//! The `gate` and `switch` steps of a step tree.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

use super::Condition;
use super::clause::{Clause, Rule};
use super::target_comparison::{Operator, TargetComparison, ValueType, has_format};
use crate::compiled::Compiled;
use crate::context::Context;
use crate::expression::Expression;
use crate::located::Located;
use crate::program::{Id, Node};
use crate::template::Single;
use crate::unit::{Options, Problems, UNKNOWN, Unit};
use crate::value::Value;
use crate::{EvalError, Kind, Span};

/// A compiled `gate` step, which lets a run pass or blocks it.
///
/// ```
/// # use branchpoint_expr::*;
/// # use serde_json::json;
/// let located = |json: serde_json::Value| Located::from(&Value::from(&json));
/// let step = located(json!({"if": "input == 'yes'", "on_match": "stop"}));
/// let gate = Gate::compile(&step, Options::dialect(Dialect::Steps))?;
/// assert!(!gate.passes(&json!({"input": "yes"}))?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Gate {
    condition: Condition,
    blocks: bool,
}

impl Gate {
    /// Compiles the fields of a `gate` step.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// # use serde_json::json;
    /// let located = |json: serde_json::Value| Located::from(&Value::from(&json));
    /// let step = located(json!({"if": "input == 'yes'", "on_match": "perhaps"}));
    /// let problems = Gate::compile(&step, Options::dialect(Dialect::Steps)).unwrap_err();
    /// assert_eq!(problems.first().kind, Kind::UnknownOnMatch);
    /// ```
    pub fn compile(step: &Located, options: Options<'_>) -> Result<Self, Problems> {
        let mut blocks = false;
        let condition = Compiled::new(options, |unit| {
            match step.get("on_match").map(|on_match| (on_match, on_match.text().map(|text| &**text))) {
                None | Some((_, Some("continue"))) => {}
                Some((_, Some("stop"))) => blocks = true,
                Some((on_match, written)) => {
                    let written = written.unwrap_or(on_match.describe());
                    let message = format!("`on_match` must be `continue` or `stop`, not `{written}`");
                    unit.error(Kind::UnknownOnMatch, on_match.span, message).help =
                        Some("`continue` passes if the condition holds, `stop` blocks".into());
                }
            }
            unit.step_condition(step)
        });
        Ok(Self { condition: Condition(condition?), blocks })
    }

    /// Evaluates the gate: true lets the run pass.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// # use serde_json::json;
    /// let located = |json: serde_json::Value| Located::from(&Value::from(&json));
    /// let step = located(json!({"if": "input == 'yes'", "on_match": "stop"}));
    /// let gate = Gate::compile(&step, Options::dialect(Dialect::Steps))?;
    /// assert!(gate.passes(&json!({"input": "no"}))?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn passes<C: Context + ?Sized>(&self, context: &C) -> Result<bool, EvalError> {
        Ok(self.condition.evaluate(context)? != self.blocks)
    }

    /// The condition of the gate.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// # use serde_json::json;
    /// let located = |json: serde_json::Value| Located::from(&Value::from(&json));
    /// let step = located(json!({"if": "input == 'yes'", "on_match": "stop"}));
    /// let gate = Gate::compile(&step, Options::dialect(Dialect::Steps))?;
    /// assert_eq!(gate.condition().text(), "input == 'yes'");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn condition(&self) -> &Condition {
        &self.condition
    }
}

/// The compiled cases of a `switch` step. The first case that matches wins.
///
/// ```
/// # use branchpoint_expr::*;
/// # use serde_json::json;
/// let located = |json: serde_json::Value| Located::from(&Value::from(&json));
/// let switch = located(json!({
///     "discriminator": "{{input}}",
///     "cases": [{"name": "low", "match": "1"}, {"name": "high", "match": "9"}],
/// }));
/// let cases = Cases::compile(&switch, Options::dialect(Dialect::Steps))?;
/// assert_eq!(cases.choose(&json!({"input": "9"}))?, Some((1, "high")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cases {
    /// A list of booleans, one for each case. The position of the first true one is the chosen case.
    tests: Expression,
    names: Vec<Arc<str>>,
}

impl Deref for Cases {
    type Target = Compiled;

    fn deref(&self) -> &Compiled {
        &self.tests
    }
}

/// The value types of a switch. Relative times are excluded, because a moving time never equals a value.
const TYPES: [ValueType; 4] = [ValueType::Text, ValueType::Number, ValueType::Date, ValueType::Datetime];

impl Cases {
    /// Compiles the fields `discriminator`, `value_type` and `cases` of a `switch` step.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// # use serde_json::json;
    /// let located = |json: serde_json::Value| Located::from(&Value::from(&json));
    /// let switch = located(json!({"discriminator": "{{input}}", "cases": []}));
    /// let problems = Cases::compile(&switch, Options::dialect(Dialect::Steps)).unwrap_err();
    /// assert_eq!(problems.first().kind, Kind::NoCases);
    /// ```
    pub fn compile(step: &Located, options: Options<'_>) -> Result<Self, Problems> {
        let mut names: Vec<Arc<str>> = Vec::new();
        let tests = Compiled::new(options, |unit| {
            let value_type = unit.value_type(step, &TYPES).unwrap_or(ValueType::Text);
            let discriminator = unit.discriminator(step);
            let cases = step.get("cases").and_then(Located::items).unwrap_or_default();
            if cases.is_empty() {
                let span = step.get("cases").unwrap_or(step).span;
                unit.error(Kind::NoCases, span, "a switch needs at least one case").help =
                    Some("write `cases: [{name: …, match: …, steps: […]}]`".into());
            }
            let (mut names_seen, mut values_seen) = (BTreeSet::new(), BTreeSet::new());
            let mut case_tests = Vec::new();
            for case in cases {
                let name = unit.case_name(case);
                if !names_seen.insert(name.clone()) && !name.is_empty() {
                    let message = format!("duplicate case name `{name}`");
                    unit.error(Kind::CaseNameDuplicate, name_span(case), message).help =
                        Some("rename one of them, or merge them into one case".into());
                }
                names.push(name);
                case_tests.push(unit.case_test(case, value_type, discriminator, &mut values_seen));
            }
            unit.emit_all(Node::List, &case_tests, step.span)
        });
        Ok(Self { tests: Expression(tests?), names })
    }

    /// The position and the name of the case that matches, or `None`.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// # use serde_json::json;
    /// let located = |json: serde_json::Value| Located::from(&Value::from(&json));
    /// let switch = located(json!({
    ///     "discriminator": "{{input}}",
    ///     "cases": [{"name": "low", "match": "1"}, {"name": "high", "match": "9"}],
    /// }));
    /// let cases = Cases::compile(&switch, Options::dialect(Dialect::Steps))?;
    /// assert_eq!(cases.choose(&json!({"input": "5"}))?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn choose<C: Context + ?Sized>(&self, context: &C) -> Result<Option<(usize, &str)>, EvalError> {
        let holds = self.tests.value(context)?;
        let position = holds.as_list().and_then(|tests| tests.iter().position(|test| *test == Value::Bool(true)));
        Ok(position.map(|at| (at, &*self.names[at])))
    }
}

impl Unit<'_> {
    pub(super) fn same(&mut self, subject: &Located, value: &Located) -> Id {
        let [left, right] = [subject, value].map(|located| self.template_value(located, Single::Value).id);
        self.program.clause(Clause { rule: Rule::Same, left, right: Some(right), now: None }, value.span)
    }

    pub(super) fn single_case(&mut self, switch: &Located, case: &Located) -> Id {
        let value_type = self.value_type(switch, &TYPES).unwrap_or(ValueType::Text);
        let discriminator = switch.get("discriminator").unwrap_or(case);
        let input = self.input_text(discriminator.span);
        self.name_discriminator(switch);
        self.case_test(case, value_type, input, &mut BTreeSet::new())
    }

    /// Renames the path of `input` to the discriminator as the document writes it, because the host stores the discriminator's value
    /// in the slot of `input`.
    fn name_discriminator(&mut self, switch: &Located) {
        let Some(written) = switch.get("discriminator").and_then(Located::text).map(|text| text.trim()) else { return };
        let inside = written.strip_prefix("{{").and_then(|text| text.strip_suffix("}}"));
        let name = inside.filter(|name| !name.contains("}}")).unwrap_or(written).trim();
        if let Some(path) = self.program.paths.last_mut().filter(|path| path.root.slot.is_some() && !name.is_empty()) {
            path.root.text = name.into();
        }
    }

    /// Compiles the discriminator. A blank one means the input.
    fn discriminator(&mut self, step: &Located) -> Id {
        let written = step
            .get("discriminator")
            .filter(|written| !written.is_null() && !written.text().is_some_and(|text| text.trim().is_empty()));
        match written {
            Some(written) => self.template_value(written, Single::Text).id,
            None => self.input_text(step.span),
        }
    }

    /// The text form of the input, as `{{input}}` gives it.
    fn input_text(&mut self, span: Span) -> Id {
        let written = Located { span, ..Located::from(&Value::from("{{input}}")) };
        self.template_value(&written, Single::Text).id
    }

    fn case_name(&mut self, case: &Located) -> Arc<str> {
        let name = case.get("name").and_then(Located::text).filter(|name| !name.trim().is_empty());
        match name {
            None => {
                let message = match case.get("name").filter(|name| !name.is_null()) {
                    None => "a case needs a `name`".to_owned(),
                    Some(name) if name.text().is_some() => "the name of a case must not be blank".to_owned(),
                    Some(name) => format!("the name of a case must be text, but this is {}", name.describe()),
                };
                self.error(Kind::CaseName, name_span(case), message).help =
                    Some("add a `name`, which identifies the case in the trace".into());
            }
            Some(name) if &**name == "else" => {
                let message = "a case cannot be named `else`, which marks that no case matched";
                self.error(Kind::CaseNameReserved, name_span(case), message).help =
                    Some("give it another name, or put its steps into `else_steps`".into());
            }
            Some(_) => {}
        }
        name.cloned().unwrap_or_default()
    }

    fn case_test(
        &mut self,
        case: &Located,
        value_type: ValueType,
        discriminator: Id,
        seen: &mut BTreeSet<String>,
    ) -> Id {
        let matches = case.get("match").filter(|matches| !matches.is_null());
        let Some(matches) = matches.filter(|matches| matches.items().is_none_or(|items| !items.is_empty())) else {
            let span = case.get("match").filter(|matches| !matches.is_null()).map_or(case.span, |matches| matches.span);
            self.error(Kind::CaseMatchMissing, span, "a case needs a `match` value or a list of them").help =
                Some("write `match: value`, or `match: [one, other]`".into());
            return UNKNOWN;
        };
        let single = std::slice::from_ref(matches);
        for literal in matches.items().unwrap_or(single) {
            let value = literal.to_value();
            if !has_format(value_type, value.view()) {
                let message = format!("{} is not a {}", crate::fault::preview(value.view()), value_type.as_str());
                self.error(Kind::CaseMatchFormat, literal.span, message).help = Some(value_type.help().into());
            }
            if !seen.insert(value.to_string()) {
                self.warn(Kind::DuplicateMatch, literal.span, "another case already matches this value").help =
                    Some("remove it: the first case that matches wins".into());
            }
        }
        // Dates must have a date format, but they are compared as text.
        let compared = if value_type == ValueType::Number { ValueType::Number } else { ValueType::Text };
        let rule = Rule::Target(TargetComparison { operator: Operator::In, value_type: compared, pattern: None });
        // Anything but numbers is compared by its text form, so a null in the list is the text `null`.
        let literals = matches.items().unwrap_or(single).iter().map(Located::to_value);
        let list: Vec<Value> = match compared {
            ValueType::Number => literals.collect(),
            _ => literals.map(|literal| Value::from(literal.to_string())).collect(),
        };
        let list = Value::from(list);
        let right = self.program.constant(list, matches.span);
        self.program.clause(Clause { rule, left: discriminator, right: Some(right), now: None }, matches.span)
    }
}

/// The span for findings about a case name: the name, or the case if it has no name.
fn name_span(case: &Located) -> Span {
    case.get("name").filter(|name| !name.is_null()).map_or(case.span, |name| name.span)
}
