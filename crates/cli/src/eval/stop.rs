//! Why an evaluation ended before it began.

use branchpoint_expr::Diagnostic;

use crate::source::Source;

/// Why there is nothing to evaluate.
pub(crate) enum Stop {
    /// Something is wrong at a place in a text.
    Found { source: Source, findings: Vec<Diagnostic> },
    /// Anything else.
    Trouble(anyhow::Error),
}

impl From<anyhow::Error> for Stop {
    fn from(trouble: anyhow::Error) -> Self {
        Self::Trouble(trouble)
    }
}
