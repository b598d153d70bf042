//! Moves a waiting run to a changed program or to other semantics.
//!
//! The host converts the state with [`carry`] and hands it in as [`Event::Adopt`](crate::Event::Adopt), with the new program. The
//! event withdraws the current wait, and the new program defines what the run waits for next.

use std::collections::BTreeMap;

use branchpoint_expr::Value;

use super::{Machine, Rejected};
use crate::command::Command;
use crate::ir::{Entries, Home, Index, Op, PlaceId, Program, SignalId, Slot};
use crate::state::{Parked, Purpose, State, Strand};

/// Converts the state of a waiting run for a changed program. Slots, locals and stored signals are carried over by name; those that the
/// new program does not have are dropped.
///
/// ```
#[doc = include_str!("../../docs/waiting.txt")]
/// let carried = carry(&program, &program, &state)?;
/// advance(&program, &mut state, &Stamp::default(), Event::Adopt(Box::new(carried)))?;
/// assert_eq!(status(&program, &state), Status::WaitingTimer);
/// # Ok::<(), Rejected>(())
/// ```
pub fn carry(old: &Program, new: &Program, state: &State) -> Result<State, Rejected> {
    let (no, strand) = resting(state).ok_or(Rejected::NotResting)?;
    let rest = rests(old).position(|place| place == strand.at).ok_or(Rejected::NotResting)?;
    let at = rests(new).nth(rest).ok_or(Rejected::NotResting)?;
    let frame =
        state.frames.get(&strand.frame).filter(|frame| frame.scope == Program::ROOT).ok_or(Rejected::NotResting)?;
    let old_value = |wanted: &Slot| {
        let same = |slot: &&Slot| slot.name == wanted.name && matches!(slot.home, Home::Frame(Program::ROOT, _));
        match old.slots.iter().find(same)?.home {
            Home::Frame(_, index) => frame.values.get(index as usize).cloned().flatten(),
            _ => None,
        }
    };
    let slots = new.scope(Program::ROOT).slots.iter().map(|slot| new.slot(*slot));
    let values = slots.map(|slot| old_value(slot).or_else(|| slot.first.clone())).collect();
    let strand = Strand { at, parked: Parked::Ready, locals: locals(old, new, &strand.locals), ..strand.clone() };
    let signal = |id: SignalId| new.signals.iter().position(|signal| signal.name == old.signals[id.index()].name);
    let stored = state.mailbox.iter().filter_map(|(id, payload)| Some((*id, signal(*id)?, payload)));
    let mailbox = stored.filter_map(|(_, id, payload)| Some((SignalId(u32::try_from(id).ok()?), payload.clone())));
    let lasting = |purpose: &Purpose| matches!(purpose, Purpose::Wall | Purpose::Deadline(_) | Purpose::Budget(_));
    let mut carried = State {
        frames: BTreeMap::from([(strand.frame, frame.clone())]),
        ready: vec![no],
        timers: state
            .timers
            .iter()
            .filter(|(_, timer)| lasting(&timer.purpose))
            .map(|(no, timer)| (*no, timer.clone()))
            .collect(),
        mailbox: mailbox.collect(),
        spent: state.spent,
        last_no: state.last_no,
        seq: state.seq,
        now_ms: state.now_ms,
        depth: state.depth,
        max_ops: state.max_ops,
        semantics: new.semantics,
        meters: state.meters.iter().map(|(frame, meter)| (*frame, meter.clone())).collect(),
        ..State::default()
    };
    if let Some(frame) = carried.frames.get_mut(&strand.frame) {
        frame.values = values;
        frame.locals = locals(old, new, &frame.locals);
    }
    carried.insert_strand(no, strand);
    carried.size = carried.count_size();
    Ok(carried)
}

/// A state that gives out no number up to `last_no` again. A run whose history was replayed into another program adopts it, so that new
/// calls have other numbers, and other idempotency keys, than all earlier ones.
pub(crate) fn with_numbers_after(state: &State, last_no: u64) -> State {
    State { last_no: last_no.max(state.last_no), ..state.clone() }
}

