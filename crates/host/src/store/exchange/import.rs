//! Reads runs that another store has exported: all runs of a file, or none.
//!
//! The file is read, decoded and replayed before the store is locked. Then all rows are written in one transaction.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

use branchpoint_core::ir::{Program, Status, validate};
use branchpoint_core::{Event, JournalRow, codec};
use branchpoint_expr::Value;
use serde_json::Value as Json;

use super::rebuild::{OpsLeft, RebuiltRun};
use super::{ExchangeTrouble, FORMAT, Journal};
use crate::host::{MAX_OPS, child_id};
use crate::script::EntryKey;
use crate::store::{Document, Imported, Packing, Parent, Run, RunNo, Store, Taker, Trouble, UsedEntry, WorkflowNo};
use branchpoint_runners::{ReadError, read_line};

/// The longest line. The longest lines are workflows with their programs, and events with large values.
const LINE_BYTES: u64 = 64 * 1024 * 1024;

/// The largest file: all of it is held in memory until it is written.
const FILE_BYTES: u64 = 512 * 1024 * 1024;

/// How many lines a file may have.
const LINES: usize = 5_000_000;

/// How many ops one event of an imported program may execute. Front-ends give their programs a tenth of it.
const PROGRAM_FUEL: u32 = 1_000_000;

/// The work that an import may cause.
#[derive(Clone, Copy, Debug)]
pub struct ImportLimits {
    /// How many ops a run may execute that has not ended; 0 is no bound.
    pub run_ops: u64,
    /// How many ops are executed to replay all runs of the file.
    pub total_ops: u64,
}

impl Default for ImportLimits {
    fn default() -> Self {
        Self { run_ops: MAX_OPS, total_ops: 2 * MAX_OPS }
    }
}

impl Store {
    /// Imports the runs of a file, all of them or none. A run that this store has already is left unchanged.
    pub fn import(&self, lines: impl BufRead, limits: ImportLimits, now_ms: i64) -> Result<Imported, ExchangeTrouble> {
        let prepared = self.prepare(ImportFile::read(lines)?, limits)?;
        self.change(|| self.write_file(prepared, now_ms))
    }

    /// Replays the runs that are new here, and compares the others with those that this store has.
    fn prepare(&self, file: ImportFile, limits: ImportLimits) -> Result<PreparedFile, ExchangeTrouble> {
        let mut ops_left = OpsLeft::new(limits.total_ops);
        let mut ids = BTreeSet::new();
        let mut runs = Vec::new();
        for run in file.runs {
            let rejected = |reason: String| ExchangeTrouble::Run { run: run.row.id.clone(), reason };
            check_parent(&run, &ids).map_err(rejected)?;
            ids.insert(run.row.id.clone());
            if let Some(known) = self.run(&run.row.id)? {
                self.compare(&known, &run.workflow, &run.journal).map_err(rejected)?;
                runs.push(PreparedRun::Known(known));
                continue;
            }
            let workflow = &file.workflows[&run.workflow];
            let program = workflow.decoded.get(&run.row.part);
            let program = program.ok_or_else(|| rejected(format!("its workflow has no program `{}`", run.row.part)))?;
            let max_ops = max_ops(&run.journal);
            let rebuilt = RebuiltRun::fold(&run.row.id, program, run.journal, &mut ops_left);
            let rebuilt = rebuilt.map_err(|trouble| match trouble {
                ExchangeTrouble::Store(trouble) => rejected(trouble.to_string()),
                trouble => trouble,
            })?;
            if !rebuilt.has_ended && limits.run_ops > 0 && (max_ops == 0 || max_ops > limits.run_ops) {
                let allowed = if max_ops == 0 { "any number of".into() } else { max_ops.to_string() };
                return Err(rejected(format!(
                    "it may execute {allowed} ops, and the limit here is {}; raise `ops` of [limits]",
                    limits.run_ops
                )));
            }
            let (workflow, row, parent, script) = (run.workflow, run.row, run.parent, run.script);
            runs.push(PreparedRun::New { workflow, row, parent, script, rebuilt });
        }
        Ok(PreparedFile { workflows: file.workflows, runs })
    }

