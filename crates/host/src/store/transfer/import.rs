//! Imports runs that another store has exported: all runs of a file, or none.
//!
//! The file is read, decoded and replayed before the store is locked. Then all rows are written in one transaction.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

use branchpoint_core::ir::{Program, Status, validate};
use branchpoint_core::{Event, JournalRow, codec};
use branchpoint_expr::{Compiled, Value};

use super::lines::{
    AttachmentLine, EntryLine, EventLine, Header, Line, ParentLine, RunLine, ScriptLine, TakerLine, WorkflowLine,
};
use super::rebuild::{OpsLeft, RebuiltRun};
use super::{FORMAT, Journal, TransferError};
use crate::host::MAX_OPS;
use crate::script::EntryKey;
use crate::store::{
    Document, Imported, Packing, Parent, Priority, Run, RunNo, Store, StoreError, Tags, Taker, UsedEntry, WorkflowNo,
};
use branchpoint_runners::child_run;
use branchpoint_runners::storage::Upload;
use branchpoint_runners::{ReadError, read_line};

/// The most bytes of a line. The longest lines are workflows with their programs, and events with large values.
const LINE_BYTES: u64 = 64 * 1024 * 1024;

/// The most bytes of a file, which is held in memory until it is written.
const FILE_BYTES: u64 = 512 * 1024 * 1024;

/// The most lines of a file.
const LINES: usize = 5_000_000;

/// The most ops that one event of an imported program may execute. Front-ends use a tenth of it.
const PROGRAM_FUEL: u32 = 1_000_000;

/// Limits of the work that an import may cause.
#[derive(Clone, Copy, Debug)]
pub struct ImportLimits {
    /// The most ops that an unfinished run may execute; 0 means no limit.
    pub run_ops: u64,
    /// The most ops that are executed to replay all runs of the file.
    pub total_ops: u64,
}

impl Default for ImportLimits {
    fn default() -> Self {
        Self { run_ops: MAX_OPS, total_ops: 2 * MAX_OPS }
    }
}

impl Store {
    /// Imports the runs of a file, all of them or none. A run that this store has already is left unchanged.
    ///
    /// ```
    #[doc = include_str!("../../../docs/run.txt")]
    /// let mut lines = Vec::new();
    /// store.export(&[run], &mut lines).unwrap();
    /// let other = Store::in_memory().unwrap();
    /// assert_eq!(other.import(&lines[..], ImportLimits::default(), 2).unwrap().runs, ["r-1"]);
    /// ```
    pub fn import(&self, lines: impl BufRead, limits: ImportLimits, now_ms: i64) -> Result<Imported, TransferError> {
        let prepared = self.prepare(ImportFile::read(lines)?, limits)?;
        self.change(|| self.write_file(prepared, now_ms))
    }

    /// Replays the runs that are new to this store, and compares the others with the stored ones.
    fn prepare(&self, file: ImportFile, limits: ImportLimits) -> Result<PreparedFile, TransferError> {
        let mut ops_left = OpsLeft::new(limits.total_ops);
        let mut ids = BTreeSet::new();
        let mut runs = Vec::new();
        for mut run in file.runs {
            let journal = std::mem::take(&mut run.journal);
            let rejected = |reason: String| TransferError::Run { run: run.row.id.clone(), reason };
            check_parent(&run, &ids).map_err(rejected)?;
            ids.insert(run.row.id.clone());
            if let Some(known) = self.run(&run.row.id)? {
                self.compare(&known, &run.workflow, &journal).map_err(rejected)?;
                runs.push(PreparedRun::Known(known));
                continue;
            }
            let workflow = &file.workflows[&run.workflow];
            let program = workflow.decoded.get(&run.row.part);
            let program = program.ok_or_else(|| rejected(format!("its workflow has no program `{}`", run.row.part)))?;
            let max_ops = max_ops(&journal);
            let rebuilt = RebuiltRun::fold((&run.row.id, run.parent.is_none()), program, journal, &mut ops_left);
            let rebuilt = rebuilt.map_err(|error| match error {
                TransferError::Store(error) => rejected(error.to_string()),
                error => error,
            })?;
            if !rebuilt.has_ended && limits.run_ops > 0 && (max_ops == 0 || max_ops > limits.run_ops) {
                let allowed = if max_ops == 0 { "any number of".into() } else { max_ops.to_string() };
                return Err(rejected(format!(
                    "it may execute {allowed} ops, and the limit here is {}; raise `ops` of [limits]",
                    limits.run_ops
                )));
            }
            runs.push(PreparedRun::New(Box::new(run), rebuilt));
        }
        Ok(PreparedFile { workflows: file.workflows, runs })
    }

