//! The steps of a run as a tree, and the signals that were sent to it, rebuilt from its journal.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::Result;
use branchpoint_backend::{Backend, Replayed, RunNo, RunView};
use branchpoint_core::ir::{DecisionKind, Index, Status, StepId};
use branchpoint_core::{
    BudgetRecord, DecisionRecord, EffectNo, Event, Note, NoteKind, Records, Redact, StepRecord, StepStatus,
};
use branchpoint_expr::{Object, Value, preview};
use branchpoint_runners::{Secrets, Untruncated};

use crate::{excerpt, json, step_line, time, usage};

/// A run and what happened in it.
pub(super) struct TraceTree {
    pub(super) view: RunView,
    pub(super) records: Vec<StepRecord>,
    /// The record around each record.
    pub(super) around: Vec<Option<usize>>,
    /// The records inside each record.
    pub(super) inner: Vec<Vec<usize>>,
    pub(super) left_out: OmittedSteps,
    /// The usage of the workflow's budget, when its part has ended.
    budget: Option<BudgetRecord>,
    /// The record that made each call.
    pub(super) callers: BTreeMap<EffectNo, usize>,
    /// The signals and cancellations that were sent to the run, in order: time, sender, content.
    pub(super) sent: Vec<(i64, Option<String>, String)>,
    pub(super) secrets: Secrets,
    /// The names that steps have beside their ids.
    names: Object,
    /// Whether large values are written into JSON whole.
    pub(super) full: bool,
}

/// What is not shown of a run.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct OmittedSteps {
    /// Events before the part that is shown.
    pub(super) before: u64,
    /// Events after it.
    pub(super) after: u64,
    /// Steps in between.
    pub(super) steps: usize,
}

impl OmittedSteps {
    /// Lines that say what is left out, and how to see it.
    pub(super) fn lines(self, run: &str, last: u64) -> String {
        let mut lines = String::new();
        if self.before > 0 {
            let _ = writeln!(
                lines,
                "… the first {} events are not shown; `branchpoint runs trace {run} --from 0` shows the beginning",
                self.before
            );
        }
        if self.steps > 0 {
            let _ = writeln!(lines, "… {} ended steps are not shown; these are the newest", self.steps);
        }
        if self.after > 0 {
            let _ = writeln!(
                lines,
                "… {} events follow; `branchpoint runs trace {run} --from {last}` continues here",
                self.after
            );
        }
        lines
    }
}

/// Records and callers, collected from notes.
struct Collected {
    records: Records,
    callers: BTreeMap<EffectNo, usize>,
}

impl Collected {
    fn add(&mut self, note: &Note) {
        let record = self.records.add(note).or_else(|| self.records.innermost_of(note.strand));
        if let (NoteKind::Attempt { effect, .. }, Some(record)) = (&note.kind, record) {
            self.callers.insert(*effect, record);
        }
    }
}

/// How many ops are replayed to show a run. Only loops execute so many, and all their rounds look the same.
const MAX_OPS: u64 = 50_000;

impl TraceTree {
    /// The tree of a run, or of the newest part of a long run.
    pub(super) fn of(store: &dyn Backend, run: RunNo) -> Result<Self> {
        Self::after(store, run, None)
    }

    /// The tree of a run after a number of events. Only the newest of the ended steps are included, which limits the memory.
    pub(super) fn after(store: &dyn Backend, run: RunNo, from: Option<u64>) -> Result<Self> {
        let secrets = store.secrets(run)?;
        let mut collected = Collected { records: Records::of(&store.load(run)?.program), callers: BTreeMap::new() };
        let Replayed { view, first, last, is_whole } =
            store.replay_part(run, from, MAX_OPS, &mut |note| collected.add(&note))?;
        let left_out =
            OmittedSteps { before: first, after: view.state.seq() - last, steps: collected.records.omitted() };
        let Collected { records, callers } = collected;
        let budget = records.budget().cloned();
        let records = if is_whole { records } else { records.partial() };
        // Steps whose end is after the part count as running.
        let status = if left_out.after == 0 { view.status() } else { Status::Running };
        let records = records.finish(&view.program, status);
        let index: BTreeMap<usize, usize> = records.keys().copied().zip(0..).collect();
        let mut tree = Self {
            around: Vec::new(),
            inner: Vec::new(),
            callers: callers.into_iter().filter_map(|(effect, at)| Some((effect, *index.get(&at)?))).collect(),
            sent: sent_signals(store, run, &secrets)?,
            names: view.view("names").and_then(|names| names.as_object().cloned()).unwrap_or_default(),
            view,
            records: records.into_values().collect(),
            left_out,
            budget,
            secrets,
            full: false,
        };
        tree.around = tree.arranged();
        tree.inner = vec![Vec::new(); tree.records.len()];
        for (index, around) in tree.around.iter().enumerate() {
            if let Some(around) = around {
                tree.inner[*around].push(index);
            }
        }
        Ok(tree)
    }

