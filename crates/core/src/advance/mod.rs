//! The transition function. This file applies events, runs ready strands and dispatches ops; each op has a file of its own.

mod admission;
mod adopt;
mod budget;
mod clock;
mod decide;
mod effect;
mod finish;
mod fork;
mod frame;
mod leave;
mod meet;
mod record_decision;
mod rejection;
mod scope_view;
mod set;
mod start;
mod wait;
mod width;
mod withdraw;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_expr::Value;

use crate::command::Command;
use crate::event::{Event, Stamp};
use crate::ir::{Failure, Mark, Op, PlaceId, Program, SEMANTICS};
use crate::state::{FrameNo, Parked, Purpose, State, StrandNo, Timer, TimerNo};
use crate::trace::{Note, NoteKind};

pub use adopt::carry;
pub(crate) use adopt::with_numbers_after;
pub(crate) use clock::Clock;
pub use rejection::Rejected;
pub(crate) use scope_view::ScopeView;

/// The outcome of an event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The commands that the host must execute, in order.
    pub commands: Vec<Command>,
    /// The notes of the event; empty unless [`Stamp::record`] is set.
    pub trace: Vec<Note>,
    /// Whether strands are still ready: the host must hand in [`Event::Continue`] next.
    pub more: bool,
    /// A hash over the commands and the places of all strands. A replay that diverges is detected at the event where it diverges.
    pub check: u32,
}

/// Applies one event to a run.
///
/// An invalid event is rejected and changes nothing. The failure of a run is not an error of this function: it is an outcome.
///
/// ```
/// use branchpoint_core::ir::{Program, Status, builder::Builder};
/// use branchpoint_core::{Command, Event, Stamp, State, advance};
///
/// let program: Program = Builder::sample();
/// let mut state = State::new();
/// let start = Event::start("hello");
/// let outcome = advance(&program, &mut state, &Stamp::default(), start).unwrap();
/// assert!(matches!(outcome.commands.last(), Some(Command::Finish { status: Status::Completed, .. })));
/// ```
pub fn advance(program: &Program, state: &mut State, stamp: &Stamp, event: Event) -> Result<Outcome, Rejected> {
    let mut trace = Vec::new();
    let outcome = advance_noting(program, state, stamp, event, &mut |note| trace.push(note))?;
    Ok(Outcome { trace, ..outcome })
}

/// Like [`advance`], but passes notes on one by one, because the notes of a long call may not fit into memory. The trace of the
/// outcome stays empty.
pub(crate) fn advance_noting(
    program: &Program,
    state: &mut State,
    stamp: &Stamp,
    event: Event,
    notes: &mut dyn FnMut(Note),
) -> Result<Outcome, Rejected> {
    if stamp.now_ms < state.now_ms {
        return Err(Rejected::TimeWentBack);
    }
    if state.ended.is_some() {
        return Err(Rejected::Ended);
    }
    let started = state.seq > 0;
    if started == matches!(event, Event::Start { .. }) {
        return Err(if started { Rejected::StartedAlready } else { Rejected::NotStarted });
    }
    if !(SEMANTICS.saturating_sub(1).max(1)..=SEMANTICS).contains(&program.semantics) {
        return Err(Rejected::UnknownSemantics(program.semantics));
    }
    let crosses = matches!(event, Event::Start { .. } | Event::Adopt(_));
    if !crosses && state.semantics != program.semantics {
        return Err(Rejected::OtherSemantics { run: state.semantics, program: program.semantics });
    }
    // An unfinished event is finished first, at its own time. Otherwise the order of work would depend on where a host was interrupted.
    if !state.ready.is_empty() {
        match event {
            Event::Cancel { .. } => {}
            Event::Continue if stamp.now_ms == state.now_ms => {}
            _ => return Err(Rejected::Unfinished),
        }
    }
    if let Some(zone) = program.zones.get(stamp.offsets_s.len()) {
        return Err(Rejected::MissingOffset(zone.to_string()));
    }
    let clock = Clock::new(program, stamp);
    let outcome = Outcome::default();
    let fuel = granted(program, stamp);
    let mut machine = Machine {
        program,
        state,
        stamp,
        clock,
        payload: Value::Null,
        sender: None,
        outcome,
        notes,
        fuel,
        work: Cell::new(0),
        readings: BTreeMap::new(),
    };
    machine.read_meters();
    machine.apply(event)?;
    machine.state.seq += 1;
    machine.state.now_ms = stamp.now_ms;
    machine.run();
    machine.update_meters();
    debug_assert!(machine.widths_agree(), "the counters of working entries are exact");
    debug_assert!(machine.state.size_is_exact(), "the size of all values is exact");
    machine.outcome.check = machine.check();
    Ok(machine.outcome)
}

