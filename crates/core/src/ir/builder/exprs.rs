//! Expressions of a program. Their names become slots while compiling, so nothing is looked up by name in a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_expr::{
    Bind, Bound, Condition, Dialect, Expression, Fillable, Formula, Located, Name, Options, Problems, Value,
};

use super::super::{ConditionId, ExprId, Index, Scope, ScopeId, SlotId};
use super::{Builder, push};

impl Builder {
    /// An expression, as a text.
    pub fn expr(&mut self, scope: ScopeId, text: &str, dialect: Dialect) -> Result<ExprId, Problems> {
        self.expr_with(scope, dialect, |options| Expression::compile(text, options))
    }

    /// A value of the document in which every text may hold placeholders.
    pub fn template(&mut self, scope: ScopeId, value: &Located, dialect: Dialect) -> Result<ExprId, Problems> {
        self.expr_with(scope, dialect, |options| Expression::document(value, options))
    }

    /// Whatever else gives a value: the options know the names of the scope.
    pub fn expr_with(
        &mut self,
        scope: ScopeId,
        dialect: Dialect,
        compile: impl FnOnce(Options<'_>) -> Result<Expression, Problems>,
    ) -> Result<ExprId, Problems> {
        let expression = compile(Options::dialect(dialect).bound(&self.sight(scope)))?;
        self.warnings.extend_from_slice(expression.warnings());
        Ok(self.push_expr(expression))
    }

    /// A condition, as a text.
    pub fn condition(&mut self, scope: ScopeId, text: &str, dialect: Dialect) -> Result<ConditionId, Problems> {
        self.condition_with(scope, dialect, |options| Condition::expression(text, options))
    }

    /// A condition in whatever spelling: `builder.condition_with(scope, dialect, |options| Condition::group(&group, options))`.
    pub fn condition_with(
        &mut self,
        scope: ScopeId,
        dialect: Dialect,
        compile: impl FnOnce(Options<'_>) -> Result<Condition, Problems>,
    ) -> Result<ConditionId, Problems> {
        let condition = compile(Options::dialect(dialect).bound(&self.sight(scope)))?;
        self.warnings.extend_from_slice(condition.warnings());
        Ok(ConditionId(push(&mut self.program.conditions, condition)))
    }

    /// An expression of the front-end's own making. It sees exactly the slots it is given, by these names, whatever the
    /// document calls its own, and may call functions that documents cannot.
    #[track_caller]
    pub fn formula(&mut self, text: &str, dialect: Dialect, slots: &[(&str, SlotId)]) -> ExprId {
        self.formula_with(text, dialect, slots, &[])
    }

    /// As [`Self::formula`], with names for values of the document: they need no slot, and no quoting.
    #[track_caller]
    pub fn formula_with(
        &mut self,
        text: &str,
        dialect: Dialect,
        slots: &[(&str, SlotId)],
        constants: &[(&str, Value)],
    ) -> ExprId {
        let written = Written::new(text, dialect, slots, constants);
        let Some(made) = self.formulas.exprs.get(&written) else {
            let made = compiled(text, dialect, slots, constants, Expression::compile);
            let expr = self.push_expr(made.fill(&values(constants)));
            self.formulas.exprs.insert(written, (made, expr));
            return expr;
        };
        // The same text over the same slots is the same expression, unless values of the document differ.
        if constants.is_empty() {
            return made.1;
        }
        let filled = made.0.fill(&values(constants));
        self.push_expr(filled)
    }

    /// As [`Self::formula`], a condition.
    #[track_caller]
    pub fn test(&mut self, text: &str, dialect: Dialect, slots: &[(&str, SlotId)]) -> ConditionId {
        self.test_with(text, dialect, slots, &[])
    }

    /// As [`Self::formula_with`], a condition.
    #[track_caller]
    pub fn test_with(
        &mut self,
        text: &str,
        dialect: Dialect,
        slots: &[(&str, SlotId)],
        constants: &[(&str, Value)],
    ) -> ConditionId {
        let written = Written::new(text, dialect, slots, constants);
        let Some(made) = self.formulas.tests.get(&written) else {
            let made = compiled(text, dialect, slots, constants, Condition::expression);
            let test = ConditionId(push(&mut self.program.conditions, made.fill(&values(constants))));
            self.formulas.tests.insert(written, (made, test));
            return test;
        };
        if constants.is_empty() {
            return made.1;
        }
        ConditionId(push(&mut self.program.conditions, made.0.fill(&values(constants))))
    }

    /// A value that is known.
    pub fn value(&mut self, value: impl Into<Value>) -> ExprId {
        let value = value.into();
        // By its JSON: two objects are equal in whatever order their keys stand, and yet they are not the same.
        let json = format!("{value:?}");
        if let Some(known) = self.constants.get(&json) {
            return *known;
        }
        let expr = self.push_expr(Expression::constant(value));
        self.constants.insert(json, expr);
        expr
    }

    /// What a slot holds.
    pub fn read(&mut self, slot: SlotId) -> ExprId {
        if let Some(known) = self.reads.get(&slot) {
            return *known;
        }
        let text = self.program.slots.get(slot.index()).map_or_else(|| "".into(), |slot| slot.name.clone());
        let expr = self.push_expr(Expression::read(Name { text, slot: Some(slot.0) }));
        self.reads.insert(slot, expr);
        expr
    }

    fn push_expr(&mut self, expression: Expression) -> ExprId {
        ExprId(push(&mut self.program.exprs, expression))
    }

    fn sight(&self, scope: ScopeId) -> Sight<'_> {
        Sight { scope, scopes: &self.program.scopes, names: &self.names }
    }
}

/// The formulas so far. A document has thousands of them, and few that differ in more than a value.
#[derive(Debug, Default)]
pub(super) struct Formulas {
    exprs: BTreeMap<Written, (Formula<Expression>, ExprId)>,
    tests: BTreeMap<Written, (Formula<Condition>, ConditionId)>,
}

/// What tells one formula from another.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Written {
    text: Box<str>,
    dialect: Dialect,
    slots: Box<[(Box<str>, SlotId)]>,
    holes: Box<[Box<str>]>,
}

