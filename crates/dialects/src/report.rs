//! What is found while a document is read, and the questions that every reading asks of its parts.

use std::sync::Arc;

use branchpoint_core::ir::{Invalid, Wrong};
use branchpoint_expr::{Diagnostic, Kind, Located, Problems, Shape, Span};

/// How many findings may get a "did you mean".
const SUGGESTED: usize = 50;

/// Why a document has no program, though the rules accept it. It may be too large: its parts may be repeated in many contexts,
/// or stand together in one formula. Anything else is a defect of the lowering.
pub(crate) fn unlowered(wrong: &[Invalid], span: Span) -> Diagnostic {
    let what = wrong.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    if wrong.iter().any(|wrong| matches!(wrong.kind, Wrong::TooLarge | Wrong::Formula)) {
        let message = format!("the document is too large to be run: {what}");
        return Diagnostic::error(Kind::NodeLimit, span, message)
            .with_help("call a part of it as a workflow of its own, or pass long lists as inputs");
    }
    let message = format!("the document was lowered to an invalid program: {what}");
    Diagnostic::error(Kind::Unsupported, span, message).with_help("please report this document")
}

/// The findings so far.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) findings: Vec<Diagnostic>,
}

impl Report {
    pub(crate) fn error(&mut self, kind: Kind, span: Span, message: impl Into<String>, help: &str) {
        self.findings.push(Diagnostic::error(kind, span, message).with_help(help));
    }

    pub(crate) fn warn(&mut self, kind: Kind, span: Span, message: impl Into<String>, help: &str) {
        self.findings.push(Diagnostic::warning(kind, span, message).with_help(help));
    }

    /// Refuses a name that nothing has. A "did you mean" looks at all names, so only the first findings get one.
    pub(crate) fn unknown<'n>(
        &mut self,
        kind: Kind,
        span: Span,
        message: String,
        written: &str,
        names: impl IntoIterator<Item = &'n str>,
    ) {
        let finding = Diagnostic::error(kind, span, message);
        let finding = if self.findings.len() < SUGGESTED { finding.suggest(written, names) } else { finding };
        self.findings.push(finding);
    }

    /// Refuses a part that is of the wrong kind.
    pub(crate) fn odd(&mut self, kind: Kind, found: &Located, wanted: &str) {
        let message = format!("{wanted}, and this is {}", found.describe());
        self.findings.push(Diagnostic::error(kind, found.span, message));
    }

    /// What came of compiling a condition, if it compiled.
    pub(crate) fn compiled<T>(&mut self, compiled: Result<T, Problems>) -> Option<T> {
        compiled.map_err(|problems| self.findings.extend(problems.0)).ok()
    }

    /// Warns of keys that no table lists: most of them are misspelt.
    pub(crate) fn unknown_keys(&mut self, located: &Located, known: &[&str]) {
        for field in located.fields().iter().filter(|field| !known.contains(&&*field.key)) {
            let message = format!("the key `{}` has no meaning here", field.key);
            let finding = Diagnostic::warning(Kind::UnknownKey, field.key_span, message);
            self.findings.push(finding.suggest(&field.key, known.iter().copied()));
        }
    }

    /// A part that must be text if it is there.
    pub(crate) fn optional_text(&mut self, kind: Kind, object: &Located, key: &str) -> Option<Arc<str>> {
        let found = object.get(key)?;
        if found.text().is_none() {
            self.odd(kind, found, &format!("`{key}` is text"));
        }
        found.text().cloned()
    }

    /// A list of texts, if it is there.
    pub(crate) fn texts(&mut self, kind: Kind, object: &Located, key: &str) -> Option<Vec<Arc<str>>> {
        let found = object.get(key)?;
        let Some(items) = found.items() else {
            self.odd(kind, found, &format!("`{key}` is a list of texts"));
            return None;
        };
        for item in items.iter().filter(|item| item.text().is_none()) {
            self.odd(kind, item, &format!("every entry of `{key}` is text"));
        }
        Some(items.iter().filter_map(Located::text).cloned().collect())
    }

    /// A text, or a list of texts which are lines of one.
    pub(crate) fn lines(&mut self, kind: Kind, object: &Located, key: &str) -> Option<String> {
        let found = object.get(key)?;
        if let Some(text) = found.text() {
            return Some(text.to_string());
        }
        if found.items().is_none() {
            self.odd(kind, found, &format!("`{key}` is text or a list of texts"));
            return None;
        }
        self.texts(kind, object, key).map(|lines| lines.join("\n"))
    }

    /// True or false, if it is there.
    pub(crate) fn flag(&mut self, kind: Kind, object: &Located, key: &str) -> Option<bool> {
        let found = object.get(key)?;
        if let Shape::Bool(flag) = found.shape {
            return Some(flag);
        }
        self.odd(kind, found, &format!("`{key}` is true or false"));
        None
    }
}

/// The place of what an object lacks: its beginning, because the whole of it may fill the screen.
pub(crate) fn start_of(object: &Located) -> Span {
    Span { start: object.span.start, end: object.span.end.min(object.span.start + 1) }
}
