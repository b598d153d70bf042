//! The list of steps for display: one record for each execution of a step, and one for each skipped step.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use branchpoint_expr::Value;

use super::decision_record::CONTINUE;
use super::waiting::WaitClock;
use super::{DecisionRecord, Iteration, Note, NoteKind};
use crate::event::Usage;
use crate::ir::{DecisionKind, Index, Program, Status, StepId};
use crate::meter::BudgetRecord;
use crate::state::StrandNo;

/// One execution of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepRecord {
    /// The step.
    pub step: StepId,
    /// The positions of the enclosing items, outermost first.
    pub path: Vec<u32>,
    /// The rounds of the enclosing loops, outermost first.
    pub iterations: Vec<Iteration>,
    /// The number of this execution among those of the step at the same position, counted from 1.
    pub run: u32,
    /// The status.
    pub status: StepStatus,
    /// The input.
    pub input: Option<Value>,
    /// The output.
    pub output: Option<Value>,
    /// The content type of the output, if the dialect has content types.
    pub output_content_type: Option<Value>,
    /// The error of a failed step.
    pub error: Option<Value>,
    /// The branch that the step took.
    pub branch: Option<Arc<str>>,
    /// The decisions of the step in order. For many decisions, only the first and the last are stored.
    pub decisions: Vec<DecisionRecord>,
    /// The number of decisions omitted between the first and the last.
    pub decisions_omitted: u64,
    /// Warnings of the step.
    pub warnings: Vec<Arc<str>>,
    /// The attempts of the newest call of the step. A call after a successful call is a new call, not an attempt.
    pub attempts: Vec<Attempt>,
    /// The tokens and the cost of all calls of the step.
    pub usage: Usage,
    /// The time when the step began.
    pub began_ms: i64,
    /// The time when the step ended.
    pub ended_ms: Option<i64>,
    /// The time that the step has waited for people or for a moment: while something inside of it waited and nothing inside of it worked.
    pub waited_ms: i64,
    /// The part of `waited_ms` that the step has waited for people.
    pub waited_people_ms: i64,
    /// The number of items, if the step is a loop over items.
    pub items: Option<u32>,
    /// The usage of the step's budget, if it has one and its part has ended.
    pub budget: Option<BudgetRecord>,
}

/// The minimum number of records of ended steps that are kept.
const RECORDS_KEPT: usize = 10_000;

/// The number of first decisions, and of last decisions, that a record keeps. A loop may make millions of decisions.
pub(super) const DECISIONS_KEPT: usize = 50;

/// One attempt of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// The time when the attempt began.
    pub began_ms: i64,
    /// The time when the attempt ended.
    pub ended_ms: Option<i64>,
    /// The error of a failed attempt.
    pub error: Option<Value>,
}

/// The status of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepStatus {
    /// The step is running.
    Running,
    /// The step waits for people or for a time.
    Waiting(Status),
    /// The step has completed.
    Completed,
    /// The step, or a step inside of it, has failed.
    Failed,
    /// The step was withdrawn before it ended, for example because the run was cancelled.
    Cancelled,
    /// The step did not run, for this reason.
    Skipped(Arc<str>),
}

/// Computes the list of steps from notes, in the order in which the steps began. Steps that never ran are at the end.
///
/// ```
#[doc = include_str!("../../docs/decision.txt")]
/// let steps = steps(&program, &notes, Status::Completed);
/// assert_eq!(steps[0].status, StepStatus::Completed);
/// ```
pub fn steps(program: &Program, notes: &[Note], status: Status) -> Vec<StepRecord> {
    let mut records = Records { room: usize::MAX, ..Records::of(program) };
    for note in notes {
        records.add(note);
    }
    records.finish(program, status).into_values().collect()
}

/// The list of steps of a running run, updated with each note.
///
/// All records of steps that have not ended are kept, but only the newest of the others, because a loop may create millions.
#[derive(Debug)]
pub struct Records {
    /// By step: the step that encloses it.
    parents: Vec<Option<StepId>>,
    /// The records by number, in the order in which the steps began.
    list: BTreeMap<usize, StepRecord>,
    /// The number of the next record.
    next: usize,
    /// The number of records above which old records are omitted.
    room: usize,
    /// The number of omitted records, and their steps.
    omitted: usize,
    omitted_steps: BTreeSet<StepId>,
    /// Whether the notes cover only a part of the run.
    partial: bool,
    /// The newest record and the number of executions, by step and position in loops.
    newest: BTreeMap<(StepId, Vec<u32>), (usize, u32)>,
    /// The open records of each strand, the innermost last.
    open: BTreeMap<StrandNo, Vec<usize>>,
    /// The strands that wait, each with the record that waits, and for what.
    waiting: BTreeMap<StrandNo, (usize, Status)>,
    /// The open records, to know which of them wait.
    clock: WaitClock,
    /// The usage of the budget of the whole document, when its part has ended.
    budget: Option<BudgetRecord>,
    /// Decisions that precede the beginning of their step, such as those of merges.
    early: BTreeMap<(StepId, Vec<u32>), Vec<DecisionRecord>>,
}