    /// The newest record of a step around, with the positions around, for each record.
    fn arranged(&self) -> Vec<Option<usize>> {
        let parent = |step: StepId| self.view.program.steps[step.index()].parent;
        let mut newest: BTreeMap<(StepId, &[u32]), usize> = BTreeMap::new();
        let mut around = Vec::new();
        for (index, record) in self.records.iter().enumerate() {
            let mut outer = parent(record.step);
            let mut enclosing = None;
            while let Some(step) = outer.filter(|_| enclosing.is_none()) {
                let known = |length: usize| newest.get(&(step, &record.path[..length])).copied();
                enclosing = (0..=record.path.len()).rev().find_map(known);
                outer = parent(step);
            }
            around.push(enclosing);
            newest.insert((record.step, &record.path), index);
        }
        around
    }

    /// The budgets of the workflow and of parts that are open.
    pub(super) fn open_budgets(&self) -> Vec<BudgetRecord> {
        self.budget.iter().cloned().chain(self.view.state.budgets(&self.view.program)).collect()
    }

    /// The budgets of the workflow and of all its parts, the ended ones in the order in which they began.
    pub(super) fn budgets(&self) -> Vec<BudgetRecord> {
        let ended = self.records.iter().filter_map(|record| record.budget.clone());
        self.open_budgets().into_iter().chain(ended).collect()
    }

    /// How many steps are around a record.
    pub(super) fn depth(&self, index: usize) -> usize {
        std::iter::successors(self.around[index], |outer| self.around[*outer]).count()
    }

    /// The records whose id is that of a step, and whose positions are those that are requested.
    pub(super) fn of_step(&self, step: &str, path: Option<&[u32]>) -> Vec<usize> {
        let meant = |index: &usize| {
            let record = &self.records[*index];
            let id = &self.view.program.steps[record.step.index()].id;
            &**id == step && path.is_none_or(|path| path == positions(record))
        };
        (0..self.records.len()).filter(meant).collect()
    }

    /// One line about a record, and what belongs to it below.
    pub(super) fn line(&self, index: usize, depth: usize) -> String {
        let record = &self.records[index];
        let indent = "  ".repeat(depth);
        let title = step_line::title(&self.view.program, record);
        let mut line = format!("{} {indent}{title}", step_line::sign(&record.status, false));
        line += &self.step_line(record);
        line.push('\n');
        let below = self.below(index).into_iter().map(|text| format!("  {indent}  {text}\n"));
        self.secrets.mask(&(line + &below.collect::<String>())).into_owned()
    }

    /// The duration, the branch with its reason, and the outcome of a record.
    fn step_line(&self, record: &StepRecord) -> String {
        let mut text = String::new();
        if let StepStatus::Skipped(reason) = &record.status {
            return format!(": {}", skip_reason(reason));
        }
        if record.status == StepStatus::Cancelled {
            text += ": withdrawn";
        }
        if let StepStatus::Waiting(status) = record.status {
            let _ = write!(text, ": {}", status.as_str().replace('_', " for ").replace("for timer", "for a time"));
        }
        if record.attempts.len() > 1 {
            let _ = write!(text, ", {} attempts", record.attempts.len());
        }
        if let Some(ended_ms) = record.ended_ms {
            let _ = write!(text, ", {}", time::duration(ended_ms - record.began_ms - record.waited_ms));
        }
        if record.waited_ms > 0 {
            let _ = write!(text, " (and {} of waiting)", time::duration(record.waited_ms));
        }
        let reason = self.reason(record).map(|reason| excerpt::text(&self.secrets.mask(&reason)));
        text + &step_line::outcome(record, &self.secrets, reason, excerpt::MAX_CHARS, false)
    }

    /// Why a record took its branch.
    fn reason(&self, record: &StepRecord) -> Option<String> {
        let decided = record
            .decisions
            .iter()
            .rfind(|decided| decided.chosen().map(|chosen| &chosen.name) == record.branch.as_ref())?;
        Some(self.secrets.text(&decided.sentence().render(|value| preview(&self.secrets.value(value)))))
    }

    /// The failed attempts and the approvals of a record.
    fn below(&self, index: usize) -> Vec<String> {
        let record = &self.records[index];
        let failed = record.attempts.iter().enumerate().filter_map(|(number, attempt)| {
            let message = attempt.error.as_ref()?.get("message").cloned().unwrap_or_default();
            Some(format!("attempt {} failed: {}", number + 1, excerpt::error(&self.secrets, &message)))
        });
        let mut below: Vec<String> = failed.collect();
        let approvals = record.decisions.iter().filter(|decided| decided.kind == DecisionKind::Approval);
        below.extend(approvals.map(|decided| excerpt::text(&decided.line(&self.view.program, &self.secrets))));
        below.extend(record.budget.as_ref().map(|budget| format!("budget of {}", budget.line(&self.view.program))));
        below
    }

    /// The same with values written whole, however large they are.
    pub(super) fn full(mut self, full: bool) -> Self {
        self.full = full;
        self
    }

