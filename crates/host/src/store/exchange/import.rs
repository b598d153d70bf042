//! Reads runs that another store has exported: all runs of a file, or none.
//!
//! The file is read and decoded before the store is locked. Then everything is checked and written in one transaction.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

use branchpoint_core::ir::{Program, Status, validate};
use branchpoint_core::{Event, Stamp, codec};
use branchpoint_expr::Value;
use serde_json::Value as Json;

use super::{ExchangeTrouble, FORMAT, Imported, Journal};
use crate::store::{Document, Packing, Parent, Run, RunNo, Store, Trouble, WorkflowNo};
use branchpoint_runners::{ReadError, read_line};

/// The longest line. The longest lines are workflows with their programs, and events with large values.
const LINE_BYTES: u64 = 64 * 1024 * 1024;

/// The largest file: all of it is held in memory until it is written.
const FILE_BYTES: u64 = 512 * 1024 * 1024;

/// How many lines a file may have.
const LINES: usize = 5_000_000;

impl Store {
    /// Imports the runs of a file, all of them or none. A run that this store has already is left unchanged.
    pub fn import(&self, lines: impl BufRead, now_ms: i64) -> Result<Imported, ExchangeTrouble> {
        let file = ImportFile::read(lines)?;
        self.begin()?;
        let imported = self.write_file(file, now_ms).and_then(|imported| Ok(self.commit().map(|()| imported)?));
        if imported.is_err() {
            self.roll_back();
        }
        imported
    }

    fn write_file(&self, file: ImportFile, now_ms: i64) -> Result<Imported, ExchangeTrouble> {
        let mut imported = Imported::default();
        let mut scripts = Vec::new();
        let mut workflows: BTreeMap<String, WorkflowNo> = BTreeMap::new();
        for ImportRun { workflow, mut row, parent, script, journal } in file.runs {
            let refused = |reason: String| ExchangeTrouble::Run { run: row.id.clone(), reason };
            let part = &file.workflows[&workflow];
            if let Some(known) = self.run(&row.id)? {
                self.compare(&known, &workflow, &journal).map_err(refused)?;
                imported.known.push(row.id);
                continue;
            }
            row.workflow = match workflows.get(&workflow) {
                Some(saved) => *saved,
                None => self.insert_parts(&part.document, &part.programs, now_ms)?,
            };
            workflows.insert(workflow, row.workflow);
            // The parent of a run that was exported alone does not wait for it.
            row.parent = match parent {
                Some((id, effect, attempt)) => self.run(&id)?.map(|found| Parent { run: found.run, effect, attempt }),
                None => None,
            };
            let run = self.write_anew(&row, journal).map_err(|trouble| match trouble {
                Trouble::Strayed { .. } | Trouble::Missing(_) | Trouble::Bytes { .. } => refused(trouble.to_string()),
                trouble => trouble.into(),
            })?;
            scripts.extend(script.filter(|_| row.parent.is_none()).map(|script| (run, row.id.clone(), script)));
            imported.runs.push(row.id);
        }
        // Events that are imported are counted in `used`, so scripts are bound when all of them are there.
        self.write_out()?;
        let last = self.last_position()?;
        for (run, id, ImportScript { script, used, live_ms }) in scripts {
            let packed = Packing::default().value(&script).map_err(|error| Trouble::Bytes { run: id, error })?;
            self.write_script(run, &packed, last, Some(&format!("{used:?}")))?;
            if let Some(live_ms) = live_ms {
                self.set_live(run, live_ms)?;
            }
        }
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
    used: Value,
    live_ms: Option<i64>,
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
    let programs = programs.iter().map(|(name, bytes)| Ok((name.clone(), program_of(bytes)?)));
    let mut programs: Vec<(String, Vec<u8>)> = programs.collect::<Result<_, String>>()?;
    programs.sort();
    let hash = text(line, "hash")?;
    if Store::hash_of(&document, &programs) != hash {
        return Err("the content of the workflow does not match its hash; the file was changed".into());
    }
    Ok((hash, ImportWorkflow { document, programs }))
}

/// The bytes of a program, which must be as valid as one that a front-end has made.
fn program_of(bytes: &Json) -> Result<Vec<u8>, String> {
    let bytes = unhex(bytes.as_str().ok_or("a program must be text")?)?;
    let program: Program = codec::decode_program(&bytes).map_err(|error| error.to_string())?;
    validate(&program).map_err(|wrong| format!("a program is invalid: {wrong:?}"))?;
    Ok(bytes)
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
    let used = line.get("used").ok_or("`used` is missing")?;
    let used: Value = serde_json::from_value(used.clone()).map_err(|error| error.to_string())?;
    if !read.seek(&used) {
        return Err("`used` does not belong to the script".into());
    }
    Ok(ImportScript { script, used, live_ms: line.get("live_ms").and_then(Json::as_i64) })
}

fn event_of(line: &Json) -> Result<(Stamp, Event, u32), String> {
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
