//! Compiles and evaluates a condition according to its dialect and form.

use std::slice;

use branchpoint_expr::{Condition, Diagnostic, Dialect, Gate, Kind, Located, Options, Problems, Value};

use super::report::{Answer, Report};
use crate::source::{Form, Source};

/// A compiled condition, gate or list of conditions.
pub(crate) enum Decision {
    /// Whether a condition holds.
    Holds(Condition),
    /// Whether a gate lets the run pass.
    Passes(Gate),
    /// Which of several conditions holds first.
    First(Vec<Condition>),
}

impl Decision {
    /// Compiles a condition, or returns all its errors.
    pub(crate) fn compile(source: &Source, dialect: Dialect) -> Result<Self, Vec<Diagnostic>> {
        let options = Options::dialect(dialect);
        let compiled = match source.form {
            Form::Expression => Condition::expression(&source.text, options).map(Self::Holds),
            Form::Document => {
                let document = branchpoint_dialects::read(&source.text)?;
                match dialect {
                    Dialect::Machine => under_if(&document, options).map(Self::Holds),
                    Dialect::Flow => flow(&document, options).map(Self::Holds),
                    Dialect::Steps => steps(&document, options),
                    Dialect::Session => session(&document, options).map(Self::Holds),
                    Dialect::Graph => graph(&document, options),
                }
            }
        };
        compiled.map_err(|problems| problems.0)
    }

    /// Evaluates the conditions until one holds or fails, and explains them if requested.
    pub(crate) fn decide(&self, context: &Value, source: Source, explain: bool) -> Report {
        let conditions = self.conditions();
        let findings = conditions.iter().flat_map(|condition| condition.warnings()).cloned().collect();
        let mut report = Report::new(source, findings);
        let mut holds = None;
        for (position, condition) in conditions.iter().enumerate() {
            let outcome = if explain { report.explain(condition, context) } else { condition.evaluate(context) };
            match outcome {
                Err(error) => return report.failed(&error),
                Ok(false) => {}
                Ok(true) => {
                    holds = Some(position);
                    break;
                }
            }
        }
        report.answer = match self {
            Self::Holds(_) => Answer::Holds(holds.is_some()),
            Self::First(_) => Answer::First(holds),
            Self::Passes(gate) => match gate.passes(context) {
                Ok(passes) => Answer::Passes(passes),
                Err(error) => return report.failed(&error),
            },
        };
        report
    }

    fn conditions(&self) -> &[Condition] {
        match self {
            Self::Holds(condition) => slice::from_ref(condition),
            Self::Passes(gate) => slice::from_ref(gate.condition()),
            Self::First(conditions) => conditions,
        }
    }
}

/// The value of `if`, or the document itself.
fn under_if(document: &Located, options: Options<'_>) -> Result<Condition, Problems> {
    match document.get("if") {
        Some(_) if document.get("conditions").is_some() => Condition::targets(document, options),
        Some(condition) => Condition::if_key(condition, options),
        None => Condition::if_key(document, options),
    }
}

fn flow(document: &Located, options: Options<'_>) -> Result<Condition, Problems> {
    match document.get("if") {
        Some(_) => under_if(document, options),
        None => Condition::group(document, options),
    }
}

fn steps(step: &Located, options: Options<'_>) -> Result<Decision, Problems> {
    match step.get("on_match") {
        Some(_) => Gate::compile(step, options).map(Decision::Passes),
        None => Condition::targets(step, options).map(Decision::Holds),
    }
}

fn session(step: &Located, options: Options<'_>) -> Result<Condition, Problems> {
    if step.get("if").is_some() {
        return under_if(step, options);
    }
    let Some(conditions) = step.get("conditions") else {
        let finding = Diagnostic::error(Kind::NoConditions, step.span, "`if` or `conditions` is missing");
        let help = "give `conditions` with a list, and `sequence` if a condition is about it";
        return Err(Problems(vec![finding.with_help(help)]));
    };
    Condition::history(conditions, step.get("sequence"), options)
}

/// One entry of an `if` node, or all of them: then the errors of all entries are reported.
fn graph(node: &Located, options: Options<'_>) -> Result<Decision, Problems> {
    if node.get("if").is_some() && node.get("conditions").is_some() {
        return Condition::targets(node, options).map(Decision::Holds);
    }
    let Some(conditions) = node.get("conditions") else {
        return Condition::text_match(node, options).map(Decision::Holds);
    };
    let Some(entries) = conditions.items() else {
        let message = format!("`conditions` must be a list, but is {}", conditions.describe());
        return Err(Problems(vec![Diagnostic::error(Kind::InvalidField, conditions.span, message)]));
    };
    let mut compiled = Vec::new();
    let mut findings = Vec::new();
    for entry in entries {
        match Condition::text_match(entry, options) {
            Ok(condition) => compiled.push(condition),
            Err(problems) => findings.extend(problems.0),
        }
    }
    if findings.is_empty() { Ok(Decision::First(compiled)) } else { Err(Problems(findings)) }
}
