//! Where each answer of an approval would lead: a continuation of the run in memory, without effects.
//!
//! The program decides, not a drawing of it: a copy of the state gets the votes, or its timers fire, and the notes show which steps begin.
//! Calls are requested but never performed, so a continuation ends at the first calls.

use std::sync::Arc;

use branchpoint_core::ir::{Index as _, Program, Status, StepId};
use branchpoint_core::{
    Approval, ApprovalKey, Command, DecisionRecord, Event, Note, NoteKind, Stamp, State, advance, approvals,
};
use branchpoint_expr::Value;

use branchpoint_runners::offsets_s;

/// The most events of a continuation. Reminders and long computations are events, too.
const MAX_EVENTS: usize = 1_000;

/// The most steps that an outcome names.
const MAX_STEPS: usize = 20;

/// What settles an approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// Enough votes for a choice, or its first answer.
    Choice(Arc<str>),
    /// The deadline.
    Timeout,
}

/// Where a run would continue after an approval was settled in one way.
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovalOutcome {
    /// What settles the approval.
    pub settlement: Settlement,
    /// When the timeout is.
    pub at_ms: Option<i64>,
    /// The steps that begin next, in order.
    pub leads_to: Vec<Arc<str>>,
    /// The decisions that the run would make on the way.
    pub decisions: Vec<DecisionRecord>,
    /// The status of the run, if it would end.
    pub ends: Option<Status>,
}

/// Where each choice of an open approval, and its timeout, would lead. Outcomes that cannot be determined are omitted.
///
/// ```
#[doc = include_str!("../docs/approval.txt")]
/// let outcomes = approval_outcomes(&program, driver.state(), &driver.approvals()[0], 0);
/// assert_eq!(outcomes[0].settlement, Settlement::Choice("approve".into()));
/// assert_eq!(outcomes[0].ends, Some(Status::Completed));
/// ```
pub fn approval_outcomes(program: &Program, state: &State, approval: &Approval, now_ms: i64) -> Vec<ApprovalOutcome> {
    let begin = || Continuation::new(program, state, now_ms);
    let choices = approval.choices().into_iter();
    let mut outcomes: Vec<_> = choices.filter_map(|choice| begin().answer(approval, &choice)).collect();
    outcomes.extend(approval.deadline_ms().and_then(|deadline_ms| begin().expire(approval, deadline_ms)));
    outcomes
}

/// A copy of a run that continues without effects.
struct Continuation<'p> {
    program: &'p Program,
    state: State,
    now_ms: i64,
    notes: Vec<Note>,
    ends: Option<Status>,
    events: usize,
}

impl<'p> Continuation<'p> {
    fn new(program: &'p Program, state: &State, now_ms: i64) -> Self {
        Self { program, state: state.clone(), now_ms, notes: Vec::new(), ends: None, events: 0 }
    }

    /// Applies an event and what follows from it. None if the run rejects it, or computes for too long.
    fn apply(&mut self, event: Event) -> Option<()> {
        let mut next = Some(event);
        while let Some(event) = next.take() {
            self.events += 1;
            if self.events > MAX_EVENTS {
                return None;
            }
            let stamp = Stamp {
                now_ms: self.now_ms,
                offsets_s: offsets_s(&self.program.zones, self.now_ms),
                record: true,
                ..Stamp::default()
            };
            let outcome = advance(self.program, &mut self.state, &stamp, event).ok()?;
            self.notes.extend(outcome.trace);
            for command in outcome.commands {
                if let Command::Finish { status, .. } = command {
                    self.ends = Some(status);
                }
            }
            next = outcome.more.then_some(Event::Continue);
        }
        Some(())
    }

    fn is_open(&self, key: &ApprovalKey) -> bool {
        let specs = std::collections::BTreeMap::new();
        self.ends.is_none() && approvals(self.program, &self.state, &specs).iter().any(|open| open.key == *key)
    }

    /// Everyone who has not voted votes for a choice, one after the other, until the approval is settled.
    fn answer(mut self, approval: &Approval, choice: &Arc<str>) -> Option<ApprovalOutcome> {
        if approval.request.is_none() {
            self.apply(approval.key.answer(None, &Value::Str(choice.clone()), None))?;
        } else {
            let ballot = approval.ballot(choice);
            for user in approval.missing_voters() {
                if !self.is_open(&approval.key) {
                    break;
                }
                self.apply(approval.key.vote(&user, &ballot))?;
            }
        }
        if self.is_open(&approval.key) {
            return None;
        }
        Some(self.outcome(approval, Settlement::Choice(choice.clone()), None))
    }

    /// Fires the timers up to the deadline of an approval.
    fn expire(mut self, approval: &Approval, deadline_ms: i64) -> Option<ApprovalOutcome> {
        while self.is_open(&approval.key) {
            let (timer, due_ms) = self.state.timers().min_by_key(|(timer, due_ms)| (*due_ms, *timer))?;
            if due_ms > deadline_ms {
                return None;
            }
            self.now_ms = self.now_ms.max(due_ms);
            self.apply(Event::TimerFired(timer))?;
        }
        Some(self.outcome(approval, Settlement::Timeout, Some(deadline_ms)))
    }

    fn outcome(self, approval: &Approval, settlement: Settlement, at_ms: Option<i64>) -> ApprovalOutcome {
        let program = self.program;
        let id = |step: StepId| program.steps[step.index()].id.clone();
        let mut leads_to: Vec<Arc<str>> = Vec::new();
        let mut decisions = Vec::new();
        for note in self.notes {
            match note.kind {
                NoteKind::Began(step, _) if leads_to.len() < MAX_STEPS => {
                    let step = id(step);
                    if *step != *approval.step && !leads_to.contains(&step) {
                        leads_to.push(step);
                    }
                }
                NoteKind::Decided(decided) if decisions.len() < MAX_STEPS => decisions.push(*decided),
                _ => {}
            }
        }
        ApprovalOutcome { settlement, at_ms, leads_to, decisions, ends: self.ends }
    }
}
