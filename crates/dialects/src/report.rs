//! Findings about a document.

use branchpoint_core::ir::{Defect, DefectKind};
use branchpoint_expr::{Diagnostic, Kind, Located, Problems, Span};

use crate::fields::{Check, Style};

/// The largest number of findings that get a "did you mean".
const SUGGESTED: usize = 50;

/// The finding for a document that passes the rules but cannot be lowered. It may be too large: its parts may be repeated in many contexts,
/// or be part of one formula. Any other reason is a defect of the lowering.
pub(crate) fn unlowered(wrong: &[Defect], span: Span) -> Diagnostic {
    let reasons = wrong.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    if wrong.iter().any(|wrong| matches!(wrong.kind, DefectKind::TooLarge | DefectKind::Formula)) {
        let message = format!("the document is too large to be run: {reasons}");
        return Diagnostic::error(Kind::NodeLimit, span, message)
            .with_help("call a part of it as a workflow of its own, or pass long lists as inputs");
    }
    let message = format!("the document was lowered to an invalid program: {reasons}");
    Diagnostic::error(Kind::Unsupported, span, message).with_help("please report this document")
}

/// The findings about a document.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) findings: Vec<Diagnostic>,
}

impl Report {
    /// The checker of objects.
    pub(crate) fn check(&mut self, style: Style) -> Check<'_> {
        Check::new(style, &mut self.findings)
    }

    pub(crate) fn error(&mut self, kind: Kind, span: Span, message: impl Into<String>, help: &str) {
        self.findings.push(Diagnostic::error(kind, span, message).with_help(help));
    }

    pub(crate) fn warn(&mut self, kind: Kind, span: Span, message: impl Into<String>, help: &str) {
        self.findings.push(Diagnostic::warning(kind, span, message).with_help(help));
    }

    /// Reports an unknown name. A "did you mean" compares all names, so only the first findings get one.
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

    /// Adds help to the latest finding, unless it has some.
    pub(crate) fn help_latest(&mut self, help: &str) {
        if let Some(finding) = self.findings.last_mut() {
            finding.help.get_or_insert_with(|| help.into());
        }
    }

    /// The compiled condition; reports the problems of one that does not compile.
    pub(crate) fn ok_or_report<T>(&mut self, compiled: Result<T, Problems>) -> Option<T> {
        compiled.map_err(|problems| self.findings.extend(problems.0)).ok()
    }
}

/// The span for a missing field: the beginning of its object, because the whole object may be long.
pub(crate) fn start_of(object: &Located) -> Span {
    Span { start: object.span.start, end: object.span.end.min(object.span.start + 1) }
}
