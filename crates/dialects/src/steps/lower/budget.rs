//! Budgets: the part of a step or a document in a scope of its own, and the steps that run when its budget is used up.

use branchpoint_core::ir::builder::{ROOT, ScopeSpec};
use branchpoint_core::ir::{Budget, BudgetLimits, Exit, Failure, PlaceId, ScopeId, Write};

use super::arms::ArmExits;
use super::{Exits, Location, Lower};
use crate::lowering::texts;
use crate::steps::budget::{self, RUN_FIELDS};
use crate::steps::tree::{Role, StepIndex};

impl Lower<'_, '_> {
    /// Lowers a step whose own work has a budget, and returns the place for strands that skip it. No merge inside can make it run.
    pub(super) fn budgeted(&mut self, index: StepIndex, limits: BudgetLimits, at: Location, to: Exits) -> PlaceId {
        let step = &self.own.document.steps[index];
        let (children, skipped) = self.children(index, at, to);
        let finish = self.finish_with(index, Vec::new(), children);
        let handled = if step.kind.refuses_on_error() { None } else { Some(self.finish(index, children)) };
        let failure = self.failure(index, at, handled);
        let (scope, inside) = self.budgeted_part(Some(index), limits, at, finish, Some(failure));
        // The handler of errors is outside of the budget.
        let failed = self.b.read(self.slots["failed"]);
        let fails = self.b.leave(scope, Exit::Fail(failed));
        let fails = self.fail_to(fails);
        self.own.failures.insert(index, fails);
        let done = self.part_done(scope);
        let begin = match step.kind.name {
            "for_each" => self.for_each(index, inside, done),
            "while" => self.while_loop(index, inside, done),
            "parallel" => self.branches(index, inside, (done, done), fails).0,
            _ => self.arms_of(index, inside, ArmExits { finish: done, children: done, skipped: done }).0,
        };
        self.b.begin(scope, &[begin]);
        let enter = self.b.enter(scope);
        self.begin(index, at, enter);
        skipped
    }

    /// Lowers the steps of a document, within its budget if it has one. Returns the place where they begin.
    pub(super) fn budgeted_root(&mut self, at: Location, end: PlaceId) -> PlaceId {
        let steps = self.own.document.root.steps.clone();
        let Some(limits) = budget::of(self.own.document.located) else { return self.chain(&steps, at, end, end).0 };
        let (scope, inside) = self.budgeted_part(None, limits, at, end, None);
        let done = self.part_done(scope);
        let (begin, _) = self.chain(&steps, inside, done, done);
        self.b.begin(scope, &[begin]);
        self.b.enter(scope)
    }

    /// Names what a run has used so far, if the document reads it.
    pub(super) fn name_usage(&mut self) {
        let mut texts = texts(self.own.document.located);
        if texts.any(|text| text.contains("run") && RUN_FIELDS.iter().any(|field| text.contains(field))) {
            let meter = self.b.meter(ROOT);
            self.b.name(ROOT, &["run"], meter);
        }
    }

    /// The scope of a budgeted part, whose output goes on at `finish`, and the location inside.
    fn budgeted_part(
        &mut self,
        index: Option<StepIndex>,
        limits: BudgetLimits,
        at: Location,
        finish: PlaceId,
        fail: Option<Failure>,
    ) -> (ScopeId, Location) {
        let mut writes = vec![self.store("answer", "answer[0]")];
        writes.extend(self.take_up(self.slots["answer"]));
        writes.extend(self.own.plan.has_gaps.then(|| self.store("gap", "answer.g")));
        let after = self.b.set(writes, finish, None);
        let exhausted = self.on_budget(index, at, after);
        let spec = ScopeSpec { into: Some(self.slots["answer"]), next: Some(after), fail, ..ScopeSpec::default() };
        let scope = self.scope_in(at, spec);
        let step = index.map(|index| self.own.ids[index]);
        let leads_to = self.budget_steps(index).first().map(|first| self.own.ids[*first]);
        self.b.budget(Budget { scope, limits, exhausted, step, leads_to });
        let meter = self.b.meter(scope);
        self.b.name(scope, &["budget"], meter);
        (scope, Location { scope, ..at })
    }

    fn budget_steps(&self, index: Option<StepIndex>) -> Vec<StepIndex> {
        match index {
            Some(index) => self.steps_of(index, Role::OnBudget),
            None => self.own.document.on_budget.steps.clone(),
        }
    }

    /// The end of a part: the strand that entered it goes on with its value.
    fn part_done(&mut self, scope: ScopeId) -> PlaceId {
        let more = if self.own.plan.has_gaps { r#""g": gap, "# } else { "" };
        let value = self.at_hand(more);
        self.b.leave(scope, Exit::Done(Some(value)))
    }

    /// The list runs as a chain with the input of the part, in a scope in which `budget` is the one that ended.
    fn on_budget(&mut self, index: Option<StepIndex>, at: Location, after: PlaceId) -> Option<Failure> {
        let steps = self.budget_steps(index);
        if steps.is_empty() {
            return None;
        }
        let id = index.map_or("workflow", |index| &self.own.document.steps[index].id).to_owned();
        let ended = self.b.local(&format!("{id}.budget"));
        let spec = ScopeSpec { into: Some(self.slots["answer"]), next: Some(after), ..ScopeSpec::default() };
        let scope = self.scope_in(at, spec);
        self.b.name(scope, &["budget"], ended);
        let done = self.part_done(scope);
        let (begin, _) = self.chain(&steps, Location { scope, ..at }, done, done);
        self.b.begin(scope, &[begin]);
        let enter = self.b.enter(scope);
        // What the document has shown before gives way to the output of its list.
        let shown = self.own.named.get("shown").copied().filter(|_| index.is_none());
        let to = match shown {
            Some(shown) => self.b.set([Write::Clear(shown)], enter, None),
            None => enter,
        };
        Some(Failure { to, error: Some(ended) })
    }
}
