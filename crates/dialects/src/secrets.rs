//! References to secrets of the host in the texts of calls, in every dialect.
//!
//! A secret stays a reference in everything that is stored. A text that names secrets becomes a list of parts: a text
//! and a `{secret: name}` in turn, beginning and ending with a text. The effect lists the paths of such texts, and the
//! runner joins the parts. Data fills only the texts, so it can never name a secret.

use branchpoint_expr::{Field, Located, Shape, Span};

/// The text as a list of parts; none if it names no secret.
pub(crate) fn split(text: &Located) -> Option<Located> {
    let Shape::Str { text: written, verbatim } = &text.shape else { return None };
    let mut parts = Vec::new();
    let mut from = 0;
    for (open, close, name) in references(written) {
        parts.push(part(text, written, (from, open), *verbatim));
        parts.push(secret(name, text.span));
        from = close;
    }
    if parts.is_empty() {
        return None;
    }
    parts.push(part(text, written, (from, written.len()), *verbatim));
    Some(Located { shape: Shape::List(parts), span: text.span })
}

/// The positions and the names of references to secrets.
fn references(written: &str) -> Vec<(usize, usize, &str)> {
    let mut names = Vec::new();
    let mut from = 0;
    while let Some(open) = written[from..].find("{{").map(|at| from + at) {
        let Some(close) = written[open..].find("}}").map(|at| open + at) else { break };
        let content = written[open + 2..close].trim();
        let content = content.strip_prefix('.').unwrap_or(content);
        if let Some(name) = content.strip_prefix("secret.").filter(|name| is_name(name)) {
            names.push((open, close + 2, name));
        }
        from = close + 2;
    }
    names
}

/// Whether a text is a valid name of a secret.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

fn part(whole: &Located, written: &str, (from, to): (usize, usize), verbatim: Option<u32>) -> Located {
    let start = verbatim.map(|start| start.saturating_add(u32::try_from(from).unwrap_or(u32::MAX)));
    let span = start.map_or(whole.span, |start| Span::new(start as usize, start as usize + to - from));
    Located { shape: Shape::Str { text: written[from..to].into(), verbatim: start }, span }
}

fn secret(name: &str, span: Span) -> Located {
    let name = Located { shape: Shape::Str { text: name.into(), verbatim: None }, span };
    Located { shape: Shape::Object(vec![Field { key: "secret".into(), key_span: span, value: name }]), span }
}
