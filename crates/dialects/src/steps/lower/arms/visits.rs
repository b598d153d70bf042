//! Merges in arms that are not taken. A join elsewhere may feed them, so such arms lie in a scope with one strand for the
//! taken arm, and one for each of the others that goes through it skipping. The tail of the taken arm is that of
//! the step.

use branchpoint_core::ir::builder::ScopeSpec;
use branchpoint_core::ir::{Exit, PlaceId, SlotId, Write};
use branchpoint_expr::Value;

use super::ArmOf;
use crate::steps::lower::{Lower, Where};
use crate::steps::tree::No;

/// Where the arms of a step lead together.
#[derive(Clone, Copy)]
pub(super) struct Beyond {
    /// The end of the step's own work.
    pub(super) finish: PlaceId,
    /// Where the children begin, and where strands go that skip them.
    pub(super) children: PlaceId,
    pub(super) skipped: PlaceId,
}

impl Lower<'_, '_> {
    /// Gives the beginning for each arm that may be taken, and the one for strands that skip the step.
    pub(super) fn visits(&mut self, no: No, at: Where, arms: &[ArmOf], beyond: Beyond) -> (Vec<PlaceId>, PlaceId) {
        let id = self.own.document.steps[no].id.clone();
        let picked = self.b.local(&format!("{id}.picked"));
        let taken: Vec<SlotId> = (0..arms.len()).map(|arm| self.b.local(&format!("{id}.taken.{arm}"))).collect();
        let after = self.after_visits(picked, beyond);
        // The arm that is taken goes first, since it may still retry, but must not keep up the others while it waits for them.
        let spec = ScopeSpec { width: 1, into: Some(self.slots["answer"]), next: Some(after), ..ScopeSpec::default() };
        let scope = self.scope_in(at, spec);
        let tail = self.at_hand(r#""g": gap, "#);
        let end = self.b.leave(scope, Exit::Done(Some(tail)));
        let nothing = self.b.leave(scope, Exit::Done(None));
        let level = self.level();
        let inside = Where { scope, ..at };
        let (mut runs, mut entries) = (Vec::new(), Vec::new());
        for (arm, taken) in arms.iter().zip(&taken) {
            let (begin, skipped) = self.chain(&arm.steps, inside, end, nothing);
            let taken = self.test_with("taken != nil", &[("taken", *taken)], &[]);
            runs.push((taken, begin));
            if arm.steps.iter().any(|step| self.own.plan.revives[*step]) {
                let visit = [self.skip_from(level), self.put("gap", r#""blocked""#)];
                let visit = self.b.set(visit, skipped, None);
                entries.push(self.b.decide([(taken, nothing)], visit, None));
            }
        }
        entries.insert(0, self.b.decide(runs, nothing, None));
        self.b.begin(scope, &entries);
        let enter = self.b.enter(scope);
        let yes = self.b.value(Value::Bool(true));
        let mut pick = |arm: Option<SlotId>| {
            let fresh = taken.iter().chain([&picked]).map(|slot| Write::Clear(*slot));
            let mark = arm.into_iter().flat_map(|arm| [Write::Put(arm, yes), Write::Put(picked, yes)]);
            self.b.set(fresh.chain(mark).collect::<Vec<_>>(), enter, None)
        };
        (taken.iter().map(|arm| pick(Some(*arm))).collect(), pick(None))
    }

    /// What the taken arm left is at hand. A step that was skipped stays so, unless a merge in one of its arms has run.
    fn after_visits(&mut self, picked: SlotId, beyond: Beyond) -> PlaceId {
        let ran = self.test_with("picked != nil", &[("picked", picked)], &[]);
        let on = self.b.decide([(ran, beyond.finish)], beyond.children, None);
        let mut writes = self.take_up(self.slots["answer"]);
        writes.extend([self.put("gap", "answer.g"), Write::Clear(self.slots["skipping"])]);
        let resumed = self.b.set(writes, on, None);
        let came = self.test("answer != nil");
        let decide = self.b.decide([(came, resumed)], beyond.skipped, None);
        self.assign("answer", "find(answer, # != nil)", decide)
    }
}
