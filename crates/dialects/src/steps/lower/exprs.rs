//! Expressions: those of the document, and the small ones that lowering writes itself.

use branchpoint_core::ir::{ConditionId, ExprId, ScopeId, SlotId};
use branchpoint_expr::{
    Bind, Bound, Condition, Dialect, Expression, Form, Located, Name, Operand, Options, Problems, Value,
};

use super::Lower;

/// The names of an expression that lowering writes: documents cannot see them, and it cannot see theirs.
pub(super) struct Inner<'n>(pub(super) &'n [(&'n str, SlotId)]);

impl Bind for Inner<'_> {
    fn bind(&self, path: &[&str]) -> Option<Bound> {
        let (_, slot) = self.0.iter().find(|(name, _)| path.first() == Some(name))?;
        Some(Bound { slot: slot.0, parts: 1 })
    }
}

impl Lower<'_, '_> {
    /// An expression over slots.
    pub(super) fn inner(&mut self, text: &str, names: &[(&str, SlotId)]) -> ExprId {
        let names = Inner(names);
        let compiled = self.b.expr_with(branchpoint_core::ir::builder::ROOT, Dialect::Machine, |options| {
            Expression::compile(text, options.bound(&names))
        });
        compiled.expect("lowering writes expressions that compile")
    }

    /// A condition over slots.
    pub(super) fn when(&mut self, text: &str, names: &[(&str, SlotId)]) -> ConditionId {
        let names = Inner(names);
        let compiled = self.b.condition_with(branchpoint_core::ir::builder::ROOT, Dialect::Machine, |options| {
            Condition::expression(text, options.bound(&names))
        });
        compiled.expect("lowering writes conditions that compile")
    }

    /// A call of a builtin that documents cannot call.
    pub(super) fn call(&mut self, builtin: &str, operands: &[Operand]) -> ExprId {
        let call = self.b.expr_with(branchpoint_core::ir::builder::ROOT, Dialect::Machine, |_| {
            Ok(Expression::call(builtin, operands))
        });
        call.expect("a call of a builtin always compiles")
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

    /// What a slot holds, for a call of a builtin.
    pub(super) fn operand(slot: SlotId) -> Operand {
        Operand::Read(Name { text: "".into(), slot: Some(slot.0) })
    }

    pub(super) fn text_value(&mut self, text: &str) -> ExprId {
        self.b.value(Value::from(text))
    }
}
