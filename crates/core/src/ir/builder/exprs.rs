//! Expressions of a program. Names become slots while compiling, so a run looks up nothing by name.

use std::collections::BTreeSet;
use std::panic::Location;
use std::sync::Arc;

use branchpoint_expr::{Bind, Binding, Condition, Dialect, Expression, Located, Name, Options, Problems, Value};

use super::super::{ConditionId, ExprId, Index, Scope, ScopeId, SlotId};
use super::formulas::Written;
use super::names::{EncodedPath, Names};
use super::{Builder, Defect, DefectKind, push};

impl Builder {
    /// Compiles an expression.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let input = b.input();
    /// b.name(ROOT, &["inputs"], input);
    /// let total = b.expr(ROOT, "inputs.price * inputs.qty", Dialect::Machine)?;
    /// # Ok::<(), branchpoint_expr::Problems>(())
    /// ```
    pub fn expr(&mut self, scope: ScopeId, text: &str, dialect: Dialect) -> Result<ExprId, Problems> {
        self.expr_with(scope, dialect, |options| Expression::compile(text, options))
    }

    /// Compiles a value of the document in which every text may have placeholders.
    ///
    /// ```
    /// use branchpoint_core::ir::builder::{Builder, ROOT};
    /// use branchpoint_expr::{Dialect, Located, Value};
    ///
    /// let mut b = Builder::new();
    /// let value = Located::from(&Value::from("Hello {{inputs.name}}"));
    /// let input = b.input();
    /// b.name(ROOT, &["inputs"], input);
    /// b.template(ROOT, &value, Dialect::Machine)?;
    /// # Ok::<(), branchpoint_expr::Problems>(())
    /// ```
    pub fn template(&mut self, scope: ScopeId, value: &Located, dialect: Dialect) -> Result<ExprId, Problems> {
        self.expr_with(scope, dialect, |options| Expression::document(value, options))
    }

