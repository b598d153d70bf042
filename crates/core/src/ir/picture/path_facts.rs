//! Facts about a strand along a path of the picture, as far as decisions that lowering added depend on them.
//!
//! A strand whose branch is blocked may continue past the steps that it skips, to a merge. A local that is set makes it skip; other
//! strands take the other exit of each of those decisions. Without these facts a picture would have an arrow from every node to
//! every other.

use std::collections::BTreeSet;

use super::super::{ConditionId, Home, Index, Op, Place, PlaceId, Program, SlotId, Write};

/// The slots that were set along the path; all others count as empty.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PathFacts {
    set: BTreeSet<SlotId>,
}

impl PathFacts {
    /// Applies the writes of an op.
    pub(super) fn apply(&mut self, op: &Op) {
        match op {
            Op::Set { writes, .. } => {
                for write in writes {
                    match write {
                        Write::Put(slot, _) | Write::Push(slot, _) => self.set.insert(*slot),
                        Write::Clear(slot) => self.set.remove(slot),
                    };
                }
            }
            // After a frame the strand that entered it continues, with the locals that it had then.
            Op::Leave { .. } => self.set.clear(),
            _ => {}
        }
    }

    /// Whether a strand with these facts can continue at a place.
    pub(super) fn allows(&self, program: &Program, record: &Place, to: PlaceId) -> bool {
        match &record.op {
            Op::Decide { arms, otherwise, .. } => {
                let named = *otherwise == to || arms.iter().any(|(_, arm)| *arm == to);
                !named || self.possible_exits(program, arms, *otherwise).contains(&to)
            }
            // A merge whose edge was filled on this path has its value. Otherwise it runs because of other strands, and their
            // paths have the arrows to it.
            Op::Meet { edges, none, next } if none != next => {
                let is_filled = edges.iter().any(|(slot, _)| self.set.contains(slot));
                to == if is_filled { *next } else { *none } || ![*next, *none].contains(&to)
            }
            _ => true,
        }
    }

    /// The exits that a decision can take: the first arm that certainly holds, and the undecided arms before it.
    fn possible_exits(&self, program: &Program, arms: &[(ConditionId, PlaceId)], otherwise: PlaceId) -> Vec<PlaceId> {
        let mut exits = Vec::new();
        for (guard, arm) in arms {
            match is_set(program, *guard) {
                Some(slot) if !self.set.contains(&slot) => {}
                test => {
                    exits.push(*arm);
                    if test.is_some() {
                        return exits;
                    }
                }
            }
        }
        exits.push(otherwise);
        exits
    }
}

/// The local that a condition tests, if it tests only whether the local is set.
fn is_set(program: &Program, guard: ConditionId) -> Option<SlotId> {
    let condition = program.conditions.get(guard.index())?;
    let [slot] = condition.slots()[..] else { return None };
    let slot = SlotId(slot);
    let is_local = matches!(program.slots.get(slot.index())?.home, Home::Local(_));
    let shown = condition.to_string();
    let name = shown.strip_suffix(" != null")?;
    (is_local && name.chars().all(char::is_alphanumeric)).then_some(slot)
}
