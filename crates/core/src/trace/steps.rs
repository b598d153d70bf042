//! The list of steps that a person sees: one record for each time a step ran, skipped ones shown as skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use branchpoint_expr::Value;

use super::decision_record::CONTINUE;
use super::{DecisionRecord, Iteration, Note, NoteKind};
use crate::event::Usage;
use crate::ir::{DecisionKind, Index, Program, Status, StepId};
use crate::state::StrandNo;

/// One run of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepRecord {
    /// The step.
    pub step: StepId,
    /// The positions of the items around it, outermost first.
    pub path: Vec<u32>,
    /// The rounds of the loops around it, outermost first.
    pub iterations: Vec<Iteration>,
    /// Which run of the step at this place it is, counted from 1.
    pub run: u32,
    /// How it stands.
    pub status: StepStatus,
    /// What it began with.
    pub input: Option<Value>,
    /// What it gave.
    pub output: Option<Value>,
    /// The content type of that, if its dialect has content types.
    pub output_content_type: Option<Value>,
    /// Why it failed.
    pub error: Option<Value>,
    /// The branch it took.
    pub branch: Option<Arc<str>>,
    /// What it decided, in order: the first and the last ones of a step that decides very often.
    pub decisions: Vec<DecisionRecord>,
    /// How many decisions between those are left out.
    pub decisions_omitted: u64,
    /// What a person should know of.
    pub warnings: Vec<Arc<str>>,
    /// The attempts of its newest call of the outside: another call after one that was answered is no further attempt.
    pub attempts: Vec<Attempt>,
    /// What all its calls of the outside have used up.
    pub usage: Usage,
    /// When it began.
    pub began_ms: i64,
    /// When it ended.
    pub ended_ms: Option<i64>,
    /// How long it has waited for people or for a time, which is no time of its own.
    pub waited_ms: i64,
    /// How much of that it has waited for people.
    pub waited_people_ms: i64,
    /// How many items it goes through, if it goes through any.
    pub items: Option<u32>,
}

/// How many records of steps that have ended are kept at least.
const RECORDS_KEPT: usize = 10_000;

/// How many decisions of one run of a step are kept from its beginning, and as many from its end: a loop may make millions.
pub(super) const DECISIONS_KEPT: usize = 50;

/// One call of the outside.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// When it was made.
    pub began_ms: i64,
    /// When it ended.
    pub ended_ms: Option<i64>,
    /// Why it failed, if it did.
    pub error: Option<Value>,
}

/// How a step stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepStatus {
    /// It has begun and not ended.
    Running,
    /// It has begun, and only people or only time can make it go on.
    Waiting(Status),
    /// It has ended.
    Completed,
    /// It has failed, or something in it has.
    Failed,
    /// It had not ended when the run was cancelled, or when nobody needed it any more.
    Cancelled,
    /// It did not run, for that reason.
    Skipped(Arc<str>),
}

/// Makes the list of steps from notes, in the order in which the steps began; those that never ran come last.
///
/// ```
#[doc = include_str!("../../docs/decision.txt")]
/// let steps = steps(&program, &notes, Status::Completed);
/// assert_eq!(steps[0].status, StepStatus::Completed);
/// ```
pub fn steps(program: &Program, notes: &[Note], status: Status) -> Vec<StepRecord> {
    let mut records = Records { room: usize::MAX, ..Records::default() };
    for note in notes {
        records.add(note);
    }
    records.finish(program, status).into_values().collect()
}

/// The steps of a run while it goes on: notes are added as they come, and none is looked at twice.
///
/// All records of steps that have not ended are kept, and the newest of the others: a loop may make millions.
#[derive(Debug, Default)]
pub struct Records {
    /// By number, in the order in which their steps began.
    list: BTreeMap<usize, StepRecord>,
    /// The number of the next record.
    next: usize,
    /// How many records there may be before old ones are omitted.
    room: usize,
    /// How many records were omitted, and of which steps.
    omitted: usize,
    omitted_steps: BTreeSet<StepId>,
    /// Whether the notes are those of a part of the run.
    partial: bool,
    /// By step and place: its newest record, and how often it has run there.
    newest: BTreeMap<(StepId, Vec<u32>), (usize, u32)>,
    /// By strand: the records that it has begun and not ended, the innermost last.
    open: BTreeMap<StrandNo, Vec<usize>>,
    /// Since when strands have been waiting.
    waiting: BTreeMap<StrandNo, i64>,
    /// Decisions that come before the step that takes them begins, such as that of a merge.
    early: BTreeMap<(StepId, Vec<u32>), Vec<DecisionRecord>>,
}

