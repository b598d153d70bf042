//! What a strand carries while its way is followed, as far as decisions depend on it that no author wrote.
//!
//! A strand whose branch is blocked may go on past the steps that it skips, to a merge. What tells it to skip is a local that is
//! set; everyone else takes the other way at each of those decisions. A picture that ignored this would have an arrow from
//! everywhere to everywhere.

use std::collections::BTreeSet;

use super::super::{ConditionId, Home, Index, Op, Place, PlaceId, Program, SlotId, Write};

/// The slots that were set on the way; all others count as empty.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Known {
    set: BTreeSet<SlotId>,
}

impl Known {
    /// Takes note of what an op changes.
    pub(super) fn learn(&mut self, op: &Op) {
        match op {
            Op::Set { writes, .. } => {
                for write in writes {
                    match write {
                        Write::Put(slot, _) | Write::Push(slot, _) => self.set.insert(*slot),
                        Write::Clear(slot) => self.set.remove(slot),
                    };
                }
            }
            // Whoever goes on after a frame is the strand that entered it, with what it carried then.
            Op::Leave { .. } => self.set.clear(),
            _ => {}
        }
    }

    /// Whether a strand that carries this can go on there.
    pub(super) fn allows(&self, program: &Program, record: &Place, to: PlaceId) -> bool {
        match &record.op {
            Op::Decide { arms, otherwise, .. } => {
                let named = *otherwise == to || arms.iter().any(|(_, arm)| *arm == to);
                !named || self.open(program, arms, *otherwise).contains(&to)
            }
            // A merge that was given something on this very way does not lack it; one that was not runs because of others,
            // and it is from them that arrows lead to it.
            Op::Meet { edges, none, next } if none != next => {
                let given = edges.iter().any(|(slot, _)| self.set.contains(slot));
                to == if given { *next } else { *none } || ![*next, *none].contains(&to)
            }
            _ => true,
        }
    }

    /// Where a decision can lead: to the first arm that is known to hold, and to those before it of which nothing is known.
    fn open(&self, program: &Program, arms: &[(ConditionId, PlaceId)], otherwise: PlaceId) -> Vec<PlaceId> {
        let mut open = Vec::new();
        for (guard, arm) in arms {
            match is_set(program, *guard) {
                Some(slot) if !self.set.contains(&slot) => {}
                known => {
                    open.push(*arm);
                    if known.is_some() {
                        return open;
                    }
                }
            }
        }
        open.push(otherwise);
        open
    }
}

/// The local that a condition asks for, if that is all it does: whether it is set.
fn is_set(program: &Program, guard: ConditionId) -> Option<SlotId> {
    let condition = program.conditions.get(guard.index())?;
    let [slot] = condition.slots()[..] else { return None };
    let slot = SlotId(slot);
    let is_local = matches!(program.slots.get(slot.index())?.home, Home::Local(_));
    let shown = condition.to_string();
    let name = shown.strip_suffix(" != null")?;
    (is_local && name.chars().all(char::is_alphanumeric)).then_some(slot)
}
