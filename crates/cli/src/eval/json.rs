//! The result of an evaluation as one JSON object on one line.

use anyhow::Result;
use branchpoint_expr::{Diagnostic, Explanation, render_json};
use serde::Serialize;
use serde_json::json;

use super::report::{Answer, Report};
use crate::source::Source;
use crate::terminal;

/// The object, its keys in the order in which a person reads them.
#[derive(Default, Serialize)]
struct Line<'t> {
    outcome: Option<bool>,
    /// For a list of conditions only: the position of the one that holds, or null.
    #[serde(skip_serializing_if = "Option::is_none")]
    matched: Option<serde_json::Value>,
    error: Option<Error>,
    diagnostics: serde_json::Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<&'t Explanation>,
    /// For a list of conditions only: one explanation for each that was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    explanations: Option<&'t [Explanation]>,
}

/// Why there is no outcome. Without a kind it is about files or arguments, not about a condition.
#[derive(Default, Serialize)]
struct Error {
    kind: Option<&'static str>,
    detail: Option<&'static str>,
    message: String,
    origin: Option<String>,
    line: Option<usize>,
    column: Option<usize>,
}

/// Prints a report.
pub(crate) fn print(report: &Report) -> Result<()> {
    let reasons = report.explanations.as_slice();
    let (matched, explanation, explanations) = match report.answer {
        Answer::First(position) => (Some(json!(position)), None, Some(reasons).filter(|reasons| !reasons.is_empty())),
        _ => (None, reasons.last(), None),
    };
    let Source { text, origin, .. } = &report.source;
    line(&Line {
        outcome: report.answer.outcome(),
        matched,
        error: report.error().map(|finding| error(finding, &report.source)),
        diagnostics: render_json(&report.findings, text, origin),
        explanation,
        explanations,
    })
}

/// Prints that there was nothing to evaluate.
pub(crate) fn print_failure(error: &anyhow::Error) -> Result<()> {
    let error = Error { message: format!("{error:#}"), ..Error::default() };
    line(&Line { error: Some(error), diagnostics: json!([]), ..Line::default() })
}

fn error(finding: &Diagnostic, source: &Source) -> Error {
    let (line, column) = finding.span.line_column(&source.text);
    Error {
        kind: Some(finding.kind.as_str()),
        detail: finding.detail.map(branchpoint_expr::Kind::as_str),
        message: finding.message.clone(),
        origin: Some(source.origin.clone()),
        line: Some(line),
        column: Some(column),
    }
}

fn line(line: &Line<'_>) -> Result<()> {
    terminal::print(&(serde_json::to_string(line)? + "\n"))
}