impl Records {
    /// No records yet, of a run of this program.
    ///
    /// ```
    #[doc = include_str!("../../docs/decision.txt")]
    /// assert_eq!(Records::of(&program).count(), 0);
    /// ```
    pub fn of(program: &Program) -> Self {
        Self {
            parents: program.steps.iter().map(|step| step.parent).collect(),
            list: BTreeMap::new(),
            next: 0,
            room: 0,
            omitted: 0,
            omitted_steps: BTreeSet::new(),
            partial: false,
            newest: BTreeMap::new(),
            open: BTreeMap::new(),
            waiting: BTreeMap::new(),
            clock: WaitClock::default(),
            budget: None,
            early: BTreeMap::new(),
        }
    }

    /// Marks the records as those of a part of a run: steps without a record may have run before or after the part.
    ///
    /// ```
    #[doc = include_str!("../../docs/decision.txt")]
    /// let records = Records::of(&program).partial();
    /// assert!(records.finish(&program, Status::Completed).is_empty());
    /// ```
    #[must_use]
    pub fn partial(mut self) -> Self {
        self.partial = true;
        self
    }

    /// The record with this number, unless it was omitted.
    ///
    /// ```
    #[doc = include_str!("../../docs/decision.txt")]
    /// let mut records = Records::of(&program);
    /// let number = records.add(&notes[0]).unwrap();
    /// assert_eq!(records.get(number).unwrap().status, StepStatus::Running);
    /// ```
    pub fn get(&self, number: usize) -> Option<&StepRecord> {
        self.list.get(&number)
    }

    /// The usage of the budget of the whole document, when its part has ended.
    ///
    /// ```
    #[doc = include_str!("../../docs/decision.txt")]
    /// assert_eq!(Records::of(&program).budget(), None);
    /// ```
    pub fn budget(&self) -> Option<&BudgetRecord> {
        self.budget.as_ref()
    }

    /// The number of records, including omitted ones.
    ///
    /// ```
    #[doc = include_str!("../../docs/decision.txt")]
    /// assert_eq!(Records::of(&program).count(), 0);
    /// ```
    pub fn count(&self) -> usize {
        self.next
    }

    /// The number of omitted records.
    ///
    /// ```
    #[doc = include_str!("../../docs/decision.txt")]
    /// assert_eq!(Records::of(&program).omitted(), 0);
    /// ```
    pub fn omitted(&self) -> usize {
        self.omitted
    }

    /// The number of the innermost open record of a strand.
    ///
    /// ```
    #[doc = include_str!("../../docs/decision.txt")]
    /// let mut records = Records::of(&program);
    /// let number = records.add(&notes[0]);
    /// assert_eq!(records.innermost_of(notes[0].strand), number);
    /// ```
    pub fn innermost_of(&self, strand: StrandNo) -> Option<usize> {
        self.open.get(&strand)?.last().copied()
    }

    /// Returns all records by number, for a run with this status. If the run has ended, no record stays open, and steps that never ran are
    /// added at the end.
    ///
    /// ```
    #[doc = include_str!("../../docs/decision.txt")]
    /// let mut records = Records::of(&program);
    /// for note in &notes {
    ///     records.add(note);
    /// }
    /// assert_eq!(records.finish(&program, Status::Completed).len(), 1);
    /// ```
    pub fn finish(self, program: &Program, status: Status) -> BTreeMap<usize, StepRecord> {
        let mut records = self.list;
        if matches!(status, Status::Completed | Status::Failed | Status::Cancelled) {
            settle(program, &mut records, status);
            if !self.partial {
                let never_ran = never_ran(program, &records, &self.omitted_steps, status);
                records.extend((self.next..).zip(never_ran));
            }
        }
        records
    }