impl Written {
    /// Slots that the text does not name make no difference.
    fn new(text: &str, dialect: Dialect, slots: &[(&str, SlotId)], constants: &[(&str, Value)]) -> Self {
        let slots = slots.iter().filter(|(name, _)| text.contains(name)).map(|(name, slot)| ((*name).into(), *slot));
        let holes = constants.iter().map(|(name, _)| (*name).into());
        Self { text: text.into(), dialect, slots: slots.collect(), holes: holes.collect() }
    }
}

#[track_caller]
fn compiled<T: Fillable>(
    text: &str,
    dialect: Dialect,
    slots: &[(&str, SlotId)],
    constants: &[(&str, Value)],
    compile: impl FnOnce(&str, Options<'_>) -> Result<T, Problems>,
) -> Formula<T> {
    let given = Given { slots };
    let holes: Vec<&str> = constants.iter().map(|(name, _)| *name).collect();
    let formula = Formula::compile(text, Options::dialect(dialect).bound(&given).inner(), &holes, compile);
    formula.unwrap_or_else(|problems| panic!("the formula `{text}` does not compile: {problems}"))
}

fn values(constants: &[(&str, Value)]) -> Vec<Value> {
    constants.iter().map(|(_, value)| value.clone()).collect()
}

/// The names of a formula.
struct Given<'b> {
    slots: &'b [(&'b str, SlotId)],
}

impl Bind for Given<'_> {
    fn bind(&self, path: &[&str]) -> Option<Bound> {
        let root = path.first()?;
        let (_, slot) = self.slots.iter().find(|(name, _)| name == root)?;
        Some(Bound { slot: slot.0, parts: 1 })
    }
}

/// The names that an expression in a scope can see.
struct Sight<'b> {
    scope: ScopeId,
    scopes: &'b [Scope],
    names: &'b [BTreeMap<Box<[Arc<str>]>, SlotId>],
}

impl Bind for Sight<'_> {
    /// The innermost scope that knows a beginning of the path decides; within it, the longest beginning.
    fn bind(&self, path: &[&str]) -> Option<Bound> {
        let path: Vec<Arc<str>> = path.iter().map(|part| Arc::from(*part)).collect();
        let mut scope = Some(self.scope);
        while let Some(here) = scope {
            let names = &self.names[here.index()];
            let known = (0..=path.len()).rev().find_map(|parts| Some((parts, names.get(&path[..parts])?)));
            if let Some((parts, slot)) = known {
                return Some(Bound { slot: slot.0, parts });
            }
            scope = self.scopes[here.index()].parent;
        }
        None
    }
}
