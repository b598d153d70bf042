//! The list of steps that a person sees: one record for each time a step ran, skipped ones shown as skipped.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_expr::Value;

use super::{Note, What};
use crate::ir::{Index, Program, Status, StepId};

/// One run of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepRecord {
    /// The step.
    pub step: StepId,
    /// The positions of the items around it, outermost first.
    pub path: Vec<u32>,
    /// Which run of the step at this place it is, counted from 1.
    pub run: u32,
    /// How it stands.
    pub status: StepStatus,
    /// What it began with.
    pub input: Option<Value>,
    /// What it gave.
    pub output: Option<Value>,
    /// Why it failed.
    pub error: Option<Value>,
    /// The branch it took.
    pub branch: Option<Arc<str>>,
    /// Why it decided as it did: explanations as JSON.
    pub why: Vec<String>,
    /// What a person should know of.
    pub warnings: Vec<Arc<str>>,
    /// Its calls of the outside.
    pub attempts: Vec<Attempt>,
    /// When it began.
    pub began_ms: i64,
    /// When it ended.
    pub ended_ms: Option<i64>,
}

/// One call of the outside.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// When it was made.
    pub began_ms: i64,
    /// Why it failed, if it did.
    pub error: Option<Value>,
}

/// How a step stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepStatus {
    /// It has begun and not ended.
    Running,
    /// It has ended.
    Completed,
    /// It has failed, or it had not ended when the run failed.
    Failed,
    /// It had not ended when the run was cancelled, or when nobody needed it any more.
    Cancelled,
    /// It did not run, for that reason.
    Skipped(Arc<str>),
}

/// Adds notes up to the list of steps, in the order in which they began; those that never ran come last.
pub fn steps(program: &Program, notes: &[Note], status: Status) -> Vec<StepRecord> {
    let mut records: Vec<StepRecord> = Vec::new();
    for note in notes {
        add(&mut records, note);
    }
    let ended = matches!(status, Status::Completed | Status::Failed | Status::Cancelled);
    if ended {
        for record in &mut records {
            if record.status == StepStatus::Running {
                record.status = if status == Status::Failed { StepStatus::Failed } else { StepStatus::Cancelled };
            }
        }
        let never_ran = never_ran(program, &records, status);
        records.extend(never_ran);
    }
    records
}

fn add(records: &mut Vec<StepRecord>, note: &Note) {
    let newest = |records: &mut Vec<StepRecord>, step: StepId| {
        records.iter().rposition(|record| record.step == step && record.path == note.path)
    };
    match &note.what {
        What::Began(step, input) => {
            let runs = records.iter().filter(|record| record.step == *step && record.path == note.path).count();
            let run = u32::try_from(runs).unwrap_or(u32::MAX).saturating_add(1);
            let record = blank(*step, note, run, StepStatus::Running);
            records.push(StepRecord { input: input.clone(), ..record });
        }
        What::Skipped(step, reason) => {
            let record = blank(*step, note, 0, StepStatus::Skipped(reason.clone()));
            records.push(StepRecord { ended_ms: Some(note.at_ms), ..record });
        }
        What::Ended(step, output) => {
            if let Some(at) = newest(records, *step) {
                let record = &mut records[at];
                record.status = StepStatus::Completed;
                record.output.clone_from(output);
                record.ended_ms = Some(note.at_ms);
            }
        }
        What::Failed(step, error) => {
            if let Some(at) = newest(records, *step) {
                let record = &mut records[at];
                record.status = StepStatus::Failed;
                record.error = Some(error.clone());
                record.ended_ms = Some(note.at_ms);
            }
        }
        What::Branch(step, marker) => {
            if let Some(at) = newest(records, *step) {
                records[at].branch = Some(marker.clone());
            }
        }
        What::Warned(step, kind) => {
            if let Some(at) = newest(records, *step) {
                records[at].warnings.push(kind.clone());
            }
        }
        What::Attempt { step: Some(step), .. } => {
            if let Some(at) = newest(records, *step) {
                records[at].attempts.push(Attempt { began_ms: note.at_ms, error: None });
            }
        }
        What::AttemptFailed { step: Some(step), error } => {
            if let Some(attempt) = newest(records, *step).and_then(|at| records[at].attempts.last_mut()) {
                attempt.error = Some(error.clone());
            }
        }
        What::Decided { why, .. } => {
            let open = |record: &&mut StepRecord| record.path == note.path && record.status == StepStatus::Running;
            if let Some(record) = records.iter_mut().rev().find(open) {
                record.why.extend(why.iter().cloned());
            }
        }
        What::Attempt { step: None, .. } | What::AttemptFailed { step: None, .. } | What::Resolved(_) => {}
    }
}

fn blank(step: StepId, note: &Note, run: u32, status: StepStatus) -> StepRecord {
    StepRecord {
        step,
        path: note.path.clone(),
        run,
        status,
        input: None,
        output: None,
        error: None,
        branch: None,
        why: Vec::new(),
        warnings: Vec::new(),
        attempts: Vec::new(),
        began_ms: note.at_ms,
        ended_ms: None,
    }
}

/// Steps without a record did not run; why is told by how the run ended.
fn never_ran(program: &Program, records: &[StepRecord], status: Status) -> Vec<StepRecord> {
    let reason: Arc<str> = match status {
        Status::Failed => "after_failure".into(),
        Status::Cancelled => "cancelled".into(),
        _ => "arm_not_taken".into(),
    };
    let mut ran = vec![false; program.steps.len()];
    for record in records {
        ran[record.step.index()] = true;
    }
    let end = records.iter().filter_map(|record| record.ended_ms).max().unwrap_or_default();
    let note =
        Note { at_ms: end, strand: crate::state::StrandNo(0), path: Vec::new(), what: What::Resolved(Value::Null) };
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
fn told(records: &[StepRecord]) -> BTreeMap<StepId, Option<Arc<str>>> {
    let mut told: BTreeMap<StepId, Option<Arc<str>>> = BTreeMap::new();
    for record in records {
        let skipped = match &record.status {
            StepStatus::Skipped(reason) => Some(reason.clone()),
            _ => None,
        };
        let known = told.entry(record.step).or_default();
        *known = known.take().or(skipped);
    }
    told
}
