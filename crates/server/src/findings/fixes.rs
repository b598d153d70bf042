//! The edits that fix findings.

use branchpoint_expr::{Diagnostic, Severity};
use serde_json::{Value, json};

/// The edits that the help of a finding suggests: `did you mean X?` and ``write `X` ``.
pub(super) fn fixes(finding: &Diagnostic, text: &str) -> Vec<Value> {
    let Some(help) = &finding.help else { return Vec::new() };
    let suggested = ["did you mean `", "write `"].iter().find_map(|start| {
        let rest = &help[help.find(start)? + start.len()..];
        rest.split_once('`').map(|(suggested, _)| suggested)
    });
    let Some(suggested) = suggested else { return Vec::new() };
    if suggested.contains('…') {
        // An example of a form, not a replacement.
        return Vec::new();
    }
    let span = finding.span.text(text);
    // The span may be a whole expression of which one word is wrong, or a word whose path the message names.
    let word = Some(span.trim_matches(['"', '\''])).filter(|word| is_word(word));
    let named = quoted(&finding.message).filter(|word| only_place(span, word).is_some());
    let wrong = if finding.severity == Severity::Error { word.or(named) } else { named.or(word) };
    let Some((offset, wrong)) = wrong.and_then(|wrong| only_place(span, wrong).map(|at| (at, wrong))) else {
        return Vec::new();
    };
    let start = finding.span.start as usize + offset;
    let edit = json!({"start": start, "end": start + wrong.len(), "text": suggested});
    vec![json!({"title": format!("Replace with `{suggested}`"), "edits": [edit]})]
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_-.$".contains(c))
}

/// The first text in backquotes.
fn quoted(message: &str) -> Option<&str> {
    message.split('`').nth(1).filter(|text| is_word(text))
}

/// The place of a word in a text, if it occurs there once.
fn only_place(text: &str, word: &str) -> Option<usize> {
    let mut places = text.match_indices(word);
    let first = places.next()?.0;
    places.next().is_none().then_some(first)
}