    fn push(&mut self, record: StepRecord) -> usize {
        let number = self.next;
        self.next += 1;
        self.list.insert(number, record);
        if self.list.len() > self.room.max(2 * RECORDS_KEPT) {
            self.omit_old();
        }
        number
    }

    /// Omits old records of ended steps. This runs rarely, so that the cost for each record is small.
    fn omit_old(&mut self) {
        let oldest_kept = self.next.saturating_sub(RECORDS_KEPT);
        let (steps, before) = (&mut self.omitted_steps, self.list.len());
        self.list.retain(|number, record| {
            let is_kept = *number >= oldest_kept || record.ended_ms.is_none();
            if !is_kept {
                steps.insert(record.step);
            }
            is_kept
        });
        self.omitted += before - self.list.len();
        self.newest.retain(|_, (number, _)| self.list.contains_key(number));
        self.room = self.list.len() + RECORDS_KEPT;
    }

    /// Adds a note, and returns the number of the record that it changes.
    ///
    /// ```
    #[doc = include_str!("../../docs/decision.txt")]
    /// assert_eq!(Records::of(&program).add(&notes[0]), Some(0));
    /// ```
    pub fn add(&mut self, note: &Note) -> Option<usize> {
        match &note.kind {
            NoteKind::Began(step, input) => Some(self.begin(note, *step, input.as_ref())),
            NoteKind::Skipped(step, reason) => {
                let record = blank(*step, note, 0, StepStatus::Skipped(reason.clone()));
                let decisions = self.early.remove(&(*step, note.path.clone())).unwrap_or_default();
                Some(self.push(StepRecord { ended_ms: Some(note.at_ms), decisions, ..record }))
            }
            NoteKind::Ended(step, output) => {
                self.end(note, *step, StepStatus::Completed, |record| record.output.clone_from(output))
            }
            NoteKind::Failed(step, error) => {
                self.end(note, *step, StepStatus::Failed, |record| record.error = Some(error.clone()))
            }
            NoteKind::ContentType(step, kind) => {
                self.change(note, *step, |record| record.output_content_type = Some(kind.clone()))
            }
            NoteKind::Branch(step, marker) => self.change(note, *step, |record| record.branch = Some(marker.clone())),
            NoteKind::Warned(step, kind) => self.change(note, *step, |record| record.warnings.push(kind.clone())),
            NoteKind::Attempt { step: Some(step), attempt, .. } => {
                let first = *attempt == 1;
                self.change(note, *step, |record| {
                    // A first attempt after a success is a new call. After a failure, the whole call may be repeated by a retry of the step.
                    if first && record.attempts.last().is_some_and(|last| last.error.is_none()) {
                        record.attempts.clear();
                    }
                    record.attempts.push(Attempt { began_ms: note.at_ms, ended_ms: None, error: None });
                })
            }
            NoteKind::AttemptEnded { step: Some(step), error } => self.change(note, *step, |record| {
                if let Some(attempt) = record.attempts.last_mut() {
                    attempt.ended_ms = Some(note.at_ms);
                    attempt.error.clone_from(error);
                }
            }),
            NoteKind::Used { step: Some(step), usage } => self.change(note, *step, |record| record.usage.add(*usage)),
            NoteKind::Decided(decided) => self.decide(note, decided),
            NoteKind::Waits(status) => self.wait(note, *status),
            NoteKind::Woke => self.wake(note),
            NoteKind::Items(count) => self.items(note, *count),
            NoteKind::Budget(budget) => {
                if let Some(step) = budget.step {
                    return self.change(note, step, |record| record.budget = Some((**budget).clone()));
                }
                self.budget = Some((**budget).clone());
                None
            }
            NoteKind::Attempt { step: None, .. }
            | NoteKind::AttemptEnded { step: None, .. }
            | NoteKind::Used { step: None, .. }
            | NoteKind::Resolved(_) => None,
        }
    }

    fn begin(&mut self, note: &Note, step: StepId, input: Option<&Value>) -> usize {
        let around = self.around(note, step);
        let (newest, runs) = self.newest.entry((step, note.path.clone())).or_default();
        *runs += 1;
        let (before, runs) = (std::mem::replace(newest, self.next), *runs);
        if runs > 1 {
            self.clock.end(before, note.at_ms, &mut self.list);
        }
        self.open.entry(note.strand).or_default().push(self.next);
        let decisions = self.early.remove(&(step, note.path.clone())).unwrap_or_default();
        let record = blank(step, note, runs, StepStatus::Running);
        let number = self.push(StepRecord { input: input.cloned(), decisions, ..record });
        self.clock.begin(number, around, note.at_ms, &mut self.list);
        number
    }

