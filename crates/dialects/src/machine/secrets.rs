//! References to secrets of the host, in the few texts that may hold them.
//!
//! A secret stays a reference in everything that is stored: the text becomes a list of texts and of `{secret: name}`, which
//! whoever makes the call puts together. Data is always text, so it can never name a secret.

use branchpoint_expr::{Field, Located, Shape, Span};

/// The text, or the list of its parts if it names secrets.
pub(super) fn split(text: &Located) -> Located {
    let Shape::Str { text: written, verbatim } = &text.shape else { return text.clone() };
    let mut parts = Vec::new();
    let mut from = 0;
    for (open, close, name) in references(written) {
        push_text(&mut parts, text, written, (from, open), *verbatim);
        parts.push(secret(name, text.span));
        from = close;
    }
    if parts.is_empty() {
        return text.clone();
    }
    push_text(&mut parts, text, written, (from, written.len()), *verbatim);
    Located { shape: Shape::List(parts), span: text.span }
}

/// Where secrets are named, and which.
fn references(written: &str) -> Vec<(usize, usize, &str)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(open) = written[from..].find("{{").map(|at| from + at) {
        let Some(close) = written[open..].find("}}").map(|at| open + at) else { break };
        let content = written[open + 2..close].trim();
        let content = content.strip_prefix('.').unwrap_or(content);
        if let Some(name) = content.strip_prefix("secret.").filter(|name| is_name(name)) {
            found.push((open, close + 2, name));
        }
        from = close + 2;
    }
    found
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
}

fn push_text(
    parts: &mut Vec<Located>,
    whole: &Located,
    written: &str,
    (from, to): (usize, usize),
    verbatim: Option<u32>,
) {
    if from == to {
        return;
    }
    let start = verbatim.map(|start| start.saturating_add(u32::try_from(from).unwrap_or(u32::MAX)));
    let span = start.map_or(whole.span, |start| Span::new(start as usize, start as usize + to - from));
    parts.push(Located { shape: Shape::Str { text: written[from..to].into(), verbatim: start }, span });
}

fn secret(name: &str, span: Span) -> Located {
    let name = Located { shape: Shape::Str { text: name.into(), verbatim: None }, span };
    Located { shape: Shape::Object(vec![Field { key: "secret".into(), key_span: span, value: name }]), span }
}
