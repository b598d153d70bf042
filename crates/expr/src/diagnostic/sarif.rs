//! Renders diagnostics as SARIF 2.1.0, which code hosts and editors read.

use std::fmt::Write;

use serde_json::{Value, json};

use super::position::Positions;
use super::{Diagnostic, Kind, Severity, Span};

/// The findings in one source text.
///
/// ```
/// # use branchpoint_expr::*;
/// let source = "a ==";
/// let problems = Condition::compile(source).unwrap_err();
/// let text = SourceFindings { origin: "order.yaml", source, diagnostics: &problems.0 };
/// let log = render_sarif(&[text], &[], "1.0.0", |kind| format!("about {kind}"));
/// assert_eq!(log["runs"][0]["results"][0]["ruleId"], "bad_condition");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SourceFindings<'a> {
    /// The name of the text, a path if it has one.
    pub origin: &'a str,
    /// The text.
    pub source: &'a str,
    /// The findings.
    pub diagnostics: &'a [Diagnostic],
}

/// A source that could not be read. It is reported, because a log without it would claim that it is correct.
///
/// ```
/// # use branchpoint_expr::*;
/// let unread = UnreadableSource { origin: "secret.yaml", reason: "permission denied" };
/// let log = render_sarif(&[], &[unread], "1.0.0", |_| String::new());
/// assert_eq!(log["runs"][0]["invocations"][0]["executionSuccessful"], false);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct UnreadableSource<'a> {
    /// The name of the text, a path if it has one.
    pub origin: &'a str,
    /// Why it could not be read.
    pub reason: &'a str,
}

/// Renders the findings of several texts as one SARIF log with one run. `about` returns the description of a kind. Only kinds with
/// findings become rules.
///
/// ```
/// # use branchpoint_expr::*;
/// let source = "a ==";
/// let problems = Condition::compile(source).unwrap_err();
/// let text = SourceFindings { origin: "order.yaml", source, diagnostics: &problems.0 };
/// let log = render_sarif(&[text], &[], "1.0.0", |kind| format!("about {kind}"));
/// assert_eq!(log["runs"][0]["results"][0]["ruleId"], "bad_condition");
/// ```
pub fn render_sarif(
    texts: &[SourceFindings<'_>],
    unread: &[UnreadableSource<'_>],
    version: &str,
    about: impl Fn(Kind) -> String,
) -> Value {
    let mut kinds: Vec<Kind> = texts.iter().flat_map(|text| text.diagnostics).map(|finding| finding.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut results = Vec::new();
    for text in texts {
        let positions = Positions::new(text.source);
        results.extend(text.diagnostics.iter().map(|finding| result(finding, text.origin, &positions, &kinds)));
    }
    let notifications: Vec<Value> = unread.iter().map(notification).collect();
    let rules: Vec<Value> = kinds.iter().map(|kind| rule(*kind, &about(*kind))).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "branchpoint", "semanticVersion": version, "rules": rules}},
            "invocations": [{"executionSuccessful": unread.is_empty(), "toolExecutionNotifications": notifications}],
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn notification(unread: &UnreadableSource<'_>) -> Value {
    let place = json!({"physicalLocation": {"artifactLocation": {"uri": uri(unread.origin)}}});
    json!({"level": "error", "message": {"text": unread.reason}, "locations": [place]})
}

fn rule(kind: Kind, about: &str) -> Value {
    let more = format!("Run `branchpoint explain {kind}` for an example and the way out.");
    json!({"id": kind.as_str(), "shortDescription": {"text": about}, "help": {"text": more}})
}

fn result(finding: &Diagnostic, origin: &str, positions: &Positions<'_>, kinds: &[Kind]) -> Value {
    let message = match &finding.help {
        Some(help) => format!("{}\nhelp: {help}", finding.message),
        None => finding.message.clone(),
    };
    let mut result = json!({
        "ruleId": finding.kind.as_str(),
        "ruleIndex": kinds.binary_search(&finding.kind).unwrap_or_default(),
        "level": match finding.severity { Severity::Error => "error", Severity::Warning => "warning" },
        "message": {"text": message},
        "locations": [{"physicalLocation": {
            "artifactLocation": {"uri": uri(origin)},
            "region": region(finding.span, positions),
        }}],
    });
    if let Some(related) = &finding.related {
        result["relatedLocations"] = json!([{
            "physicalLocation": {
                "artifactLocation": {"uri": uri(origin)},
                "region": region(related.span, positions),
            },
            "message": {"text": related.message},
        }]);
    }
    if let Some(detail) = finding.detail {
        result["properties"] = json!({"detail": detail.as_str()});
    }
    result
}

/// The region of a span: lines and columns from 1, the end column after the last character.
fn region(span: Span, positions: &Positions<'_>) -> Value {
    let (start_line, start_column) = positions.line_column(span.start as usize);
    let (end_line, end_column) = positions.line_column(span.end.max(span.start) as usize);
    json!({"startLine": start_line, "startColumn": start_column, "endLine": end_line, "endColumn": end_column})
}

/// Converts a path to a URI reference. A relative path stays relative, because code hosts resolve it against the repository.
fn uri(path: &str) -> String {
    let path = path.replace('\\', "/");
    let mut uri = if path.starts_with('/') { "file://".to_owned() } else { String::new() };
    for byte in path.trim_start_matches("./").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(byte)),
            _ => write!(uri, "%{byte:02X}").expect("writing to a text does not fail"),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_has_a_rule_and_a_region() {
        let source = "steps:\n  - id: ü b\n";
        let at = source.find("ü b").map_or(Span::default(), |at| Span::new(at, at + "ü b".len()));
        let findings = [
            Diagnostic::warning(Kind::UnknownKey, Span::new(0, 5), "odd"),
            Diagnostic::error(Kind::BadField, at, "invalid id").with_help("use letters"),
        ];
        let texts = [SourceFindings { origin: "./my flows/a.yaml", source, diagnostics: &findings }];
        let log = render_sarif(&texts, &[], "1.2.3", |kind| format!("About {kind}."));
        let run = &log["runs"][0];
        let result = &run["results"][1];
        let rule = &run["tool"]["driver"]["rules"][usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
        assert_eq!(rule["id"], result["ruleId"]);
        assert_eq!(rule["shortDescription"]["text"], "About bad_field.");
        assert_eq!(result["level"], "error");
        assert_eq!(result["message"]["text"], "invalid id\nhelp: use letters");
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "my%20flows/a.yaml");
        assert_eq!(place["region"], json!({"startLine": 2, "startColumn": 9, "endLine": 2, "endColumn": 12}));
    }

    #[test]
    fn an_unreadable_source_is_reported() {
        let unread = [UnreadableSource { origin: "a b.yaml", reason: "cannot read a b.yaml" }];
        let run = &render_sarif(&[], &unread, "1.2.3", |_| String::new())["runs"][0];
        let invocation = &run["invocations"][0];
        assert_eq!(invocation["executionSuccessful"], false);
        let notification = &invocation["toolExecutionNotifications"][0];
        assert_eq!(notification["message"]["text"], "cannot read a b.yaml");
        assert_eq!(notification["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "a%20b.yaml");
        assert_eq!(run["results"], json!([]));
    }

    #[test]
    fn paths_become_references() {
        assert_eq!(uri("/a b/ü.yaml"), "file:///a%20b/%C3%BC.yaml");
        assert_eq!(uri("a\\b.yaml"), "a/b.yaml");
        assert_eq!(uri("a:b#c"), "a%3Ab%23c");
    }
}
