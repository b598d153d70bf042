//! `Do`: requests an effect, parks until it settles, and retries it according to its policy.

use branchpoint_expr::Value;

use super::scope_view::error_object;
use super::{Flow, Machine, Rejected, exceeds};
use crate::command::Command;
use crate::event::{AttemptError, RetryHint, Usage};
use crate::ir::{Backoff, EffectId, ExprId, Failure, Index, Op, Retry};
use crate::meter::HeldCall;
use crate::state::{EffectNo, InFlight, Parked, Purpose, StrandNo};
use crate::state_size::bytes;
use crate::trace::{Basis, NoteKind};

impl Machine<'_> {
    pub(super) fn perform(&mut self, no: StrandNo, effect_id: EffectId, input: ExprId) -> Flow {
        if self.hold_call(no, effect_id, HeldCall::First(no)) {
            return self.park(no, Parked::Budget);
        }
        self.begin_call(no, effect_id, input)
    }

    /// Begins a call that its budgets allow.
    pub(super) fn begin_call(&mut self, no: StrandNo, effect_id: EffectId, input: ExprId) -> Flow {
        let input = match self.value(no, input) {
            Ok(input) => input,
            Err(error) => {
                let fail = self.failure_of(no);
                return self.failed(no, fail, error);
            }
        };
        if let Some(limit) = self.exceeded_budget(1) {
            self.exhausted(limit);
            return Flow::Stop;
        }
        if let Some(error) = self.too_deep(effect_id) {
            let fail = self.failure_of(no);
            return self.failed(no, fail, error);
        }
        self.state.spent.effects += 1;
        let effect = EffectNo(self.state.number());
        let stored = self.program.effects[effect_id.index()].retry.is_some().then(|| input.clone());
        let input_bytes = bytes(&input);
        let flight =
            InFlight { strand: no, effect_id, attempt: 1, answers: 0, input: stored, input_bytes, backoff: None };
        self.state.insert_effect(effect, flight);
        let path = self.item_path(no);
        self.outcome.commands.push(Command::Perform { effect, attempt: 1, effect_id, input, answers: 0, path });
        self.note(no, NoteKind::Attempt { step: self.program.effects[effect_id.index()].step, effect, attempt: 1 });
        self.park(no, Parked::Effect(effect))
    }

    /// The budget that another attempt would exceed, if this number of effects begins with it.
    fn exceeded_budget(&self, begins: u64) -> Option<&'static str> {
        let (limits, spent) = (self.program.limits, self.state.spent);
        let budgets = [
            ("effects", limits.effects, spent.effects + begins),
            ("tokens", limits.tokens, spent.usage.tokens),
            ("cost_micros", limits.cost_micros, spent.usage.cost_micros),
        ];
        budgets.into_iter().find(|(_, limit, used)| exceeds(*limit, *used)).map(|(name, ..)| name)
    }

    /// The error of a child run that would exceed the nesting limit of the program. The error fails the call, not the run, and is not
    /// retried.
    fn too_deep(&self, effect_id: EffectId) -> Option<Value> {
        let (effect, limit) = (&self.program.effects[effect_id.index()], self.program.limits.depth);
        if !effect.is_child_run() || !exceeds(limit.into(), u64::from(self.state.depth) + 1) {
            return None;
        }
        let message =
            format!("workflows may call each other at most {limit} levels deep, and this call exceeds the limit");
        Some(error_object("call_depth", &message, self.step_id(effect.step)))
    }

    pub(super) fn settled(
        &mut self,
        effect: EffectNo,
        attempt: u32,
        result: Result<Value, AttemptError>,
        usage: Usage,
    ) -> Result<(), Rejected> {
        let flight = self.state.effects.get(&effect).ok_or(Rejected::UnknownEffect)?;
        if flight.attempt != attempt || flight.backoff.is_some() || self.is_held(effect) {
            return Err(Rejected::UnknownEffect);
        }
        let (strand, step) = (flight.strand, self.program.effects[flight.effect_id.index()].step);
        // A failure without usage, such as a lost connection, does not show how much the step uses.
        if result.is_ok() || usage != Usage::default() {
            self.measure(strand, step, usage);
        }
        if usage != Usage::default() {
            self.state.spent.usage.add(usage);
            self.charge(strand, step, usage);
            self.note(strand, NoteKind::Used { step, usage });
        }
        match result {
            Ok(value) => match self.exceeded(&value) {
                None => self.succeeded(effect, strand, value),
                Some((kind, message)) => {
                    let (kind, message) = (kind.as_str().into(), message.into());
                    let failed = AttemptError { kind, message, retry: RetryHint::Never, answered: true };
                    self.attempt_failed(effect, strand, &failed);
                }
            },
            Err(failed) => self.attempt_failed(effect, strand, &failed),
        }
        Ok(())
    }

    fn succeeded(&mut self, effect: EffectNo, strand: StrandNo, value: Value) {
        let step =
            self.state.effects.get(&effect).and_then(|flight| self.program.effects[flight.effect_id.index()].step);
        self.note(strand, NoteKind::AttemptEnded { step, error: None });
        self.state.remove_effect(effect);
        let Op::Do { into, next, .. } = self.program.place(self.state.strands[&strand].at).op else {
            unreachable!("a strand with an effect is at the op that requested it");
        };
        if let Some(into) = into {
            self.write(strand, into, Some(value));
        }
        self.wake(strand, next);
    }

    fn attempt_failed(&mut self, effect: EffectNo, strand: StrandNo, failed: &AttemptError) {
        let flight = &self.state.effects[&effect];
        let kind = &self.program.effects[flight.effect_id.index()];
        let (attempt, step, effect_id) = (flight.attempt, self.step_id(kind.step), flight.effect_id);
        let error = error_object(kind.response.reported_kind(&failed.kind), &failed.message, step);
        self.note(strand, NoteKind::AttemptEnded { step: kind.step, error: Some(error.clone()) });
        let again = kind.retry.filter(|retry| failed.retry.allows_retry() && attempt < retry.max_attempts);
        // The remote side would reject an attempt before the time of its `Retry-After`.
        let delay = again.map(|retry| delay_ms(&retry, attempt, self.stamp.seed).max(failed.retry.min_delay_ms()));
        if let (Some(step), Some(limit)) =
            (kind.step, kind.retry.map(|retry| retry.max_attempts).filter(|most| *most > 1))
        {
            let basis = Basis::Attempt { attempt, limit, delay_ms: delay, retryable: failed.retry.allows_retry() };
            let failure = format!("the step fails ({})", kind.response.reported_kind(&failed.kind));
            self.decided_by_policy(strand, step, basis, error.clone(), vec![failure.into()]);
        }
        let lacks_budget = self.failed_for_budget(strand, effect_id, failed, delay.is_some());
        if let Some(delay) = delay {
            if failed.answered
                && let Some(flight) = self.state.effects.get_mut(&effect)
            {
                flight.answers += 1;
            }
            if lacks_budget {
                self.state.held.push(HeldCall::Next(effect));
                return;
            }
            if delay == 0 {
                return self.next_attempt(effect);
            }
            let timer = self.set_timer(delay, Purpose::Attempt(effect));
            if let Some(flight) = self.state.effects.get_mut(&effect) {
                flight.backoff = Some(timer);
            }
            return;
        }
        self.state.remove_effect(effect);
        if lacks_budget {
            self.state.held.push(HeldCall::First(strand));
            self.park(strand, Parked::Budget);
            return;
        }
        let fail = self.failure_of(strand);
        self.resume_failed(strand, fail, error);
    }

    pub(super) fn next_attempt(&mut self, effect: EffectNo) {
        let Some(flight) = self.state.effects.get_mut(&effect) else { return };
        flight.backoff = None;
        let (strand, effect_id) = (flight.strand, flight.effect_id);
        if !self.hold_call(strand, effect_id, HeldCall::Next(effect)) {
            self.begin_attempt(effect);
        }
    }

    /// Begins the next attempt of an effect that its budgets allow.
    pub(super) fn begin_attempt(&mut self, effect: EffectNo) {
        if let Some(limit) = self.exceeded_budget(0) {
            // The last attempt has ended, so there is nothing to withdraw.
            self.state.remove_effect(effect);
            return self.exhausted(limit);
        }
        let Some(flight) = self.state.effects.get_mut(&effect) else { return };
        flight.attempt += 1;
        let input = flight.input.clone().expect("the input of an effect with a retry policy is stored");
        let (strand, attempt, effect_id, answers) = (flight.strand, flight.attempt, flight.effect_id, flight.answers);
        let path = self.item_path(strand);
        self.outcome.commands.push(Command::Perform { effect, attempt, effect_id, input, answers, path });
        self.note(strand, NoteKind::Attempt { step: self.program.effects[effect_id.index()].step, effect, attempt });
    }

    /// Continues a parked strand after a failure.
    pub(super) fn resume_failed(&mut self, no: StrandNo, fail: Option<Failure>, error: Value) {
        if let Some(strand) = self.state.strands.get_mut(&no) {
            strand.parked = Parked::Ready;
        }
        if let Flow::Goto(place) = self.failed(no, fail, error) {
            self.wake(no, place);
        }
    }

    fn failure_of(&self, no: StrandNo) -> Option<Failure> {
        match self.program.place(self.state.strands[&no].at).op {
            Op::Do { fail, .. } => fail,
            _ => None,
        }
    }
}