    fn write_file(&self, file: PreparedFile, now_ms: i64) -> Result<Imported, TransferError> {
        let mut imported = Imported::default();
        let mut scripts = Vec::new();
        let mut workflows: BTreeMap<String, WorkflowNo> = BTreeMap::new();
        let mut numbers: BTreeMap<String, RunNo> = BTreeMap::new();
        for run in file.runs {
            let (ImportRun { workflow, mut row, parent, script, attachments, .. }, rebuilt) = match run {
                PreparedRun::New(run, rebuilt) => (*run, rebuilt),
                PreparedRun::Known(known) => {
                    numbers.insert(known.id.clone(), known.run);
                    imported.existing.push(known.id);
                    continue;
                }
            };
            let part = &file.workflows[&workflow];
            row.workflow = match workflows.get(&workflow) {
                Some(saved) => *saved,
                None => self.insert_parts(&part.document, &part.programs, now_ms)?,
            };
            workflows.insert(workflow, row.workflow);
            row.parent = parent.map(|ParentLine { id, effect, attempt }| Parent { run: numbers[&id], effect, attempt });
            let Some(run) = self.write_rebuilt(&row, rebuilt)? else {
                let reason = "another process has just added a run with this id; import the file again".into();
                return Err(TransferError::Run { run: row.id, reason });
            };
            attachments.iter().try_for_each(|file| self.add_attachment(run, file))?;
            numbers.insert(row.id.clone(), run);
            scripts.extend(script.filter(|_| row.parent.is_none()).map(|script| (run, row.id.clone(), script)));
            imported.runs.push(row.id);
        }
        for (run, id, ImportScript { script, used, live_ms }) in scripts {
            let packed = Packing::default().value(&script).map_err(|error| StoreError::Bytes { run: id, error })?;
            let used = used.into_iter().map(|ImportEntry { entry, taker }| {
                // Entries whose call is not in the file stay used.
                let taker = taker.and_then(|(run, taker)| Some(Taker { run: *numbers.get(&run)?, ..taker }));
                UsedEntry { entry, taker: taker.unwrap_or_default() }
            });
            self.bind_script(run, packed, used.collect());
            if let Some(live_ms) = live_ms {
                self.set_live_later(run, live_ms);
            }
        }
        self.write_out()?;
        Ok(imported)
    }

    /// Fails unless a run of the file is the stored run with its id, at an earlier or later moment.
    fn compare(&self, known: &Run, workflow: &str, journal: &Journal) -> Result<(), String> {
        let read = |error: StoreError| error.to_string();
        let first = |journal: &Journal| journal.first().map(|(stamp, event, _)| (stamp.now_ms, event.clone()));
        let sealed = !self.sealed(known.run).map_err(read)?.is_empty();
        let same_start = sealed || first(&self.journal(known.run).map_err(read)?) == first(journal);
        if self.workflow_hash(known.workflow).map_err(read)? == workflow && same_start {
            return Ok(());
        }
        Err("this store has another run with this id".into())
    }
}

/// The limit of ops in the start event of a run.
fn max_ops(journal: &Journal) -> u64 {
    match journal.first() {
        Some((_, Event::Start { max_ops, .. }, _)) => *max_ops,
        _ => 0,
    }
}

/// Checks that a child run follows its parent in the file and has the id that its parent gives it. A run of this store with the parent's
/// id may be another run, so it must not become the parent.
fn check_parent(run: &ImportRun, before: &BTreeSet<String>) -> Result<(), String> {
    let Some(ParentLine { id: parent, effect, attempt }) = &run.parent else { return Ok(()) };
    if !before.contains(parent) {
        return Err(format!("its parent run `{parent}` does not come before it; export `{parent}`, which includes it"));
    }
    if run.row.id != child_run::id(parent, *effect, *attempt) {
        return Err(format!("run `{parent}` did not start it: the ids do not match"));
    }
    Ok(())
}

/// A file whose runs were replayed or compared.
struct PreparedFile {
    workflows: BTreeMap<String, ImportWorkflow>,
    runs: Vec<PreparedRun>,
}

enum PreparedRun {
    /// The store already has it.
    Known(Run),
    /// It is new, and was replayed.
    New(Box<ImportRun>, RebuiltRun),
}

