//! `Meet`: a merge fires when every edge is settled, which means filled or unreachable for every remaining strand.

use super::Machine;
use crate::ir::{Entries, Home, Index, Op, PlaceId, ScopeId, SlotId};
use crate::state::{FrameNo, Parked, StrandNo};
use crate::trace::{Basis, InputState};

impl Machine<'_> {
    /// Fires the first merge whose edges are all settled. Called when no strand is ready.
    pub(super) fn meet(&mut self) -> bool {
        let parked: Vec<StrandNo> = self.state.at_merges.iter().copied().collect();
        for no in parked {
            let program = self.program;
            let at = self.state.strands[&no].at;
            let Op::Meet { edges, next, none } = &program.place(at).op else { continue };
            let filled = edges.iter().filter(|(slot, _)| self.is_filled(no, *slot)).count();
            let settled =
                edges.iter().all(|(slot, from)| self.is_filled(no, *slot) || !self.can_be_filled(no, *slot, *from));
            if settled {
                self.decided_by_edges(no, at, edges, filled);
                self.wake(no, if filled > 0 { *next } else { *none });
                return true;
            }
        }
        false
    }

    /// Records the states of the edges of a merge that fires.
    fn decided_by_edges(&mut self, no: StrandNo, at: PlaceId, edges: &[(SlotId, PlaceId)], filled: usize) {
        let Some(decides) = self.program.place(at).decides.as_ref().filter(|_| self.stamp.record) else { return };
        let names = &self.program.decisions[decides.decision.index()].inputs;
        let states = edges
            .iter()
            .map(|(slot, _)| if self.is_filled(no, *slot) { InputState::Arrived } else { InputState::Unreachable });
        let inputs = names.iter().cloned().zip(states).collect();
        let basis = || Basis::Inputs { are_branches: false, inputs, timed_out_ms: None };
        self.decided_by_rule(no, at, usize::from(filled == 0), basis);
    }

    fn is_filled(&self, no: StrandNo, slot: SlotId) -> bool {
        let Home::Frame(scope, index) = self.program.slot(slot).home else { return false };
        let Some(strand) = self.state.strands.get(&no) else { return false };
        let owner = self.state.frame_of(strand.frame, strand.entry, scope);
        owner.is_some_and(|(frame, entry)| {
            let values = match self.program.scope(scope).start {
                Entries::Each { .. } => frame.entries.get(&entry).map(|entry| &entry.values),
                Entries::Branches(_) => Some(&frame.values),
            };
            values.and_then(|values| values.get(index as usize)).is_some_and(Option::is_some)
        })
    }

    /// Whether a strand inside the frame that owns the slot can still reach the place that fills it.
    fn can_be_filled(&self, no: StrandNo, slot: SlotId, from: PlaceId) -> bool {
        let Home::Frame(scope, _) = self.program.slot(slot).home else { return false };
        let Some((owner, entry)) = self.state.frame_no_of(no, scope) else { return false };
        let at = self.state.strands[&no].at;
        let each = matches!(self.program.scope(scope).start, Entries::Each { .. });
        self.frame_can_be_filled(owner, each.then_some(entry), scope, from, at)
    }

    /// Searches one or all entries of a frame, and the frames inside.
    fn frame_can_be_filled(
        &self,
        no: FrameNo,
        only: Option<u32>,
        within: ScopeId,
        target: PlaceId,
        merge: PlaceId,
    ) -> bool {
        let Some(frame) = self.state.frames.get(&no) else { return false };
        let reach = self.program.reachability();
        let reaches = |at: PlaceId| reach.can_reach(at, target, within);
        // Entries that have not begun are at their entry place.
        if only.is_none() {
            let waiting = frame.next_entry as usize..frame.results.len();
            let starts = match &self.program.scope(frame.scope).start {
                Entries::Branches(places) => places.get(waiting).unwrap_or_default(),
                Entries::Each { place, .. } if !waiting.is_empty() => std::slice::from_ref(place),
                Entries::Each { .. } => &[],
            };
            if starts.iter().any(|place| reaches(*place)) {
                return true;
            }
        }
        let entries = frame.entries.iter().filter(|(entry, _)| only.is_none_or(|only| only == **entry));
        let mut strands = entries.flat_map(|(_, entry)| &entry.strands).filter_map(|no| self.state.strands.get(no));
        strands.any(|strand| match strand.parked {
            // Strands at the same merge do not wait for each other.
            Parked::Meet if strand.at == merge => false,
            Parked::Frame(inner) => {
                reach.can_reach_after(self.program, strand.at, target, within)
                    || self.frame_can_be_filled(inner, None, within, target, merge)
            }
            _ => reaches(strand.at),
        })
    }
}
