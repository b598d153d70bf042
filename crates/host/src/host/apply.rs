//! Applies events to runs, and prepares the resulting rows: events, pending calls, timers and requests to people.

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
use branchpoint_runners::Secrets;
use branchpoint_runners::offsets_s;

/// The bytes and the ops of the events since the last snapshot from which a new one is written. Opening a run reads these bytes and
/// repeats these ops.
const SNAPSHOT_BYTES: usize = 16 * 1024;
pub(super) const SNAPSHOT_OPS: u64 = 50_000;
/// The bytes of a state that are written in about the time of one op.
const BYTES_PER_OP: u64 = 8;

impl Host {
    /// Applies an event to a run, after the timers that are due by then. If the last event of the run is unfinished, the event waits.
    pub(super) fn deliver_event(
        &mut self,
        run: RunNo,
        event: Event,
        requester: Requester,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        // A run is not opened for a response that it does not wait for.
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
            Some(Readiness::Rejection(rejection)) => {
                let outcome = match event {
                    Event::Cancel { reason } if matches!(rejection, Rejection::Broken(_)) => {
                        self.cancel_broken(run, reason.as_ref(), now_ms)?
                    }
                    _ => Err(rejection),
                };
                self.answer(requester, outcome);
                return Ok(());
            }
            Some(Readiness::NextTurn) => {
                self.schedule.queue.push_back(Order::Deliver(run, event, requester));
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

    /// Fires the first due timer of a run. Returns false if there is none, or if the last event of the run is unfinished.
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
        assert!(fired.is_ok(), "a run accepts the timers that it has set, but returned {fired:?}");
        Ok(true)
    }

    /// Continues the unfinished event of a run with the given fuel, at the time of that event. The journal has one row for the slice.
    pub(super) fn continue_run(&mut self, run: RunNo, slice: u32) -> Result<(), StoreError> {
        if let Some(open) = self.open.get(&run).filter(|open| open.state.is_unfinished()) {
            // The notes of a slice are in memory until the turn is written.
            let slice = if open.watched || open.makes_decisions() { slice.min(OPS_PER_EVENT) } else { slice };
            let continued = self.apply_with(run, Event::Continue, i64::MIN, slice)?;
            assert!(continued.is_ok(), "an unfinished run continues, but returned {continued:?}");
        }
        self.requeue_waiting(run);
        Ok(())
    }

    /// Queues the waiting events of a run when its last event is finished.
    fn requeue_waiting(&mut self, run: RunNo) {
        let Some(open) = self.open.get_mut(&run).filter(|open| !open.state.is_unfinished()) else { return };
        let waiting: Vec<_> = open.waiting.drain(..).collect();
        self.schedule.queue.extend(waiting.into_iter().map(|(event, requester)| Order::Deliver(run, event, requester)));
    }

    /// Advances a run, and prepares the resulting rows.
    pub(super) fn apply(&mut self, run: RunNo, event: Event, at_ms: i64) -> Result<Result<(), Rejection>, StoreError> {
        self.apply_with(run, event, at_ms, OPS_PER_EVENT)
    }

    /// Advances a run with this much fuel.
    pub(super) fn apply_with(
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
            // The notice about the end of a request contains its outcome.
            record: open.watched || open.makes_decisions() || self.settings.notifies && settles_request(&event),
        };
        let (event, packed) = match self.pack_event(run, &stamp, event)? {
            Ok(packed) => packed,
            Err(rejection) => return Ok(Err(rejection)),
        };
        let open = self.open.get_mut(&run).expect("events are applied to runs that are open");
        let (settled, key) = (settled_effect(&event), key_of(&event));
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
            self.store.remove_call(run, effect);
        }
        self.store.append(run, seq, outcome.check, packed);
        self.counters.events.fetch_add(1, Ordering::Relaxed);
        if let Some(key) = key {
            self.store.take_key(run, key);
        }
        let more = outcome.more;
        let resolved = outcome.trace.iter().find_map(|note| match &note.kind {
            NoteKind::Resolved(output) => Some(output),
            _ => None,
        });
        let secrets = Secrets::from_values(open.packing.secrets.to_vec());
        self.current.resolved = resolved.filter(|_| self.settings.notifies).map(|output| secrets.mask_value(output));
        open.keep_last_decision(&outcome.trace);
        if open.watched && !outcome.trace.is_empty() {
            self.report(run, RunEventKind::Notes(outcome.trace));
        }
        for command in outcome.commands {
            self.carry_out(run, command, now_ms)?;
        }
        if more && !self.awaits_slot(run) {
            self.schedule.unfinished.push_back(run);
        }
        Ok(Ok(()))
    }

    /// The stored form of an event. A response that cannot be stored becomes a failed attempt; another event is rejected.
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
        let exposed = self.settings.env_secrets.exposed_in(&packed, &open.packing);
        if exposed.is_empty() {
            return Ok(Ok((event, packed)));
        }
        match self.seal_more(run, exposed) {
            Ok(()) => {}
            // A secret is never stored in plain text. Only this run is affected.
            Err(StoreError::Sealed(why)) => match unsealable(&event, &why) {
                Some(failed) => event = failed,
                None => return Ok(Err(Rejection::Unstorable(StoreError::Sealed(why).to_string()))),
            },
            Err(error) => return Err(error),
        }
        let packed = self.open[&run].packing.event(stamp, &event);
        Ok(Ok((event, packed.expect("it could be stored before, and sealing only changes texts"))))
    }

    pub(super) fn carry_out(&mut self, run: RunNo, command: Command, now_ms: i64) -> Result<(), StoreError> {
        let open = self.open.get_mut(&run).expect("commands come from runs that are open");
        let unstorable = |error| StoreError::Bytes { run: open.id.to_string(), error };
        match command {
            command @ Command::Perform { effect, attempt, .. } => {
                let packed = open.packing.command(&command).map_err(unstorable)?;
                self.store.put_call(run, effect, packed);
                open.flights.insert(effect, Flight { attempt, child: None });
                let call = open.call(command).expect("the command performs a call");
                self.perform(run, call);
            }
            Command::Withdraw { effect } => {
                let flight = open.flights.remove(&effect);
                self.store.remove_call(run, effect);
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
                    open.requests.insert(request, spec.clone());
                }
                self.store.put_request(run, request, packed, now_ms);
                self.report_request(run, request, RequestChange::Opened(spec));
            }
            Command::Remind { request, users } => {
                self.store.remind(run, request);
                // After downtime several reminders are due at once, or the deadline has passed: only the last reminder is sent.
                let open_request = offers(&open.program, &open.state).into_iter().find_map(|offer| match offer {
                    Offer::Vote { request: of, details } if of == request => Some(details),
                    _ => None,
                });
                let next_due_ms = open_request.and_then(|request| request.next_due_ms());
                if next_due_ms.is_none_or(|due_ms| due_ms > self.current.now_ms) {
                    self.report_request(run, request, RequestChange::Reminded(users));
                }
            }
            Command::Escalate { request, users } => self.report_request(run, request, RequestChange::Escalated(users)),
            Command::Retract { request } => {
                open.requests.remove(&request);
                self.store.close_request(run, request, now_ms);
                // An event settles the first request that it closes.
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
            self.store.put_notice_later(self.owner.number, run, request, &change);
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

    /// Prepares the rows of the runs that accepted events, once for each turn.
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
            if let Some((count, last)) = open.take_decisions() {
                self.store.add_decisions(run, now_ms, count, last);
            }
            if (status, driven) == open.row {
                self.store.touch(run, seq, now_ms);
            } else {
                self.store.update_status(run, seq, now_ms, status, driven.then_some(self.owner.number));
                if status != open.row.0 {
                    let event =
                        notice_event(status).filter(|_| self.settings.notifies_of_runs && open.parent.is_none());
                    if let Some(event) = event {
                        self.store.put_run_notice_later(self.owner.number, run, event);
                    }
                    let result = open.state.result().map(|(_, result)| result.clone());
                    let (id, kind) = (open.id.clone(), RunEventKind::Status(status, result));
                    self.current.outputs.push(TurnOutput::Event(RunEvent { run, id, kind }));
                }
                open.row = (status, driven);
            }
            // The last snapshot of an ended run contains its result.
            if open.has_outgrown_snapshot() || ended && open.tail_bytes > 0 {
                self.snapshot(run)?;
            }
            if ended {
                self.current.ended.push(run);
            }
            self.update_slot(run, status)?;
        }
        Ok(())
    }

    pub(super) fn snapshot(&mut self, run: RunNo) -> Result<(), StoreError> {
        let Some(open) = self.open.get_mut(&run) else { return Ok(()) };
        let packed = open.packing.state(&open.state);
        let packed = packed.map_err(|error| StoreError::Bytes { run: open.id.to_string(), error })?;
        let first = std::mem::replace(&mut open.snapshot_bytes, packed.bytes.len()) == 0;
        (open.tail_bytes, open.tail_ops) = (0, 0);
        self.store.put_snapshot_later(run, open.state.seq(), packed, first);
        Ok(())
    }
}

