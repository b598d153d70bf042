//! How a run begins, how it is cancelled, and how it crosses into a changed program.

use std::sync::Arc;

use branchpoint_expr::{Object, Value};

use super::sight::VALUE_DEPTH;
use super::{Machine, Rejected};
use crate::ir::{Home, Op, PlaceId, Program, Status};
use crate::request::object;
use crate::state::{Parked, Purpose, State};

impl Machine<'_> {
    pub(super) fn start(&mut self, input: &Value, mut facts: Object, depth: u32) -> Result<(), Rejected> {
        if !input.is_within_depth(VALUE_DEPTH) || !Value::from(facts.clone()).is_within_depth(VALUE_DEPTH) {
            return Err(Rejected::TooDeep);
        }
        if let Some(missing) = self.program.facts.iter().find(|fact| !facts.contains_key(&***fact)) {
            return Err(Rejected::MissingFact(missing.to_string()));
        }
        // A run keeps the facts that its program names, never the whole of what the host knows.
        facts.retain(|fact, _| self.program.facts.iter().any(|named| named == fact));
        self.state.depth = depth;
        if self.program.limits.wall_ms > 0 {
            self.set_timer(self.program.limits.wall_ms, Purpose::Wall);
        }
        let values = self.program.scope(Program::ROOT).slots.iter().map(|slot| {
            let slot = self.program.slot(*slot);
            match &*slot.name {
                INPUT => Some(input.clone()),
                FACTS => Some(Value::from(facts.clone())),
                _ => slot.first.clone(),
            }
        });
        let values = values.collect();
        self.open_root(values);
        Ok(())
    }

    /// Everything is withdrawn; then the program may say its last word. A second cancel does not wait for that.
    pub(super) fn cancel(&mut self, reason: Option<Arc<str>>) {
        let again = self.state.cancelling;
        self.state.cancelling = true;
        match self.program.on_cancel {
            Some(place) if !again => self.restart_root(place, None),
            _ => {
                let reason = reason.map_or(Value::Null, Value::Str);
                self.finish(Status::Cancelled, Value::from(object([("reason", reason)])));
            }
        }
    }

    /// The snapshot that the event carries is the truth from here on.
    pub(super) fn adopt(&mut self, carried: State) -> Result<(), Rejected> {
        if carried.strands.values().any(|strand| self.program.places.get(strand.at.0 as usize).is_none()) {
            return Err(Rejected::NotResting);
        }
        let (seq, now_ms) = (self.state.seq, self.state.now_ms);
        *self.state = State { seq, now_ms, ..carried };
        Ok(())
    }
}

/// The root slot that holds what the run was started with.
pub(crate) const INPUT: &str = "input";

/// The root slot that holds the facts.
pub(crate) const FACTS: &str = "facts";

/// The state of a resting run as the changed program takes it: slots are carried by name, the run rests at its rest.
pub fn carry(old: &Program, new: &Program, state: &State) -> Result<State, Rejected> {
    let rests = |program: &Program, at: PlaceId| matches!(program.place(at).op, Op::Wait { rest: true, .. });
    let mut strands = state.strands.iter();
    let (Some((no, strand)), None) = (strands.next(), strands.next()) else {
        return Err(Rejected::NotResting);
    };
    let waits = matches!(strand.parked, Parked::Wait { .. });
    let place = (0..new.places.len()).filter_map(|at| u32::try_from(at).ok().map(PlaceId)).find(|at| rests(new, *at));
    let (true, true, Some(place)) = (waits, rests(old, strand.at), place) else {
        return Err(Rejected::NotResting);
    };
    let frame = state.frames.get(&strand.frame).filter(|frame| frame.scope == Program::ROOT);
    let frame = frame.ok_or(Rejected::NotResting)?;
    let held = |name: &str| {
        let slot = old.slots.iter().find(|slot| &*slot.name == name)?;
        let Home::Frame(Program::ROOT, index) = slot.home else { return None };
        frame.values.get(index as usize).cloned().flatten()
    };
    let mut carried = state.clone();
    let values = new.scope(Program::ROOT).slots.iter().map(|slot| {
        let slot = new.slot(*slot);
        held(&slot.name).or_else(|| slot.first.clone())
    });
    let values = values.collect();
    if let Some(frame) = carried.frames.get_mut(&strand.frame) {
        frame.values = values;
    }
    if let Some(strand) = carried.strands.get_mut(no) {
        strand.at = place;
    }
    Ok(carried)
}
