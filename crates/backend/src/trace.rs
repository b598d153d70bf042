//! The trace of a run as a tree of steps, rebuilt from its journal.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use branchpoint_core::ir::{Index, Status, StepId};
use branchpoint_core::{EffectNo, Event, Fold, Note, NoteKind, Records, State, StepRecord};
use branchpoint_expr::Value;

use crate::{Backend, BackendError, Replayed, RunNo, RunView};

/// The maximum number of ops that a trace replays. Only loops execute so many, and all their rounds look the same.
const MAX_OPS: u64 = 50_000;

/// A run with the records of its steps as a tree.
#[derive(Debug)]
pub struct RunTrace {
    /// The loaded run.
    pub view: RunView,
    /// The records, in the order in which the steps began. Steps that never ran are at the end.
    pub records: Vec<StepRecord>,
    /// The index of the enclosing record of each record.
    pub parents: Vec<Option<usize>>,
    /// The indexes of the enclosed records of each record.
    pub children: Vec<Vec<usize>>,
    /// The key of each record: it identifies the record within its run, and stays the same while the run continues.
    pub keys: Vec<String>,
    /// The indexes of the records whose steps made calls, by effect.
    pub callers: BTreeMap<EffectNo, usize>,
    /// The parts of the run that the trace does not contain.
    pub omitted: OmittedParts,
    by_key: HashMap<String, usize>,
}

/// The parts of a run that its trace does not contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OmittedParts {
    /// The number of events before the trace.
    pub before: u64,
    /// The number of events after the trace.
    pub after: u64,
    /// The number of ended steps in between.
    pub steps: usize,
}

/// Collects records and callers from notes.
struct Collector {
    records: Records,
    callers: BTreeMap<EffectNo, usize>,
}

impl Collector {
    fn add(&mut self, note: &Note) {
        let record = self.records.add(note).or_else(|| self.records.innermost_of(note.strand));
        if let (NoteKind::Attempt { effect, .. }, Some(record)) = (&note.kind, record) {
            self.callers.insert(*effect, record);
        }
    }
}

impl RunTrace {
    /// Loads the trace of a run after so many events; without a number, the newest part of a long run. The memory is bounded: of steps
    /// that have ended, the newest are kept.
    ///
    /// ```
    /// use branchpoint_backend::{Backend, BackendError, RunNo, RunTrace};
    ///
    /// fn count_steps(backend: &dyn Backend, run: RunNo) -> Result<usize, BackendError> {
    ///     Ok(RunTrace::load(backend, run, None)?.records.len())
    /// }
    /// ```
    pub fn load(backend: &dyn Backend, run: RunNo, from: Option<u64>) -> Result<Self, BackendError> {
        let records = Records::of(&backend.load(run)?.program);
        let mut collector = Collector { records, callers: BTreeMap::new() };
        let Replayed { view, first, last, is_whole } =
            backend.replay_part(run, from, MAX_OPS, &mut |note| collector.add(&note))?;
        let Collector { records, callers } = collector;
        let omitted =
            OmittedParts { before: first, after: view.state.seq().saturating_sub(last), steps: records.omitted() };
        let records = if is_whole { records } else { records.partial() };
        // A step whose end is not in the trace has not ended in it.
        let status = if omitted.after == 0 { view.status() } else { Status::Running };
        let records = records.finish(&view.program, status);
        let index: BTreeMap<usize, usize> = records.keys().copied().zip(0..).collect();
        let callers = callers.into_iter().filter_map(|(effect, at)| Some((effect, *index.get(&at)?))).collect();
        Ok(Self::new(view, records.into_values().collect(), callers, omitted))
    }

    /// The trace of a run that is not stored, from the records of its steps.
    pub fn of_records(view: RunView, records: BTreeMap<usize, StepRecord>) -> Self {
        Self::new(view, records.into_values().collect(), BTreeMap::new(), OmittedParts::default())
    }

    fn new(view: RunView, records: Vec<StepRecord>, callers: BTreeMap<EffectNo, usize>, omitted: OmittedParts) -> Self {
        let parents = parents(&view, &records);
        let mut children = vec![Vec::new(); records.len()];
        for (index, parent) in parents.iter().enumerate() {
            if let Some(parent) = parent {
                children[*parent].push(index);
            }
        }
        let mut by_key = HashMap::new();
        let mut keys: Vec<String> = Vec::with_capacity(records.len());
        for (index, record) in records.iter().enumerate() {
            let base = key(&view, record);
            let mut key = base.clone();
            let mut copies = 1;
            while by_key.contains_key(&key) {
                copies += 1;
                key = format!("{base}~{copies}");
            }
            by_key.insert(key.clone(), index);
            keys.push(key);
        }
        Self { view, records, parents, children, keys, callers, omitted, by_key }
    }

    /// The index of the record with this key.
    pub fn index_of(&self, key: &str) -> Option<usize> {
        self.by_key.get(key).copied()
    }

