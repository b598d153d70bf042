//! What becomes of a line that ends early: the rest is skipped, but for merges that joins elsewhere may feed.

use branchpoint_core::ir::{Mark, PlaceId, Write};

use super::{Lower, To};
use crate::steps::tree::{No, Role};

impl Lower<'_, '_> {
    /// From a step that ends its line to where strands skip: first its own children, then what its list still holds.
    pub(super) fn give_up(&mut self, no: No, to: To, children_skipped: PlaceId, reason: &str) -> PlaceId {
        let mut writes = Vec::new();
        if self.own.plan.has_revivals() {
            writes.push(self.skip_from(to.level));
            writes.extend(self.hold_nothing());
        }
        let children = self.steps_of(no, Role::Children);
        let revives = children.iter().any(|child| self.own.plan.revives[*child]);
        let next = if revives { children_skipped } else { to.blocked };
        let place = self.b.set(writes, next, None);
        for child in children.into_iter().filter(|child| !self.own.plan.revives[*child]) {
            self.b.mark(place, Mark::Skip(self.own.ids[child], reason.into()));
        }
        place
    }

    /// Notes the list in which skipping begins, unless it has begun already.
    pub(super) fn skip_from(&mut self, level: i64) -> Write {
        self.put_with("skipping", "skipping ?? level", &[], &[("level", level.into())])
    }
}
