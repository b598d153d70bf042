//! Lowering shared by all front-ends: formulas that refer to slots and values of the document by name.

use std::borrow::Cow;
use std::ops::Index;
use std::sync::Arc;

use branchpoint_core::ir::builder::{Builder, ROOT};
use branchpoint_core::ir::{
    ConditionId, DecisionId, DecisionKind, ExprId, Failure, PlaceId, SlotId, Status, StepId, Write,
};
use branchpoint_expr::{Dialect, Field, Located, Object, Shape, Span, Value};

/// The names that all formulas of a program can use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub(crate) slots: Vec<(&'static str, SlotId)>,
    /// Values of the document.
    pub(crate) values: Vec<(&'static str, Value)>,
}

impl Names {
    /// Adds a name of a slot for formulas. It hides an earlier slot of the same name.
    pub(crate) fn add(&mut self, name: &'static str, slot: SlotId) -> SlotId {
        self.slots.retain(|(slot, _)| *slot != name);
        self.slots.push((name, slot));
        slot
    }

    /// Adds slots of the root under their own names, with their initial values.
    pub(crate) fn add_to_root(
        &mut self,
        b: &mut Builder,
        slots: impl IntoIterator<Item = (&'static str, Option<Value>)>,
    ) {
        self.slots.extend(slots.into_iter().map(|(name, first)| (name, b.slot(ROOT, name, first))));
    }

    /// Adds slots that are local to each strand.
    pub(crate) fn add_locals(&mut self, b: &mut Builder, names: impl IntoIterator<Item = &'static str>) {
        self.slots.extend(names.into_iter().map(|name| (name, b.local(name))));
    }

    /// The slots that a formula can use, and the values that it names: formulas without values are shared.
    fn of<'n>(&'n self, text: &str, more: &[(&'n str, SlotId)], values: &[(&'n str, Value)]) -> FormulaNames<'n> {
        let values = self.values.iter().chain(values).filter(|(name, _)| text.contains(name)).cloned().collect();
        match more {
            [] => (Cow::Borrowed(&self.slots), values),
            _ => (self.slots.iter().chain(more).copied().collect(), values),
        }
    }
}

type FormulaNames<'n> = (Cow<'n, [(&'n str, SlotId)]>, Vec<(&'n str, Value)>);

impl Index<&str> for Names {
    type Output = SlotId;

    fn index(&self, name: &str) -> &SlotId {
        let slot = self.slots.iter().find(|(slot_name, _)| *slot_name == name);
        &slot.unwrap_or_else(|| panic!("no slot is called `{name}`")).1
    }
}

/// A program that is being built, with the data of its front-end.
pub(crate) struct Lower<D> {
    pub(crate) b: Builder,
    pub(crate) slots: Names,
    /// The dialect of the formulas, which decides only their grammar.
    pub(crate) grammar: Dialect,
    /// The slot for the errors of failed ops.
    pub(crate) error_slot: &'static str,
    /// The data of the front-end.
    pub(crate) own: D,
}

impl<D> Lower<D> {
    /// A value that is computed from the slots.
    #[track_caller]
    pub(crate) fn formula(&mut self, text: &str) -> ExprId {
        self.formula_with(text, &[], &[])
    }

    /// Like [`Self::formula`], with more slots and values. Values never become part of the text, whose size is limited.
    #[track_caller]
    pub(crate) fn formula_with(&mut self, text: &str, slots: &[(&str, SlotId)], values: &[(&str, Value)]) -> ExprId {
        let (slots, values) = self.slots.of(text, slots, values);
        self.b.formula(text, self.grammar, &slots, &values)
    }

    /// Like [`Self::formula`], for a condition.
    #[track_caller]
    pub(crate) fn test(&mut self, text: &str) -> ConditionId {
        self.test_with(text, &[], &[])
    }

    /// Like [`Self::formula_with`], for a condition.
    #[track_caller]
    pub(crate) fn test_with(&mut self, text: &str, slots: &[(&str, SlotId)], values: &[(&str, Value)]) -> ConditionId {
        let (slots, values) = self.slots.of(text, slots, values);
        self.b.test(text, self.grammar, &slots, &values)
    }

