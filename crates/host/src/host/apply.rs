//! Events become rows: the event itself, what was asked for, timers, questions.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use branchpoint_backend::{RequestChange, RunEvent, RunEventKind};
use branchpoint_core::RunKinds as _;
use branchpoint_core::ir::Status;
use branchpoint_core::{
    AttemptError, Command, EffectNo, Event, NoteKind, Offer, RequestNo, RetryHint, Stamp, TimerNo, advance, offers,
    status,
};
use branchpoint_expr::Kind;

use super::open::{Flight, Open};
use super::turn::OPS_PER_EVENT;
use super::{Accepted, Host, Order, Readiness, Rejection, Requester, TurnOutput};
use crate::store::{Packed, RunNo, StoreError};
use crate::zones::offsets_s;
use branchpoint_runners::Secrets;

/// A snapshot is not worth writing before the events since the last one have so many bytes, or have executed so many ops: whoever opens
/// the run reads the bytes and repeats the ops.
const SNAPSHOT_BYTES: usize = 16 * 1024;
pub(super) const SNAPSHOT_OPS: u64 = 50_000;
/// Repeating an op takes about as long as writing so many bytes of a state.
const BYTES_PER_OP: u64 = 8;

impl Host {
    /// Hands an event to a run, after the timers that are due by then. One that is at work hears it when that is finished.
    pub(super) fn take_event(
        &mut self,
        run: RunNo,
        event: Event,
        requester: Requester,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        // Nobody opens a run for an answer that nobody waits for.
        if matches!(event, Event::Settled { .. }) && !self.open.contains_key(&run) {
            // A recorded response stays in the inbox for the process that opens the run.
            if let Some(item) = requester.item() {
                self.sent.remove(&item);
            }
            return Ok(());
        }
        if let Some(open) = self.open.get_mut(&run).filter(|open| open.makes_wait(&event)) {
            open.waiting.push_back((event, requester));
            return Ok(());
        }
        match self.readiness(run, requester) {
            Some(Readiness::Ready) => {}
            Some(Readiness::Rejection(refused)) => {
                let outcome = match event {
                    Event::Cancel { reason } if matches!(refused, Rejection::Broken(_)) => {
                        self.cancel_broken(run, reason.as_ref(), now_ms)?
                    }
                    _ => Err(refused),
                };
                self.answer(requester, outcome);
                return Ok(());
            }
            Some(Readiness::NextTurn) => {
                self.schedule.queue.push_back(Order::Take(run, event, requester));
                return Ok(());
            }
            None => return Ok(()),
        }
        while !self.open[&run].state.is_unfinished() && self.fire_due(run, now_ms)? {}
        let open = self.open.get_mut(&run).expect("it was opened");
        if open.makes_wait(&event) {
            open.waiting.push_back((event, requester));
            return Ok(());
        }
        if is_late(&event, open) {
            self.answer(requester, Ok(Accepted { run, new: false }));
            return Ok(());
        }
        if let Event::Signal { key: Some(key), .. } = &event
            && self.store.has_key(run, key)?
        {
            self.answer(requester, Ok(Accepted { run, new: false }));
            return Ok(());
        }
        let outcome = self.apply(run, event, now_ms)?;
        self.answer(requester, outcome.map(|()| Accepted { run, new: true }));
        Ok(())
    }

    /// Fires the first timer of a run that is due. False: there is none, or the run is at work.
    pub(super) fn fire_due(&mut self, run: RunNo, now_ms: i64) -> Result<bool, StoreError> {
        let Some(open) = self.open.get_mut(&run) else { return Ok(false) };
        if open.state.is_unfinished() {
            return Ok(false);
        }
        let Some((due_ms, timer)) = open.timers.first().filter(|(due_ms, _)| *due_ms <= now_ms) else {
            return Ok(false);
        };
        self.clear_timer(run, timer);
        let fired = self.apply(run, Event::TimerFired(timer), due_ms)?;
        assert!(fired.is_ok(), "a run takes the timers that it has set, and it said: {fired:?}");
        Ok(true)
    }

