//! `Enter`, and the life of a frame: entries begin as width allows, end, deliver, fail; the frame closes, or is tried
//! again. Whatever closes a frame withdraws its work in flight.

use std::collections::BTreeMap;

use branchpoint_expr::{List, Value, duration_text};

use super::effect::delay_ms;
use super::record_decision::FRAME_FAILED;
use super::scope_view::error_object;
use super::{Flow, Machine};
use crate::ir::{Entries, Index, OnFail, Program, ScopeId, SlotId, Status, Want};
use crate::state::{Entry, EntryResult, Frame, FrameNo, Parked, Purpose, StrandNo};
use crate::state_size::{bytes, entry_bytes, results_bytes, some_bytes};
use crate::trace::{Basis, NoteKind};

impl Machine<'_> {
    pub(super) fn enter(&mut self, no: StrandNo, scope: ScopeId) -> Flow {
        let spec = self.program.scope(scope);
        let items = match &spec.start {
            Entries::Branches(_) => List::default(),
            Entries::Each { items, .. } => match self.value(no, *items) {
                Ok(Value::List(items)) => items,
                Ok(other) => {
                    let message = format!("only a list has items, and this is {}", other.view().type_name());
                    return self.failed(no, spec.fail, error_object("wrong_kind", &message, None));
                }
                Err(error) => return self.failed(no, spec.fail, error),
            },
        };
        if matches!(spec.start, Entries::Each { .. }) {
            self.note(no, NoteKind::Items(u32::try_from(items.len()).unwrap_or(u32::MAX)));
        }
        let frame = FrameNo(self.state.number());
        let deadline = spec.time_limit_ms.map(|limit| self.set_timer(limit, Purpose::Deadline(frame)));
        let locals = self.state.strands[&no].locals.clone();
        let opened = Frame { deadline, ..self.fresh(scope, Some(no), items, locals) };
        self.state.insert_frame(frame, opened);
        self.park(no, Parked::Frame(frame));
        self.fill(frame);
        self.close_if_done(frame);
        Flow::Stop
    }

    /// The root frame has nobody who entered it.
    pub(super) fn open_root(&mut self, values: Vec<Option<Value>>) {
        let root = FrameNo(self.state.number());
        let limit = self.program.scope(Program::ROOT).time_limit_ms;
        let deadline = limit.map(|limit| self.set_timer(limit, Purpose::Deadline(root)));
        let frame = Frame { values, deadline, ..self.fresh(Program::ROOT, None, List::default(), Vec::new()) };
        self.state.insert_frame(root, frame);
        self.fill(root);
        self.close_if_done(root);
    }

    fn fresh(&self, scope: ScopeId, entered_by: Option<StrandNo>, items: List, locals: Vec<Value>) -> Frame {
        let spec = self.program.scope(scope);
        let count = match &spec.start {
            Entries::Branches(places) => places.len(),
            Entries::Each { .. } => items.len(),
        };
        Frame {
            scope,
            entered_by,
            values: self.first_values(scope),
            entries: BTreeMap::new(),
            working: 0,
            results: vec![EntryResult::Open; count],
            items,
            next_entry: 0,
            locals,
            delivered: 0,
            failure: None,
            deadline: None,
            attempt: 1,
            backoff: None,
        }
    }

    fn first_values(&self, scope: ScopeId) -> Vec<Option<Value>> {
        self.program.scope(scope).slots.iter().map(|slot| self.program.slot(*slot).first.clone()).collect()
    }

    /// Begins entries, in order, as long as the width has room.
    pub(super) fn fill(&mut self, no: FrameNo) {
        let program = self.program;
        let mut begun = Vec::new();
        // A run that keeps too much is about to end: it begins nothing more.
        while !self.is_outgrown()
            && let Some(frame) = self.state.frames.get(&no)
        {
            let spec = program.scope(frame.scope);
            let entry = frame.next_entry;
            if entry as usize >= frame.results.len() || frame.backoff.is_some() || !self.has_room(frame) {
                break;
            }
            let place = match &spec.start {
                Entries::Branches(places) => places[entry as usize],
                Entries::Each { place, .. } => *place,
            };
            let (values, locals) = (self.entry_values(no, entry), frame.locals.clone());
            let begun_with = Entry { values, ..Entry::default() };
            self.state.hold(entry_bytes(&begun_with));
            if let Some(frame) = self.state.frames.get_mut(&no) {
                frame.next_entry += 1;
                frame.entries.insert(entry, begun_with);
            }
            let before = self.state.ready.len();
            self.spawn(no, entry, &[place], &locals);
            begun.extend(self.state.ready.drain(before..));
        }
        self.state.ready.extend(begun.into_iter().rev());
        self.frame_changed(no);
    }

    /// The slots of an entry of a frame of items, with its item and its position in them.
    fn entry_values(&self, no: FrameNo, entry: u32) -> Vec<Option<Value>> {
        let frame = &self.state.frames[&no];
        let spec = self.program.scope(frame.scope);
        let Entries::Each { item, index, .. } = &spec.start else { return Vec::new() };
        let mut values = self.first_values(frame.scope);
        let mut put = |slot: &SlotId, value: Value| {
            if let Some(at) = spec.slots.iter().position(|known| known == slot) {
                values[at] = Some(value);
            }
        };
        put(item, frame.items.get(entry as usize).cloned().unwrap_or_default());
        put(index, Value::Int(i64::from(entry)));
        values
    }

    /// A strand of an entry has left it.
    pub(super) fn strand_done(&mut self, no: StrandNo, value: Option<Value>) {
        let Some(strand) = self.state.remove_strand(no) else { return };
        self.forget(no, strand.frame, strand.entry);
        let frame = self.state.frames.get_mut(&strand.frame);
        if let (Some(value), Some(entry)) = (value, frame.and_then(|frame| frame.entries.get_mut(&strand.entry))) {
            let written = bytes(&value);
            let old = entry.value.replace(value);
            self.state.hold(written);
            self.state.release(some_bytes(old.as_ref()));
        }
        self.entry_quiet(strand.frame, strand.entry);
    }

    /// Ends an entry that has no strand left.
    pub(super) fn entry_quiet(&mut self, no: FrameNo, entry: u32) {
        let Some(frame) = self.state.frames.get(&no) else { return };
        if frame.entries.get(&entry).is_none_or(|entry| !entry.strands.is_empty()) {
            return self.fill_around(no);
        }
        let keeps = self.program.scope(frame.scope).into.is_some();
        let ended = self.take_entry(no, entry).unwrap_or_default();
        let Some(frame) = self.state.frames.get_mut(&no) else { return };
        let result = match ended.value {
            Some(value) => {
                frame.delivered += 1;
                // A value that nobody will read is not kept: there may be many of them.
                EntryResult::Done(if keeps { value } else { Value::Null })
            }
            None => EntryResult::None,
        };
        let written = result.bytes();
        frame.results[entry as usize] = result;
        self.state.hold(written);
        self.entry_ended(no);
    }

    /// A strand has failed, and with it its entry.
    pub(super) fn entry_failed(&mut self, no: StrandNo, error: Value) {
        let Some(strand) = self.state.strands.get(&no) else { return };
        let (frame_no, entry) = (strand.frame, strand.entry);
        let keep = self.program.scope(self.state.frames[&frame_no].scope).on_fail == OnFail::Keep;
        if !keep {
            // The record of the frame's end names the entry that failed. The frame is gone or begun anew after this.
            if let Some(frame) = self.state.frames.get_mut(&frame_no).filter(|frame| frame.entered_by.is_some()) {
                frame.results[entry as usize] = EntryResult::Failed;
            }
            return self.frame_failed(frame_no, error);
        }
        self.withdraw_entry(frame_no, entry);
        let Some(frame) = self.state.frames.get_mut(&frame_no) else { return };
        frame.results[entry as usize] = EntryResult::Failed;
        if frame.failure.is_none() {
            let written = bytes(&error);
            frame.failure = Some(error);
            self.state.hold(written);
        }
        self.entry_ended(frame_no);
    }

    fn entry_ended(&mut self, no: FrameNo) {
        if !self.close_if_done(no) {
            self.fill_around(no);
        }
    }

    /// Closes a frame that has what it wants, or whose entries have all ended.
    fn close_if_done(&mut self, no: FrameNo) -> bool {
        let Some(frame) = self.state.frames.get(&no) else { return true };
        let spec = self.program.scope(frame.scope);
        let all_ended = frame.entries.is_empty() && frame.next_entry as usize >= frame.results.len();
        let enough = matches!(spec.want, Want::First(wanted) if frame.delivered >= wanted);
        if !all_ended && !enough {
            return false;
        }
        let too_few = matches!(spec.want, Want::First(wanted) if frame.delivered < wanted);
        match frame.failure.clone().filter(|_| too_few) {
            Some(error) => self.frame_failed(no, error),
            None => self.close(no),
        }
        true
    }

    /// A frame is done: the strand that entered it goes on, with what became of the entries.
    fn close(&mut self, no: FrameNo) {
        let Some(frame) = self.take_frame(no) else { return };
        let spec = self.program.scope(frame.scope);
        self.decided_by_frame(&frame, None);
        let Some(by) = frame.entered_by else {
            return match self.state.cancelling.clone() {
                Some(reason) => self.finish_cancelled(reason),
                None => self.finish(Status::Completed, Value::Null),
            };
        };
        if let Some(slot) = spec.outcomes {
            let outcomes = frame.results.iter().map(|result| {
                Value::from(match result {
                    EntryResult::Open => "withdrawn",
                    EntryResult::Done(_) => "done",
                    EntryResult::None => "none",
                    EntryResult::Failed => "failed",
                })
            });
            let outcomes = Value::from(outcomes.collect::<Vec<_>>());
            self.write(by, slot, Some(outcomes));
        }
        if let Some(slot) = spec.into {
            let values = frame.results.into_iter().map(|result| match result {
                EntryResult::Done(value) => value,
                _ => Value::Null,
            });
            match self.bounded(Value::from(values.collect::<Vec<_>>())) {
                Ok(values) => self.write(by, slot, Some(values)),
                Err(error) => return self.resume_failed(by, spec.fail, error),
            };
        }
        self.wake(by, spec.next);
    }

    /// A frame has failed: it is tried again, or the strand that entered it fails.
    pub(super) fn frame_failed(&mut self, no: FrameNo, error: Value) {
        let Some(frame) = self.state.frames.get(&no) else { return };
        let spec = self.program.scope(frame.scope);
        let attempt = frame.attempt;
        if let Some(retry) = spec.retry.filter(|retry| attempt < retry.max_attempts) {
            self.withdraw_entries(no);
            let delay = delay_ms(&retry, attempt, self.stamp.seed);
            self.frame_attempt_failed(no, retry.max_attempts, error, Some(delay));
            let timer = self.set_timer(delay, Purpose::FrameAttempt(no));
            if let Some(frame) = self.state.frames.get_mut(&no) {
                frame.backoff = Some(timer);
                // Its entries have not begun again: merges wait for them, and the frame keeps its place in those around.
                frame.next_entry = 0;
                let dropped = results_bytes(&frame.results);
                frame.results.fill(EntryResult::Open);
                self.state.release(dropped);
            }
            return self.frame_changed(no);
        }
        let Some(by) = frame.entered_by else { return self.root_failed(error) };
        let fail = spec.fail;
        // A frame whose time is up has not used up its attempts.
        if let Some(retry) = spec.retry.filter(|retry| attempt == retry.max_attempts && attempt > 1) {
            self.frame_attempt_failed(no, retry.max_attempts, error.clone(), None);
        }
        if let Some(frame) = self.take_frame(no) {
            self.decided_by_frame(&frame, Some(&error));
        }
        self.resume_failed(by, fail, error);
    }

    /// Records what a retry policy says about a frame that failed.
    fn frame_attempt_failed(&mut self, no: FrameNo, limit: u32, error: Value, delay_ms: Option<u64>) {
        let Some(frame) = self.state.frames.get(&no) else { return };
        let by = frame.entered_by.and_then(|by| Some((by, self.state.strands.get(&by)?.at)));
        let Some((by, decides)) = by.and_then(|(by, at)| Some((by, self.program.place(at).decides.as_ref()?))) else {
            return;
        };
        let decision = &self.program.decisions[decides.decision.index()];
        let failed = decides.exits.get(FRAME_FAILED).copied().flatten();
        let fails = failed.map_or_else(Vec::new, |branch| decision.branches[branch as usize].targets.clone());
        let basis = Basis::Attempt { attempt: frame.attempt, limit, delay_ms, retryable: true };
        self.decided_by_policy(by, decision.step, basis, error, fails);
    }

    pub(super) fn next_frame_attempt(&mut self, no: FrameNo) {
        let Some(frame) = self.state.frames.get(&no) else { return };
        let mut fresh = self.fresh(frame.scope, frame.entered_by, frame.items.clone(), frame.locals.clone());
        if frame.entered_by.is_none() {
            // What the run was started with is no work of the attempt that failed.
            let given = [self.program.input_slot, self.program.facts_slot];
            let slots = &self.program.scope(Program::ROOT).slots;
            for ((slot, old), new) in slots.iter().zip(&frame.values).zip(&mut fresh.values) {
                if given.contains(&Some(*slot)) {
                    new.clone_from(old);
                }
            }
        }
        let again = Frame { deadline: frame.deadline, attempt: frame.attempt + 1, ..fresh };
        self.state.insert_frame(no, again);
        self.fill(no);
        self.close_if_done(no);
    }

    pub(super) fn frame_expired(&mut self, no: FrameNo) {
        let Some(frame) = self.state.frames.get_mut(&no) else { return };
        let limit_ms = self.program.scope(frame.scope).time_limit_ms.unwrap_or_default();
        frame.deadline = None;
        // The limit is over all attempts: there is no other one.
        frame.attempt = Frame::EXPIRED;
        if let Some(timer) = frame.backoff.take() {
            self.clear_timer(timer);
        }
        let message = format!("exceeded the timeout of {}", duration_text(limit_ms));
        self.frame_failed(no, error_object("timeout", &message, None));
    }
}
