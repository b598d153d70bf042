//! Export and import of runs as JSON lines.
//!
//! The first line is a header. Then follow, for each run, its workflow unless it was written before, the run, its events in order, and
//! its files. Child runs follow their parents. Bytes are in hexadecimal; the other fields are readable. The file has no data that
//! can be derived from the events: an import folds them again.
//!
//! Sealed secrets are never written. An ended run is written with `***` in their place, if its events lead to the same outcome without
//! them. A run that has not ended needs its secrets, so it is omitted.

mod import;
mod lines;
mod rebuild;

use std::collections::BTreeSet;
use std::io::{self, Write};

use branchpoint_core::ir::{Program, Status};
use branchpoint_core::{Event, Fold, FoldedEvent, JournalRow, State, codec};
use branchpoint_runners::storage::LoadedFile;
use serde::Serialize;

use super::{Document, Exported, Packing, Parent, Run, RunNo, Store, StoreError, UsedEntry, WorkflowNo};
use crate::script::EntryKey;
pub use import::ImportLimits;
use lines::{
    AttachmentLine, Bytes, EntryLine, EventLine, Header, Line, ParentLine, RunLine, ScriptLine, TakerLine, WorkflowLine,
};

/// The version of the file format. Other versions are rejected.
pub const FORMAT: u64 = 1;

const SECRET: &str = "***";

/// Why runs could not be exported or imported.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// The store could not be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file could not be written or read.
    #[error("{0}")]
    File(#[from] io::Error),
    /// The file exceeds a limit of imports.
    #[error("{what} exceeds the limit of {limit}; export fewer runs into one file")]
    Limit {
        /// The part that is too large.
        what: String,
        /// The limit, with its unit.
        limit: String,
    },
    /// A run of the file cannot be imported.
    #[error("run `{run}`: {reason}")]
    Run {
        /// Its id.
        run: String,
        /// The reason.
        reason: String,
    },
    /// A line is invalid.
    #[error("line {line}: {reason}")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// The reason.
        reason: String,
    },
}

type Journal = Vec<JournalRow>;

impl Store {
    /// Writes runs with their child runs and their workflows.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// let mut lines = Vec::new();
    /// assert!(store.export(&[run], &mut lines).unwrap().omitted.is_empty());
    /// assert!(!lines.is_empty());
    /// ```
    pub fn export(&self, runs: &[RunNo], out: &mut dyn Write) -> Result<Exported, TransferError> {
        // One transaction, so that everything is read from the same moment.
        self.db.execute_batch("BEGIN").map_err(StoreError::from)?;
        let exported = self.export_all(runs, out);
        self.roll_back();
        exported
    }

    fn export_all(&self, runs: &[RunNo], out: &mut dyn Write) -> Result<Exported, TransferError> {
        write_line(out, &Header { branchpoint: "runs".into(), format: FORMAT })?;
        let mut exported = Exported::default();
        let (mut written, mut workflows) = (BTreeSet::new(), BTreeSet::new());
        let mut waiting = Vec::new();
        // A stack, so that child runs follow their parent.
        let mut next: Vec<RunNo> = runs.iter().rev().copied().collect();
        while let Some(run) = next.pop() {
            let row = self.row(run)?;
            if row.parent.is_some_and(|parent| !written.contains(&parent.run)) {
                waiting.push(row);
                continue;
            }
            if written.contains(&run) {
                continue;
            }
            match self.redacted_journal(&row)? {
                Ok(journal) => {
                    if workflows.insert(row.workflow) {
                        write_line(out, &Line::Workflow(self.workflow_line(row.workflow)?))?;
                    }
                    self.write_run(out, &row, &journal)?;
                    exported.runs += 1;
                    written.insert(run);
                }
                Err(reason) => exported.omitted.push((row.id, reason)),
            }
            next.extend(self.children(run)?.iter().rev().map(|child| child.run));
        }
        // A child run without its parent would have no script, and no run would use its result.
        for child in waiting.into_iter().filter(|child| !written.contains(&child.run)) {
            let root = self.row(self.root_of(child.run)?)?.id;
            let reason = format!("it is a child run whose parent is not exported; export `{root}`, which includes it");
            exported.omitted.push((child.id, reason));
        }
        out.flush()?;
        Ok(exported)
    }