    /// Compiles an expression with another function. The options contain the names of the scope.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let sum = b.expr_with(ROOT, Dialect::Steps, |options| Expression::compile("1 + 2", options))?;
    /// # Ok::<(), branchpoint_expr::Problems>(())
    /// ```
    pub fn expr_with(
        &mut self,
        scope: ScopeId,
        dialect: Dialect,
        compile: impl FnOnce(Options<'_>) -> Result<Expression, Problems>,
    ) -> Result<ExprId, Problems> {
        let expression = compile(Options::dialect(dialect).bound(&self.scope_view(scope)))?;
        self.warnings.extend_from_slice(expression.warnings());
        Ok(self.push_expr(expression))
    }

    /// Compiles a condition.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let input = b.input();
    /// b.name(ROOT, &["inputs"], input);
    /// let enough = b.condition(ROOT, "inputs.count > 10", Dialect::Machine)?;
    /// # Ok::<(), branchpoint_expr::Problems>(())
    /// ```
    pub fn condition(&mut self, scope: ScopeId, text: &str, dialect: Dialect) -> Result<ConditionId, Problems> {
        self.condition_with(scope, dialect, |options| Condition::expression(text, options))
    }

    /// Compiles a condition of any form: `builder.condition_with(scope, dialect, |options| Condition::group(&group, options))`.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let holds = b.condition_with(ROOT, Dialect::Steps, |options| Condition::expression("1 < 2", options))?;
    /// # Ok::<(), branchpoint_expr::Problems>(())
    /// ```
    pub fn condition_with(
        &mut self,
        scope: ScopeId,
        dialect: Dialect,
        compile: impl FnOnce(Options<'_>) -> Result<Condition, Problems>,
    ) -> Result<ConditionId, Problems> {
        let condition = compile(Options::dialect(dialect).bound(&self.scope_view(scope)))?;
        self.warnings.extend_from_slice(condition.warnings());
        Ok(self.push_condition(condition))
    }

    /// Adds an expression written by the front-end. The expression can read only the given slots and constants by these names, regardless
    /// of the names in the document, and may call internal functions.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let input = b.input();
    /// let next = b.formula("round + step", Dialect::Steps, &[("round", input)], &[("step", Value::Int(1))]);
    /// ```
    #[track_caller]
    pub fn formula(
        &mut self,
        text: &str,
        dialect: Dialect,
        slots: &[(&str, SlotId)],
        constants: &[(&str, Value)],
    ) -> ExprId {
        let written = Written { text, dialect, slots, constants };
        let (exprs, size) = (&mut self.program.exprs, &mut self.size);
        let compiled = self.formulas.number(written, Expression::compile, |compiled| {
            size.add(compiled.size_bytes());
            ExprId(push(exprs, compiled))
        });
        // A closure would hide the caller's location from the error.
        match compiled {
            Ok(id) => id,
            Err(problems) => {
                self.reject_formula(text, &problems);
                self.value(Value::Null)
            }
        }
    }

    /// Like [`Self::formula`], for a condition.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let input = b.input();
    /// let has_rounds = b.test("round < limit", Dialect::Steps, &[("round", input)], &[("limit", Value::Int(5))]);
    /// ```
    #[track_caller]
    pub fn test(
        &mut self,
        text: &str,
        dialect: Dialect,
        slots: &[(&str, SlotId)],
        constants: &[(&str, Value)],
    ) -> ConditionId {
        let written = Written { text, dialect, slots, constants };
        let (conditions, size) = (&mut self.program.conditions, &mut self.size);
        let compiled = self.tests.number(written, Condition::expression, |compiled| {
            size.add(compiled.size_bytes());
            ConditionId(push(conditions, compiled))
        });
        match compiled {
            Ok(id) => id,
            Err(problems) => {
                self.reject_formula(text, &problems);
                // The id is a placeholder: the program is rejected before anything uses the condition.
                ConditionId(0)
            }
        }
    }

    #[track_caller]
    fn reject_formula(&mut self, text: &str, problems: &Problems) {
        let beginning: String = text.chars().take(60).collect();
        let message = format!("the formula `{beginning}` at {} does not compile: {problems}", Location::caller());
        self.wrong.push(Defect::new(DefectKind::Formula, None, message));
    }

    /// Adds a constant.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// assert_eq!(b.value("hello"), b.value("hello"), "equal constants share an expression");
    /// ```
    pub fn value(&mut self, value: impl Into<Value>) -> ExprId {
        let value = value.into();
        if let Value::Str(text) = &value {
            return self.text(text);
        }
        // The key is the JSON text, because equal objects may have their keys in a different order.
        let json = format!("{value:?}");
        if let Some(known) = self.constants.get(&json) {
            return *known;
        }
        let expr = self.push_expr(Expression::constant(value));
        self.constants.insert(json, expr);
        expr
    }

    /// Adds a constant text. Most constants are texts, and many are equal.
    fn text(&mut self, text: &Arc<str>) -> ExprId {
        if let Some(known) = self.texts.get(text) {
            return *known;
        }
        let expr = self.push_expr(Expression::constant(Value::Str(Arc::clone(text))));
        self.texts.insert(Arc::clone(text), expr);
        expr
    }

    /// Adds an expression that reads a slot.
    ///
    /// ```
    #[doc = include_str!("../../../docs/builder.txt")]
    /// let answer = b.slot(ROOT, "answer", None);
    /// assert_eq!(b.read(answer), b.read(answer));
    /// ```
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
        self.size.add(expression.size_bytes());
        if self.size.is_exceeded() {
            // The program is rejected, so the id is a placeholder.
            return ExprId(0);
        }
        ExprId(push(&mut self.program.exprs, expression))
    }

    fn push_condition(&mut self, condition: Condition) -> ConditionId {
        self.size.add(condition.size_bytes());
        if self.size.is_exceeded() {
            return ConditionId(0);
        }
        ConditionId(push(&mut self.program.conditions, condition))
    }

    fn scope_view(&self, scope: ScopeId) -> ScopeView<'_> {
        ScopeView { scope, scopes: &self.program.scopes, names: &self.names, coerced: &self.coerced }
    }
}

/// The names that an expression in a scope can read.
struct ScopeView<'b> {
    scope: ScopeId,
    scopes: &'b [Scope],
    names: &'b [Names],
    coerced: &'b BTreeSet<SlotId>,
}

impl Bind for ScopeView<'_> {
    /// Binds the longest matching prefix of a path in the innermost scope that has one.
    fn bind(&self, path: &[&str]) -> Option<Binding> {
        let path = EncodedPath::of(path);
        let mut scope = Some(self.scope);
        while let Some(here) = scope {
            if let Some((slot, parts)) = self.names[here.index()].longest(&path) {
                return Some(Binding { slot: slot.0, parts });
            }
            scope = self.scopes[here.index()].parent;
        }
        None
    }

    fn holds_coerced(&self, slot: u32) -> bool {
        self.coerced.contains(&SlotId(slot))
    }
}
