//! Merges in arms that are not taken. A join elsewhere may feed them, so the strand looks at such arms too, after the arm
//! that was taken; the tail of the taken arm stays the tail of the step.

use branchpoint_core::ir::{PlaceId, SlotId, Write};
use branchpoint_expr::Value;

use crate::steps::lower::Lower;
use crate::steps::tree::No;

pub(super) struct Visits {
    /// Where all arms lead.
    pub(super) end: PlaceId,
    /// Where the strand looks which arm is still to be seen.
    look: PlaceId,
    /// The arms that were seen; what the taken one left; where skipping began, if the whole step is skipped.
    seen: SlotId,
    kept: SlotId,
    outside: SlotId,
    finish: PlaceId,
    /// Where the children begin, and where strands go that skip them.
    children: (PlaceId, PlaceId),
    level: i64,
}

impl Lower<'_, '_> {
    pub(super) fn visits_begin(&mut self, no: No, finish: PlaceId, children: (PlaceId, PlaceId)) -> Visits {
        let id = self.document.steps[no].id.clone();
        let mut local = |name: &str| self.b.local(&format!("{id}.{name}"));
        let (seen, kept, outside) = (local("seen"), local("kept"), local("outside"));
        let (end, look) = (self.b.reserve(), self.b.reserve());
        let level = self.level();
        Visits { end, look, seen, kept, outside, finish, children, level }
    }

    pub(super) fn visited(&mut self, visits: &Visits, position: usize) -> Write {
        let position = self.b.value(Value::Int(i64::try_from(position).unwrap_or(i64::MAX)));
        Write::Push(visits.seen, position)
    }

    /// Defines the places between the arms and the end of the step. Gives the beginning for strands that run the step, and
    /// the one for strands that skip it.
    pub(super) fn visits_end(
        &mut self,
        visits: &Visits,
        arms: &[(usize, PlaceId)],
        begin: PlaceId,
    ) -> (PlaceId, PlaceId) {
        let names =
            [("seen", visits.seen), ("kept", visits.kept), ("outside", visits.outside), ("skipping", self.l.skipping)];
        let mut unseen = Vec::new();
        for (position, skipped) in arms {
            let level = self.inner_with("outside ?? level", &names, &[("level", visits.level.into())]);
            let (seen, gap) = (self.visited(visits, *position), self.text_value("blocked"));
            let writes = [seen, Write::Put(self.l.skipping, level), Write::Put(self.l.gap, gap)];
            let visit = self.b.set(writes, *skipped, None);
            unseen.push((self.when(&format!("!({position} in seen)"), &names), visit));
        }
        let leave = self.leave_visits(visits, &names);
        self.b.at(visits.look).decide(unseen, leave, None);
        let kept = self.at_hand(r#""g": g, "#);
        let keep = self.b.set([Write::Put(visits.kept, kept)], visits.look, None);
        let first = self.when("kept == nil && skipping == nil", &names);
        self.b.at(visits.end).decide([(first, keep)], visits.look, None);
        let (none, nothing) = (self.b.value(Value::from(Vec::new())), self.b.value(Value::Null));
        let fresh = [Write::Put(visits.seen, none), Write::Put(visits.kept, nothing)];
        let outside = self.b.read(self.l.skipping);
        let normal = self.b.set([fresh[0], fresh[1], Write::Put(visits.outside, nothing)], begin, None);
        let skipping = self.b.set([fresh[0], fresh[1], Write::Put(visits.outside, outside)], visits.look, None);
        (normal, skipping)
    }

    /// All arms were seen: what was kept is at hand again, or the step stays skipped.
    fn leave_visits(&mut self, visits: &Visits, names: &[(&str, SlotId)]) -> PlaceId {
        let (children, children_skipped) = visits.children;
        let ran = self.when("outside == nil", names);
        let on = self.b.decide([(ran, visits.finish)], children, None);
        let mut writes = self.take_up(visits.kept);
        let gap = self.inner("kept.g", names);
        writes.extend([Write::Put(self.l.gap, gap), Write::Clear(self.l.skipping)]);
        let restore = self.b.set(writes, on, None);
        let outside = self.b.read(visits.outside);
        let skip = self.b.set([Write::Put(self.l.skipping, outside)], children_skipped, None);
        let kept = self.when("kept != nil", names);
        self.b.decide([(kept, restore)], skip, None)
    }
}
