//! Runs as JSON lines, to be read by people and by another store.
//!
//! The first line says what the file is. Then, for each run, its workflow if it has not come yet, the run, and its events in
//! order. Children come after their parents. Bytes are in hexadecimal; what people may want to read stands beside them. Nothing
//! that follows from the events is in the file: whoever reads it folds them again.
//!
//! A secret that was sealed is never written: an ended run is written with `***` in its place, as far as its events lead to the
//! same end without it, and a run that has not ended cannot do without its secrets and stays.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Write};
use std::sync::Arc;

use branchpoint_core::ir::{Program, Status, validate};
use branchpoint_core::{Event, Stamp, State, advance, codec};
use serde_json::{Value as Json, json};

use super::{Document, Packing, Parent, Run, RunNo, Store, Trouble, Workflow, WorkflowNo};
use crate::hexadecimal::hexadecimal;

/// The version of the lines. A reader refuses others.
pub const FORMAT: u64 = 1;

const SECRET: &str = "***";

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// How many runs, children among them.
    pub runs: u64,
    /// Those that were left out, and why.
    pub left_out: Vec<(String, String)>,
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// The ids of the runs that are new here.
    pub runs: Vec<String>,
    /// The ids of those that were here before; they are as they were.
    pub known: Vec<String>,
    /// Those that were refused, and why.
    pub refused: Vec<(String, String)>,
}