    fn write_file(&self, file: PreparedFile, now_ms: i64) -> Result<Imported, ExchangeTrouble> {
        let mut imported = Imported::default();
        let mut scripts = Vec::new();
        let mut workflows: BTreeMap<String, WorkflowNo> = BTreeMap::new();
        let mut numbers: BTreeMap<String, RunNo> = BTreeMap::new();
        for run in file.runs {
            let (workflow, mut row, parent, script, rebuilt) = match run {
                PreparedRun::New { workflow, row, parent, script, rebuilt } => (workflow, row, parent, script, rebuilt),
                PreparedRun::Known(known) => {
                    numbers.insert(known.id.clone(), known.run);
                    imported.known.push(known.id);
                    continue;
                }
            };
            let part = &file.workflows[&workflow];
            row.workflow = match workflows.get(&workflow) {
                Some(saved) => *saved,
                None => self.insert_parts(&part.document, &part.programs, now_ms)?,
            };
            workflows.insert(workflow, row.workflow);
            row.parent = parent.map(|(id, effect, attempt)| Parent { run: numbers[&id], effect, attempt });
            let Some(run) = self.write_rebuilt(&row, rebuilt)? else {
                let reason = "another process has just added a run with this id; import the file again".into();
                return Err(ExchangeTrouble::Run { run: row.id, reason });
            };
            numbers.insert(row.id.clone(), run);
            scripts.extend(script.filter(|_| row.parent.is_none()).map(|script| (run, row.id.clone(), script)));
            imported.runs.push(row.id);
        }
        for (run, id, ImportScript { script, used, live_ms }) in scripts {
            let packed = Packing::default().value(&script).map_err(|error| Trouble::Bytes { run: id, error })?;
            let used = used.into_iter().map(|ImportEntry { entry, taker }| {
                // Entries whose call is not in the file are used all the same.
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

    /// Whether a run of the file is the one that this store has under its id, be it at an earlier or later moment.
    fn compare(&self, known: &Run, workflow: &str, journal: &Journal) -> Result<(), String> {
        let read = |trouble: Trouble| trouble.to_string();
        let first = |journal: &Journal| journal.first().map(|(stamp, event, _)| (stamp.now_ms, event.clone()));
        let sealed = !self.sealed(known.run).map_err(read)?.is_empty();
        let same_start = sealed || first(&self.journal(known.run).map_err(read)?) == first(journal);
        if self.workflow_hash(known.workflow).map_err(read)? == workflow && same_start {
            return Ok(());
        }
        Err("this store has another run with this id".into())
    }
}

/// How many ops a run may execute, as its start says.
fn max_ops(journal: &Journal) -> u64 {
    match journal.first() {
        Some((_, Event::Start { max_ops, .. }, _)) => *max_ops,
        _ => 0,
    }
}

/// A child run comes after its parent, under the id that its parent knows it by. A run of this store that only has the parent's id
/// may be another run, so it must not become the parent.
fn check_parent(run: &ImportRun, before: &BTreeSet<String>) -> Result<(), String> {
    let Some((parent, effect, attempt)) = &run.parent else { return Ok(()) };
    if !before.contains(parent) {
        return Err(format!("its parent run `{parent}` does not come before it; export `{parent}`, which includes it"));
    }
    if run.row.id != child_id(parent, *effect, *attempt) {
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
    /// The store has it.
    Known(Run),
    New {
        workflow: String,
        row: Run,
        parent: Option<(String, u64, u32)>,
        script: Option<ImportScript>,
        rebuilt: RebuiltRun,
    },
}

/// A file of exported runs, decoded.
#[derive(Default)]
struct ImportFile {
    /// Workflows by the hash that the file gives them, which is theirs.
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
    parent: Option<(String, u64, u32)>,
    script: Option<ImportScript>,
    journal: Journal,
}

struct ImportScript {
    script: Value,
    used: Vec<ImportEntry>,
    live_ms: Option<i64>,
}

/// A used entry of a script, and the call that took it, with the id of its run.
struct ImportEntry {
    entry: EntryKey,
    taker: Option<(String, Taker)>,
}

impl ImportFile {
    fn read(mut lines: impl BufRead) -> Result<Self, ExchangeTrouble> {
        let (mut file, mut open) = (Self::default(), None);
        let (mut total, mut has_header) = (0, false);
        let mut ids = BTreeSet::new();
        for number in 1.. {
            let Some(text) = next_line(&mut lines, number)? else { break };
            total += text.len() as u64;
            if total > FILE_BYTES || number > LINES {
                let (what, limit) = ("the file".into(), format!("{} MiB or {LINES} lines", FILE_BYTES >> 20));
                return Err(ExchangeTrouble::Limit { what, limit });
            }
            if text.trim().is_empty() {
                continue;
            }
            let invalid = |reason: String| ExchangeTrouble::Line { line: number, reason };
            let line: Json = serde_json::from_str(&text).map_err(|error| invalid(error.to_string()))?;
            if has_header {
                file.line(&line, &mut open, &mut ids).map_err(invalid)?;
            } else {
                header(&line).map_err(invalid)?;
                has_header = true;
            }
        }
        if !has_header {
            return Err(ExchangeTrouble::Line { line: 1, reason: "the file is empty".into() });
        }
        file.finish(open).map_err(|reason| ExchangeTrouble::Line { line: 0, reason })?;
        Ok(file)
    }

    fn line(
        &mut self,
        line: &Json,
        open: &mut Option<(ImportRun, usize)>,
        ids: &mut BTreeSet<String>,
    ) -> Result<(), String> {
        if let Some(event) = line.get("event") {
            let (run, events) = open.as_mut().ok_or("an event comes before its run")?;
            if run.journal.len() == *events {
                return Err(format!("run `{}` has more events than the {events} that it declares", run.row.id));
            }
            run.journal.push(event_of(event)?);
            return Ok(());
        }
        self.finish(open.take())?;
        if let Some(workflow) = line.get("workflow") {
            let (hash, workflow) = workflow_of(workflow)?;
            self.workflows.insert(hash, workflow);
            return Ok(());
        }
        let run = line.get("run").ok_or("a line needs a `workflow`, a `run` or an `event`")?;
        let (run, events) = run_of(run)?;
        if !self.workflows.contains_key(&run.workflow) {
            return Err(format!("the workflow of run `{}` does not come before the run", run.row.id));
        }
        if !ids.insert(run.row.id.clone()) {
            return Err(format!("run `{}` is a duplicate", run.row.id));
        }
        *open = Some((run, events));
        Ok(())
    }

    /// Ends a run whose events were all read.
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

/// The next line; none after the last one.
fn next_line(lines: &mut impl BufRead, number: usize) -> Result<Option<String>, ExchangeTrouble> {
    read_line(lines, LINE_BYTES).map_err(|error| match error {
        ReadError::Io(error) => error.into(),
        ReadError::TooLong { .. } => {
            ExchangeTrouble::Limit { what: format!("line {number}"), limit: format!("{} MiB", LINE_BYTES >> 20) }
        }
        other => ExchangeTrouble::Line { line: number, reason: other.to_string() },
    })
}

fn header(line: &Json) -> Result<(), String> {
    if line.get("branchpoint").and_then(Json::as_str) != Some("runs") {
        return Err("this is not a file of exported runs: it does not begin with {\"branchpoint\": \"runs\", …}".into());
    }
    match line.get("format").and_then(Json::as_u64) {
        Some(FORMAT) => Ok(()),
        Some(other) => Err(format!("the file has format {other}, and this build reads format {FORMAT}")),
        None => Err("`format` is missing".into()),
    }
}

fn workflow_of(line: &Json) -> Result<(String, ImportWorkflow), String> {
    let document = Document {
        name: text(line, "name")?,
        dialect: text(line, "dialect")?,
        origin: text(line, "origin")?,
        text: text(line, "text")?,
    };
    let programs = line.get("programs").and_then(Json::as_object).ok_or("`programs` must be an object")?;
    if !programs.contains_key("") {
        return Err("the workflow has no program of its own".into());
    }
    let (mut encoded, mut decoded) = (Vec::new(), BTreeMap::new());
    for (name, bytes) in programs {
        let (bytes, program) = program_of(bytes)?;
        encoded.push((name.clone(), bytes));
        decoded.insert(name.clone(), program);
    }
    encoded.sort();
    let hash = text(line, "hash")?;
    if Store::hash_of(&document, &encoded) != hash {
        return Err("the content of the workflow does not match its hash; the file was changed".into());
    }
    Ok((hash, ImportWorkflow { document, programs: encoded, decoded }))
}

/// A program and its bytes. It must be as valid as one that a front-end has made.
fn program_of(bytes: &Json) -> Result<(Vec<u8>, Program), String> {
    let bytes = unhex(bytes.as_str().ok_or("a program must be text")?)?;
    let program: Program = codec::decode_program(&bytes).map_err(|error| error.to_string())?;
    validate(&program).map_err(|wrong| format!("a program is invalid: {wrong:?}"))?;
    if program.fuel > PROGRAM_FUEL {
        return Err(format!(
            "a program may execute {} ops for one event, and the limit is {PROGRAM_FUEL}",
            program.fuel
        ));
    }
    Ok((bytes, program))
}

fn run_of(line: &Json) -> Result<(ImportRun, usize), String> {
    let started_ms = line.get("started_ms").and_then(Json::as_i64).ok_or("`started_ms` must be an integer")?;
    let parent = line.get("parent").filter(|parent| !parent.is_null()).map(|parent| -> Result<_, String> {
        let attempt = u32::try_from(number(parent, "attempt")?).map_err(|error| error.to_string())?;
        Ok((text(parent, "id")?, number(parent, "effect")?, attempt))
    });
    let script = line.get("script").filter(|script| !script.is_null()).map(script_of);
    let row = Run {
        run: RunNo(0),
        id: text(line, "id")?,
        workflow: WorkflowNo(0),
        part: text(line, "part")?,
        status: Status::Running,
        seq: 0,
        owner: None,
        parent: None,
        folder: text(line, "folder")?,
        started_ms,
        touched_ms: started_ms,
    };
    let events = usize::try_from(number(line, "events")?).map_err(|error| error.to_string())?;
    let (workflow, parent, script) = (text(line, "workflow")?, parent.transpose()?, script.transpose()?);
    Ok((ImportRun { workflow, row, parent, script, journal: Vec::new() }, events))
}

fn script_of(line: &Json) -> Result<ImportScript, String> {
    let script = codec::decode_value(&unhex(&text(line, "bytes")?)?).map_err(|error| error.to_string())?;
    let mut read = crate::Script::read(&script).map_err(|wrong| format!("the script is invalid: {wrong}"))?;
    let used = line.get("used").and_then(Json::as_array).ok_or("`used` must be a list")?;
    let used: Vec<ImportEntry> = used.iter().map(used_of).collect::<Result<_, _>>()?;
    if used.iter().any(|used| read.use_entry(&used.entry).is_none()) {
        return Err("`used` does not belong to the script".into());
    }
    Ok(ImportScript { script, used, live_ms: line.get("live_ms").and_then(Json::as_i64) })
}

fn used_of(line: &Json) -> Result<ImportEntry, String> {
    let index = usize::try_from(number(line, "entry")?).map_err(|error| error.to_string())?;
    let entry = EntryKey { step: text(line, "step")?.into(), path: text(line, "path")?.into(), index };
    let taker = line.get("taker").filter(|taker| !taker.is_null()).map(|taker| {
        let attempt = u32::try_from(number(taker, "attempt")?).map_err(|error| error.to_string())?;
        let (seq, number) = (number(taker, "seq")?, number(taker, "number")?);
        Ok::<_, String>((text(taker, "run")?, Taker { run: RunNo::default(), seq, number, attempt }))
    });
    Ok(ImportEntry { entry, taker: taker.transpose()? })
}

fn event_of(line: &Json) -> Result<JournalRow, String> {
    let (stamp, event) = codec::decode_event(&unhex(&text(line, "bytes")?)?).map_err(|error| error.to_string())?;
    let mark = u32::try_from(number(line, "mark")?).map_err(|error| error.to_string())?;
    Ok((stamp, event, mark))
}

fn text(line: &Json, key: &str) -> Result<String, String> {
    line.get(key).and_then(Json::as_str).map(ToOwned::to_owned).ok_or_else(|| format!("`{key}` must be text"))
}

fn number(line: &Json, key: &str) -> Result<u64, String> {
    line.get(key).and_then(Json::as_u64).ok_or_else(|| format!("`{key}` must be a number from 0"))
}

fn unhex(text: &str) -> Result<Vec<u8>, String> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = text.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    });
    pairs.collect::<Option<_>>().ok_or_else(|| "`bytes` must be hexadecimal".into())
}