    /// A run whose last event is not finished continues, with so much fuel. Its journal has one row for the whole slice. What was begun
    /// is finished at its own time, before anything else comes.
    pub(super) fn continue_run(&mut self, run: RunNo, slice: u32) -> Result<(), StoreError> {
        if let Some(open) = self.open.get(&run).filter(|open| open.state.is_unfinished()) {
            // What is reported of a slice is in memory until it is written.
            let slice = if open.watched { slice.min(OPS_PER_EVENT) } else { slice };
            let continued = self.apply_with(run, Event::Continue, i64::MIN, slice)?;
            assert!(continued.is_ok(), "a run that is not finished continues, and it said: {continued:?}");
        }
        self.hear_waiting(run);
        Ok(())
    }

    /// What came while a run was at work is handed in when it has finished.
    fn hear_waiting(&mut self, run: RunNo) {
        let Some(open) = self.open.get_mut(&run).filter(|open| !open.state.is_unfinished()) else { return };
        let waiting: Vec<_> = open.waiting.drain(..).collect();
        self.schedule.queue.extend(waiting.into_iter().map(|(event, requester)| Order::Take(run, event, requester)));
    }

    /// Advances a run, and prepares the rows that follow.
    pub(super) fn apply(&mut self, run: RunNo, event: Event, at_ms: i64) -> Result<Result<(), Rejection>, StoreError> {
        self.apply_with(run, event, at_ms, OPS_PER_EVENT)
    }

    fn apply_with(
        &mut self,
        run: RunNo,
        event: Event,
        at_ms: i64,
        fuel: u32,
    ) -> Result<Result<(), Rejection>, StoreError> {
        if let Some(seed) = &mut self.seed {
            *seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        }
        let open = self.open.get_mut(&run).expect("events are applied to runs that are open");
        let now_ms = at_ms.max(open.state.now_ms());
        let offsets_s = offsets_s(&open.program.zones, now_ms);
        let stamp = Stamp {
            now_ms,
            seed: self.seed.map_or(open.state.seq(), |seed| seed >> 11),
            offsets_s,
            fuel,
            // Whoever is notified of the end of a question is told how it was settled.
            record: open.watched || self.settings.notifies && settles_question(&event),
        };
        let (event, packed) = match self.pack_event(run, &stamp, event)? {
            Ok(packed) => packed,
            Err(refused) => return Ok(Err(refused)),
        };
        let open = self.open.get_mut(&run).expect("events are applied to runs that are open");
        let (settled, key) = (settles(&event), key_of(&event));
        let ops = open.state.ops();
        let outcome = match advance(&open.program, &mut open.state, &stamp, event) {
            Ok(outcome) => outcome,
            Err(rejected) => return Ok(Err(rejected.into())),
        };
        let ops = open.state.ops() - ops;
        self.current.ops += ops;
        open.tail_bytes += packed.bytes.len();
        open.tail_ops += ops;
        open.turn = self.counters.turns;
        if !std::mem::replace(&mut open.touched, true) {
            self.current.touched.push(run);
        }
        let seq = open.state.seq();
        if let Some(effect) = settled {
            open.flights.remove(&effect);
            self.store.answered(run, effect);
        }
        self.store.append(run, seq, outcome.check, packed);
        self.counters.events.fetch_add(1, Ordering::Relaxed);
        if let Some(key) = key {
            self.store.take_key(run, key);
        }
        if outcome.more {
            self.schedule.unfinished.push_back(run);
        }
        let resolved = outcome.trace.iter().find_map(|note| match &note.kind {
            NoteKind::Resolved(output) => Some(output),
            _ => None,
        });
        let secrets = Secrets::from_values(open.packing.secrets.to_vec());
        self.current.resolved = resolved.filter(|_| self.settings.notifies).map(|output| secrets.mask_value(output));
        if open.watched && !outcome.trace.is_empty() {
            self.report(run, RunEventKind::Notes(outcome.trace));
        }
        for command in outcome.commands {
            self.carry_out(run, command, now_ms)?;
        }
        Ok(Ok(()))
    }

