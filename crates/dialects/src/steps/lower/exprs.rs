//! Expressions: those of the document, and the small ones that lowering writes itself.

use branchpoint_core::ir::{ConditionId, ExprId, ScopeId, SlotId};
use branchpoint_expr::{Condition, Dialect, Expression, Form, Located, Options, Problems, Value};

use super::Lower;

impl Lower<'_, '_> {
    /// An expression over slots: documents cannot see its names, and it cannot see theirs.
    pub(super) fn inner(&mut self, text: &str, names: &[(&str, SlotId)]) -> ExprId {
        self.b.formula(text, Dialect::Machine, names)
    }

    /// As [`Self::inner`], with names for values that are known.
    pub(super) fn inner_with(&mut self, text: &str, names: &[(&str, SlotId)], known: &[(&str, Value)]) -> ExprId {
        self.b.formula_with(text, Dialect::Machine, names, known)
    }

    /// As [`Self::when`], with names for values that are known.
    pub(super) fn when_with(&mut self, text: &str, names: &[(&str, SlotId)], known: &[(&str, Value)]) -> ConditionId {
        self.b.test_with(text, Dialect::Machine, names, known)
    }

    /// A condition over slots.
    pub(super) fn when(&mut self, text: &str, names: &[(&str, SlotId)]) -> ConditionId {
        self.b.test(text, Dialect::Machine, names)
    }

    /// A template of the document.
    pub(super) fn template(&mut self, scope: ScopeId, value: &Located) -> ExprId {
        self.written(scope, |options| Expression::formed(value, Form::Text, options))
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

    pub(super) fn text_value(&mut self, text: &str) -> ExprId {
        self.b.value(Value::from(text))
    }
}