impl Records {
    /// The same records, of a part of a run only: steps without a record may have run before or after it.
    ///
    /// ```
    #[doc = include_str!("../../docs/decision.txt")]
    /// let records = Records::default().partial();
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
    /// let mut records = Records::default();
    /// let number = records.add(&notes[0]).unwrap();
    /// assert_eq!(records.get(number).unwrap().status, StepStatus::Running);
    /// ```
    pub fn get(&self, number: usize) -> Option<&StepRecord> {
        self.list.get(&number)
    }

    /// How many records there are, omitted ones included.
    ///
    /// ```
    /// assert_eq!(branchpoint_core::Records::default().count(), 0);
    /// ```
    pub fn count(&self) -> usize {
        self.next
    }

    /// How many records were omitted.
    ///
    /// ```
    /// assert_eq!(branchpoint_core::Records::default().omitted(), 0);
    /// ```
    pub fn omitted(&self) -> usize {
        self.omitted
    }

    /// The newest record of a strand that has not ended.
    ///
    /// ```
    #[doc = include_str!("../../docs/decision.txt")]
    /// let mut records = Records::default();
    /// let number = records.add(&notes[0]);
    /// assert_eq!(records.innermost_of(notes[0].strand), number);
    /// ```
    pub fn innermost_of(&self, strand: StrandNo) -> Option<usize> {
        self.open.get(&strand)?.last().copied()
    }

    /// All records of a run of this status, by number. If the run has ended, no record is open, and steps that never ran come last.
    ///
    /// ```
    #[doc = include_str!("../../docs/decision.txt")]
    /// let mut records = Records::default();
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

    /// Omits old records of steps that have ended. Rarely, so that it costs little for each record.
    fn omit_old(&mut self) {
        let oldest_kept = self.next.saturating_sub(RECORDS_KEPT);
        let (steps, before) = (&mut self.omitted_steps, self.list.len());
        self.list.retain(|number, record| {
            let kept = *number >= oldest_kept || record.ended_ms.is_none();
            if !kept {
                steps.insert(record.step);
            }
            kept
        });
        self.omitted += before - self.list.len();
        self.newest.retain(|_, (number, _)| self.list.contains_key(number));
        self.room = self.list.len() + RECORDS_KEPT;
    }