    /// The nearest open record that encloses a step which begins.
    fn around(&self, note: &Note, step: StepId) -> Option<usize> {
        let parent = |step: &StepId| *self.parents.get(step.index())?;
        let record = |step: StepId| {
            let lengths = (0..=note.path.len()).rev();
            let mut at = lengths.map(|length| self.newest.get(&(step, note.path[..length].to_vec())));
            at.find_map(|at| at.map(|(at, _)| *at).filter(|at| self.clock.is_open(*at)))
        };
        std::iter::successors(parent(&step), parent).find_map(record)
    }

    /// Adds a decision to the open record of its step, or stores it until the step begins. The decisions of a transition and of the end of
    /// a loop may follow the end of the step.
    fn decide(&mut self, note: &Note, decided: &DecisionRecord) -> Option<usize> {
        let ends = match decided.kind {
            DecisionKind::Transition => true,
            DecisionKind::Loop => decided.chosen().is_some_and(|chosen| &*chosen.name != CONTINUE),
            _ => false,
        };
        let is_open = |record: &StepRecord| record.ended_ms.is_none() || ends;
        let open = self.newest(note, decided.step).filter(|at| self.list.get(at).is_some_and(is_open));
        let Some(at) = open else {
            let early = self.early.entry((decided.step, note.path.clone())).or_default();
            // Only the newest decisions are stored, because the step may never begin.
            if early.len() == DECISIONS_KEPT {
                early.remove(0);
            }
            early.push(decided.clone());
            return None;
        };
        let record = self.list.get_mut(&at)?;
        // A gate has no inner steps that could have the mark of a branch.
        if decided.kind == DecisionKind::Gate
            && let Some(chosen) = decided.chosen()
        {
            record.branch = Some(chosen.name.clone());
        }
        if record.decisions.len() == 2 * DECISIONS_KEPT {
            record.decisions.remove(DECISIONS_KEPT);
            record.decisions_omitted += 1;
        }
        record.decisions.push(decided.clone());
        Some(at)
    }

    fn end(
        &mut self,
        note: &Note,
        step: StepId,
        status: StepStatus,
        update: impl FnOnce(&mut StepRecord),
    ) -> Option<usize> {
        let at = self.newest(note, step)?;
        if let Some(open) = self.open.get_mut(&note.strand) {
            open.retain(|other| *other != at);
            if open.is_empty() {
                self.open.remove(&note.strand);
            }
        }
        let ended = self.change(note, step, |record| {
            record.status = status;
            record.ended_ms = Some(note.at_ms);
            // A withdrawn attempt, for example after a time limit, has no end of its own.
            record.attempts.iter_mut().for_each(|attempt| attempt.ended_ms = attempt.ended_ms.or(Some(note.at_ms)));
            update(record);
        });
        self.clock.end(at, note.at_ms, &mut self.list);
        ended
    }

    fn change(&mut self, note: &Note, step: StepId, update: impl FnOnce(&mut StepRecord)) -> Option<usize> {
        let at = self.newest(note, step)?;
        self.update(at, note, update)
    }

    fn newest(&self, note: &Note, step: StepId) -> Option<usize> {
        self.newest.get(&(step, note.path.clone())).map(|(at, _)| *at)
    }

    fn items(&mut self, note: &Note, count: u32) -> Option<usize> {
        let at = self.innermost_of(note.strand)?;
        self.update(at, note, |record| record.items = Some(count))
    }

    /// A strand waits: the innermost step around it waits, which another strand may have begun.
    fn wait(&mut self, note: &Note, status: Status) -> Option<usize> {
        let strands = std::iter::once(note.strand).chain(note.entered_by.iter().copied());
        let at = strands.into_iter().find_map(|strand| self.innermost_of(strand))?;
        self.waiting.insert(note.strand, (at, status));
        self.clock.wait(at, status, note.at_ms, &mut self.list);
        self.list.get_mut(&at)?.status = StepStatus::Waiting(status);
        Some(at)
    }

    fn wake(&mut self, note: &Note) -> Option<usize> {
        let (at, status) = self.waiting.remove(&note.strand)?;
        let waits = self.clock.wake(at, status, note.at_ms, &mut self.list);
        let record = self.list.get_mut(&at)?;
        if !waits && matches!(record.status, StepStatus::Waiting(_)) {
            record.status = StepStatus::Running;
        }
        Some(at)
    }

