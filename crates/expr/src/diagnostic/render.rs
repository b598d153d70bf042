//! Diagnostics for a terminal and for machines.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use serde_json::json;

use super::{Diagnostic, Severity};

/// Renders findings for people: the line of the source, a caret under the place, and the way out.
///
/// ```
/// use branchpoint_expr::{Condition, render_terminal};
///
/// let source = "inputs.count >< 5";
/// let problems = Condition::compile(source).unwrap_err();
/// let shown = render_terminal(&problems.0, source, "condition", false);
/// assert!(shown.contains("inputs.count >< 5"), "{shown}");
/// ```
pub fn render_terminal(diagnostics: &[Diagnostic], source: &str, origin: &str, color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let mut out = String::new();
    for diagnostic in diagnostics {
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let annotation = AnnotationKind::Primary.span(caret(diagnostic, source));
        let snippet = Snippet::source(source).path(origin).fold(true).annotation(annotation);
        let mut group = level.primary_title(&diagnostic.message).id(diagnostic.kind.as_str()).element(snippet);
        if let Some(help) = &diagnostic.help {
            group = group.element(Level::HELP.message(help));
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&renderer.render(&[group]));
        out.push('\n');
    }
    out
}

/// The place as a range that lies in the source and covers at least one character, so that a caret is always shown.
fn caret(diagnostic: &Diagnostic, source: &str) -> std::ops::Range<usize> {
    let floor = |mut at: usize| {
        at = at.min(source.len());
        while !source.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let range = diagnostic.span.range();
    let start = floor(range.start);
    start..floor(range.end).max(start)
}

/// Renders findings as JSON, one object each, with line and column counted from 1.
pub fn render_json(diagnostics: &[Diagnostic], source: &str, origin: &str) -> serde_json::Value {
    let findings = diagnostics.iter().map(|diagnostic| {
        let (line, column) = diagnostic.span.line_column(source);
        json!({
            "kind": diagnostic.kind.as_str(),
            "detail": diagnostic.detail.map(super::Kind::as_str),
            "severity": match diagnostic.severity { Severity::Error => "error", Severity::Warning => "warning" },
            "message": diagnostic.message,
            "help": diagnostic.help,
            "origin": origin,
            "line": line,
            "column": column,
            "start": diagnostic.span.start,
            "end": diagnostic.span.end,
            "text": diagnostic.span.text(source),
        })
    });
    findings.collect()
}
