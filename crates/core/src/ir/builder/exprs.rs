//! Expressions of a program. Their names become slots while compiling, so nothing is looked up by name in a run.

use std::collections::BTreeSet;
use std::panic::Location;
use std::sync::Arc;

use branchpoint_expr::{Bind, Binding, Condition, Dialect, Expression, Located, Name, Options, Problems, Value};

use super::super::{ConditionId, ExprId, Index, Scope, ScopeId, SlotId};
use super::formulas::Written;
use super::names::{Beginnings, Names};
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

    /// Compiles an expression of another form. The options know the names of the scope.
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

    /// Compiles a condition of any spelling: `builder.condition_with(scope, dialect, |options| Condition::group(&group, options))`.
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

    /// Adds an expression that the front-end itself writes. It sees exactly the slots and the constants that it is given, by these
    /// names, whatever the document calls its own, and may call functions that documents cannot.
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
        let known = self.formulas.number(written, Expression::compile, |compiled| {
            size.add(compiled.size_bytes());
            ExprId(push(exprs, compiled))
        });
        // A closure would hide the place that the error names.
        match known {
            Ok(known) => known,
            Err(problems) => {
                self.refuse_formula(text, &problems);
                self.value(Value::Null)
            }
        }
    }

    /// As [`Self::formula`], for a condition.
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
        let known = self.tests.number(written, Condition::expression, |compiled| {
            size.add(compiled.size_bytes());
            ConditionId(push(conditions, compiled))
        });
        match known {
            Ok(known) => known,
            Err(problems) => {
                self.refuse_formula(text, &problems);
                // Any number will do: the program is refused before anything uses the condition.
                ConditionId(0)
            }
        }
    }

    #[track_caller]
    fn refuse_formula(&mut self, text: &str, problems: &Problems) {
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
        // By its JSON: two objects are equal in whatever order their keys stand, and yet they are not the same.
        let json = format!("{value:?}");
        if let Some(known) = self.constants.get(&json) {
            return *known;
        }
        let expr = self.push_expr(Expression::constant(value));
        self.constants.insert(json, expr);
        expr
    }

    /// Most values that are known are texts, and most of these the same few.
    fn text(&mut self, text: &Arc<str>) -> ExprId {
        if let Some(known) = self.texts.get(text) {
            return *known;
        }
        let expr = self.push_expr(Expression::constant(Value::Str(Arc::clone(text))));
        self.texts.insert(Arc::clone(text), expr);
        expr
    }

    /// An expression that reads a slot.
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
            // The program is refused, so nothing more of it is kept, and any number will do.
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

/// The names that an expression in a scope can see.
struct ScopeView<'b> {
    scope: ScopeId,
    scopes: &'b [Scope],
    names: &'b [Names],
    coerced: &'b BTreeSet<SlotId>,
}

impl Bind for ScopeView<'_> {
    /// The innermost scope that knows a beginning of the path decides; within it, the longest beginning.
    fn bind(&self, path: &[&str]) -> Option<Binding> {
        let path = Beginnings::of(path);
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
