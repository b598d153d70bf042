//! Withdrawal of work: removes frames, entries and strands, and clears their effects, timers and requests.

use super::Machine;
use crate::command::Command;
use crate::meter::HeldCall;
use crate::state::{Frame, FrameNo, Parked, StrandNo};

impl Machine<'_> {
    /// Removes a frame from the run and withdraws the work in it.
    pub(super) fn close_frame(&mut self, no: FrameNo) -> Option<Frame> {
        self.withdraw_entries(no);
        let frame = self.state.remove_frame(no)?;
        self.close_meter(no, frame.scope, frame.entered_by);
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
        for strand in self.remove_entry(no, entry).into_iter().flat_map(|entry| entry.strands) {
            self.withdraw_strand(strand);
        }
    }

    /// Removes a strand and withdraws the work that it waits for.
    fn withdraw_strand(&mut self, no: StrandNo) {
        let Some(strand) = self.state.strands.get(&no) else { return };
        match strand.parked.clone() {
            Parked::Ready | Parked::Meet => {}
            Parked::Wait { requests, .. } => {
                self.record_withdrawn(no, &requests);
                self.stop_waiting(no);
            }
            Parked::Frame(frame) => {
                self.close_frame(frame);
            }
            Parked::Budget => drop(self.drop_held(HeldCall::First(no))),
            Parked::Effect(effect) => match self.state.remove_effect(effect).map(|flight| flight.backoff) {
                Some(Some(timer)) => self.clear_timer(timer),
                // The last attempt has ended, and the next one has not begun.
                Some(None) if self.drop_held(HeldCall::Next(effect)) => {}
                Some(None) => self.outcome.commands.push(Command::Withdraw { effect }),
                None => {}
            },
        }
        // The strand may still be in the list of ready strands, which `run` cleans up.
        self.state.remove_strand(no);
    }
}