    /// The stored form of an event. A response that cannot be stored becomes a failed attempt; another event is refused.
    pub(super) fn pack_event(
        &mut self,
        run: RunNo,
        stamp: &Stamp,
        mut event: Event,
    ) -> Result<Result<(Event, Packed), Rejection>, StoreError> {
        let open = self.open.get_mut(&run).expect("events are packed for runs that are open");
        let packed = match open.packing.event(stamp, &event) {
            Ok(packed) => packed,
            Err(error) => match unstorable(&event, &error) {
                Some(failed) => {
                    event = failed;
                    open.packing.event(stamp, &event).expect("an error message can be stored")
                }
                None => return Ok(Err(Rejection::Unstorable(error.to_string()))),
            },
        };
        let private = self.settings.env_secrets.found(&packed, &open.packing);
        if private.is_empty() {
            return Ok(Ok((event, packed)));
        }
        match self.seal_too(run, private) {
            Ok(()) => {}
            // A secret is never stored as it is. Only this run is concerned.
            Err(StoreError::Sealed(why)) => match unsealable(&event, &why) {
                Some(failed) => event = failed,
                None => return Ok(Err(Rejection::Unstorable(StoreError::Sealed(why).to_string()))),
            },
            Err(error) => return Err(error),
        }
        let packed = self.open[&run].packing.event(stamp, &event);
        Ok(Ok((event, packed.expect("it could be stored, and sealing changes only texts in it"))))
    }

    pub(super) fn carry_out(&mut self, run: RunNo, command: Command, now_ms: i64) -> Result<(), StoreError> {
        let open = self.open.get_mut(&run).expect("commands come from runs that are open");
        let unstorable = |error| StoreError::Bytes { run: open.id.to_string(), error };
        match command {
            command @ Command::Perform { effect, attempt, .. } => {
                let packed = open.packing.command(&command).map_err(unstorable)?;
                self.store.ask(run, effect, packed);
                open.flights.insert(effect, Flight { attempt, child: None });
                let call = open.call(command).expect("this is a call");
                self.perform(run, call);
            }
            Command::Withdraw { effect } => {
                let flight = open.flights.remove(&effect);
                self.store.answered(run, effect);
                self.current.outputs.push(TurnOutput::Withdraw { run, id: open.id.clone(), effect });
                if let Some(flight) = flight {
                    self.abandon_children(run, effect, flight.child.map(|(child, _)| child))?;
                }
            }
            Command::SetTimer { timer, at_ms } => {
                open.timers.set(timer, at_ms);
                self.schedule.timers.insert((at_ms, run, timer));
                self.store.set_timer(run, timer, at_ms);
            }
            Command::ClearTimer { timer } => self.clear_timer(run, timer),
            Command::Ask { request, spec } => {
                let packed = open.packing.value(&spec).map_err(unstorable)?;
                if open.script.is_some() {
                    open.questions.insert(request, spec.clone());
                }
                self.store.put_question(run, request, packed, now_ms);
                self.report_request(run, request, RequestChange::Opened(spec));
            }
            Command::Remind { request, users } => {
                self.store.remind(run, request);
                // After downtime several reminders are due at once, or the deadline has passed: only the last one is sent.
                let asked = offers(&open.program, &open.state).into_iter().find_map(|offer| match offer {
                    Offer::Vote { request: of, details } if of == request => Some(details),
                    _ => None,
                });
                let next_due_ms = asked.and_then(|asked| asked.next_due_ms());
                if next_due_ms.is_none_or(|due_ms| due_ms > self.current.now_ms) {
                    self.report_request(run, request, RequestChange::Reminded(users));
                }
            }
            Command::Retract { request } => {
                open.questions.remove(&request);
                self.store.close_question(run, request, now_ms);
                // The question that an event settles is the first that it closes.
                let outcome = self.current.resolved.take();
                self.report_request(run, request, RequestChange::Closed(outcome));
            }
            Command::Finish { .. } => {
                if open.parent.is_some() {
                    self.schedule.queue.push_back(Order::ChildEnded(run));
                }
            }
        }
        Ok(())
    }

    fn report_request(&mut self, run: RunNo, request: RequestNo, change: RequestChange) {
        if self.settings.notifies {
            self.store.keep_notice(self.owner.number, run, request, &change);
        }
        self.report(run, RunEventKind::Request(request, change));
    }

    fn clear_timer(&mut self, run: RunNo, timer: TimerNo) {
        let open = self.open.get_mut(&run).expect("timers are those of runs that are open");
        if let Some(due_ms) = open.timers.clear(timer) {
            self.schedule.timers.remove(&(due_ms, run, timer));
            self.store.clear_timer(run, timer, due_ms);
        }
    }