    /// The journal of a run with masked secrets, or why it cannot be exported.
    fn redacted_journal(&self, row: &Run) -> Result<Result<Journal, String>, StoreError> {
        let sealed = self.sealed(row.run)?;
        if sealed.is_empty() {
            return Ok(Ok(self.journal(row.run)?));
        }
        if !row.status.is_final() {
            let reason =
                "it has not ended and has sealed secrets, which are not exported; copy the store with its key instead";
            return Ok(Err(reason.into()));
        }
        let hidden = Packing::new(sealed.iter().map(|_| SECRET.to_owned()).collect::<Vec<_>>());
        let journal = self.journal_packed(row.run, &hidden)?;
        let Some(program) = self.program(row.workflow, &row.part)? else {
            return Ok(Err("its program is missing".into()));
        };
        let refolded = refolded(&program, journal, row.status);
        Ok(refolded.ok_or_else(|| "its outcome depends on a sealed secret".into()))
    }

    fn workflow_line(&self, workflow: WorkflowNo) -> Result<WorkflowLine, StoreError> {
        let Document { name, dialect, origin, text } = self.document(workflow)?;
        let sql = "SELECT name, bytes FROM parts JOIN programs ON hash = program WHERE workflow = ?1";
        let programs = self.rows(sql, [workflow.0], |row| Ok((row.get(0)?, Bytes(row.get(1)?))))?;
        let hash = self.workflow_hash(workflow)?;
        Ok(WorkflowLine { hash, name, dialect, origin, text, programs: programs.into_iter().collect() })
    }

    fn workflow_hash(&self, workflow: WorkflowNo) -> Result<String, StoreError> {
        self.value("SELECT lower(hex(hash)) FROM workflows WHERE workflow = ?1", [workflow.0])
    }

    /// The script of a root run with masked secrets, and its used entries.
    fn script_line(&self, row: &Run) -> Result<Option<ScriptLine>, StoreError> {
        let Some(bound) = self.script(row.run)?.filter(|_| row.parent.is_none()) else { return Ok(None) };
        let mut used = Vec::new();
        for UsedEntry { entry: EntryKey { step, path, index }, taker } in self.used_entries(row.run)? {
            let taker = match taker.run {
                RunNo(0) => None,
                run => {
                    let (seq, number, attempt) = (taker.seq, taker.number, taker.attempt);
                    Some(TakerLine { run: self.row(run)?.id, seq, number, attempt })
                }
            };
            used.push(EntryLine { step: step.to_string(), path: path.to_string(), entry: index, taker });
        }
        let script = self.secrets(row.run)?.mask_value(&bound.script);
        let bytes = codec::encode_value(&script).map_err(|error| StoreError::Bytes { run: row.id.clone(), error })?;
        Ok(Some(ScriptLine { bytes: Bytes(bytes), used, live_ms: bound.live_ms }))
    }

    fn write_run(&self, out: &mut dyn Write, row: &Run, journal: &Journal) -> Result<(), TransferError> {
        let parent = match row.parent {
            Some(Parent { run, effect, attempt }) => Some(ParentLine { id: self.row(run)?.id, effect, attempt }),
            None => None,
        };
        let run = RunLine {
            id: row.id.clone(),
            workflow: self.workflow_hash(row.workflow)?,
            part: row.part.clone(),
            status: row.status.as_str(),
            folder: row.folder.clone(),
            started_ms: row.started_ms,
            parent,
            script: self.script_line(row)?,
            tags: row.tags.as_slice().to_vec(),
            priority: row.priority.get(),
            events: journal.len(),
        };
        write_line(out, &Line::Run(run))?;
        for (stamp, event, mark) in journal {
            let bytes =
                codec::encode_event(stamp, event).map_err(|error| StoreError::Bytes { run: row.id.clone(), error })?;
            let (at_ms, kind) = (stamp.now_ms, kind(event));
            write_line(out, &Line::Event(EventLine { at_ms, kind, mark: *mark, bytes: Bytes(bytes) }))?;
        }
        for LoadedFile { name, mime, bytes } in self.attachments_of(row.run)? {
            write_line(out, &Line::Attachment(AttachmentLine { name, mime, bytes: Bytes(bytes) }))?;
        }
        Ok(())
    }
}

/// Replays a journal with masked secrets and renews its check words. `None` if it has another outcome.
fn refolded(program: &Program, journal: Journal, status: Status) -> Option<Journal> {
    let mut fold = Fold::new(program, State::new(), journal).without_check();
    let row = |folded: FoldedEvent| (folded.stamp, folded.event, folded.outcome.check);
    let refolded = fold.by_ref().map(|folded| folded.map(row)).collect::<Result<_, _>>().ok()?;
    (fold.state().result()?.0 == status).then_some(refolded)
}

fn write_line(out: &mut dyn Write, line: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}

fn kind(event: &Event) -> &'static str {
    match event {
        Event::Start { .. } => "start",
        Event::Settled { .. } => "settled",
        Event::TimerFired(_) => "timer",
        Event::Signal { .. } => "signal",
        Event::Cancel { .. } => "cancel",
        Event::Continue => "continue",
        Event::Adopt(_) => "adopt",
    }
}
