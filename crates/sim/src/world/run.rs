//! A run of the simulated host: a journal of encoded events with check words, tables, and their state on disk.

use std::collections::BTreeMap;

use branchpoint_core::codec::{decode_event, decode_state, encode_event, encode_program, encode_state};
use branchpoint_core::ir::Program;
use branchpoint_core::{Command, Event, Fold, Note, NoteKind, Outcome, Stamp, State, advance};

use super::audit::Audit;
use super::tables::Tables;
use crate::journal::Journal;
use crate::model::{Fact, Model};
use crate::rng::Rng;
use crate::tree::Tree;

/// A stored event.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) bytes: Vec<u8>,
    pub(super) check: u32,
}

pub(super) struct Run<'t> {
    pub(super) tree: &'t Tree,
    pub(super) program: Program,
    pub(super) state: State,
    pub(super) journal: Vec<Row>,
    pub(super) tables: Tables,
    pub(super) audit: Audit<'t>,
    /// The time of the latest event.
    pub(super) newest_ms: i64,
    /// Commands that wait until their event is on disk.
    pub(super) held: Vec<Command>,
    disk: Disk<'t>,
}

/// The state that survives a crash.
struct Disk<'t> {
    rows: usize,
    tables: Tables,
    audit: Audit<'t>,
    snapshot: Option<(usize, Vec<u8>)>,
}

/// The result of applying an event.
pub(super) enum Applied {
    Rejected,
    Accepted(Outcome),
}

impl<'t> Run<'t> {
    pub(super) fn new(tree: &'t Tree, program: Program) -> Self {
        let audit = Audit::new(Model::new(tree));
        let disk = Disk { rows: 0, tables: Tables::default(), audit: audit.clone(), snapshot: None };
        Self {
            tree,
            program,
            state: State::new(),
            journal: Vec::new(),
            tables: Tables::default(),
            audit,
            newest_ms: 0,
            held: Vec::new(),
            disk,
        }
    }

    /// Applies an event to the machine, and its fact to the model.
    pub(super) fn apply(
        &mut self,
        stamp: &Stamp,
        event: &Event,
        fact: Option<Fact>,
        rng: &mut Rng,
    ) -> Result<Applied, String> {
        let before = bytes(&self.state)?;
        let twin = rng.percent(25).then(|| self.state.clone());
        let result = advance(&self.program, &mut self.state, stamp, event.clone());
        if let Some(mut twin) = twin {
            let recorded = Stamp { record: true, ..stamp.clone() };
            let again = advance(&self.program, &mut twin, &recorded, event.clone());
            let same = match (&result, &again) {
                (Ok(one), Ok(other)) => (&one.commands, one.check) == (&other.commands, other.check),
                (Err(one), Err(other)) => one == other,
                _ => false,
            };
            if !same || bytes(&twin)? != bytes(&self.state)? {
                return Err(format!("recording changed the run at {event:?}"));
            }
        }
        let expected = fact.map(|fact| self.audit.model.apply(fact, stamp.now_ms));
        let outcome = match result {
            Ok(outcome) => outcome,
            Err(rejected) => {
                if matches!(expected, Some(Some(_))) {
                    return Err(format!("the machine rejects what the model accepts: {event:?}: {rejected}"));
                }
                if bytes(&self.state)? != before {
                    return Err(format!("a rejected event changed the run: {event:?}"));
                }
                return Ok(Applied::Rejected);
            }
        };
        match expected {
            Some(Some(outputs)) => self.audit.expect(outputs),
            Some(None) => return Err(format!("the machine accepts what the model rejects: {event:?}")),
            None => {}
        }
        self.record(stamp, event, &outcome)?;
        Ok(Applied::Accepted(outcome))
    }

    fn record(&mut self, stamp: &Stamp, event: &Event, outcome: &Outcome) -> Result<(), String> {
        let bytes = encode_event(stamp, event).map_err(|error| error.to_string())?;
        self.journal.push(Row { bytes, check: outcome.check });
        self.newest_ms = stamp.now_ms;
        match event {
            Event::Settled { effect, .. } => {
                self.tables.outbox.remove(effect);
            }
            Event::TimerFired(timer) => {
                self.tables.timers.remove(timer);
            }
            _ => {}
        }
        for command in &outcome.commands {
            self.tables.apply(command)?;
        }
        self.audit.got(&outcome.commands);
        self.held.extend_from_slice(&outcome.commands);
        self.tables.more = outcome.more;
        if !outcome.more {
            self.audit.settle(&self.tables)?;
        }
        Ok(())
    }

    /// The run as a golden journal.
    pub(super) fn to_journal(&self) -> Result<Journal, String> {
        let program = encode_program(&self.program).map_err(|error| error.to_string())?;
        let rows = self.journal.iter().map(|row| (row.bytes.clone(), row.check)).collect();
        Ok(Journal { program, rows, end: bytes(&self.state)? })
    }

    /// Flushes everything to disk, and returns the commands to perform.
    pub(super) fn flush(&mut self, snapshot: bool) -> Result<Vec<Command>, String> {
        if snapshot {
            self.disk.snapshot = Some((self.journal.len(), bytes(&self.state)?));
        }
        self.disk.rows = self.journal.len();
        self.disk.tables = self.tables.clone();
        self.disk.audit = self.audit.clone();
        Ok(std::mem::take(&mut self.held))
    }

    /// Loses everything that is not on disk, and folds the state again.
    pub(super) fn crash(&mut self, from_snapshot: bool) -> Result<(), String> {
        self.journal.truncate(self.disk.rows);
        self.newest_ms = match self.journal.last() {
            Some(row) => decode_event(&row.bytes).map_err(|error| error.to_string())?.0.now_ms,
            None => 0,
        };
        self.held.clear();
        self.tables = self.disk.tables.clone();
        self.audit = self.disk.audit.clone();
        let snapshot = self.disk.snapshot.as_ref().filter(|_| from_snapshot);
        self.state = match snapshot {
            Some((rows, stored)) => {
                let state = decode_state(stored).map_err(|error| error.to_string())?;
                fold(&self.program, state, &self.journal[*rows..], false, &mut BTreeMap::new())?
            }
            None => fold(&self.program, State::new(), &self.journal, false, &mut BTreeMap::new())?,
        };
        Ok(())
    }
}

/// Folds rows of a journal and compares every check word.
pub(super) fn fold(
    program: &Program,
    state: State,
    rows: &[Row],
    record: bool,
    notes: &mut BTreeMap<&'static str, u64>,
) -> Result<State, String> {
    let decoded = rows.iter().map(|row| decode_event(&row.bytes).map(|(stamp, event)| (stamp, event, row.check)));
    let rows: Vec<_> = decoded.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    let mut fold = Fold::new(program, state, rows);
    let mut count = |note: Note| {
        let name = match note.kind {
            NoteKind::Warned { .. } => "warnings",
            NoteKind::Decided { .. } => "decisions",
            NoteKind::AttemptEnded { error: Some(_), .. } => "attempts failed",
            NoteKind::Attempt { .. } => "attempts",
            NoteKind::Resolved { .. } => "requests resolved",
            _ => "marks",
        };
        *notes.entry(name).or_default() += 1;
    };
    while let Some(folded) = if record { fold.replay_next(&mut count) } else { fold.next() } {
        folded.map_err(|error| format!("cannot fold the journal: {error}"))?;
    }
    Ok(fold.into_parts().0)
}

/// The encoded state of a run. Equal runs have equal bytes.
pub(super) fn bytes(state: &State) -> Result<Vec<u8>, String> {
    encode_state(state).map_err(|error| error.to_string())
}
