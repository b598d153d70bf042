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
        let id = self.document.steps[no].id.clone();
        let picked = self.b.local(&format!("{id}.picked"));
        let taken: Vec<SlotId> = (0..arms.len()).map(|arm| self.b.local(&format!("{id}.taken.{arm}"))).collect();
        let after = self.after_visits(picked, beyond);
        // The arm that is taken goes first, since it may still retry, but must not keep up the others while it waits for them.
        let spec = ScopeSpec { width: 1, into: Some(self.l.answer), next: Some(after), ..ScopeSpec::default() };
        let scope = self.scope_in(at, spec);
        let tail = self.at_hand(r#""g": g, "#);
        let end = self.b.leave(scope, Exit::Done(Some(tail)));
        let nothing = self.b.leave(scope, Exit::Done(None));
        let level = self.level();
        let inside = Where { scope, ..at };
        let (mut runs, mut entries) = (Vec::new(), Vec::new());
        for (arm, taken) in arms.iter().zip(&taken) {
            let (begin, skipped) = self.chain(&arm.steps, inside, end, nothing);
            let taken = self.when("t != nil", &[("t", *taken)]);
            runs.push((taken, begin));
            if arm.steps.iter().any(|step| self.plan.revives[*step]) {
                let visit = self.visit(level, skipped);
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

    /// The way into an arm that is not taken. Who skips already, goes on skipping from where that began.
    fn visit(&mut self, level: i64, skipped: PlaceId) -> PlaceId {
        let level = self.inner_with("s ?? level", &[("s", self.l.skipping)], &[("level", level.into())]);
        let gap = self.text_value("blocked");
        self.b.set([Write::Put(self.l.skipping, level), Write::Put(self.l.gap, gap)], skipped, None)
    }

    /// What the taken arm left is at hand. A step that was skipped stays so, unless a merge in one of its arms has run.
    fn after_visits(&mut self, picked: SlotId, beyond: Beyond) -> PlaceId {
        let names = [("r", self.l.answer), ("p", picked)];
        let ran = self.when("p != nil", &names);
        let on = self.b.decide([(ran, beyond.finish)], beyond.children, None);
        let mut writes = self.take_up(self.l.answer);
        let gap = self.inner("r.g", &names);
        writes.extend([Write::Put(self.l.gap, gap), Write::Clear(self.l.skipping)]);
        let resumed = self.b.set(writes, on, None);
        let came = self.when("r != nil", &names);
        let decide = self.b.decide([(came, resumed)], beyond.skipped, None);
        let left = self.inner("find(r, # != nil)", &names);
        self.b.set([Write::Put(self.l.answer, left)], decide, None)
    }
}
