//! Expressions of the document.

use branchpoint_core::ir::{ConditionId, ExprId, ScopeId};
use branchpoint_expr::{Condition, Dialect, Expression, Form, Located, Options, Problems};

use super::Lower;

impl Lower<'_, '_> {
    /// A template of the document.
    pub(super) fn template(&mut self, scope: ScopeId, value: &Located) -> ExprId {
        self.written(scope, |options| Expression::with_form(value, Form::Text, options))
    }

    /// An expression of the document, which the rules have compiled once already.
    pub(super) fn written(
        &mut self,
        scope: ScopeId,
        compile: impl FnOnce(Options<'_>) -> Result<Expression, Problems>,
    ) -> ExprId {
        self.b.expr_with(scope, Dialect::Steps, compile).expect("the rules refuse what does not compile")
    }

    /// A condition of the document.
    pub(super) fn condition(&mut self, scope: ScopeId, holder: &Located) -> ConditionId {
        let compiled = self.b.condition_with(scope, Dialect::Steps, |options| Condition::targets(holder, options));
        compiled.expect("the rules refuse what does not compile")
    }
}