    fn update(&mut self, at: usize, note: &Note, update: impl FnOnce(&mut StepRecord)) -> Option<usize> {
        update(self.list.get_mut(&at)?);
        self.clock.update(at, note.at_ms, &mut self.list);
        Some(at)
    }
}

fn blank(step: StepId, note: &Note, run: u32, status: StepStatus) -> StepRecord {
    StepRecord {
        step,
        path: note.path.clone(),
        iterations: note.iterations.clone(),
        run,
        status,
        input: None,
        output: None,
        output_content_type: None,
        error: None,
        branch: None,
        decisions: Vec::new(),
        decisions_omitted: 0,
        warnings: Vec::new(),
        attempts: Vec::new(),
        usage: Usage::default(),
        began_ms: note.at_ms,
        ended_ms: None,
        waited_ms: 0,
        waited_people_ms: 0,
        items: None,
        budget: None,
    }
}

/// Closes the open records of a run that has ended. In a failed run, the steps that enclose a failed step have failed too; if no step
/// failed, all open steps have failed. The other steps were withdrawn.
fn settle(program: &Program, records: &mut BTreeMap<usize, StepRecord>, status: Status) {
    let mut failed = vec![false; program.steps.len()];
    for record in records.values().filter(|record| record.status == StepStatus::Failed) {
        let mut step = Some(record.step);
        while let Some(enclosing) = step.filter(|step| !std::mem::replace(&mut failed[step.index()], true)) {
            step = program.steps[enclosing.index()].parent;
        }
    }
    let no_step_failed = !failed.contains(&true);
    for record in records.values_mut() {
        if matches!(record.status, StepStatus::Running | StepStatus::Waiting(_)) {
            let has_failed = status == Status::Failed && (no_step_failed || failed[record.step.index()]);
            record.status = if has_failed { StepStatus::Failed } else { StepStatus::Cancelled };
        }
    }
}

/// Records of steps that did not run. The reason depends on the status of the run.
fn never_ran(
    program: &Program,
    records: &BTreeMap<usize, StepRecord>,
    omitted: &BTreeSet<StepId>,
    status: Status,
) -> Vec<StepRecord> {
    let reason: Arc<str> = match status {
        Status::Failed => "after_failure".into(),
        Status::Cancelled => "cancelled".into(),
        _ => "arm_not_taken".into(),
    };
    let mut ran = vec![false; program.steps.len()];
    for step in records.values().map(|record| &record.step).chain(omitted) {
        ran[step.index()] = true;
    }
    let at_ms = records.values().filter_map(|record| record.ended_ms).max().unwrap_or_default();
    let note = Note {
        at_ms,
        strand: StrandNo(0),
        entered_by: Vec::new(),
        path: Vec::new(),
        iterations: Vec::new(),
        kind: NoteKind::Woke,
    };
    let missing = (0_u32..).zip(ran).filter(|(_, ran)| !ran).map(|(step, _)| StepId(step));
    let reasons = skip_reasons(records);
    let why = |step: StepId| enclosing_skip_reason(program, &reasons, step).unwrap_or_else(|| reason.clone());
    missing.map(|step| blank(step, &note, 0, StepStatus::Skipped(why(step)))).collect()
}

/// The reason for which the nearest enclosing step with a record was skipped, if it was. Its inner steps were skipped with it.
fn enclosing_skip_reason(
    program: &Program,
    reasons: &BTreeMap<StepId, Option<Arc<str>>>,
    step: StepId,
) -> Option<Arc<str>> {
    let mut enclosing = program.steps[step.index()].parent;
    while let Some(outer) = enclosing {
        if let Some(skipped) = reasons.get(&outer) {
            return skipped.clone();
        }
        enclosing = program.steps[outer.index()].parent;
    }
    None
}

/// The steps that have a record, with the reason of the first skipped record.
fn skip_reasons(records: &BTreeMap<usize, StepRecord>) -> BTreeMap<StepId, Option<Arc<str>>> {
    let mut reasons: BTreeMap<StepId, Option<Arc<str>>> = BTreeMap::new();
    for record in records.values() {
        let skipped = match &record.status {
            StepStatus::Skipped(reason) => Some(reason.clone()),
            _ => None,
        };
        let reason = reasons.entry(record.step).or_default();
        *reason = reason.take().or(skipped);
    }
    reasons
}