    /// The id of the step of a record.
    pub fn step_id(&self, index: usize) -> &str {
        &self.view.program.steps[self.records[index].step.index()].id
    }

    /// The indexes of the records that no other record encloses.
    pub fn tops(&self) -> impl Iterator<Item = usize> {
        self.parents.iter().enumerate().filter(|(_, parent)| parent.is_none()).map(|(index, _)| index)
    }

    /// The number of records that enclose a record.
    pub fn depth(&self, index: usize) -> usize {
        std::iter::successors(self.parents[index], |outer| self.parents[*outer]).count()
    }

    /// The records of a step, at these positions of the enclosing loops if they are given.
    pub fn of_step(&self, step: &str, positions: Option<&[u32]>) -> Vec<usize> {
        let is_match = |index: &usize| {
            self.step_id(*index) == step
                && positions.is_none_or(|positions| positions == loop_positions(&self.records[*index]))
        };
        (0..self.records.len()).filter(is_match).collect()
    }

    /// The number of events until a record's step began; none if the step never began.
    pub fn events_until(&self, backend: &dyn Backend, index: usize) -> Result<Option<u64>, BackendError> {
        let record = &self.records[index];
        let mut fold = Fold::new(&self.view.program, State::new(), backend.journal(self.view.row.run)?);
        let mut notes: Vec<Note> = Vec::new();
        let mut runs = 0;
        while let Some(folded) = fold.replay_next(&mut |note| notes.push(note)) {
            let folded = folded.map_err(|error| BackendError::Damaged(error.to_string()))?;
            for note in notes.drain(..) {
                let is_begin = matches!(&note.kind, NoteKind::Began(step, _) if *step == record.step);
                runs += u32::from(is_begin && note.path == record.path);
            }
            if runs >= record.run.max(1) {
                return Ok(Some(folded.seq));
            }
        }
        Ok(None)
    }

    /// The number of events before the result of the call that failed the run; none if the workflow itself decided to fail. If the
    /// result of the run names a step, it is a call of that step.
    pub fn events_before_failure(&self, backend: &dyn Backend) -> Result<Option<u64>, BackendError> {
        let step = self.view.failure().and_then(|failure| failure.step);
        let of_step = |effect: &EffectNo| {
            let caller = self.callers.get(effect).map(|index| self.step_id(*index));
            step.is_none() || caller.is_none() || caller == step.as_deref()
        };
        let journal = backend.journal(self.view.row.run)?;
        let failed = journal.iter().rposition(|(_, event, _)| match event {
            Event::Settled { effect, result, .. } => is_failure(result.as_ref().ok()) && of_step(effect),
            _ => false,
        });
        Ok(failed.map(|position| position as u64))
    }
}

/// The newest record of an enclosing step at the enclosing positions, for each record.
fn parents(view: &RunView, records: &[StepRecord]) -> Vec<Option<usize>> {
    let outer = |step: StepId| view.program.steps[step.index()].parent;
    let mut newest: BTreeMap<(StepId, &[u32]), usize> = BTreeMap::new();
    let mut parents = Vec::with_capacity(records.len());
    for (index, record) in records.iter().enumerate() {
        let mut step = outer(record.step);
        let mut parent = None;
        while let Some(enclosing) = step.filter(|_| parent.is_none()) {
            let known = |length: usize| newest.get(&(enclosing, &record.path[..length])).copied();
            parent = (0..=record.path.len()).rev().find_map(known);
            step = outer(enclosing);
        }
        parents.push(parent);
        newest.insert((record.step, &record.path), index);
    }
    parents
}

/// The step, its number of executions, and the rounds of the enclosing loops: `charge#1@each.0`.
fn key(view: &RunView, record: &StepRecord) -> String {
    let id = |step: StepId| &view.program.steps[step.index()].id;
    let mut key = format!("{}#{}", id(record.step), record.run);
    let rounds: Vec<String> = if record.iterations.len() < record.path.len() {
        record.path.iter().map(u32::to_string).collect()
    } else {
        record.iterations.iter().map(|round| format!("{}.{}", id(round.step), round.index)).collect()
    };
    if !rounds.is_empty() {
        // Writing into a text cannot fail.
        let _ = write!(key, "@{}", rounds.join(","));
    }
    key
}

/// The positions of the enclosing rounds: of all loops where the document's loops are known, else of items.
fn loop_positions(record: &StepRecord) -> Vec<u32> {
    if record.iterations.len() < record.path.len() {
        return record.path.clone();
    }
    record.iterations.iter().map(|round| round.index).collect()
}

/// Whether a result of a call is a failure: there is none, or it contains an error or a bad exit code.
fn is_failure(result: Option<&Value>) -> bool {
    let Some(result) = result else { return true };
    let error = result.get("error").is_some_and(|error| *error != Value::Null);
    let code = result.get("exit_code").is_some_and(|code| !matches!(code, Value::Null | Value::Int(0)));
    error || code
}
