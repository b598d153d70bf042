//! `Wait`: waits for signals, requests to people and times. The first arm that occurs wins, and the others are withdrawn.

use std::sync::Arc;

use branchpoint_expr::Value;

use super::scope_view::error_object;
use super::{Flow, Machine, Rejected};
use crate::command::Command;
use crate::ir::{Arm, ExprId, Failure, Index, OnEarly, Op, PlaceId, SignalId, SlotId, Status};
use crate::request::{Ballot, CANCEL_REQUEST, DELEGATE, Due, Request, Resolution, VOTE};
use crate::state::{Parked, Pending, Purpose, RequestNo, StrandNo};
use crate::state_size::bytes;
use crate::trace::{Basis, NoteKind};

/// The maximum number of early signals of a name that a run stores for later waits. A sender must not fill the memory of the host.
const MAILBOX_CAPACITY: usize = 1_000;

impl Machine<'_> {
    pub(super) fn wait(&mut self, no: StrandNo, arms: &[Arm], fail: Option<Failure>) -> Flow {
        if let Some(place) = self.take_early_signal(no, arms) {
            return Flow::Goto(place);
        }
        // All arms are evaluated before the first request is opened or timer is set, because an evaluation can fail.
        let mut prepared = Vec::with_capacity(arms.len());
        for arm in arms {
            match self.prepare(no, arm) {
                Ok(ready) => prepared.push(ready),
                Err(error) => return self.failed(no, fail, error),
            }
        }
        let (mut timers, mut requests) = (Vec::new(), Vec::new());
        for (index, ready) in (0_u32..).zip(prepared) {
            match ready {
                Prepared::Signal | Prepared::Never => {}
                Prepared::At(at_ms) => timers.push(self.set_timer_at(at_ms, Purpose::Arm(no, index))),
                Prepared::Request(request, spec) => requests.push(self.open_request(no, index, request, spec)),
            }
        }
        let people = arms.iter().any(|arm| matches!(arm, Arm::Signal { .. } | Arm::Request { .. }));
        self.note(no, NoteKind::Waits(if people { Status::WaitingPeople } else { Status::WaitingTimer }));
        self.park(no, Parked::Wait { timers, requests })
    }

    fn prepare(&self, no: StrandNo, arm: &Arm) -> Result<Prepared, Value> {
        match arm {
            Arm::Signal { .. } => Ok(Prepared::Signal),
            Arm::After { delay_ms, .. } => {
                let delay = self.milliseconds(no, *delay_ms)?;
                Ok(delay.map_or(Prepared::Never, |delay| Prepared::At(self.stamp.now_ms.saturating_add(delay.max(0)))))
            }
            Arm::Until { at_ms, .. } => Ok(self.milliseconds(no, *at_ms)?.map_or(Prepared::Never, Prepared::At)),
            Arm::Request { spec, .. } => {
                let spec = self.value(no, *spec)?;
                match Request::open(&spec, self.stamp.now_ms) {
                    Ok(request) => Ok(Prepared::Request(request, spec)),
                    Err(wrong) => Err(error_object(wrong.kind(), &wrong.to_string(), None)),
                }
            }
        }
    }

    /// The value of a time expression. Nil is none, and the arm never occurs.
    fn milliseconds(&self, no: StrandNo, expr: ExprId) -> Result<Option<i64>, Value> {
        match self.value(no, expr)? {
            Value::Null => Ok(None),
            Value::Int(int) => Ok(Some(int)),
            other => {
                let message =
                    format!("a time must be a whole number of milliseconds, but is {}", other.view().type_name());
                Err(error_object("wrong_kind", &message, None))
            }
        }
    }

    fn open_request(&mut self, strand: StrandNo, arm: u32, mut request: Request, spec: Value) -> RequestNo {
        let no = RequestNo(self.state.number());
        let bytes = bytes(&spec);
        request.fix_shown_hash(&spec, self.program);
        let spec = if request.rules.is_some() { request.shown_spec(&spec) } else { spec };
        self.outcome.commands.push(Command::Ask { request: no, spec });
        let timer = request.next_due_ms().map(|at| self.set_timer_at(at, Purpose::Request(no)));
        self.state.insert_request(no, Pending { strand, arm, request, bytes, timer });
        no
    }

    /// Removes the first early signal that an arm accepts, and returns the place where the arm leads.
    fn take_early_signal(&mut self, no: StrandNo, arms: &[Arm]) -> Option<PlaceId> {
        for position in 0..self.state.mailbox.len() {
            let (signal, payload) = self.state.mailbox[position].clone();
            if let Some((into, next, arm)) = self.accepting(no, arms, signal, &payload) {
                self.decided_by_signal(no, arm, signal);
                self.state.mailbox.remove(position);
                self.state.release(bytes(&payload));
                if let Some(into) = into {
                    self.write(no, into, Some(payload));
                }
                return Some(next);
            }
        }
        None
    }

    fn decided_by_signal(&mut self, no: StrandNo, arm: usize, signal: SignalId) {
        let name = &self.program.signals[signal.index()].name;
        self.decided_by_rule(no, self.state.strands[&no].at, arm, || Basis::Signal { name: name.clone() });
    }

    /// The arm that accepts a signal with this payload: the slot of the payload, the target place, and the position of the arm.
    fn accepting(
        &mut self,
        no: StrandNo,
        arms: &[Arm],
        wanted: SignalId,
        payload: &Value,
    ) -> Option<(Option<SlotId>, PlaceId, usize)> {
        self.payload = payload.clone();
        let accepting = arms.iter().enumerate().find_map(|(position, arm)| match arm {
            Arm::Signal { signal, check, into, next } if *signal == wanted => {
                // A check that cannot be evaluated rejects the signal.
                let accepts = check.is_none_or(|check| self.holds(no, check).unwrap_or(false));
                accepts.then_some((*into, *next, position))
            }
            _ => None,
        });
        self.payload = Value::Null;
        accepting
    }

    pub(super) fn signal(&mut self, name: &str, payload: Value, sender: Option<Arc<str>>) -> Result<(), Rejected> {
        self.admit(&payload)?;
        match name {
            VOTE => return self.vote(&payload, sender),
            CANCEL_REQUEST => return self.cancel_request(&payload),
            _ => {}
        }
        let position = self.program.signals.iter().position(|signal| &*signal.name == name);
        // A program may have a signal of its own with this name.
        if name == DELEGATE && position.is_none() {
            return self.delegate(&payload, sender);
        }
        let Some(signal) = position.and_then(|position| u32::try_from(position).ok()).map(SignalId) else {
            return Err(Rejected::UnknownSignal(name.into()));
        };
        let program = self.program;
        let mut is_awaited = false;
        let waiting: Vec<StrandNo> = self.state.strands.keys().copied().collect();
        for no in waiting {
            let strand = &self.state.strands[&no];
            let (Parked::Wait { .. }, Op::Wait { arms, .. }) = (&strand.parked, &program.place(strand.at).op) else {
                continue;
            };
            is_awaited |= arms.iter().any(|arm| matches!(arm, Arm::Signal { signal: of, .. } if *of == signal));
            if let Some((into, next, arm)) = self.accepting(no, arms, signal, &payload) {
                self.decided_by_signal(no, arm, signal);
                self.stop_waiting(no);
                if let Some(into) = into {
                    self.write(no, into, Some(payload));
                }
                self.wake(no, next);
                return Ok(());
            }
        }
        if is_awaited {
            return Err(Rejected::NotAccepted(name.into()));
        }
        if program.signals[signal.index()].on_early == OnEarly::Reject {
            return Err(Rejected::NotWaiting(name.into()));
        }
        if self.state.mailbox.iter().filter(|(stored, _)| *stored == signal).count() >= MAILBOX_CAPACITY {
            return Err(Rejected::MailboxFull(MAILBOX_CAPACITY));
        }
        self.state.hold(bytes(&payload));
        self.state.mailbox.push((signal, payload));
        Ok(())
    }

    /// Ends a wait: withdraws its timers and requests.
    pub(super) fn stop_waiting(&mut self, no: StrandNo) {
        let Some(strand) = self.state.strands.get_mut(&no) else { return };
        let parked = std::mem::replace(&mut strand.parked, Parked::Ready);
        let Parked::Wait { timers, requests } = parked else { return };
        self.note(no, NoteKind::Woke);
        for timer in timers {
            self.clear_timer(timer);
        }
        for request in requests {
            self.retract(request);
        }
    }

    pub(super) fn retract(&mut self, request: RequestNo) {
        if let Some(pending) = self.state.remove_request(request) {
            if let Some(timer) = pending.timer {
                self.clear_timer(timer);
            }
            self.outcome.commands.push(Command::Retract { request });
        }
    }

    pub(super) fn arm_due(&mut self, no: StrandNo, arm: u32) {
        let Op::Wait { arms, .. } = &self.program.place(self.state.strands[&no].at).op else { return };
        let next = match arms.get(arm as usize) {
            Some(Arm::After { next, .. } | Arm::Until { next, .. }) => *next,
            _ => return,
        };
        self.decided_by_rule(no, self.state.strands[&no].at, arm as usize, || Basis::Time);
        self.stop_waiting(no);
        self.wake(no, next);
    }

    /// The pending request that a payload names.
    fn pending(&self, payload: &Value) -> Result<RequestNo, Rejected> {
        let named = match payload.get("request") {
            Some(Value::Int(no)) => Some(RequestNo(u64::try_from(*no).map_err(|_| Rejected::NotPending)?)),
            // Without a number, the vote could count for another request than the voter saw.
            _ => return Err(Rejected::NotPending),
        };
        named.filter(|no| self.state.requests.contains_key(no)).ok_or(Rejected::NotPending)
    }

    fn vote(&mut self, payload: &Value, sender: Option<Arc<str>>) -> Result<(), Rejected> {
        let no = self.pending(payload)?;
        let user = sender.unwrap_or_default();
        let text = |key: &str| payload.get(key).and_then(Value::as_str).map(Arc::<str>::from);
        let given = |key: &str| payload.get(key).filter(|value| **value != Value::Null);
        // A hash that is not text cannot be what the voter saw.
        let shown_hash = given("shown_hash").map(|hash| hash.as_str().unwrap_or_default().into());
        let ballot = Ballot {
            choice: text("choice").unwrap_or_default(),
            comment: text("comment"),
            form: given("form").cloned(),
            shown_hash,
        };
        let now_ms = self.stamp.now_ms;
        let pending = self.state.requests.get_mut(&no).ok_or(Rejected::NotPending)?;
        let vote = pending.request.read_vote(&user, ballot, now_ms).map_err(Rejected::Vote)?;
        let bytes = vote.bytes();
        pending.bytes += bytes;
        let resolution = pending.request.record_vote(vote);
        self.state.hold(bytes);
        if let Some(resolution) = resolution {
            self.resolve(no, &resolution);
        }
        Ok(())
    }

    fn delegate(&mut self, payload: &Value, sender: Option<Arc<str>>) -> Result<(), Rejected> {
        let no = self.pending(payload)?;
        let recipient = sender.unwrap_or_default();
        let to = match payload.get("to") {
            None | Some(Value::Null) => None,
            Some(to) => Some(Arc::<str>::from(to.as_str().unwrap_or_default())),
        };
        let until_ms = match payload.get("until_ms") {
            Some(Value::Int(until_ms)) => *until_ms,
            // A delegation without an end has ended.
            _ => i64::MIN,
        };
        let now_ms = self.stamp.now_ms;
        let pending = self.state.requests.get_mut(&no).ok_or(Rejected::NotPending)?;
        let request = &mut pending.request;
        request.check_delegation(&recipient, to.as_deref().map(|to| (to, until_ms)), now_ms).map_err(Rejected::Vote)?;
        request.delegate(&recipient, to.map(|to| (to, until_ms)));
        Ok(())
    }

    fn cancel_request(&mut self, payload: &Value) -> Result<(), Rejected> {
        let no = self.pending(payload)?;
        let reason = payload.get("reason").and_then(Value::as_str).map(Arc::from);
        self.resolve(no, &Resolution::Cancelled(reason));
        Ok(())
    }

    pub(super) fn request_due(&mut self, no: RequestNo) {
        let now_ms = self.stamp.now_ms;
        let Some(pending) = self.state.requests.get_mut(&no) else { return };
        pending.timer = None;
        match pending.request.due(now_ms) {
            Due::Expired => return self.resolve(no, &Resolution::Timeout),
            Due::Remind(users) => self.outcome.commands.push(Command::Remind { request: no, users }),
            Due::Escalate(users) => self.outcome.commands.push(Command::Escalate { request: no, users }),
            Due::Nothing => {}
        }
        let due = self.state.requests.get(&no).and_then(|pending| pending.request.next_due_ms());
        let timer = due.map(|at| self.set_timer_at(at, Purpose::Request(no)));
        if let Some(pending) = self.state.requests.get_mut(&no) {
            pending.timer = timer;
        }
    }

    fn resolve(&mut self, no: RequestNo, resolution: &Resolution) {
        let Some(pending) = self.state.requests.get(&no) else { return };
        let (strand, arm) = (pending.strand, pending.arm);
        let output = pending.request.output(resolution);
        let at = self.state.strands[&strand].at;
        let Op::Wait { arms, .. } = &self.program.place(at).op else { return };
        let Some(Arm::Request { into, next, expired, .. }) = arms.get(arm as usize) else { return };
        if self.stamp.record {
            let request = pending.request.clone();
            self.decided_by_votes(strand, at, &request, resolution);
            self.note(strand, NoteKind::Resolved(output.clone()));
        }
        self.stop_waiting(strand);
        if let Some(into) = into {
            self.write(strand, *into, Some(output));
        }
        let place = match (resolution, expired) {
            (Resolution::Timeout, Some(expired)) => *expired,
            _ => *next,
        };
        self.wake(strand, place);
    }
}

/// An arm with evaluated expressions.
enum Prepared {
    Signal,
    /// A time that never occurs.
    Never,
    At(i64),
    Request(Request, Value),
}
