//! Lines that end early: the rest is skipped, except for merges that other joins may feed.

use branchpoint_core::ir::{Mark, PlaceId, Write};

use super::{Exits, Lower};
use crate::steps::tree::{Role, StepIndex};

impl Lower<'_, '_> {
    /// Skips the rest of a line: first the step's own children, then the rest of its list.
    pub(super) fn give_up(&mut self, index: StepIndex, to: Exits, children_skipped: PlaceId, reason: &str) -> PlaceId {
        let mut writes = Vec::new();
        if self.own.plan.has_revivals() {
            writes.push(self.skip_from(to.level));
            writes.extend(self.hold_nothing());
        }
        let children = self.steps_of(index, Role::Children);
        let revives = children.iter().any(|child| self.own.plan.revives[*child]);
        let next = if revives { children_skipped } else { to.blocked };
        let place = self.b.set(writes, next, None);
        for child in children.into_iter().filter(|child| !self.own.plan.revives[*child]) {
            self.b.mark(place, Mark::Skip(self.own.ids[child], reason.into()));
        }
        place
    }

    /// Records the list in which skipping begins, unless it has begun already.
    pub(super) fn skip_from(&mut self, level: i64) -> Write {
        self.store_with("skipping", "skipping ?? level", &[], &[("level", level.into())])
    }
}