/// A file of exported runs, decoded.
#[derive(Default)]
struct ImportFile {
    /// Workflows by hash. The hash was verified.
    workflows: BTreeMap<String, ImportWorkflow>,
    runs: Vec<ImportRun>,
}

struct ImportWorkflow {
    document: Document,
    /// The bytes of its programs by name.
    programs: Vec<(String, Vec<u8>)>,
    decoded: BTreeMap<String, Program>,
}

struct ImportRun {
    workflow: String,
    row: Run,
    parent: Option<ParentLine>,
    script: Option<ImportScript>,
    journal: Journal,
    attachments: Vec<Upload>,
}

struct ImportScript {
    script: Value,
    used: Vec<ImportEntry>,
    live_ms: Option<i64>,
}

/// A used entry of a script, and the call that used it, with the id of its run.
struct ImportEntry {
    entry: EntryKey,
    taker: Option<(String, Taker)>,
}

impl ImportFile {
    fn read(mut lines: impl BufRead) -> Result<Self, TransferError> {
        let (mut file, mut open) = (Self::default(), None);
        let (mut total, mut has_header) = (0, false);
        let mut ids = BTreeSet::new();
        for number in 1.. {
            let Some(text) = next_line(&mut lines, number)? else { break };
            total += text.len() as u64;
            if total > FILE_BYTES || number > LINES {
                let (what, limit) = ("the file".into(), format!("{} MiB or {LINES} lines", FILE_BYTES >> 20));
                return Err(TransferError::Limit { what, limit });
            }
            if text.trim().is_empty() {
                continue;
            }
            let invalid = |reason: String| TransferError::Line { line: number, reason };
            if has_header {
                let expected = |error| {
                    invalid(format!("a line needs a `workflow`, a `run`, an `event` or an `attachment`: {error}"))
                };
                let line = serde_json::from_str(&text).map_err(expected)?;
                file.line(line, &mut open, &mut ids).map_err(invalid)?;
            } else {
                header(&text).map_err(invalid)?;
                has_header = true;
            }
        }
        if !has_header {
            return Err(TransferError::Line { line: 1, reason: "the file is empty".into() });
        }
        file.finish(open).map_err(|reason| TransferError::Line { line: 0, reason })?;
        Ok(file)
    }

    fn line(
        &mut self,
        line: Line,
        open: &mut Option<(ImportRun, usize)>,
        ids: &mut BTreeSet<String>,
    ) -> Result<(), String> {
        match line {
            Line::Event(event) => {
                let (run, events) = open.as_mut().ok_or("an event comes before its run")?;
                if run.journal.len() == *events {
                    return Err(format!("run `{}` has more events than the {events} that it declares", run.row.id));
                }
                run.journal.push(event_of(&event)?);
            }
            Line::Attachment(attachment) => {
                let (run, _) = open.as_mut().ok_or("an attachment comes before its run")?;
                run.attachments.push(attachment_of(attachment)?);
            }
            Line::Workflow(workflow) => {
                self.finish(open.take())?;
                let (hash, workflow) = workflow_of(workflow)?;
                self.workflows.insert(hash, workflow);
            }
            Line::Run(run) => {
                self.finish(open.take())?;
                let (run, events) = run_of(run)?;
                if !self.workflows.contains_key(&run.workflow) {
                    return Err(format!("the workflow of run `{}` does not come before the run", run.row.id));
                }
                if !ids.insert(run.row.id.clone()) {
                    return Err(format!("run `{}` is a duplicate", run.row.id));
                }
                *open = Some((run, events));
            }
        }
        Ok(())
    }

    /// Adds a run whose lines were all read.
    fn finish(&mut self, open: Option<(ImportRun, usize)>) -> Result<(), String> {
        let Some((run, events)) = open else { return Ok(()) };
        if run.journal.len() != events {
            let (id, found) = (&run.row.id, run.journal.len());
            return Err(format!("run `{id}` declares {events} events, and the file has {found}: it is truncated"));
        }
        self.runs.push(run);
        Ok(())
    }
}

/// The next line; `None` after the last one.
fn next_line(lines: &mut impl BufRead, number: usize) -> Result<Option<String>, TransferError> {
    read_line(lines, LINE_BYTES).map_err(|error| match error {
        ReadError::Io(error) => error.into(),
        ReadError::TooLong { .. } => {
            TransferError::Limit { what: format!("line {number}"), limit: format!("{} MiB", LINE_BYTES >> 20) }
        }
        other => TransferError::Line { line: number, reason: other.to_string() },
    })
}

