//! Renders diagnostics for terminals and as JSON.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet, Title};
use serde_json::json;

use super::position::Positions;
use super::window::Window;
use super::{Diagnostic, Severity, Span};

/// The maximum length of the source excerpt in JSON.
const EXCERPT_BYTES: usize = 4096;

/// Renders findings for people: the source line, a caret under the location, and the remedy.
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
    let positions = Positions::new(source);
    let mut out = String::new();
    for diagnostic in diagnostics {
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        if !out.is_empty() {
            out.push('\n');
        }
        let title = level.primary_title(&diagnostic.message).id(diagnostic.kind.as_str());
        let mut show = |title: Title<'_>, span: Span, help: Option<&str>| {
            let window = Window::around(source, caret(span, source));
            let first_line = positions.line_column(window.start).0;
            let annotation = AnnotationKind::Primary.span(window.span.clone());
            let snippet = Snippet::source(window.text).line_start(first_line).path(origin).fold(true);
            let mut group = title.element(snippet.annotation(annotation));
            if let Some(help) = help {
                group = group.element(Level::HELP.message(help));
            }
            let shown = renderer.render(&[group]);
            out.push_str(&if window.is_cut { with_column(&shown, &window, &positions, origin) } else { shown });
            out.push('\n');
        };
        show(title, diagnostic.span, diagnostic.help.as_deref());
        if let Some(related) = &diagnostic.related {
            show(Level::NOTE.primary_title(&related.message), related.span, None);
        }
    }
    out
}

/// Corrects the column of a line whose beginning was cut, because the renderer counts from the beginning of its input.
fn with_column(shown: &str, window: &Window<'_>, positions: &Positions<'_>, origin: &str) -> String {
    let (line, column) = positions.line_column(window.start + window.span.start);
    let counted = window.text[..window.span.start].chars().count() + 1;
    let (title, place) = shown.split_at(shown.find("-->").unwrap_or_default());
    title.to_owned() + &place.replacen(&format!("{origin}:{line}:{counted}"), &format!("{origin}:{line}:{column}"), 1)
}

/// The span clamped to the source and to character boundaries.
fn caret(span: Span, source: &str) -> std::ops::Range<usize> {
    let range = span.range();
    let start = source.floor_char_boundary(range.start);
    start..source.floor_char_boundary(range.end).max(start)
}

/// Renders findings as JSON objects, with line and column counted from 1.
///
/// ```
/// # use branchpoint_expr::*;
/// let source = "a ==";
/// let problems = Condition::compile(source).unwrap_err();
/// let json = render_json(&problems.0, source, "order.yaml");
/// assert_eq!(json[0]["kind"], "bad_condition");
/// ```
pub fn render_json(diagnostics: &[Diagnostic], source: &str, origin: &str) -> serde_json::Value {
    let positions = Positions::new(source);
    let findings = diagnostics.iter().map(|diagnostic| {
        let (line, column) = positions.line_column(diagnostic.span.start as usize);
        let related = diagnostic.related.as_ref().map(|related| {
            let (line, column) = positions.line_column(related.span.start as usize);
            json!({"message": related.message, "line": line, "column": column,
                "start": related.span.start, "end": related.span.end})
        });
        let mut finding = json!({
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
            "text": excerpt(diagnostic.span, source),
        });
        if let Some(related) = related {
            finding["related"] = related;
        }
        finding
    });
    findings.collect()
}

/// The source text of a span, cut because many findings may cover the whole text.
fn excerpt(span: Span, source: &str) -> &str {
    let text = span.text(source);
    &text[..text.floor_char_boundary(EXCERPT_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    #[test]
    fn a_long_source_shows_a_finding_as_a_short_one_does() {
        let text = "steps:\n  - id: ü {{ b\n    text: |\n      one\n      two\n";
        for (start, end) in [(0, 5), (14, 16), (17, 19), (14, 40), (0, text.len()), (text.len(), text.len())] {
            let shown = |width: usize, behind: bool| {
                let padding = format!("#{}\n", "n".repeat(width)).repeat(100);
                let source = format!("{padding}{text}{}", if behind { format!("#\n{padding}") } else { String::new() });
                let at = |at: usize| padding.len() + text.floor_char_boundary(at);
                let finding = Diagnostic::error(Kind::Syntax, Span::new(at(start), at(end)), "odd");
                render_terminal(&[finding], &source, "a.yaml", false)
            };
            for behind in [false, true] {
                // A text that is rendered as a whole, and one of which only a window is.
                assert_eq!(shown(10, behind), shown(500, behind), "{start}..{end}");
            }
        }
    }

    #[test]
    fn a_very_long_line_is_cut_around_the_finding_and_keeps_its_column() {
        let source = "x".repeat(50_000) + "{{ odd }}" + &"y".repeat(50_000);
        let finding = Diagnostic::error(Kind::Syntax, Span::new(50_000, 50_002), "odd");
        let shown = render_terminal(&[finding], &source, "a.yaml", false);
        assert!(shown.contains("a.yaml:1:50001"), "{shown}");
        assert!(shown.contains("{{ odd }}") && shown.contains("^^") && shown.contains("..."), "{shown}");
        assert!(shown.len() < 2_000, "{}", shown.len());
    }

    #[test]
    fn an_excerpt_is_short() {
        let source = "ü".repeat(100_000);
        let finding = Diagnostic::error(Kind::Syntax, Span::new(0, source.len()), "odd");
        let shown = render_json(&[finding], &source, "a.yaml");
        assert_eq!(shown[0]["text"].as_str().map(str::len), Some(EXCERPT_BYTES));
    }
}
