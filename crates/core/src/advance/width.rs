//! The limit of concurrent entries of a frame (its width).
//!
//! A frame with a width begins another entry when an entry ends or gives up its place. A branch gives up its place when all its strands
//! wait. An item gives up its place only when its strands wait for merges, because other items may fill the edges; an item that waits
//! for a time or for people keeps its place, because the author wants the items one after the other. The number of working entries is
//! updated with each change. The number of items that hold a place is counted on demand, because such frames have few open entries.

use super::Machine;
use crate::ir::Entries;
use crate::state::{Entry, Frame, FrameNo, Parked, StrandNo};
use crate::state_size::entry_bytes;

impl Machine<'_> {
    /// Whether another entry may begin.
    pub(super) fn has_room(&self, frame: &Frame) -> bool {
        let scope = self.program.scope(frame.scope);
        let width = scope.width as usize;
        match scope.start {
            _ if width == 0 || frame.entries.len() < width => true,
            Entries::Branches(_) => (frame.working as usize) < width,
            Entries::Each { .. } => {
                frame.entries.values().filter(|entry| self.holds_place(entry)).take(width).count() < width
            }
        }
    }

    /// Whether an item keeps its place: at least one of its strands does not wait for a merge.
    fn holds_place(&self, entry: &Entry) -> bool {
        entry.strands.iter().any(|strand| match self.state.strands.get(strand).map(|strand| &strand.parked) {
            None | Some(Parked::Meet) => false,
            Some(Parked::Ready | Parked::Effect(_) | Parked::Budget | Parked::Wait { .. }) => true,
            Some(Parked::Frame(inner)) => self.state.frames.get(inner).is_some_and(|frame| {
                (frame.next_entry as usize) < frame.results.len()
                    || frame.entries.values().any(|entry| self.holds_place(entry))
            }),
        })
    }

    /// Begins further entries of the frames that enclose a strand which began to wait.
    pub(super) fn give_up_place(&mut self, no: StrandNo) {
        if let Some(frame) = self.state.strands.get(&no).map(|strand| strand.frame) {
            self.fill_enclosing(frame);
        }
    }

    /// Begins entries of a frame and of its enclosing frames. After the end of an entry, the enclosing entries may have only strands that
    /// wait.
    pub(super) fn fill_enclosing(&mut self, no: FrameNo) {
        let mut frames = Vec::new();
        let mut inner = Some(no);
        while let Some((no, frame)) = inner.and_then(|no| self.state.frames.get(&no).map(|frame| (no, frame))) {
            if (frame.next_entry as usize) < frame.results.len() {
                frames.push(no);
            }
            inner = frame.entered_by.and_then(|by| self.state.strands.get(&by)).map(|strand| strand.frame);
        }
        for frame in frames {
            self.fill(frame);
        }
    }

    /// Updates the counters after a strand has parked or continued.
    pub(super) fn strand_changed(&mut self, no: StrandNo) {
        if let Some(strand) = self.state.strands.get(&no) {
            let (frame, entry) = (strand.frame, strand.entry);
            self.entry_changed(frame, entry);
        }
    }

    /// Updates whether an entry has work to do and, if that changed, the entry from which its frame was entered.
    pub(super) fn entry_changed(&mut self, no: FrameNo, entry: u32) {
        let Some(record) = self.state.frames.get(&no).and_then(|frame| frame.entries.get(&entry)) else { return };
        let (works, worked) = (self.works(record), record.works);
        if works == worked {
            return;
        }
        if let Some(frame) = self.state.frames.get_mut(&no) {
            frame.working = if works { frame.working + 1 } else { frame.working - 1 };
            frame.entries.entry(entry).and_modify(|record| record.works = works);
        }
        self.frame_changed(no);
    }

    /// Updates the entry from which a frame was entered, after entries of the frame have begun, changed or ended.
    pub(super) fn frame_changed(&mut self, no: FrameNo) {
        if let Some(by) = self.state.frames.get(&no).and_then(|frame| frame.entered_by) {
            self.strand_changed(by);
        }
    }

    /// Removes an entry from its frame.
    pub(super) fn remove_entry(&mut self, no: FrameNo, entry: u32) -> Option<Entry> {
        let frame = self.state.frames.get_mut(&no)?;
        let removed = frame.entries.remove(&entry)?;
        if removed.works {
            frame.working -= 1;
        }
        self.state.release(entry_bytes(&removed));
        if removed.works {
            self.frame_changed(no);
        }
        Some(removed)
    }

    fn works(&self, entry: &Entry) -> bool {
        entry.strands.iter().any(|strand| match self.state.strands.get(strand).map(|strand| &strand.parked) {
            None | Some(Parked::Meet | Parked::Wait { .. }) => false,
            Some(Parked::Ready | Parked::Effect(_) | Parked::Budget) => true,
            // Entries that have not begun are work too, unless the width is used up.
            Some(Parked::Frame(inner)) => self.state.frames.get(inner).is_some_and(|frame| {
                frame.working > 0 || ((frame.next_entry as usize) < frame.results.len() && self.has_room(frame))
            }),
        })
    }

    /// Whether the counters of working entries are exact. Large runs are not checked, because the check runs after every event.
    pub(super) fn widths_agree(&self) -> bool {
        const SMALL: usize = 64;
        self.state.strands.len() > SMALL
            || self.state.frames.values().all(|frame| {
                let works = frame.entries.values().filter(|entry| self.works(entry)).count();
                works == frame.working as usize && frame.entries.values().all(|entry| entry.works == self.works(entry))
            })
    }
}
