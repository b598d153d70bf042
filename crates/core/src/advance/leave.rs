//! `Leave`: leaves an enclosing scope with a value, with an error or to another place, or ends the run.

use super::{Flow, Machine};
use crate::ir::{Exit, PlaceId, ScopeId};
use crate::state::{FrameNo, Parked, StrandNo};

impl Machine<'_> {
    pub(super) fn leave(&mut self, no: StrandNo, scope: ScopeId, how: &Exit) -> Flow {
        match how {
            Exit::Done(value) => match value.map(|value| self.value(no, value)).transpose() {
                Ok(value) => {
                    if let Some(carrier) = self.carrier(no, scope) {
                        self.strand_done(carrier, value);
                    }
                }
                Err(error) => self.entry_failed(no, error),
            },
            Exit::Fail(error) => {
                // If the error object cannot be evaluated, the evaluation error replaces it.
                let error = self.value(no, *error).unwrap_or_else(|error| error);
                if let Some(carrier) = self.carrier(no, scope) {
                    self.entry_failed(carrier, error);
                }
            }
            Exit::Goto(place) => self.jump(no, scope, *place),
            Exit::Close(verdict) => match self.value(no, verdict.result) {
                Ok(result) => self.finish(verdict.status, result),
                Err(error) => self.entry_failed(no, error),
            },
        }
        Flow::Stop
    }

    /// The strand of the scope's frame that contains this strand, or this strand itself. Closes the frames in between.
    fn carrier(&mut self, no: StrandNo, scope: ScopeId) -> Option<StrandNo> {
        let mut carrier = no;
        loop {
            let strand = self.state.strands.get(&carrier)?;
            let frame = self.state.frames.get(&strand.frame)?;
            if frame.scope == scope {
                break;
            }
            carrier = frame.entered_by?;
        }
        if let Parked::Frame(inner) = self.state.strands.get(&carrier)?.parked {
            self.close_frame(inner);
            if let Some(strand) = self.state.strands.get_mut(&carrier) {
                strand.parked = Parked::Ready;
            }
        }
        Some(carrier)
    }

    fn jump(&mut self, no: StrandNo, scope: ScopeId, place: PlaceId) {
        let Some((frame, _)) = self.state.frame_no_of(no, scope) else { return };
        self.jump_out(frame, place);
    }

    fn jump_out(&mut self, frame: FrameNo, place: PlaceId) {
        if let Some(by) = self.close_frame(frame).and_then(|frame| frame.entered_by) {
            self.wake(by, place);
        }
    }
}
