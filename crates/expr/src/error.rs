//! The error of a failed evaluation.

use crate::Kind;
use crate::diagnostic::{Diagnostic, Span};
use crate::dialect::Dialect;
use crate::fault::Fault;
use crate::program::Program;

/// The error of a failed evaluation, with its location in the source.
///
/// ```
/// # use branchpoint_expr::*;
/// let error = Condition::compile("a > 1")?.evaluate(&serde_json::json!({"a": "x"})).unwrap_err();
/// assert_eq!((error.kind, error.detail), (Kind::ConditionError, Kind::WrongKind));
/// assert_eq!(error.message, "`>` cannot compare the text \"x\" with the number 1; the text is not a number");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {message}")]
pub struct EvalError {
    /// The stable name, as in the dialect's spec.
    pub kind: Kind,
    /// The exact cause.
    pub detail: Kind,
    /// One sentence for people.
    pub message: String,
    /// The location in the source text.
    pub span: Span,
}

impl EvalError {
    #[cold]
    pub(crate) fn new(fault: Fault, program: &Program, dialect: Dialect) -> Self {
        let span = fault.node.and_then(|node| program.spans.get(node as usize)).copied().unwrap_or_default();
        Self { kind: dialect.failure(fault.kind), detail: fault.kind, message: fault.message, span }
    }

    /// Converts the error to a diagnostic for the renderers.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let error = Condition::compile("a > 1")?.evaluate(&serde_json::json!({"a": "x"})).unwrap_err();
    /// assert_eq!(error.to_diagnostic().span, Span::new(0, 5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_diagnostic(&self) -> Diagnostic {
        let detail = (self.detail != self.kind).then_some(self.detail);
        Diagnostic { detail, ..Diagnostic::error(self.kind, self.span, self.message.clone()) }
    }
}