    /// Writes the value of a formula to a slot.
    #[track_caller]
    pub(crate) fn store(&mut self, slot: impl Target, text: &str) -> Write {
        self.store_with(slot, text, &[], &[])
    }

    #[track_caller]
    pub(crate) fn store_with(
        &mut self,
        slot: impl Target,
        text: &str,
        slots: &[(&str, SlotId)],
        values: &[(&str, Value)],
    ) -> Write {
        Write::Put(slot.find(&self.slots), self.formula_with(text, slots, values))
    }

    /// A place that writes the value of a formula to a slot.
    #[track_caller]
    pub(crate) fn assign(&mut self, slot: impl Target, text: &str, next: PlaceId) -> PlaceId {
        self.assign_with(slot, text, &[], &[], next)
    }

    #[track_caller]
    pub(crate) fn assign_with(
        &mut self,
        slot: impl Target,
        text: &str,
        slots: &[(&str, SlotId)],
        values: &[(&str, Value)],
        next: PlaceId,
    ) -> PlaceId {
        let write = self.store_with(slot, text, slots, values);
        self.b.set([write], next, None)
    }

    /// A place that ends the run with the value of a formula.
    #[track_caller]
    pub(crate) fn close_with(&mut self, status: Status, text: &str) -> PlaceId {
        let result = self.formula(text);
        self.b.close(status, result)
    }

    /// A branch that a rule chooses, with a formula of the reason, which depends on the run.
    pub(crate) fn ruled(
        &mut self,
        decision: DecisionId,
        (name, rule): (&str, &str),
        reason: &str,
        values: &[(&str, Value)],
        target: Option<&str>,
    ) -> u32 {
        let branch = self.b.rule_branch(decision, name, rule, target);
        let reason = self.formula_with(reason, &[], values);
        self.b.reason(decision, branch, reason);
        branch
    }

    /// Records a decision by a rule instead of a condition. Returns the place and the decision, whose only branch is `name`.
    pub(crate) fn decide_by_rule(
        &mut self,
        (step, kind): (StepId, DecisionKind),
        (name, rule): (&str, &str),
        target: Option<&str>,
        error: Option<ExprId>,
        next: PlaceId,
    ) -> (PlaceId, DecisionId) {
        let decision = self.b.decision(step, kind);
        self.b.decision_mut(decision).error = error;
        let branch = self.b.rule_branch(decision, name, rule, target);
        let decide = self.b.decide([], next, None);
        (self.b.decides(decide, decision, [Some(branch)]), decision)
    }

    /// A failure that continues at a place, with its error in the error slot.
    pub(crate) fn fail_to(&self, to: PlaceId) -> Failure {
        Failure { to, error: Some(self.slots[self.error_slot]) }
    }
}

/// A slot, or its name in formulas.
pub(crate) trait Target {
    fn find(self, names: &Names) -> SlotId;
}

impl Target for SlotId {
    fn find(self, _names: &Names) -> SlotId {
        self
    }
}

impl Target for &str {
    fn find(self, names: &Names) -> SlotId {
        names[self]
    }
}

/// An object value.
pub(crate) fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::from(fields.into_iter().map(|(key, value)| (key.into(), value)).collect::<Object>())
}

/// An object at a span of the document.
pub(crate) fn located_object<'k>(span: Span, fields: impl IntoIterator<Item = (&'k str, Located)>) -> Located {
    let fields = fields.into_iter().map(|(key, value)| Field { key: key.into(), key_span: value.span, value });
    Located { shape: Shape::Object(fields.collect()), span }
}

/// All texts in a value of a document, in no particular order. Not recursive, because values can be deep.
pub(crate) fn texts(value: &Located) -> impl Iterator<Item = &Arc<str>> {
    let mut open = vec![value];
    let values = std::iter::from_fn(move || {
        let value = open.pop()?;
        open.extend(value.items().unwrap_or_default());
        open.extend(value.fields().iter().map(|field| &field.value));
        Some(value)
    });
    values.filter_map(Located::text)
}
