//! `Enter`, and the life cycle of a frame: entries begin within the width, deliver values, end or fail; then the frame closes or is
//! retried. Closing a frame withdraws its work in flight.

use std::collections::BTreeMap;

use branchpoint_expr::{List, Value, duration_text};

use super::effect::delay_ms;
use super::record_decision::FRAME_FAILED;
use super::scope_view::error_object;
use super::{Flow, Machine};
use crate::ir::{BudgetLimits, Entries, Index, OnFail, Program, ScopeId, SlotId, Status, Want};
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
                    let message = format!("the items of a loop must be a list, but are {}", other.view().type_name());
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
        let opened = Frame { deadline, ..self.new_frame(scope, Some(no), items, locals) };
        self.state.insert_frame(frame, opened);
        self.open_meter(frame, scope, BudgetLimits::default());
        self.park(no, Parked::Frame(frame));
        self.fill(frame);
        self.close_if_done(frame);
        Flow::Stop
    }

    /// Opens the root frame, which no strand enters.
    pub(super) fn open_root(&mut self, values: Vec<Option<Value>>, budget: BudgetLimits) {
        let root = FrameNo(self.state.number());
        let limit = self.program.scope(Program::ROOT).time_limit_ms;
        let deadline = limit.map(|limit| self.set_timer(limit, Purpose::Deadline(root)));
        let frame = Frame { values, deadline, ..self.new_frame(Program::ROOT, None, List::default(), Vec::new()) };
        self.state.insert_frame(root, frame);
        self.open_meter(root, Program::ROOT, budget);
        self.fill(root);
        self.close_if_done(root);
    }

    fn new_frame(&self, scope: ScopeId, entered_by: Option<StrandNo>, items: List, locals: Vec<Value>) -> Frame {
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

    /// Begins entries in order, as far as the width allows.
    pub(super) fn fill(&mut self, no: FrameNo) {
        let program = self.program;
        let mut begun = Vec::new();
        // A run that exceeds its size limit is about to end.
        while !self.is_too_large()
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
            let new_entry = Entry { values, ..Entry::default() };
            self.state.hold(entry_bytes(&new_entry));
            if let Some(frame) = self.state.frames.get_mut(&no) {
                frame.next_entry += 1;
                frame.entries.insert(entry, new_entry);
            }
            let before = self.state.ready.len();
            self.spawn(no, entry, &[place], &locals);
            begun.extend(self.state.ready.drain(before..));
        }
        self.state.ready.extend(begun.into_iter().rev());
        self.frame_changed(no);
    }

    /// The slots of an entry of a frame of items, with its item and its position.
    fn entry_values(&self, no: FrameNo, entry: u32) -> Vec<Option<Value>> {
        let frame = &self.state.frames[&no];
        let spec = self.program.scope(frame.scope);
        let Entries::Each { item, index, .. } = &spec.start else { return Vec::new() };
        let mut values = self.first_values(frame.scope);
        let mut put = |slot: &SlotId, value: Value| {
            if let Some(at) = spec.slots.iter().position(|own| own == slot) {
                values[at] = Some(value);
            }
        };
        put(item, frame.items.get(entry as usize).cloned().unwrap_or_default());
        put(index, Value::Int(i64::from(entry)));
        values
    }

    /// Handles a strand that has left its entry.
    pub(super) fn strand_done(&mut self, no: StrandNo, value: Option<Value>) {
        let Some(strand) = self.state.remove_strand(no) else { return };
        self.remove_from_entry(no, strand.frame, strand.entry);
        let frame = self.state.frames.get_mut(&strand.frame);
        if let (Some(value), Some(entry)) = (value, frame.and_then(|frame| frame.entries.get_mut(&strand.entry))) {
            let written = bytes(&value);
            let old = entry.value.replace(value);
            self.state.hold(written);
            self.state.release(some_bytes(old.as_ref()));
        }
        self.end_entry_if_empty(strand.frame, strand.entry);
    }

    /// Ends an entry without strands.
    pub(super) fn end_entry_if_empty(&mut self, no: FrameNo, entry: u32) {
        let Some(frame) = self.state.frames.get(&no) else { return };
        if frame.entries.get(&entry).is_none_or(|entry| !entry.strands.is_empty()) {
            return self.fill_enclosing(no);
        }
        let is_read = self.program.scope(frame.scope).into.is_some();
        let ended = self.remove_entry(no, entry).unwrap_or_default();
        let Some(frame) = self.state.frames.get_mut(&no) else { return };
        let result = match ended.value {
            Some(value) => {
                frame.delivered += 1;
                // Values that are never read are not stored, because there may be many.
                EntryResult::Done(if is_read { value } else { Value::Null })
            }
            None => EntryResult::None,
        };
        let written = result.bytes();
        frame.results[entry as usize] = result;
        self.state.hold(written);
        self.entry_ended(no);
    }

    /// Handles the failure of a strand, which fails its entry.
    pub(super) fn entry_failed(&mut self, no: StrandNo, error: Value) {
        let Some(strand) = self.state.strands.get(&no) else { return };
        let (frame_no, entry) = (strand.frame, strand.entry);
        let continues = self.program.scope(self.state.frames[&frame_no].scope).on_fail == OnFail::Keep;
        if !continues {
            // The record of the frame's end names the failed entry. The frame closes or restarts below.
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
            self.fill_enclosing(no);
        }
    }

    /// Closes a frame that has enough values, or whose entries have all ended.
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

    /// Closes a frame that is done: the strand that entered it continues with the results of the entries.
    fn close(&mut self, no: FrameNo) {
        let Some(frame) = self.close_frame(no) else { return };
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

    /// Handles the failure of a frame: retries it, or fails the strand that entered it.
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
                // The entries count as not begun, so that merges wait for them and the frame keeps its place in enclosing frames.
                frame.next_entry = 0;
                let dropped = results_bytes(&frame.results);
                frame.results.fill(EntryResult::Open);
                self.state.release(dropped);
            }
            return self.frame_changed(no);
        }
        let Some(by) = frame.entered_by else { return self.root_failed(error) };
        let fail = spec.fail;
        // A frame that exceeded its time limit has not used all its attempts.
        if let Some(retry) = spec.retry.filter(|retry| attempt == retry.max_attempts && attempt > 1) {
            self.frame_attempt_failed(no, retry.max_attempts, error.clone(), None);
        }
        if let Some(frame) = self.close_frame(no) {
            self.decided_by_frame(&frame, Some(&error));
        }
        self.resume_failed(by, fail, error);
    }

    /// Records the decision of a retry policy about a failed frame.
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
        let mut next = self.new_frame(frame.scope, frame.entered_by, frame.items.clone(), frame.locals.clone());
        if frame.entered_by.is_none() {
            // The input and the facts of the run survive a failed attempt.
            let given = [self.program.input_slot, self.program.facts_slot];
            let slots = &self.program.scope(Program::ROOT).slots;
            for ((slot, old), new) in slots.iter().zip(&frame.values).zip(&mut next.values) {
                if given.contains(&Some(*slot)) {
                    new.clone_from(old);
                }
            }
        }
        let again = Frame { deadline: frame.deadline, attempt: frame.attempt + 1, ..next };
        self.state.insert_frame(no, again);
        self.fill(no);
        self.close_if_done(no);
    }

    pub(super) fn frame_expired(&mut self, no: FrameNo) {
        let Some(frame) = self.state.frames.get_mut(&no) else { return };
        let limit_ms = self.program.scope(frame.scope).time_limit_ms.unwrap_or_default();
        frame.deadline = None;
        // The limit applies to all attempts together, so no attempt follows.
        frame.attempt = Frame::EXPIRED;
        if let Some(timer) = frame.backoff.take() {
            self.clear_timer(timer);
        }
        let message = format!("exceeded the timeout of {}", duration_text(limit_ms));
        self.frame_failed(no, error_object("timeout", &message, None));
    }
}