fn header(text: &str) -> Result<(), String> {
    let other =
        "the file is not an export of `branchpoint runs export`, which begins with {\"branchpoint\": \"runs\", …}";
    let Header { branchpoint, format } = serde_json::from_str(text).map_err(|_| other)?;
    if branchpoint != "runs" {
        return Err(other.into());
    }
    if format != FORMAT {
        return Err(format!("the file has format {format}, and this build reads format {FORMAT}"));
    }
    Ok(())
}

fn workflow_of(line: WorkflowLine) -> Result<(String, ImportWorkflow), String> {
    let WorkflowLine { hash, name, dialect, origin, text, programs } = line;
    let document = Document { name, dialect, origin, text };
    if !programs.contains_key("") {
        return Err("the workflow has no program of its own".into());
    }
    // In the order of names, as they were hashed.
    let programs: Vec<(String, Vec<u8>)> = programs.into_iter().map(|(name, bytes)| (name, bytes.0)).collect();
    let decoded = programs.iter().map(|(name, bytes)| Ok((name.clone(), program_of(bytes)?)));
    let decoded = decoded.collect::<Result<_, String>>()?;
    if Store::hash_of(&document, &programs) != hash {
        return Err("the content of the workflow does not match its hash; the file was changed".into());
    }
    Ok((hash, ImportWorkflow { document, programs, decoded }))
}

/// Decodes and validates a program.
fn program_of(bytes: &[u8]) -> Result<Program, String> {
    let program: Program = codec::decode_program(bytes).map_err(|error| error.to_string())?;
    let is_sound = |compiled: &Compiled| compiled.is_well_formed();
    if !program.exprs.iter().all(|expr| is_sound(expr))
        || !program.conditions.iter().all(|condition| is_sound(condition))
    {
        return Err("a program has an expression that is damaged".into());
    }
    validate(&program).map_err(|wrong| format!("a program is invalid: {wrong:?}"))?;
    if program.fuel > PROGRAM_FUEL {
        return Err(format!(
            "a program may execute {} ops for one event, and the limit is {PROGRAM_FUEL}",
            program.fuel
        ));
    }
    Ok(program)
}

fn run_of(line: RunLine) -> Result<(ImportRun, usize), String> {
    let RunLine { id, workflow, part, folder, started_ms, parent, script, events, tags, priority, .. } = line;
    let tags = Tags::new(tags).map_err(|error| error.to_string())?;
    let priority = Priority::new(priority).map_err(|error| error.to_string())?;
    let row = Run {
        run: RunNo(0),
        id,
        workflow: WorkflowNo(0),
        part,
        status: Status::Running,
        seq: 0,
        owner: None,
        parent: None,
        folder,
        started_ms,
        updated_ms: started_ms,
        waited_ms: 0,
        tags,
        priority,
        decision: None,
    };
    let script = script.map(script_of).transpose()?;
    Ok((ImportRun { workflow, row, parent, script, journal: Vec::new(), attachments: Vec::new() }, events))
}

fn script_of(line: ScriptLine) -> Result<ImportScript, String> {
    let script = codec::decode_value(&line.bytes.0).map_err(|error| error.to_string())?;
    let mut read = crate::Script::read(&script).map_err(|wrong| format!("the script is invalid: {wrong}"))?;
    let used: Vec<ImportEntry> = line.used.into_iter().map(ImportEntry::of).collect();
    if used.iter().any(|used| read.use_entry(&used.entry).is_none()) {
        return Err("`used` does not belong to the script".into());
    }
    Ok(ImportScript { script, used, live_ms: line.live_ms })
}

impl ImportEntry {
    fn of(line: EntryLine) -> Self {
        let entry = EntryKey { step: line.step.into(), path: line.path.into(), index: line.entry };
        let taker = line.taker.map(|TakerLine { run, seq, number, attempt }| {
            (run, Taker { run: RunNo::default(), seq, number, attempt })
        });
        Self { entry, taker }
    }
}

fn attachment_of(line: AttachmentLine) -> Result<Upload, String> {
    Upload::new(&line.name, Some(&line.mime), line.bytes.0).map_err(|error| error.to_string())
}

fn event_of(line: &EventLine) -> Result<JournalRow, String> {
    let (stamp, event) = codec::decode_event(&line.bytes.0).map_err(|error| error.to_string())?;
    Ok((stamp, event, line.mark))
}
