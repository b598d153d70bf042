//! Gates: they let their line pass, or end it.

use branchpoint_core::ir::{DecisionKind, Mark, PlaceId, Write};
use branchpoint_expr::Value;

use super::{Lower, To, Where};
use crate::steps::condition;
use crate::steps::tree::No;

impl Lower<'_, '_> {
    pub(super) fn gate(&mut self, no: No, at: Where, to: To) -> PlaceId {
        let step = &self.own.document.steps[no];
        let (children, skipped) = self.children(no, at, to);
        let pass = self.finish(no, children);
        let block = self.block(no, to, skipped);
        let condition = self.condition(at.scope, &condition::of(step.located));
        let stops = step.text("on_match").is_some_and(|on_match| &**on_match == "stop");
        let (holds, fails) = if stops { (block, pass) } else { (pass, block) };
        let failure = self.failure(no, at, None);
        let decide = self.b.decide([(condition, holds)], fails, Some(failure));
        let decision = self.b.decision(self.own.ids[no], DecisionKind::Gate);
        let names = if stops { ["blocked", "passed"] } else { ["passed", "blocked"] };
        let exits = [(names[0], Some(condition)), (names[1], None)]
            .map(|(name, condition)| Some(self.b.branch(decision, name, condition, None)));
        self.b.decides(decide, decision, exits);
        self.begin(no, decide);
        skipped
    }

    /// A gate that blocks has empty text as its output, and ends its line.
    fn block(&mut self, no: No, to: To, skipped: PlaceId) -> PlaceId {
        let rest = self.give_up(no, to, skipped, "gate_blocked");
        let nothing = self.b.value(Value::from(""));
        let writes = self.own.kept.get(&no).map(|kept| Write::Put(kept.output, nothing));
        let place = self.b.set(writes.into_iter().collect::<Vec<_>>(), rest, None);
        self.b.mark(place, Mark::End(self.own.ids[no], Some(nothing)))
    }
}