    /// Adds a note, and returns the number of the record that it changes.
    ///
    /// ```
    #[doc = include_str!("../../docs/decision.txt")]
    /// assert_eq!(Records::default().add(&notes[0]), Some(0));
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
                    // After an answer comes new work; after a failure the same work may be tried again as a whole.
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
            NoteKind::Waits(status) => {
                self.waiting.insert(note.strand, note.at_ms);
                self.innermost(note.strand, |record| record.status = StepStatus::Waiting(*status))
            }
            NoteKind::Woke => {
                let since = self.waiting.remove(&note.strand).unwrap_or(note.at_ms);
                self.innermost(note.strand, |record| {
                    let is_for_people = record.status == StepStatus::Waiting(Status::WaitingPeople);
                    record.status = StepStatus::Running;
                    record.waited_ms += note.at_ms - since;
                    record.waited_people_ms += if is_for_people { note.at_ms - since } else { 0 };
                })
            }
            NoteKind::Items(count) => self.innermost(note.strand, |record| record.items = Some(*count)),
            NoteKind::Attempt { step: None, .. }
            | NoteKind::AttemptEnded { step: None, .. }
            | NoteKind::Used { step: None, .. }
            | NoteKind::Resolved(_) => None,
        }
    }

    fn begin(&mut self, note: &Note, step: StepId, input: Option<&Value>) -> usize {
        let (newest, runs) = self.newest.entry((step, note.path.clone())).or_default();
        (*newest, *runs) = (self.next, *runs + 1);
        self.open.entry(note.strand).or_default().push(self.next);
        let decisions = self.early.remove(&(step, note.path.clone())).unwrap_or_default();
        let record = blank(step, note, *runs, StepStatus::Running);
        self.push(StepRecord { input: input.cloned(), decisions, ..record })
    }

    /// A decision belongs to the open record of its step; before the step begins, it waits for it. A transition is decided
    /// after the step has ended, and so may be that it does not run another time.
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
            // Only the newest matter: a step that never begins must not gather them.
            if early.len() == DECISIONS_KEPT {
                early.remove(0);
            }
            early.push(decided.clone());
            return None;
        };
        let record = self.list.get_mut(&at)?;
        // A gate has no steps of its own that could carry the mark of a branch.
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
        tell: impl FnOnce(&mut StepRecord),
    ) -> Option<usize> {
        let at = self.newest(note, step)?;
        if let Some(open) = self.open.get_mut(&note.strand) {
            open.retain(|known| *known != at);
            if open.is_empty() {
                self.open.remove(&note.strand);
            }
        }
        self.change(note, step, |record| {
            record.status = status;
            record.ended_ms = Some(note.at_ms);
            // An attempt that was withdrawn, by a time limit for example, has no end of its own.
            record.attempts.iter_mut().for_each(|attempt| attempt.ended_ms = attempt.ended_ms.or(Some(note.at_ms)));
            tell(record);
        })
    }

    fn change(&mut self, note: &Note, step: StepId, tell: impl FnOnce(&mut StepRecord)) -> Option<usize> {
        let at = self.newest(note, step)?;
        tell(self.list.get_mut(&at)?);
        Some(at)
    }

    fn newest(&self, note: &Note, step: StepId) -> Option<usize> {
        self.newest.get(&(step, note.path.clone())).map(|(at, _)| *at)
    }

    /// Changes the record that a strand has begun last and not ended.
    fn innermost(&mut self, strand: StrandNo, tell: impl FnOnce(&mut StepRecord)) -> Option<usize> {
        let at = self.innermost_of(strand)?;
        tell(self.list.get_mut(&at)?);
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
    }
}

/// What had not ended when the run did: in a failed run, whatever is around a failed step has failed with it, and if no step
/// says that it failed, all of them have. The others were withdrawn.
fn settle(program: &Program, records: &mut BTreeMap<usize, StepRecord>, status: Status) {
    let mut failed = vec![false; program.steps.len()];
    for record in records.values().filter(|record| record.status == StepStatus::Failed) {
        let mut step = Some(record.step);
        while let Some(around) = step.filter(|step| !std::mem::replace(&mut failed[step.index()], true)) {
            step = program.steps[around.index()].parent;
        }
    }
    let nobody = !failed.contains(&true);
    for record in records.values_mut() {
        if matches!(record.status, StepStatus::Running | StepStatus::Waiting(_)) {
            let with_it = status == Status::Failed && (nobody || failed[record.step.index()]);
            record.status = if with_it { StepStatus::Failed } else { StepStatus::Cancelled };
        }
    }
}

/// Steps without a record did not run; why is told by how the run ended.
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
    let note = Note { at_ms, strand: StrandNo(0), path: Vec::new(), iterations: Vec::new(), kind: NoteKind::Woke };
    let missing = (0_u32..).zip(ran).filter(|(_, ran)| !ran).map(|(step, _)| StepId(step));
    let told = told(records);
    let why = |step: StepId| skipped_around(program, &told, step).unwrap_or_else(|| reason.clone());
    missing.map(|step| blank(step, &note, 0, StepStatus::Skipped(why(step)))).collect()
}

/// Why the nearest step around that has a record was skipped, if it was: what is in it was skipped with it.
fn skipped_around(program: &Program, told: &BTreeMap<StepId, Option<Arc<str>>>, step: StepId) -> Option<Arc<str>> {
    let mut around = program.steps[step.index()].parent;
    while let Some(outer) = around {
        if let Some(skipped) = told.get(&outer) {
            return skipped.clone();
        }
        around = program.steps[outer.index()].parent;
    }
    None
}

/// The steps that have a record, and why the first of those that were skipped was.
fn told(records: &BTreeMap<usize, StepRecord>) -> BTreeMap<StepId, Option<Arc<str>>> {
    let mut told: BTreeMap<StepId, Option<Arc<str>>> = BTreeMap::new();
    for record in records.values() {
        let skipped = match &record.status {
            StepStatus::Skipped(reason) => Some(reason.clone()),
            _ => None,
        };
        let known = told.entry(record.step).or_default();
        *known = known.take().or(skipped);
    }
    told
}
