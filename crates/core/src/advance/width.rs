//! Who has work to do. A frame with a width begins another entry when one of its entries ends; or, if its entries are branches, when
//! one has only strands that wait: a branch that waits for another gives its place up, else neither would go on. Items wait for
//! nothing of each other, and keep theirs. The numbers are kept as things change, so that nobody is counted twice.

use super::Machine;
use crate::ir::{Entries, Scope};
use crate::state::{Entry, Frame, FrameNo, Parked, StrandNo};

/// Whether another entry may begin.
pub(super) fn has_room(frame: &Frame, scope: &Scope) -> bool {
    let begun = match scope.start {
        Entries::Branches(_) => frame.working as usize,
        Entries::Each { .. } => frame.entries.len(),
    };
    scope.width == 0 || begun < scope.width as usize
}

impl Machine<'_> {
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
            self.frame_changed(no);
        }
        Some(taken)
    }

    fn works(&self, entry: &Entry) -> bool {
        entry.strands.iter().any(|strand| match self.state.strands.get(strand).map(|strand| &strand.parked) {
            None | Some(Parked::Meet | Parked::Wait { .. }) => false,
            Some(Parked::Ready | Parked::Effect(_)) => true,
            // Entries that have not begun are work to do, too.
            Some(Parked::Frame(inner)) => self
                .state
                .frames
                .get(inner)
                .is_some_and(|frame| frame.working > 0 || (frame.next_entry as usize) < frame.results.len()),
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