impl Machine<'_> {
    /// Replaces the state by the carried one, or only raises the number after which new numbers begin. Both must be states of the same run, at a place where its document can be changed.
    pub(super) fn adopt(&mut self, carried: State) -> Result<(), Rejected> {
        let before = &*self.state;
        if carried.last_no > before.last_no && (State { last_no: carried.last_no, ..before.clone() }) == carried {
            self.state.last_no = carried.last_no;
            return Ok(());
        }
        let facts = |state: &State| (state.seq, state.last_no, state.depth, state.max_ops);
        let same_run = facts(&carried) == facts(before);
        if !same_run || resting(before).is_none() || !self.fits(&carried) {
            return Err(Rejected::NotResting);
        }
        let old = std::mem::replace(self.state, carried);
        for request in old.requests.keys() {
            self.outcome.commands.push(Command::Retract { request: *request });
        }
        for timer in old.timers.keys().filter(|timer| !self.state.timers.contains_key(timer)) {
            self.outcome.commands.push(Command::ClearTimer { timer: *timer });
        }
        // The carried strand is ready.
        let strands: Vec<_> = self.state.strands.keys().copied().collect();
        for strand in strands {
            self.strand_changed(strand);
        }
        Ok(())
    }

    /// Whether a carried state has the form that [`carry`] produces for this program: one strand, ready at a rest, in the root.
    fn fits(&self, carried: &State) -> bool {
        let mut strands = carried.strands.iter();
        let (Some((no, strand)), None) = (strands.next(), strands.next()) else { return false };
        let Some(frame) = carried.frames.get(&strand.frame) else { return false };
        let exists = |id: SignalId| self.program.signals.get(id.index()).is_some();
        rests(self.program).any(|place| place == strand.at)
            && strand.parked == Parked::Ready
            && carried.ready == [*no]
            && carried.frames.len() == 1
            && frame.scope == Program::ROOT
            && frame.entered_by.is_none()
            && frame.entries.get(&strand.entry).is_some_and(|entry| entry.strands == [*no])
            && frame.values.len() == self.program.scope(Program::ROOT).slots.len()
            && matches!(&self.program.scope(Program::ROOT).start, Entries::Branches(places) if places.len() == frame.results.len())
            && carried.effects.is_empty()
            && carried.held.is_empty()
            && carried.meters.keys().all(|metered| *metered == strand.frame)
            && carried.requests.is_empty()
            && carried.mailbox.iter().all(|(id, _)| exists(*id))
            && carried.ended.is_none()
            && carried.semantics == self.program.semantics
            && carried.size_bytes() == carried.count_size()
    }
}

/// The only strand of a run, if the run waits at a place where its document can be changed.
fn resting(state: &State) -> Option<(crate::state::StrandNo, &Strand)> {
    let mut strands = state.strands.iter();
    let (Some((no, strand)), None) = (strands.next(), strands.next()) else { return None };
    let waits = matches!(strand.parked, Parked::Wait { .. });
    (waits && state.effects.is_empty() && state.cancelling.is_none() && !state.last_word).then_some((*no, strand))
}

/// The places where the document of a run can be changed, in order.
fn rests(program: &Program) -> impl Iterator<Item = PlaceId> {
    let places = (0..).map(PlaceId).zip(&program.places);
    places.filter(|(_, place)| matches!(place.op, Op::Wait { rest: true, .. })).map(|(id, _)| id)
}

/// Converts locals by name.
fn locals(old: &Program, new: &Program, values: &[Value]) -> Vec<Value> {
    let position = |slot: &Slot| match slot.home {
        Home::Local(position) => Some(position as usize),
        _ => None,
    };
    let mut carried = Vec::new();
    for slot in &new.slots {
        let Some(to) = position(slot) else { continue };
        let from = old.slots.iter().filter(|other| other.name == slot.name).find_map(position);
        if carried.len() <= to {
            carried.resize(to + 1, Value::Null);
        }
        carried[to] = from.and_then(|from| values.get(from)).cloned().unwrap_or_default();
    }
    carried
}
