//! The result of an evaluation as text.

use std::fmt::Write;
use std::process::ExitCode;

use anyhow::Result;
use branchpoint_expr::{Condition, Diagnostic, EvalError, Explanation, Severity, Value};

use super::ERROR;
use crate::source::Source;
use crate::{explain, terminal};

/// The result of an evaluation, with its findings and explanations.
pub(crate) struct Report {
    pub(crate) answer: Answer,
    /// The text that the findings are about.
    pub(crate) source: Source,
    pub(crate) findings: Vec<Diagnostic>,
    /// One for each condition that was evaluated, if they were asked for.
    pub(crate) explanations: Vec<Explanation>,
}

/// The result, by the kind of condition.
#[derive(Clone, Copy)]
pub(crate) enum Answer {
    /// None: there is an error among the findings.
    None,
    /// Whether the condition holds.
    Holds(bool),
    /// Whether the gate lets the run pass.
    Passes(bool),
    /// The position of the first condition that holds, if one does.
    First(Option<usize>),
}

impl Answer {
    pub(crate) fn outcome(self) -> Option<bool> {
        match self {
            Self::None => None,
            Self::Holds(outcome) | Self::Passes(outcome) => Some(outcome),
            Self::First(position) => Some(position.is_some()),
        }
    }
}

impl Report {
    pub(crate) fn new(source: Source, findings: Vec<Diagnostic>) -> Self {
        Self { answer: Answer::None, source, findings, explanations: Vec::new() }
    }

    /// Evaluates a condition and keeps the reasons for what it gave.
    pub(crate) fn explain(&mut self, condition: &Condition, context: &Value) -> Result<bool, EvalError> {
        let explanation = condition.explain(context);
        let outcome = explanation.outcome.clone();
        self.explanations.push(explanation);
        outcome
    }

    /// The same, ended by an error.
    pub(crate) fn failed(mut self, error: &EvalError) -> Self {
        self.findings.push(error.to_diagnostic());
        self
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self.answer.outcome() {
            Some(true) => ExitCode::SUCCESS,
            Some(false) => ExitCode::FAILURE,
            None => ExitCode::from(ERROR),
        }
    }

    /// The error, if there is one.
    pub(crate) fn error(&self) -> Option<&Diagnostic> {
        self.findings.iter().find(|finding| finding.severity == Severity::Error)
    }

    pub(crate) fn print(&self) -> Result<()> {
        terminal::message(&terminal::findings(&self.findings, &self.source.text, &self.source.origin));
        if let Some(error) = self.error() {
            explain::print_hint(error.cause().as_str());
        }
        terminal::print(&self.text())
    }

    /// The first word is the answer.
    fn text(&self) -> String {
        let headline = match self.answer {
            Answer::None => None,
            // An explanation begins with the outcome itself.
            Answer::Holds(_) if !self.explanations.is_empty() => None,
            Answer::Holds(outcome) => Some(format!("{outcome}\n")),
            Answer::Passes(true) => Some("true: the gate passes\n".to_owned()),
            Answer::Passes(false) => Some("false: the gate blocks\n".to_owned()),
            Answer::First(Some(position)) => Some(format!("true: condition-{position}\n")),
            Answer::First(None) => Some("false: no condition matches\n".to_owned()),
        };
        let mut text = headline.unwrap_or_default();
        for (position, explanation) in self.explanations.iter().enumerate() {
            if matches!(self.answer, Answer::First(_)) || self.explanations.len() > 1 {
                let _ = write!(text, "condition-{position}: ");
            }
            let _ = write!(text, "{}\n{}", explanation.sentence, explanation.tree.render());
        }
        text
    }
}
