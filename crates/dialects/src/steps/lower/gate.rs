//! Gates: they let their line pass, or end it.

use branchpoint_core::ir::{DecisionKind, Mark, PlaceId, Write};
use branchpoint_expr::Value;

use super::{Exits, Location, Lower};
use crate::steps::condition;
use crate::steps::tree::StepIndex;

impl Lower<'_, '_> {
    pub(super) fn gate(&mut self, index: StepIndex, at: Location, to: Exits) -> PlaceId {
        let step = &self.own.document.steps[index];
        let (children, skipped) = self.children(index, at, to);
        let pass = self.finish(index, children);
        let block = self.block(index, to, skipped);
        let condition = self.condition(at.scope, &condition::of(step.located));
        let stops = step.text("on_match").is_some_and(|on_match| &**on_match == "stop");
        let (holds, fails) = if stops { (block, pass) } else { (pass, block) };
        let failure = self.failure(index, at, None);
        let decide = self.b.decide([(condition, holds)], fails, Some(failure));
        let decision = self.b.decision(self.own.ids[index], DecisionKind::Gate);
        let names = if stops { ["blocked", "passed"] } else { ["passed", "blocked"] };
        let exits = [(names[0], Some(condition)), (names[1], None)]
            .map(|(name, condition)| Some(self.b.branch(decision, name, condition, None)));
        self.b.decides(decide, decision, exits);
        self.begin(index, at, decide);
        skipped
    }

    /// A gate that blocks has empty text as its output, and ends its line.
    fn block(&mut self, index: StepIndex, to: Exits, skipped: PlaceId) -> PlaceId {
        let rest = self.give_up(index, to, skipped, "gate_blocked");
        let nothing = self.b.value(Value::from(""));
        let writes = self.own.step_slots.get(&index).map(|step_slots| Write::Put(step_slots.output, nothing));
        let place = self.b.set(writes.into_iter().collect::<Vec<_>>(), rest, None);
        self.b.mark(place, Mark::End(self.own.ids[index], Some(nothing)))
    }
}
