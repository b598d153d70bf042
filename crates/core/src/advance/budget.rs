//! Budgets: meters of open frames, calls that wait for a budget, and the end of a part whose budget is used up.
//!
//! A call that a budget does not allow is held, and the rest of the run goes on. When no strand is ready, held calls begin if they can; if
//! a budget is used up and no call of its part is in flight, the part ends. So a part that needs no further call has its ordinary end.

use std::collections::BTreeSet;
use std::sync::Arc;

use branchpoint_expr::{Value, duration_text};

use super::admission::Admission;
use super::scope_view::error_object;
use super::{Flow, Machine};
use crate::RunKinds as _;
use crate::event::{AttemptError, Usage};
use crate::ir::{Arm, Budget, BudgetLimits, EffectId, Failure, Index, Op, Program, ScopeId, StepId};
use crate::meter::{BudgetReason, BudgetRecord};
use crate::meter::{HeldCall, Meter, step_name, usd};
use crate::state::{EffectNo, FrameNo, Parked, Purpose, StrandNo};
use crate::trace::{Basis, NoteKind};

impl Machine<'_> {
    /// Begins to meter a frame if its scope has a budget. `callers` is what the callers of the run have left.
    pub(super) fn open_meter(&mut self, frame: FrameNo, scope: ScopeId, callers: BudgetLimits) {
        let limits = match self.program.budget_of(scope) {
            Some(budget) => budget.limits.stricter(callers),
            None if callers.is_none() => return,
            None => callers,
        };
        let timer = limits.time_ms.map(|limit_ms| self.set_timer(limit_ms, Purpose::Budget(frame)));
        let meter = Meter { limits, timer, began_ms: self.stamp.now_ms, ..Meter::default() };
        self.state.meters.insert(frame, meter);
        self.read_meter(frame);
    }

    /// Ends the meter of a frame that closes.
    pub(super) fn close_meter(&mut self, frame: FrameNo, scope: ScopeId, entered_by: Option<StrandNo>) {
        let Some(meter) = self.state.meters.remove(&frame) else { return };
        self.readings.remove(&frame);
        if let Some(timer) = meter.timer {
            self.clear_timer(timer);
        }
        if !meter.limits.is_none() && self.stamp.record {
            let record = meter.record(self.budgeted_step(scope), self.stamp.now_ms, None);
            self.note(entered_by.unwrap_or(StrandNo(0)), NoteKind::Budget(Box::new(record)));
        }
    }

    /// Computes what expressions read of all meters at the time of the event.
    pub(super) fn read_meters(&mut self) {
        let frames: Vec<FrameNo> = self.state.meters.keys().copied().collect();
        for frame in frames {
            self.read_meter(frame);
        }
    }

    fn read_meter(&mut self, frame: FrameNo) {
        if let Some(meter) = self.state.meters.get(&frame) {
            self.readings.insert(frame, meter.record(None, self.stamp.now_ms, None).reading());
        }
    }

    /// Adds the usage of an attempt to all meters around it.
    pub(super) fn charge(&mut self, no: StrandNo, step: Option<StepId>, usage: Usage) {
        for frame in self.state.metered_around(no) {
            if let Some(meter) = self.state.meters.get_mut(&frame) {
                meter.usage.add(usage);
                if let Some(step) = step {
                    meter.by_step.entry(step).or_default().add(usage);
                }
            }
            self.read_meter(frame);
        }
    }

    /// Remembers how much an attempt of a step has used, for the reservations of its next attempts.
    pub(super) fn measure(&mut self, no: StrandNo, step: Option<StepId>, usage: Usage) {
        for frame in self.state.metered_around(no) {
            if let Some(meter) = self.state.meters.get_mut(&frame).filter(|meter| meter.limits_usage()) {
                let largest = meter.largest.entry(step).or_default();
                largest.tokens = largest.tokens.max(usage.tokens);
                largest.cost_micros = largest.cost_micros.max(usage.cost_micros);
            }
        }
    }

    pub(super) fn strand_of(&self, call: HeldCall) -> Option<StrandNo> {
        match call {
            HeldCall::First(strand) => Some(strand),
            HeldCall::Next(effect) => self.state.effects.get(&effect).map(|flight| flight.strand),
        }
    }

    /// Whether the next attempt of an effect waits for a budget.
    pub(super) fn is_held(&self, effect: EffectNo) -> bool {
        self.state.held.contains(&HeldCall::Next(effect))
    }

    /// Holds a call whose budget does not allow it now. Returns whether it was held.
    pub(super) fn hold_call(&mut self, no: StrandNo, effect: EffectId, call: HeldCall) -> bool {
        if self.state.meters.is_empty() || self.admission(no, effect, true) == Admission::Granted {
            return false;
        }
        self.state.held.push(call);
        true
    }

    /// Removes the held call of a strand that is withdrawn, and returns whether there was one.
    pub(super) fn drop_held(&mut self, call: HeldCall) -> bool {
        let before = self.state.held.len();
        self.state.held.retain(|held| *held != call);
        self.state.held.len() < before
    }

    /// Whether a failed attempt ends the part around it because of a budget: a run that was called with what was left, and failed when
    /// that was used up, or an attempt that cannot be repeated.
    pub(super) fn failed_for_budget(&self, no: StrandNo, effect: EffectId, failed: &AttemptError, again: bool) -> bool {
        if self.state.meters.is_empty() {
            return false;
        }
        let is_called = self.program.effects[effect.index()].is_child_run()
            || &*failed.kind == branchpoint_expr::Kind::BudgetExceeded.as_str();
        (again || is_called) && self.used_up_among(&self.state.metered_around(no)).is_some()
    }

    /// Begins a held call that may begin now, or ends a part whose budget is used up. Called when no strand is ready.
    pub(super) fn settle_budgets(&mut self) -> bool {
        for call in self.state.held.clone() {
            let Some((strand, effect)) = self.held_effect(call) else {
                self.drop_held(call);
                return true;
            };
            match self.admission(strand, effect, false) {
                Admission::Later => {}
                Admission::Granted => {
                    self.drop_held(call);
                    self.begin_held(call);
                    return true;
                }
                Admission::UsedUp(frame, reason) => {
                    if reason == BudgetReason::Time || self.in_flight(frame).next().is_none() {
                        self.budget_used_up(frame, reason, Some(strand));
                        return true;
                    }
                }
            }
        }
        false
    }

    fn held_effect(&self, call: HeldCall) -> Option<(StrandNo, EffectId)> {
        let strand = self.strand_of(call)?;
        match self.program.place(self.state.strands.get(&strand)?.at).op {
            Op::Do { effect, .. } => Some((strand, effect)),
            _ => None,
        }
    }

    fn begin_held(&mut self, call: HeldCall) {
        match call {
            HeldCall::Next(effect) => self.begin_attempt(effect),
            HeldCall::First(no) => {
                let Some(strand) = self.state.strands.get_mut(&no) else { return };
                strand.parked = Parked::Ready;
                let Op::Do { effect, input, .. } = self.program.place(strand.at).op else { return };
                if let Flow::Goto(place) = self.begin_call(no, effect, input) {
                    self.wake(no, place);
                }
            }
        }
    }

    /// The time of a budget is over.
    pub(super) fn budget_expired(&mut self, frame: FrameNo) {
        if let Some(meter) = self.state.meters.get_mut(&frame) {
            meter.timer = None;
            self.budget_used_up(frame, BudgetReason::Time, None);
        }
    }

    /// Ends the part of a run whose budget is used up. `held` is a call that could not begin.
    fn budget_used_up(&mut self, no: FrameNo, reason: BudgetReason, held: Option<StrandNo>) {
        let Some((scope, entered_by)) = self.state.frames.get(&no).map(|frame| (frame.scope, frame.entered_by)) else {
            return;
        };
        let program = self.program;
        let budget = program.budget_of(scope);
        let Some(record) = self
            .state
            .meters
            .get(&no)
            .map(|meter| meter.record(budget.and_then(|budget| budget.step), self.stamp.now_ms, Some(reason)))
        else {
            return;
        };
        let error = self.budget_error(&record, entered_by.is_none());
        if self.stamp.record {
            self.record_used_up(no, entered_by, budget, held, &record, &error);
        }
        let Some(by) = entered_by else {
            // The budgets of the callers stay used up, so the cleanup of the run cannot call anything either.
            return self.root_failed(error);
        };
        if let Some(Meter { timer: Some(timer), .. }) = self.state.meters.remove(&no) {
            self.clear_timer(timer);
        }
        self.readings.remove(&no);
        self.close_frame(no);
        match budget.and_then(|budget| budget.exhausted) {
            Some(Failure { to, error: slot }) => {
                if let Some(slot) = slot {
                    self.write(by, slot, Some(record.reading()));
                }
                self.wake(by, to);
            }
            None => self.resume_failed(by, program.scope(scope).fail, error),
        }
    }

    fn budget_error(&self, record: &BudgetRecord, is_callers: bool) -> Value {
        let BudgetRecord { limits, usage, elapsed_ms, .. } = record;
        let (limit, used) = match record.ended_by {
            Some(BudgetReason::Cost) => {
                (usd(limits.cost_micros.unwrap_or_default()), format!("the calls cost {}", usd(usage.cost_micros)))
            }
            Some(BudgetReason::Time) => {
                (duration_text(limits.time_ms.unwrap_or_default()), format!("it took {}", duration_text(*elapsed_ms)))
            }
            _ => {
                let limit = limits.tokens.unwrap_or_default();
                (format!("{limit} tokens"), format!("the calls used {} tokens", usage.tokens))
            }
        };
        let step = record.step.map(|step| step_name(self.program, step));
        let message = if is_callers {
            format!("the callers of this run had {limit} of their budget left, and that is used up: {used}")
        } else {
            format!("the budget of {limit} is used up: {used}")
        };
        error_object(branchpoint_expr::Kind::BudgetExceeded.as_str(), &message, step)
    }

    /// Records why a part ends: as the usage of its budget, and as a decision of the budgeted step, or of the step that could not call.
    fn record_used_up(
        &mut self,
        no: FrameNo,
        entered_by: Option<StrandNo>,
        budget: Option<&Budget>,
        held: Option<StrandNo>,
        record: &BudgetRecord,
        error: &Value,
    ) {
        let inside = held.or_else(|| {
            let mut flights = self.state.effects.values().map(|flight| flight.strand);
            flights.find(|strand| self.state.metered_around(*strand).contains(&no))
        });
        let own = entered_by.zip(budget.and_then(|budget| budget.step));
        let calling = || {
            let strand = inside?;
            let Op::Do { effect, .. } = self.program.place(self.state.strands.get(&strand)?.at).op else { return None };
            Some((strand, self.program.effects[effect.index()].step?))
        };
        if let Some((strand, step)) = own.or_else(calling) {
            let name = |step: StepId| Arc::clone(&self.program.steps[step.index()].id);
            let handled = budget.is_some_and(|budget| budget.exhausted.is_some());
            let targets = budget.and_then(|budget| budget.leads_to).map(name).into_iter().collect();
            let basis = Basis::Budget(Box::new(record.clone()));
            self.decided_by_budget(strand, step, basis, handled, targets, error.clone());
        }
        let strand = entered_by.or(inside).unwrap_or(StrandNo(0));
        self.note(strand, NoteKind::Budget(Box::new(record.clone())));
    }

    fn budgeted_step(&self, scope: ScopeId) -> Option<StepId> {
        self.program.budget_of(scope).and_then(|budget| budget.step)
    }

    /// Stops and continues the clocks of budgets: the time in which a part only waits for people does not count. Called after each event.
    pub(super) fn update_meters(&mut self) {
        if self.state.meters.is_empty() || self.state.ended.is_some() {
            return;
        }
        let waiting = self.waiting_for_people();
        let frames: Vec<FrameNo> = self.state.meters.keys().copied().collect();
        let now_ms = self.stamp.now_ms;
        for frame in frames {
            let waits = waiting.contains(&frame);
            let Some(meter) = self.state.meters.get_mut(&frame).filter(|meter| meter.waiting_since.is_some() != waits)
            else {
                continue;
            };
            if waits {
                meter.waiting_since = Some(now_ms);
                if let Some(timer) = meter.timer.take() {
                    self.clear_timer(timer);
                }
                continue;
            }
            let since = meter.waiting_since.take().unwrap_or(now_ms);
            meter.waited_ms = meter.waited_ms.saturating_add(now_ms.saturating_sub(since));
            let left = meter.limits.time_ms.map(|limit_ms| limit_ms.saturating_sub(meter.elapsed_ms(now_ms)));
            let timer = left.map(|left| self.set_timer(left, Purpose::Budget(frame)));
            if let Some(meter) = self.state.meters.get_mut(&frame) {
                meter.timer = timer;
            }
        }
    }

    /// The metered frames in which a strand waits for people and nothing else happens.
    fn waiting_for_people(&self) -> BTreeSet<FrameNo> {
        let (mut people, mut busy) = (BTreeSet::new(), BTreeSet::new());
        let strands = &self.state.strands;
        let asks = |no: &StrandNo| waits_for_people(self.program, &strands[no].parked, strands[no].at);
        if !strands.keys().any(asks) {
            return people;
        }
        for (no, strand) in strands {
            match &strand.parked {
                Parked::Wait { .. } if asks(no) => people.extend(self.state.metered_around(*no)),
                Parked::Ready | Parked::Effect(_) | Parked::Budget | Parked::Wait { .. } => {
                    busy.extend(self.state.metered_around(*no));
                }
                // A frame that waits for its next attempt has no strands.
                Parked::Frame(inner) if self.state.frames.get(inner).is_some_and(|frame| frame.backoff.is_some()) => {
                    busy.insert(*inner);
                    busy.extend(self.state.metered_around(*no));
                }
                Parked::Frame(_) | Parked::Meet => {}
            }
        }
        people.retain(|frame| !busy.contains(frame));
        people
    }
}

fn waits_for_people(program: &Program, parked: &Parked, at: crate::ir::PlaceId) -> bool {
    match (parked, &program.place(at).op) {
        (Parked::Wait { .. }, Op::Wait { arms, .. }) => {
            arms.iter().any(|arm| matches!(arm, Arm::Signal { .. } | Arm::Request { .. }))
        }
        _ => false,
    }
}