    /// A decision as JSON.
    pub(super) fn decision_json(&self, decided: &DecisionRecord) -> Value {
        self.json(|redact| decided.to_value(&self.view.program, redact))
    }

    fn json<T>(&self, write: impl FnOnce(&dyn Redact) -> T) -> T {
        if self.full { write(&Untruncated(&self.secrets)) } else { write(&self.secrets) }
    }

    /// A record as JSON.
    pub(super) fn record_json(&self, index: usize) -> Value {
        let record = &self.records[index];
        let step = &self.view.program.steps[record.step.index()];
        let (status, reason) = match &record.status {
            StepStatus::Running => ("running", None),
            StepStatus::Waiting(status) => (status.as_str(), None),
            StepStatus::Completed => ("completed", None),
            StepStatus::Failed => ("failed", None),
            StepStatus::Cancelled => ("cancelled", None),
            StepStatus::Skipped(reason) => ("skipped", Some(Value::Str(reason.clone()))),
        };
        let masked =
            |value: &Option<Value>| value.as_ref().map_or(Value::Null, |value| self.json(|redact| redact.data(value)));
        let program = &self.view.program;
        let decisions = record.decisions.iter().map(|decided| self.decision_json(decided));
        let iterations = record.iterations.iter().map(|round| self.json(|redact| round.to_value(program, redact)));
        let attempts = record.attempts.iter().map(|attempt| {
            let ended = attempt.ended_ms.map_or(Value::Null, time::to_iso);
            json::object([
                ("began", time::to_iso(attempt.began_ms)),
                ("ended", ended),
                ("error", masked(&attempt.error)),
            ])
        });
        let warnings = record.warnings.iter().cloned().map(Value::Str);
        let mut fields = json::object([
            ("step", Value::Str(step.id.clone())),
            ("type", Value::Str(step.kind.clone())),
            ("name", self.names.get(&step.id).cloned().unwrap_or_default()),
            ("iterations", Value::from(iterations.collect::<Vec<_>>())),
            ("run", Value::Int(i64::from(record.run))),
            ("status", Value::from(status)),
            ("reason", reason.unwrap_or_default()),
            ("branch", masked(&record.branch.clone().map(Value::Str))),
            ("decisions", Value::from(decisions.collect::<Vec<_>>())),
            ("decisions_omitted", json::count(record.decisions_omitted)),
            ("began", time::to_iso(record.began_ms)),
            ("ended", record.ended_ms.map_or(Value::Null, time::to_iso)),
            ("took_ms", record.ended_ms.map_or(Value::Null, |ms| Value::Int(ms - record.began_ms - record.waited_ms))),
            ("waited_ms", Value::Int(record.waited_ms)),
            ("hitl_wait_ms", Value::Int(record.waited_people_ms)),
            ("attempts", Value::from(attempts.collect::<Vec<_>>())),
            ("usage", usage::to_json(record.usage)),
            ("input", masked(&record.input)),
            ("output", masked(&record.output)),
            ("output_content_type", masked(&record.output_content_type)),
            ("error", masked(&record.error)),
            ("warnings", self.secrets.mask_value(&Value::from(warnings.collect::<Vec<_>>()))),
        ]);
        if let Some(budget) = &record.budget {
            json::insert(&mut fields, "budget", budget.to_value(program));
        }
        fields
    }
}

/// The signals and cancellations that were sent to a run.
fn sent_signals(store: &dyn Backend, run: RunNo, secrets: &Secrets) -> Result<Vec<(i64, Option<String>, String)>> {
    let sent = store.journal(run)?.into_iter().filter_map(|(stamp, event, _)| match event {
        Event::Signal { name, payload, sender, .. } => {
            let content =
                if payload == Value::Null { String::new() } else { format!(" {}", excerpt::value(secrets, &payload)) };
            Some((stamp.now_ms, sender.map(|sender| sender.to_string()), format!("{name}{content}")))
        }
        Event::Cancel { reason } => {
            let reason = reason.map(|reason| format!(": {}", secrets.mask(&reason))).unwrap_or_default();
            Some((stamp.now_ms, None, format!("cancel{reason}")))
        }
        _ => None,
    });
    Ok(sent.collect())
}

/// Why a step did not run, in plain words.
fn skip_reason(reason: &str) -> String {
    match reason {
        "arm_not_taken" => "not chosen".into(),
        "after_failure" => "not reached, because the run had failed".into(),
        "cancelled" => "not reached, because the run was cancelled".into(),
        other => format!("skipped ({})", other.replace('_', " ")),
    }
}

/// The positions of the rounds around a record: of all loops where the document's loops are known, else of items.
pub(super) fn positions(record: &StepRecord) -> Vec<u32> {
    if record.iterations.len() < record.path.len() {
        return record.path.clone();
    }
    record.iterations.iter().map(|round| round.index).collect()
}

/// Positions as they are typed.
pub(super) fn path(path: &[u32]) -> String {
    path.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}
