//! Findings about a state machine, each reported once.

use branchpoint_expr::{Diagnostic, Kind, Span};

use super::tables::STYLE;
use crate::fields::Check;

/// The findings until now.
#[derive(Debug, Default)]
pub(in crate::machine) struct Findings(pub(in crate::machine) Vec<Diagnostic>);

impl Findings {
    /// The checker of objects.
    pub(super) fn check(&mut self) -> Check<'_> {
        Check::new(STYLE, &mut self.0)
    }

    pub(in crate::machine) fn error(&mut self, kind: Kind, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        self.push(Diagnostic::error(kind, span, message))
    }

    pub(in crate::machine) fn warn(&mut self, kind: Kind, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        self.push(Diagnostic::warning(kind, span, message))
    }

    /// Adds a finding, unless it is a duplicate.
    pub(in crate::machine) fn push(&mut self, finding: Diagnostic) -> &mut Diagnostic {
        let known = self.0.iter().position(|known| {
            known.kind == finding.kind && known.span == finding.span && known.message == finding.message
        });
        let at = known.unwrap_or_else(|| {
            self.0.push(finding);
            self.0.len() - 1
        });
        &mut self.0[at]
    }

    /// Adds a finding with a "did you mean".
    pub(in crate::machine) fn suggest<'c>(
        &mut self,
        finding: Diagnostic,
        written: &str,
        candidates: impl IntoIterator<Item = &'c str>,
    ) {
        self.push(finding.suggest(written, candidates));
    }
}