/// The delay before the next attempt: the backoff, limited to the maximum, then varied by the jitter.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the value is clamped to the range first")]
pub(super) fn delay_ms(retry: &Retry, attempt: u32, seed: u64) -> u64 {
    let first = retry.delay_ms as f64;
    let grown = match retry.backoff {
        Backoff::Constant => first,
        Backoff::Linear => first * f64::from(attempt),
        Backoff::Exponential(factor) => grow(first, factor, attempt),
    };
    let bounded = if retry.max_delay_ms > 0 { grown.min(retry.max_delay_ms as f64) } else { grown };
    // SplitMix64 turns the seed and the attempt into a number between -1 and 1.
    let mut mixed = seed.wrapping_add(u64::from(attempt).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let unit = ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64;
    let jittered = bounded * (1.0 + retry.jitter.clamp(0.0, 1.0) * (2.0 * unit - 1.0));
    jittered.round().clamp(0.0, 1e15) as u64
}

/// Multiplies once for each attempt after the first. The power function of the library may differ between platforms in the last bits,
/// but a replay must not.
fn grow(first: f64, factor: f64, attempt: u32) -> f64 {
    const LONGEST: f64 = 1e15;
    let mut grown = first;
    for _ in 1..attempt {
        let next = (grown * factor).min(LONGEST);
        // The value has reached a bound, or the factor is 1: it no longer changes.
        if next.to_bits() == grown.to_bits() {
            break;
        }
        grown = next;
    }
    grown
}