impl Open {
    /// Whether opening the run again would take longer than writing a snapshot now. A large state is written less often.
    fn has_outgrown_snapshot(&self) -> bool {
        let bytes = u64::try_from(self.snapshot_bytes).unwrap_or(u64::MAX);
        self.tail_bytes > self.snapshot_bytes.max(SNAPSHOT_BYTES)
            || self.tail_ops > (bytes / BYTES_PER_OP).max(SNAPSHOT_OPS)
    }
}

/// The notice about a run that has got this status; none for a run that continues by itself.
fn notice_event(status: Status) -> Option<&'static str> {
    match status {
        Status::Completed | Status::Failed | Status::Cancelled | Status::WaitingPeople => Some(status.as_str()),
        Status::Running | Status::WaitingTimer => None,
    }
}

/// Whether an event can settle a request.
fn settles_request(event: &Event) -> bool {
    match event {
        Event::Signal { name, .. } => matches!(&**name, "vote" | "cancel_request"),
        Event::TimerFired(_) => true,
        _ => false,
    }
}

/// Whether an event is the response to an attempt that the run does not wait for.
pub(super) fn is_late(event: &Event, open: &Open) -> bool {
    let Event::Settled { effect, attempt, .. } = event else { return false };
    open.flights.get(effect).is_none_or(|flight| flight.attempt != *attempt)
}

fn settled_effect(event: &Event) -> Option<EffectNo> {
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

/// The failed attempt for a response that cannot be stored; `None` for other events, which are rejected.
fn unstorable(event: &Event, error: &branchpoint_core::codec::CodecError) -> Option<Event> {
    failed(event, "too_deep", &error.to_string())
}

/// The failed attempt for a response with a secret that cannot be sealed; `None` for other events, which are rejected.
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
