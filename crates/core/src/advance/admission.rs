//! Whether the budgets around a call let it begin. What a call uses is known when it has ended, so each call in flight has a reservation:
//! what it probably uses. Another call begins only if something is left beside the reservations.

use super::Machine;
use crate::event::Usage;
use crate::ir::{EffectId, Index};
use crate::meter::BudgetReason;
use crate::state::{FrameNo, StrandNo};

/// Whether a call may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Granted,
    /// Another call must end first.
    Later,
    /// The budget of this frame is used up. It is the outermost of them, because parts inside of it could not continue either.
    UsedUp(FrameNo, BudgetReason),
}

impl Machine<'_> {
    /// Whether the budgets around a strand allow another call of an effect.
    pub(super) fn admission(&self, no: StrandNo, effect: EffectId, is_new: bool) -> Admission {
        let frames = self.state.metered_around(no);
        if let Some((frame, reason)) = self.used_up_among(&frames) {
            return Admission::UsedUp(frame, reason);
        }
        if self.program.effects[effect.index()].uses_tokens() {
            let limited = frames.into_iter().filter(|frame| self.state.meters[frame].limits_usage());
            for frame in limited {
                // Calls begin in the order in which they are reached.
                if (is_new && self.held_in(frame)) || self.is_reserved(frame) {
                    return Admission::Later;
                }
            }
        }
        Admission::Granted
    }

    /// Whether the calls in flight inside of a frame have reserved all that its budget has left. Close to the limit one call is enough,
    /// because some calls use more than those before them.
    fn is_reserved(&self, frame: FrameNo) -> bool {
        let meter = &self.state.meters[&frame];
        let effects = self.in_flight(frame).map(|effect| &self.program.effects[effect.index()]);
        let (mut reserved, mut calls) = (Usage::default(), 0);
        for effect in effects.filter(|effect| effect.uses_tokens()) {
            reserved.add(meter.reservation(effect.step, effect.is_child_run()));
            calls += 1;
        }
        calls > 0 && (meter.is_nearly_used_up() || meter.would_be_used_up(reserved))
    }

    /// The outermost of these frames whose budget is used up.
    pub(super) fn used_up_among(&self, frames: &[FrameNo]) -> Option<(FrameNo, BudgetReason)> {
        let used_up = |frame: &FrameNo| Some((*frame, self.state.meters.get(frame)?.used_up(self.stamp.now_ms)?));
        frames.iter().rev().find_map(used_up)
    }

    /// The effects of the calls inside of a frame that are in flight.
    pub(super) fn in_flight(&self, frame: FrameNo) -> impl Iterator<Item = EffectId> {
        let flights = self.state.effects.iter().filter(move |(no, flight)| {
            flight.backoff.is_none() && !self.is_held(**no) && self.state.metered_around(flight.strand).contains(&frame)
        });
        flights.map(|(_, flight)| flight.effect_id)
    }

    /// Whether a call inside of a frame is held.
    fn held_in(&self, frame: FrameNo) -> bool {
        let strands = self.state.held.iter().filter_map(|call| self.strand_of(*call));
        strands.into_iter().any(|strand| self.state.metered_around(strand).contains(&frame))
    }
}
