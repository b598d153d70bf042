//! Budgets: are they complete, and at a part that can have one.

use branchpoint_expr::{Diagnostic, Kind, Located, Reference, Span};

use super::Check;
use crate::DocumentKinds as _;
use crate::fields::Access;
use crate::steps::budget::{FIELDS, RUN_FIELDS};
use crate::steps::guard;

impl Check<'_, '_> {
    /// The budget of a document or a step.
    pub(super) fn budget(&mut self, holder: &Located, can_have_one: bool) {
        let (limits, steps) = (holder.given("budget"), holder.given("on_budget"));
        if let Some(misplaced) = limits.or(steps).filter(|_| !can_have_one) {
            let message = "a budget limits the steps inside of a step, and this step has none of its own";
            let help =
                "put it on the workflow, or on an if_else, conditional, switch, for_each, while or parallel step";
            return self.error(Kind::BadBudget, misplaced.span, message, help);
        }
        if let Some(limits) = limits.filter(|limits| limits.is_object()) {
            self.budget_limits(limits);
        }
        let Some(steps) = steps else { return };
        if limits.is_none() {
            let message = "`on_budget` has no effect without a `budget`";
            self.error(Kind::BadBudget, steps.span, message, "add `budget` with at least one limit");
        }
        if steps.items().is_none_or(<[_]>::is_empty) {
            let message = "`on_budget` must be a list of at least one step";
            self.error(Kind::BadBudget, steps.span, message, "without it, a used up budget fails the step");
        }
    }

    fn budget_limits(&mut self, limits: &Located) {
        let names = ["tokens", "cost_usd", "time"];
        if names.iter().all(|name| limits.given(name).is_none()) {
            let message = "a budget must limit at least one of `tokens`, `cost_usd` and `time`";
            self.error(Kind::BadBudget, limits.span, message, "such as `budget: {tokens: 20000}`");
        }
        if let Some(time) = limits.given("time").filter(|time| guard::duration_ms(time) == Some(0)) {
            self.error(Kind::BadBudget, time.span, "the time of a budget must be above 0", "such as `time: 5m`");
        }
    }

    /// Warns about a name below `run` or `budget` that does not exist.
    pub(super) fn meter_reference(&mut self, reference: &Reference, name: &str, span: Span) {
        let known: &[&str] = match reference.parts.first().map(|root| &**root) {
            Some("run") => &RUN_FIELDS,
            Some("budget") => &FIELDS,
            _ => return,
        };
        if !known.contains(&name) {
            let message = format!("`{name}` is not a name of `{}`, so this is always empty", reference.parts[0]);
            let finding = Diagnostic::warning(Kind::UnknownReference, span, message);
            self.findings
                .push(finding.with_help(format!("it has {}", known.join(", "))).suggest(name, known.iter().copied()));
        }
    }
}
