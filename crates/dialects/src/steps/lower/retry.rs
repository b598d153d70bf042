//! Retries: count the attempt, reset the steps in between, and go back.

use branchpoint_core::ir::builder::ROOT;
use branchpoint_core::ir::{ConditionId, DecisionKind, Exit, ExprId, Mark, PlaceId, ScopeId, SlotId, Unit, Write};
use branchpoint_expr::Value;

use super::plan::{loops_around, owners};
use super::{Exits, Location, Lower};
use crate::steps::tree::{Role, StepIndex};

impl Lower<'_, '_> {
    pub(super) fn retry(&mut self, index: StepIndex, at: Location, to: Exits) -> PlaceId {
        let most = self.own.document.steps[index].int("max_retries").unwrap_or(0);
        let on = self.finish(index, to.next);
        let back = self.back(index, at);
        let (count, within, so_far) = self.counted(index, most);
        let decide = self.b.decide([(within, back)], on, None);
        let decision = self.b.decision(self.own.ids[index], DecisionKind::Retry);
        let target = self.own.document.steps[self.own.plan.retries[&index].start].id.clone();
        let rule = if most == 1 { "at most 1 retry".to_owned() } else { format!("at most {most} retries") };
        let again = self.b.rule_branch(decision, "retry", &rule, Some(&target));
        let end = self.b.branch(decision, "continue", None, None);
        let limit = self.b.value(most);
        self.b.counts(decision, Unit::Retry, so_far, limit);
        self.b.decides(decide, decision, [Some(again), Some(end)]);
        let input = self.b.read(self.slots["value"]);
        let mut writes = self.begin_writes(index);
        writes.push(count);
        writes.extend(self.own.step_slots.get(&index).map(|step_slots| Write::Put(step_slots.input, input)));
        let place = self.b.at(self.own.begins[index]).set(writes, decide, None);
        self.b.mark(place, Mark::Begin(self.own.ids[index], Some(input)));
        to.blocked
    }

    /// The count lives as long as the iteration, because the strand that counts ends with every jump. Where an outer retry
    /// runs a whole loop again, the counts of its iterations lie outside it, a key for each.
    fn counted(&mut self, index: StepIndex, most: i64) -> (Write, ConditionId, ExprId) {
        let name = format!("{}.count", self.own.document.steps[index].id);
        let Some(repeated) = self.own.plan.repeated_loop.get(&index).copied() else {
            let slot = self.counter(index, &name);
            let names = [("n", slot)];
            let within = self.test_with(&format!("n <= {most}"), &names, &[]);
            // This retry is counted already.
            let so_far = self.formula_with("n - 1", &names, &[]);
            return (self.store_with(slot, "n + 1", &names, &[]), within, so_far);
        };
        let slot = self.own.counters[&index];
        let mut positions: Vec<SlotId> = Vec::new();
        for (holder, list) in self.own.document.around(index) {
            if list.role == Role::Body {
                positions.push(self.own.rounds[&holder]);
            }
            if holder == repeated {
                break;
            }
        }
        let keys: Vec<String> = (0..positions.len()).map(|at| format!("p{at}")).collect();
        let mut names: Vec<_> = keys.iter().map(|key| &**key).zip(positions).collect();
        names.push(("n", slot));
        let key = self.formula_with(&format!("[{}]", keys.join(", ")), &names, &[]);
        let so_far = format!("count(n, # == [{}])", keys.join(", "));
        let within = self.test_with(&format!("{so_far} <= {most}"), &names, &[]);
        let so_far = self.formula_with(&format!("{so_far} - 1"), &names, &[]);
        (Write::Push(slot, key), within, so_far)
    }

    /// A counter in the innermost loop around, or in the root. A while loop zeroes it with every round.
    fn counter(&mut self, index: StepIndex, name: &str) -> SlotId {
        let looped = loops_around(self.own.document, index).next();
        let scope = looped.and_then(|looped| self.own.bodies.get(&looped).copied()).unwrap_or(ROOT);
        let slot = self.b.slot(scope, name, Some(Value::Int(0)));
        self.own.counters.insert(index, slot);
        slot
    }

    /// Declares the counters that must outlive a loop, before its body is lowered.
    pub(super) fn counters_around(&mut self, looped: StepIndex) {
        for retry in self.own.plan.counted_around.remove(&looped).unwrap_or_default() {
            let name = format!("{}.count", self.own.document.steps[retry].id);
            let around = loops_around(self.own.document, looped).next();
            let scope = around.and_then(|holder| self.own.bodies.get(&holder).copied()).unwrap_or(ROOT);
            let slot = self.b.slot(scope, &name, Some(Value::from(Vec::new())));
            self.own.counters.insert(retry, slot);
        }
    }

    /// Back to the target: frames between close, edges that were filled in between are cleared, its input is the current value again.
    fn back(&mut self, index: StepIndex, at: Location) -> PlaceId {
        let again = self.own.plan.retries[&index].clone();
        let target = again.start;
        let there = self.own.scopes[target];
        let mut writes: Vec<Write> = Vec::new();
        // Edges in a frame that closes are removed with it.
        for owner in owners(self.own.document, target) {
            let merges = self.own.plan.meets_in.get(&owner).into_iter().flatten();
            let fed =
                merges.flat_map(|merge| self.own.plan.joins.get(merge).into_iter().flatten().copied().chain([*merge]));
            writes.extend(fed.filter(|from| again.contains(from)).map(|from| Write::Clear(self.own.edges[&from])));
        }
        let began = self.own.again[&target];
        writes.extend(self.take_up(began));
        if self.own.plan.has_gaps {
            writes.push(self.store_with("gap", r#"began == nil ? "blocked" : began.g"#, &[("began", began)], &[]));
        }
        let again = self.b.set(writes, self.own.begins[target], None);
        self.b.mark_back_edge(again);
        let jump = match self.outermost_between(at.scope, there) {
            Some(left) => self.b.leave(left, Exit::Goto(again)),
            None => again,
        };
        self.finish(index, jump)
    }

    /// The outermost scope that is around one place and not around another.
    fn outermost_between(&self, mut inner: ScopeId, outer: ScopeId) -> Option<ScopeId> {
        let mut left = None;
        while inner != outer {
            left = Some(inner);
            inner = self.own.parents.get(&inner).copied()?;
        }
        left
    }
}