/// The number of evaluation steps that count as one op.
const STEPS_PER_OP: u64 = 100;

pub(crate) struct Machine<'m> {
    program: &'m Program,
    state: &'m mut State,
    stamp: &'m Stamp,
    clock: Clock,
    /// The payload of the current signal.
    payload: Value,
    /// The sender of the current signal, for the trace.
    sender: Option<Arc<str>>,
    outcome: Outcome,
    /// Receives the notes.
    notes: &'m mut dyn FnMut(Note),
    fuel: u32,
    /// The evaluation steps since the last op ended.
    work: Cell<u64>,
    /// What expressions read of the meters of open frames.
    readings: BTreeMap<FrameNo, Value>,
}

/// How a strand continues after an op.
enum Flow {
    /// The strand continues at a place.
    Goto(PlaceId),
    /// The strand waits or has ended.
    Stop,
}

impl Machine<'_> {
    /// Applies an event. All checks that can reject the event run before the first change.
    fn apply(&mut self, event: Event) -> Result<(), Rejected> {
        match event {
            Event::Start { input, facts, depth, max_ops, budget } => self.start(&input, facts, depth, max_ops, budget),
            Event::Settled { effect, attempt, result, usage } => self.settled(effect, attempt, result, usage),
            Event::TimerFired(timer) => self.timer_fired(timer),
            Event::Signal { name, payload, sender, .. } => {
                self.sender.clone_from(&sender);
                self.signal(&name, payload, sender)
            }
            Event::Cancel { reason } => {
                self.cancel(reason);
                Ok(())
            }
            Event::Continue if self.state.ready.is_empty() => Err(Rejected::NothingToContinue),
            Event::Continue => Ok(()),
            Event::Adopt(state) => self.adopt(*state),
        }
    }

    /// Runs ready strands until none is left or the fuel is spent. Merges are checked when no strand is ready.
    fn run(&mut self) {
        while self.state.ended.is_none() {
            if self.is_too_large() {
                return self.finish_too_large();
            }
            let Some(strand) = self.state.ready.pop() else {
                if self.meet() || self.settle_budgets() {
                    continue;
                }
                break;
            };
            // A withdrawn strand costs no fuel.
            if !self.state.strands.contains_key(&strand) {
                continue;
            }
            if self.fuel == 0 {
                self.state.ready.push(strand);
                break;
            }
            self.run_strand(strand);
        }
        // Withdrawn strands are removed here together, because removing them one by one would take quadratic time.
        self.state.ready.retain(|no| self.state.strands.contains_key(no));
        self.outcome.more = self.state.ended.is_none() && !self.state.ready.is_empty();
    }

    /// Runs one strand until it parks, ends, or the fuel is spent.
    fn run_strand(&mut self, no: StrandNo) {
        loop {
            let Some(strand) = self.state.strands.get(&no) else { return };
            // The strand was withdrawn, or it waits. Numbers of strands are never reused.
            if strand.parked != Parked::Ready {
                return;
            }
            if self.fuel == 0 || self.is_too_large() {
                self.state.ready.push(no);
                return;
            }
            self.fuel -= 1;
            self.state.spent.ops += 1;
            if exceeds(self.program.limits.ops, self.state.spent.ops)
                || exceeds(self.state.max_ops, self.state.spent.ops)
            {
                return self.out_of_ops();
            }
            let at = strand.at;
            let flow = self.op(no, at);
            self.charge_work();
            match flow {
                Flow::Goto(place) => self.state.move_strand(no, place),
                Flow::Stop => return,
            }
        }
    }

    /// Counts large evaluations as ops. Otherwise a few ops over long lists could delay other runs for minutes.
    fn charge_work(&mut self) {
        let ops = self.work.take() / STEPS_PER_OP;
        self.fuel = self.fuel.saturating_sub(u32::try_from(ops).unwrap_or(u32::MAX));
        self.state.spent.ops = self.state.spent.ops.saturating_add(ops);
    }

    /// Dispatches an op.
    fn op(&mut self, no: StrandNo, at: PlaceId) -> Flow {
        let place = self.program.place(at);
        if self.stamp.record {
            self.mark(no, &place.marks);
        }
        match &place.op {
            Op::Do { effect, input, .. } => self.perform(no, *effect, *input),
            Op::Decide { arms, otherwise, fail } => self.decide(no, at, arms, *otherwise, *fail),
            Op::Set { writes, next, fail } => self.set(no, writes, *next, *fail),
            Op::Wait { arms, fail, .. } => self.wait(no, arms, *fail),
            Op::Enter(scope) => self.enter(no, *scope),
            Op::Fork { to } => self.fork(no, to),
            Op::Leave { scope, how } => self.leave(no, *scope, how),
            Op::Meet { .. } => self.park(no, Parked::Meet),
        }
    }

    fn park(&mut self, no: StrandNo, parked: Parked) -> Flow {
        let waits = matches!(parked, Parked::Meet | Parked::Wait { .. });
        if parked == Parked::Meet {
            self.state.at_merges.insert(no);
        }
        if let Some(strand) = self.state.strands.get_mut(&no) {
            strand.parked = parked;
        }
        self.strand_changed(no);
        if waits {
            self.give_up_place(no);
        }
        Flow::Stop
    }

    /// Continues a parked strand at a place.
    fn wake(&mut self, no: StrandNo, place: PlaceId) {
        self.state.move_strand(no, place);
        self.state.at_merges.remove(&no);
        if let Some(strand) = self.state.strands.get_mut(&no) {
            strand.parked = Parked::Ready;
            self.state.ready.push(no);
        }
        self.strand_changed(no);
    }

    /// Handles the failure of an op: continues at its `fail`, or fails the entry of the strand.
    fn failed(&mut self, no: StrandNo, fail: Option<Failure>, error: Value) -> Flow {
        let Some(Failure { to, error: slot }) = fail else {
            self.entry_failed(no, error);
            return Flow::Stop;
        };
        if let Some(slot) = slot {
            self.write(no, slot, Some(error));
        }
        Flow::Goto(to)
    }

    fn timer_fired(&mut self, no: TimerNo) -> Result<(), Rejected> {
        let timer = self.state.timers.get(&no).ok_or(Rejected::UnknownTimer)?;
        if self.stamp.now_ms < timer.at_ms {
            return Err(Rejected::TooEarly);
        }
        let purpose = timer.purpose.clone();
        self.state.timers.remove(&no);
        match purpose {
            Purpose::Arm(strand, arm) => self.arm_due(strand, arm),
            Purpose::Attempt(effect) => self.next_attempt(effect),
            Purpose::FrameAttempt(frame) => self.next_frame_attempt(frame),
            Purpose::Deadline(frame) => self.frame_expired(frame),
            Purpose::Request(request) => self.request_due(request),
            Purpose::Wall => self.exhausted("wall_ms"),
            Purpose::Budget(frame) => self.budget_expired(frame),
        }
        Ok(())
    }

    fn set_timer(&mut self, delay_ms: u64, purpose: Purpose) -> TimerNo {
        let delay = i64::try_from(delay_ms).unwrap_or(i64::MAX);
        self.set_timer_at(self.stamp.now_ms.saturating_add(delay), purpose)
    }

    fn set_timer_at(&mut self, at_ms: i64, purpose: Purpose) -> TimerNo {
        let timer = TimerNo(self.state.number());
        let at_ms = at_ms.max(self.stamp.now_ms);
        self.state.timers.insert(timer, Timer { at_ms, purpose });
        self.outcome.commands.push(Command::SetTimer { timer, at_ms });
        timer
    }

    fn clear_timer(&mut self, timer: TimerNo) {
        if self.state.timers.remove(&timer).is_some() {
            self.outcome.commands.push(Command::ClearTimer { timer });
        }
    }

    fn note(&mut self, strand: StrandNo, kind: NoteKind) {
        if self.stamp.record {
            let (path, iterations) = (self.item_path(strand), self.iterations(strand));
            let entered_by = self.entered_by(strand);
            (self.notes)(Note { at_ms: self.stamp.now_ms, strand, entered_by, path, iterations, kind });
        }
    }

    fn mark(&mut self, no: StrandNo, marks: &[Mark]) {
        for mark in marks {
            let value = |machine: &Self, expr: Option<crate::ir::ExprId>| {
                expr.map(|expr| machine.recorded_value(no, expr).unwrap_or_else(|error| error))
            };
            let kind = match mark {
                Mark::Begin(step, input) => NoteKind::Began(*step, value(self, *input)),
                Mark::End(step, output) => NoteKind::Ended(*step, value(self, *output)),
                Mark::Branch(step, marker) => NoteKind::Branch(*step, marker.clone()),
                Mark::Warn(step, warning) => NoteKind::Warned(*step, warning.clone()),
                Mark::Fail(step, error) => {
                    NoteKind::Failed(*step, self.recorded_value(no, *error).unwrap_or_else(|error| error))
                }
                Mark::Skip(step, reason) => NoteKind::Skipped(*step, reason.clone()),
                Mark::ContentType(step, value) => {
                    NoteKind::ContentType(*step, self.recorded_value(no, *value).unwrap_or_default())
                }
            };
            self.note(no, kind);
        }
    }

    /// The check word of the outcome. The hash is independent of snapshots and hosts.
    fn check(&self) -> u32 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut add = |number: u64| {
            hash = (hash ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            hash ^= hash >> 32;
        };
        for command in &self.outcome.commands {
            let (kind, no) = match command {
                Command::Perform { effect, attempt, .. } => (1 + (u64::from(*attempt) << 8), effect.0),
                Command::Withdraw { effect } => (2, effect.0),
                Command::SetTimer { timer, at_ms } => (3 + (at_ms.cast_unsigned() << 8), timer.0),
                Command::ClearTimer { timer } => (4, timer.0),
                Command::Ask { request, .. } => (5, request.0),
                Command::Remind { request, .. } => (6, request.0),
                Command::Retract { request } => (7, request.0),
                Command::Finish { status, .. } => (8, *status as u64),
                Command::Escalate { request, .. } => (9, request.0),
            };
            add(kind);
            add(no);
        }
        add(self.state.whereabouts);
        u32::try_from(hash & u64::from(u32::MAX)).expect("the mask leaves 32 bits")
    }
}

/// The fuel of a call: the fuel of the stamp, at most that of the program, and at least one op.
fn granted(program: &Program, stamp: &Stamp) -> u32 {
    let granted = if stamp.fuel == 0 { program.fuel } else { stamp.fuel.min(program.fuel) };
    granted.max(1)
}

/// Whether a limit is exceeded; 0 is no limit.
fn exceeds(limit: u64, spent: u64) -> bool {
    limit > 0 && spent > limit
}
