//! Who has work to do. A frame with a width begins another entry when one of its entries ends, or gives its place up: a branch does
//! when all its strands wait, an item only when they wait for merges, because what it waits for may be in another. An item that
//! waits for a time or for people keeps its place: whoever wants one after the other means just that. How many work is kept as things
//! change, so that nobody is counted twice; how many items hold a place is counted when it matters, and then they are few.

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
                frame.entries.values().filter(|entry| self.keeps_its_place(entry)).take(width).count() < width
            }
        }
    }

    /// Whether an item keeps its place: something of it does not wait for a merge.
    fn keeps_its_place(&self, entry: &Entry) -> bool {
        entry.strands.iter().any(|strand| match self.state.strands.get(strand).map(|strand| &strand.parked) {
            None | Some(Parked::Meet) => false,
            Some(Parked::Ready | Parked::Effect(_) | Parked::Wait { .. }) => true,
            Some(Parked::Frame(inner)) => self.state.frames.get(inner).is_some_and(|frame| {
                (frame.next_entry as usize) < frame.results.len()
                    || frame.entries.values().any(|entry| self.keeps_its_place(entry))
            }),
        })
    }

    /// A strand began to wait: the frames around it may have room for another entry now.
    pub(super) fn give_up_place(&mut self, no: StrandNo) {
        if let Some(frame) = self.state.strands.get(&no).map(|strand| strand.frame) {
            self.fill_around(frame);
        }
    }

    /// Begins entries of a frame and of the frames around it: what ends in one may leave only strands that wait in the
    /// others.
    pub(super) fn fill_around(&mut self, no: FrameNo) {
        let mut around = Vec::new();
        let mut inner = Some(no);
        while let Some((no, frame)) = inner.and_then(|no| self.state.frames.get(&no).map(|frame| (no, frame))) {
            if (frame.next_entry as usize) < frame.results.len() {
                around.push(no);
            }
            inner = frame.entered_by.and_then(|by| self.state.strands.get(&by)).map(|strand| strand.frame);
        }
        for frame in around {
            self.fill(frame);
        }
    }

    /// A strand parked or goes on.
    pub(super) fn strand_changed(&mut self, no: StrandNo) {
        if let Some(strand) = self.state.strands.get(&no) {
            let (frame, entry) = (strand.frame, strand.entry);
            self.entry_changed(frame, entry);
        }
    }

    /// Looks again at an entry, and when it makes a difference, at the entry that its frame was entered from.
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

    /// The entries of a frame have changed, or which of them have begun.
    pub(super) fn frame_changed(&mut self, no: FrameNo) {
        if let Some(by) = self.state.frames.get(&no).and_then(|frame| frame.entered_by) {
            self.strand_changed(by);
        }
    }

    /// Takes an entry out of its frame.
    pub(super) fn take_entry(&mut self, no: FrameNo, entry: u32) -> Option<Entry> {
        let frame = self.state.frames.get_mut(&no)?;
        let taken = frame.entries.remove(&entry)?;
        if taken.works {
            frame.working -= 1;
        }
        self.state.release(entry_bytes(&taken));
        if taken.works {
            self.frame_changed(no);
        }
        Some(taken)
    }

    fn works(&self, entry: &Entry) -> bool {
        entry.strands.iter().any(|strand| match self.state.strands.get(strand).map(|strand| &strand.parked) {
            None | Some(Parked::Meet | Parked::Wait { .. }) => false,
            Some(Parked::Ready | Parked::Effect(_)) => true,
            // Entries that have not begun are work to do too, unless they wait for a place.
            Some(Parked::Frame(inner)) => self.state.frames.get(inner).is_some_and(|frame| {
                frame.working > 0 || ((frame.next_entry as usize) < frame.results.len() && self.has_room(frame))
            }),
        })
    }

    /// Whether what is kept is what counting would give. Only small runs are counted: this runs after every event.
    pub(super) fn widths_agree(&self) -> bool {
        const SMALL: usize = 64;
        self.state.strands.len() > SMALL
            || self.state.frames.values().all(|frame| {
                let works = frame.entries.values().filter(|entry| self.works(entry)).count();
                works == frame.working as usize && frame.entries.values().all(|entry| entry.works == self.works(entry))
            })
    }
}
