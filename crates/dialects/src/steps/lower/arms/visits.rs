//! Merges in arms that are not chosen. A join elsewhere may feed them, so such arms are in a scope with one strand for the
//! taken arm, and one for each of the others that goes through it skipping. The tail of the taken arm is that of
//! the step.

use branchpoint_core::ir::builder::ScopeSpec;
use branchpoint_core::ir::{Exit, PlaceId, SlotId, Write};
use branchpoint_expr::Value;

use super::ArmOf;
use crate::steps::lower::{Location, Lower};
use crate::steps::tree::StepIndex;

/// The places after the arms of a step.
#[derive(Clone, Copy)]
pub(in crate::steps::lower) struct ArmExits {
    /// The end of the step's own work.
    pub(in crate::steps::lower) finish: PlaceId,
    /// The place where the children begin, and the place for strands that skip them.
    pub(in crate::steps::lower) children: PlaceId,
    pub(in crate::steps::lower) skipped: PlaceId,
}

impl Lower<'_, '_> {
    /// Returns the beginning for each arm that may be chosen, and the one for strands that skip the step.
    pub(super) fn visits(
        &mut self,
        index: StepIndex,
        at: Location,
        arms: &[ArmOf],
        arm_exits: ArmExits,
    ) -> (Vec<PlaceId>, PlaceId) {
        let id = self.own.document.steps[index].id.clone();
        let picked = self.b.local(&format!("{id}.picked"));
        let taken_slots: Vec<SlotId> = (0..arms.len()).map(|arm| self.b.local(&format!("{id}.taken.{arm}"))).collect();
        let after = self.after_visits(picked, arm_exits);
        // The arm that is taken goes first, since it may still retry, but must not keep up the others while it waits for them.
        let spec = ScopeSpec { width: 1, into: Some(self.slots["answer"]), next: Some(after), ..ScopeSpec::default() };
        let scope = self.scope_in(at, spec);
        let tail = self.at_hand(r#""g": gap, "#);
        let end = self.b.leave(scope, Exit::Done(Some(tail)));
        let nothing = self.b.leave(scope, Exit::Done(None));
        let level = self.level();
        let inside = Location { scope, ..at };
        let (mut runs, mut entries) = (Vec::new(), Vec::new());
        for (arm, taken_slots) in arms.iter().zip(&taken_slots) {
            let (begin, skipped) = self.chain(&arm.steps, inside, end, nothing);
            let taken_slots = self.test_with("taken != nil", &[("taken", *taken_slots)], &[]);
            runs.push((taken_slots, begin));
            if arm.steps.iter().any(|step| self.own.plan.revives[*step]) {
                let visit = [self.skip_from(level), self.store("gap", r#""blocked""#)];
                let visit = self.b.set(visit, skipped, None);
                entries.push(self.b.decide([(taken_slots, nothing)], visit, None));
            }
        }
        entries.insert(0, self.b.decide(runs, nothing, None));
        self.b.begin(scope, &entries);
        let enter = self.b.enter(scope);
        let yes = self.b.value(Value::Bool(true));
        let mut pick = |arm: Option<SlotId>| {
            let fresh = taken_slots.iter().chain([&picked]).map(|slot| Write::Clear(*slot));
            let mark = arm.into_iter().flat_map(|arm| [Write::Put(arm, yes), Write::Put(picked, yes)]);
            self.b.set(fresh.chain(mark).collect::<Vec<_>>(), enter, None)
        };
        (taken_slots.iter().map(|arm| pick(Some(*arm))).collect(), pick(None))
    }

    /// The value of the chosen arm is the current value. A step that was skipped stays so, unless a merge in one of its arms has run.
    fn after_visits(&mut self, picked: SlotId, arm_exits: ArmExits) -> PlaceId {
        let has_run = self.test_with("picked != nil", &[("picked", picked)], &[]);
        let on = self.b.decide([(has_run, arm_exits.finish)], arm_exits.children, None);
        let mut writes = self.take_up(self.slots["answer"]);
        writes.extend([self.store("gap", "answer.g"), Write::Clear(self.slots["skipping"])]);
        let resumed = self.b.set(writes, on, None);
        let has_answer = self.test("answer != nil");
        let decide = self.b.decide([(has_answer, resumed)], arm_exits.skipped, None);
        self.assign("answer", "find(answer, # != nil)", decide)
    }
}
