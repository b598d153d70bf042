//! `Fork`: ends this strand and starts a strand of the same frame at each target place.

use branchpoint_expr::Value;

use super::{Flow, Machine};
use crate::ir::PlaceId;
use crate::state::{FrameNo, Parked, Strand, StrandNo};

impl Machine<'_> {
    pub(super) fn fork(&mut self, no: StrandNo, to: &[PlaceId]) -> Flow {
        let Some(strand) = self.state.remove_strand(no) else { return Flow::Stop };
        self.spawn(strand.frame, strand.entry, to, &strand.locals);
        self.remove_from_entry(no, strand.frame, strand.entry);
        if to.is_empty() {
            self.end_entry_if_empty(strand.frame, strand.entry);
        }
        Flow::Stop
    }

    /// Starts strands in an entry. They run next, in order, before older ready strands.
    pub(super) fn spawn(&mut self, frame: FrameNo, entry: u32, to: &[PlaceId], locals: &[Value]) {
        let mut started = Vec::with_capacity(to.len());
        for at in to {
            let no = StrandNo(self.state.number());
            let strand = Strand { frame, entry, at: *at, locals: locals.to_vec(), parked: Parked::Ready };
            self.state.insert_strand(no, strand);
            started.push(no);
        }
        if let Some(record) = self.state.frames.get_mut(&frame).and_then(|frame| frame.entries.get_mut(&entry)) {
            record.strands.extend(&started);
        }
        self.state.ready.extend(started.into_iter().rev());
        self.entry_changed(frame, entry);
    }

    /// Removes a strand that has ended from its entry.
    pub(super) fn remove_from_entry(&mut self, no: StrandNo, frame: FrameNo, entry: u32) {
        if let Some(record) = self.state.frames.get_mut(&frame).and_then(|frame| frame.entries.get_mut(&entry)) {
            record.strands.retain(|strand| *strand != no);
        }
        self.entry_changed(frame, entry);
    }
}