    /// The rows of the runs that took events, once for each turn.
    pub(super) fn write_rows(&mut self) -> Result<(), StoreError> {
        for run in std::mem::take(&mut self.current.touched) {
            let Some(open) = self.open.get_mut(&run) else { continue };
            open.touched = false;
            // A run whose script has the answer does not wait for people.
            let answered = self.schedule.answerable.contains(&run);
            let status = if answered { Status::Running } else { status(&open.program, &open.state) };
            let ended = status.is_final();
            let driven = !ended && !open.detached;
            let (seq, now_ms) = (open.state.seq(), open.state.now_ms());
            if (status, driven) == open.row {
                self.store.touch(run, seq, now_ms);
            } else {
                self.store.update_status(run, seq, now_ms, status, driven.then_some(self.owner.number));
                if status != open.row.0 {
                    let result = open.state.result().map(|(_, result)| result.clone());
                    let (id, kind) = (open.id.clone(), RunEventKind::Status(status, result));
                    self.current.outputs.push(TurnOutput::Event(RunEvent { run, id, kind }));
                }
                open.row = (status, driven);
            }
            // The last snapshot of a run that has ended is its result.
            if open.has_outgrown_snapshot() || ended && open.tail_bytes > 0 {
                self.snapshot(run)?;
            }
            if ended {
                self.current.ended.push(run);
            }
        }
        Ok(())
    }

    pub(super) fn snapshot(&mut self, run: RunNo) -> Result<(), StoreError> {
        let Some(open) = self.open.get_mut(&run) else { return Ok(()) };
        let packed = open.packing.state(&open.state);
        let packed = packed.map_err(|error| StoreError::Bytes { run: open.id.to_string(), error })?;
        let first = std::mem::replace(&mut open.snapshot_bytes, packed.bytes.len()) == 0;
        (open.tail_bytes, open.tail_ops) = (0, 0);
        self.store.keep_snapshot(run, open.state.seq(), packed, first);
        Ok(())
    }
}

impl Open {
    /// Whether opening the run again would take longer than writing its state now. A large state is written less often.
    fn has_outgrown_snapshot(&self) -> bool {
        let bytes = u64::try_from(self.snapshot_bytes).unwrap_or(u64::MAX);
        self.tail_bytes > self.snapshot_bytes.max(SNAPSHOT_BYTES)
            || self.tail_ops > (bytes / BYTES_PER_OP).max(SNAPSHOT_OPS)
    }
}

/// Whether an event can settle a question.
fn settles_question(event: &Event) -> bool {
    match event {
        Event::Signal { name, .. } => matches!(&**name, "vote" | "cancel_request"),
        Event::TimerFired(_) => true,
        _ => false,
    }
}

/// The answer of an attempt that nobody waits for.
pub(super) fn is_late(event: &Event, open: &Open) -> bool {
    let Event::Settled { effect, attempt, .. } = event else { return false };
    open.flights.get(effect).is_none_or(|flight| flight.attempt != *attempt)
}

fn settles(event: &Event) -> Option<EffectNo> {
    match event {
        Event::Settled { effect, .. } => Some(*effect),
        _ => None,
    }
}

pub(super) fn key_of(event: &Event) -> Option<Arc<str>> {
    match event {
        Event::Signal { key, .. } => key.clone(),
        _ => None,
    }
}

/// An answer that cannot be stored is a failed attempt; other events are refused.
fn unstorable(event: &Event, error: &branchpoint_core::codec::CodecError) -> Option<Event> {
    failed(event, "too_deep", &error.to_string())
}

/// An answer with a secret that cannot be sealed is a failed attempt; other events are refused.
fn unsealable(event: &Event, why: &str) -> Option<Event> {
    failed(
        event,
        Kind::KeyUnavailable.as_str(),
        &format!("the response contains a secret that cannot be sealed: {why}"),
    )
}

fn failed(event: &Event, kind: &str, message: &str) -> Option<Event> {
    let Event::Settled { effect, attempt, usage, .. } = *event else { return None };
    let failed = AttemptError { kind: kind.into(), message: message.into(), retry: RetryHint::Never, answered: true };
    Some(Event::Settled { effect, attempt, result: Err(failed), usage })
}