/// Why runs could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeTrouble {
    /// The store could not be used.
    #[error(transparent)]
    Store(#[from] Trouble),
    /// The file could not be written or read.
    #[error("{0}")]
    File(#[from] io::Error),
    /// A line makes no sense.
    #[error("line {line}: {reason}")]
    Line {
        /// Which, counted from 1.
        line: usize,
        /// Why.
        reason: String,
    },
}

type Journal = Vec<(Stamp, Event, u32)>;

impl Store {
    /// Writes runs with their children and what they are runs of.
    pub fn export(&self, runs: &[RunNo], out: &mut dyn Write) -> Result<Exported, ExchangeTrouble> {
        // All of it is read as it stood at one moment.
        self.db.execute_batch("BEGIN").map_err(Trouble::from)?;
        let exported = self.export_all(runs, out);
        self.roll_back();
        exported
    }

    fn export_all(&self, runs: &[RunNo], out: &mut dyn Write) -> Result<Exported, ExchangeTrouble> {
        line(out, &json!({"branchpoint": "runs", "format": FORMAT}))?;
        let mut exported = Exported::default();
        let (mut written, mut workflows) = (BTreeSet::new(), BTreeSet::new());
        // The last is the next: children follow their parent.
        let mut next: Vec<RunNo> = runs.iter().rev().copied().collect();
        while let Some(run) = next.pop() {
            if !written.insert(run) {
                continue;
            }
            let row = self.row(run)?;
            next.extend(self.children(run)?.iter().rev().map(|child| child.run));
            match self.told(&row)? {
                Ok(journal) => {
                    if workflows.insert(row.workflow) {
                        line(out, &json!({"workflow": self.workflow_line(row.workflow)?}))?;
                    }
                    self.write_run(out, &row, &journal)?;
                    exported.runs += 1;
                }
                Err(reason) => exported.left_out.push((row.id, reason)),
            }
        }
        out.flush()?;
        Ok(exported)
    }

    /// The journal of a run without its secrets, or why there is none.
    fn told(&self, row: &Run) -> Result<Result<Journal, String>, Trouble> {
        let sealed = self.sealed(row.run)?;
        if sealed.is_empty() {
            return Ok(Ok(self.journal(row.run)?));
        }
        if !row.status.is_final() {
            let reason = "it holds sealed secrets, which are not written, and has not ended; copy the store with its key instead";
            return Ok(Err(reason.into()));
        }
        let hidden = Packing::new(sealed.iter().map(|_| SECRET.to_owned()).collect::<Vec<_>>());
        let journal = self.journal_packed(row.run, &hidden)?;
        let Some(program) = self.program(row.workflow, &row.part)? else {
            return Ok(Err("its program is gone".into()));
        };
        let refolded = refolded(&program, journal, row.status);
        Ok(refolded.ok_or_else(|| "what happened in it depends on a sealed secret".into()))
    }

    fn workflow_line(&self, workflow: WorkflowNo) -> Result<Json, Trouble> {
        let Document { name, dialect, origin, text } = self.document(workflow)?;
        let sql = "SELECT name, lower(hex(bytes)) FROM parts JOIN programs ON hash = program WHERE workflow = ?1";
        let mut found = self.db.prepare_cached(sql)?;
        let rows = found.query_map([workflow.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let parts: BTreeMap<String, String> = rows.collect::<Result<_, _>>()?;
        let hash = self.workflow_hash(workflow)?;
        Ok(json!({"hash": hash, "name": name, "dialect": dialect, "origin": origin, "text": text, "programs": parts}))
    }

    fn workflow_hash(&self, workflow: WorkflowNo) -> Result<String, Trouble> {
        let sql = "SELECT lower(hex(hash)) FROM workflows WHERE workflow = ?1";
        Ok(self.db.prepare_cached(sql)?.query_row([workflow.0], |row| row.get(0))?)
    }

    fn write_run(&self, out: &mut dyn Write, row: &Run, journal: &Journal) -> Result<(), ExchangeTrouble> {
        let parent = match row.parent {
            Some(Parent { run, effect, attempt }) => {
                json!({"id": self.row(run)?.id, "effect": effect, "attempt": attempt})
            }
            None => Json::Null,
        };
        let hash = self.workflow_hash(row.workflow)?;
        line(
            out,
            &json!({"run": {"id": row.id, "workflow": hash, "part": row.part, "status": row.status.as_str(),
                "folder": row.folder, "started_ms": row.started_ms, "parent": parent, "events": journal.len()}}),
        )?;
        for (stamp, event, mark) in journal {
            let bytes =
                codec::encode_event(stamp, event).map_err(|error| Trouble::Bytes { run: row.id.clone(), error })?;
            let kind = kind(event);
            line(
                out,
                &json!({"event": {"at_ms": stamp.now_ms, "kind": kind, "mark": mark, "bytes": hexadecimal(&bytes)}}),
            )?;
        }
        Ok(())
    }

    /// Reads what was written. A run whose id is known is left as it is; each run is taken whole or not at all.
    pub fn import(&self, lines: impl BufRead, now_ms: i64) -> Result<Imported, ExchangeTrouble> {
        let mut reading =
            Reading { store: self, now_ms, workflows: BTreeMap::new(), run: None, imported: Imported::default() };
        let mut begun = false;
        for (index, text) in lines.lines().enumerate() {
            let text = text?;
            if text.trim().is_empty() {
                continue;
            }
            let wrong = |reason: String| ExchangeTrouble::Line { line: index + 1, reason };
            let read: Json = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
            if begun {
                reading.line(&read).map_err(|trouble| trouble.at(index + 1))?;
            } else {
                header(&read).map_err(wrong)?;
                begun = true;
            }
        }
        if !begun {
            return Err(ExchangeTrouble::Line { line: 1, reason: "there is nothing in this file".into() });
        }
        reading.finish_run().map_err(|trouble| trouble.at(0))?;
        Ok(reading.imported)
    }
}

/// What has been read so far.
struct Reading<'s> {
    store: &'s Store,
    now_ms: i64,
    /// Workflows by the hash that the file gives them.
    workflows: BTreeMap<String, WorkflowNo>,
    /// The run whose events are being read; none in it if it is not wanted.
    run: Option<(Run, usize, Journal)>,
    imported: Imported,
}

enum LineTrouble {
    Store(Trouble),
    Wrong(String),
}

impl From<Trouble> for LineTrouble {
    fn from(trouble: Trouble) -> Self {
        Self::Store(trouble)
    }
}

impl From<String> for LineTrouble {
    fn from(reason: String) -> Self {
        Self::Wrong(reason)
    }
}

impl From<&str> for LineTrouble {
    fn from(reason: &str) -> Self {
        Self::Wrong(reason.into())
    }
}

impl LineTrouble {
    fn at(self, line: usize) -> ExchangeTrouble {
        match self {
            Self::Store(trouble) => trouble.into(),
            Self::Wrong(reason) => ExchangeTrouble::Line { line, reason },
        }
    }
}

impl Reading<'_> {
    fn line(&mut self, read: &Json) -> Result<(), LineTrouble> {
        if let Some(event) = read.get("event") {
            let (_, _, journal) = self.run.as_mut().ok_or_else(|| "an event without its run".to_owned())?;
            journal.push(event_of(event)?);
            return Ok(());
        }
        self.finish_run()?;
        if let Some(workflow) = read.get("workflow") {
            return self.workflow(workflow);
        }
        match read.get("run") {
            Some(run) => self.begin_run(run),
            None => Err(LineTrouble::Wrong("a line has a `workflow`, a `run` or an `event`".into())),
        }
    }

    fn workflow(&mut self, read: &Json) -> Result<(), LineTrouble> {
        let document = Document {
            name: text(read, "name")?,
            dialect: text(read, "dialect")?,
            origin: text(read, "origin")?,
            text: text(read, "text")?,
        };
        let programs = read.get("programs").and_then(Json::as_object).ok_or("`programs` is an object")?;
        let mut children: BTreeMap<Arc<str>, Program> = BTreeMap::new();
        for (name, bytes) in programs {
            children.insert(name.as_str().into(), program_of(bytes)?);
        }
        let program = children.remove("").ok_or("the workflow has no program of its own")?;
        let workflow = Workflow { document: &document, program: &program, children: &children };
        let saved = self.store.save(workflow, self.now_ms)?;
        let hash = text(read, "hash")?;
        if self.store.workflow_hash(saved)? != hash {
            return Err(LineTrouble::Wrong("the workflow is not the one that its hash names; it was changed".into()));
        }
        self.workflows.insert(hash, saved);
        Ok(())
    }

    fn begin_run(&mut self, read: &Json) -> Result<(), LineTrouble> {
        let workflow = text(read, "workflow")?;
        let workflow = *self.workflows.get(&workflow).ok_or("the workflow of this run has not come before it")?;
        let parent = match read.get("parent").filter(|parent| !parent.is_null()) {
            // A parent that is not here is not waiting for this run.
            Some(parent) => self.store.run(&text(parent, "id")?)?.map(|row| -> Result<Parent, String> {
                let attempt = u32::try_from(number(parent, "attempt")?).map_err(|error| error.to_string())?;
                Ok(Parent { run: row.run, effect: number(parent, "effect")?, attempt })
            }),
            None => None,
        };
        let started_ms = read.get("started_ms").and_then(Json::as_i64).ok_or("`started_ms` is a number")?;
        let row = Run {
            run: RunNo(0),
            id: text(read, "id")?,
            workflow,
            part: text(read, "part")?,
            status: Status::Running,
            seq: 0,
            owner: None,
            parent: parent.transpose()?,
            folder: text(read, "folder")?,
            started_ms,
            touched_ms: started_ms,
        };
        let events = usize::try_from(number(read, "events")?).map_err(|error| error.to_string())?;
        self.run = Some((row, events, Vec::new()));
        Ok(())
    }

    /// Takes the run that was read last, now that all its events are there.
    fn finish_run(&mut self) -> Result<(), LineTrouble> {
        let Some((row, events, journal)) = self.run.take() else { return Ok(()) };
        if journal.len() != events {
            let reason = format!("run `{}` should have {events} events, and {} have come", row.id, journal.len());
            return Err(LineTrouble::Wrong(reason));
        }
        if self.store.run(&row.id)?.is_some() {
            self.imported.known.push(row.id);
            return Ok(());
        }
        let id = row.id.clone();
        match self.store.take_in(&row, journal) {
            Ok(()) => self.imported.runs.push(id),
            Err(refused @ (Trouble::Strayed { .. } | Trouble::Missing(_) | Trouble::Bytes { .. })) => {
                self.imported.refused.push((id, refused.to_string()));
            }
            Err(trouble) => return Err(trouble.into()),
        }
        Ok(())
    }
}

fn header(read: &Json) -> Result<(), String> {
    if read.get("branchpoint").and_then(Json::as_str) != Some("runs") {
        return Err("this is no file of runs: it does not begin with {\"branchpoint\": \"runs\", …}".into());
    }
    match read.get("format").and_then(Json::as_u64) {
        Some(FORMAT) => Ok(()),
        Some(other) => Err(format!("the file has format {other}, and this build reads format {FORMAT}")),
        None => Err("the file does not say which format it has".into()),
    }
}

fn text(read: &Json, key: &str) -> Result<String, String> {
    read.get(key).and_then(Json::as_str).map(ToOwned::to_owned).ok_or_else(|| format!("`{key}` is text"))
}

fn number(read: &Json, key: &str) -> Result<u64, String> {
    read.get(key).and_then(Json::as_u64).ok_or_else(|| format!("`{key}` is a number"))
}

fn event_of(read: &Json) -> Result<(Stamp, Event, u32), String> {
    let (stamp, event) = codec::decode_event(&unhex(&text(read, "bytes")?)?).map_err(|error| error.to_string())?;
    let mark = u32::try_from(number(read, "mark")?).map_err(|error| error.to_string())?;
    Ok((stamp, event, mark))
}

/// A program from outside is held to what a front-end is held to.
fn program_of(bytes: &Json) -> Result<Program, String> {
    let bytes = unhex(bytes.as_str().ok_or("a program is text")?)?;
    let program = codec::decode_program(&bytes).map_err(|error| error.to_string())?;
    validate(&program).map_err(|wrong| format!("a program is not valid: {wrong:?}"))?;
    Ok(program)
}

/// A journal whose secrets are hidden, with the check words that it gives now. None: it does not lead to the same end.
fn refolded(program: &Program, journal: Journal, status: Status) -> Option<Journal> {
    let mut state = State::new();
    let mut refolded = Vec::new();
    for (stamp, event, _) in journal {
        let outcome = advance(program, &mut state, &stamp, event.clone()).ok()?;
        refolded.push((stamp, event, outcome.check));
    }
    (state.result()?.0 == status).then_some(refolded)
}

fn line(out: &mut dyn Write, content: &Json) -> io::Result<()> {
    writeln!(out, "{content}")
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

fn unhex(text: &str) -> Result<Vec<u8>, String> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = text.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    });
    pairs.collect::<Option<_>>().ok_or_else(|| "bytes are not in hexadecimal".into())
}
