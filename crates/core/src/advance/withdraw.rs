//! What is not wanted any more: effects in flight are withdrawn, timers cleared, questions retracted, frames closed.

use super::Machine;
use crate::command::Command;
use crate::state::{Frame, FrameNo, Parked, StrandNo};

impl Machine<'_> {
    /// Takes a frame out of the run; what was in flight in it is withdrawn.
    pub(super) fn take_frame(&mut self, no: FrameNo) -> Option<Frame> {
        self.withdraw_entries(no);
        let frame = self.state.remove_frame(no)?;
        for timer in [frame.deadline, frame.backoff].into_iter().flatten() {
            self.clear_timer(timer);
        }
        Some(frame)
    }

    pub(super) fn withdraw_entries(&mut self, no: FrameNo) {
        let entries: Vec<u32> =
            self.state.frames.get(&no).into_iter().flat_map(|frame| frame.entries.keys().copied()).collect();
        for entry in entries {
            self.withdraw_entry(no, entry);
        }
    }

    pub(super) fn withdraw_entry(&mut self, no: FrameNo, entry: u32) {
        for strand in self.take_entry(no, entry).into_iter().flat_map(|entry| entry.strands) {
            self.withdraw_strand(strand);
        }
    }

    /// A strand is no more, and nothing it waited for is wanted any more.
    fn withdraw_strand(&mut self, no: StrandNo) {
        let Some(strand) = self.state.strands.get(&no) else { return };
        match strand.parked.clone() {
            Parked::Ready | Parked::Meet => {}
            Parked::Wait { .. } => self.stop_waiting(no),
            Parked::Frame(frame) => {
                self.take_frame(frame);
            }
            Parked::Effect(effect) => match self.state.remove_effect(effect).map(|flight| flight.backoff) {
                Some(Some(timer)) => self.clear_timer(timer),
                Some(None) => self.outcome.commands.push(Command::Withdraw { effect }),
                None => {}
            },
        }
        // It may still be listed as ready. Whoever takes it from there finds that it is no more.
        self.state.remove_strand(no);
    }
}
