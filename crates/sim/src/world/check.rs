//! What must hold when everything has come to rest.

use std::collections::BTreeMap;

use branchpoint_core::codec::{decode_program, decode_state, encode_program};
use branchpoint_core::ir::Status;
use branchpoint_core::{Event, Stamp, State, advance, offers, status};

use super::run::{Run, bytes, fold};
use super::{Seen, World};

impl World<'_> {
    pub(super) fn finish(mut self) -> Result<Seen, String> {
        for at in 0..self.runs.len() {
            let cut = self.rng.index(self.runs[at].journal.len() + 1);
            let run = &self.runs[at];
            ended_or_waits(run).map_err(|error| format!("run {at}: {error}"))?;
            accepts_nothing(run)?;
            let notes = replays(run, cut)?;
            trace_agrees(&run.audit.model.ran, &notes)?;
            for (what, count) in run.audit.model.ran.iter().chain(&notes) {
                *self.seen.entry(what).or_default() += count;
            }
            self.seen.entry("runs").and_modify(|runs| *runs += 1).or_insert(1);
            let how = match status(&run.program, &run.state) {
                Status::Completed => "runs completed",
                Status::Failed => "runs failed",
                Status::Cancelled => "runs cancelled",
                Status::Running | Status::WaitingPeople | Status::WaitingTimer => "runs waiting",
            };
            *self.seen.entry(how).or_default() += 1;
        }
        Ok(self.seen)
    }
}

/// What a person is told is what the model has seen.
fn trace_agrees(ran: &Seen, notes: &Seen) -> Result<(), String> {
    let sum = |of: &Seen, names: &[&str]| names.iter().filter_map(|name| of.get(name)).sum::<u64>();
    let resolved =
        ["requests decided", "requests called off", "requests timed out", "requests without quorum"].as_slice();
    for (told, seen) in [("warnings", ["caps reached"].as_slice()), ("questions resolved", resolved)] {
        let (told_count, seen_count) = (sum(notes, &[told]), sum(ran, seen));
        if told_count != seen_count {
            return Err(format!("the trace tells of {told_count} {told}, and the model has seen {seen_count}"));
        }
    }
    Ok(())
}

/// A run that has not ended waits for a named thing.
fn ended_or_waits(run: &Run<'_>) -> Result<(), String> {
    let ended = run.state.result().is_some();
    if ended != run.audit.model.ended() || ended != run.tables.finished {
        return Err("machine, model and host disagree on whether it has ended".into());
    }
    if ended {
        return Ok(());
    }
    if !run.tables.outbox.is_empty() || !run.tables.timers.is_empty() || run.tables.more {
        return Err(format!("the world is at rest, and yet: {:?}", run.tables));
    }
    if offers(&run.program, &run.state).is_empty() {
        return Err("it has not ended, and waits for nothing".into());
    }
    Ok(())
}

fn accepts_nothing(run: &Run<'_>) -> Result<(), String> {
    if run.state.result().is_none() {
        return Ok(());
    }
    let mut twin = run.state.clone();
    let stamp = Stamp { now_ms: i64::MAX, ..Stamp::default() };
    for event in [Event::Continue, Event::Cancel { reason: None }] {
        if advance(&run.program, &mut twin, &stamp, event).is_ok() {
            return Err("a finished run accepts an event".into());
        }
    }
    if bytes(&twin)? == bytes(&run.state)? { Ok(()) } else { Err("a finished run has changed".into()) }
}

/// The whole journal, folded by a program that went through bytes, gives the run again: straight, with a snapshot in the
/// middle, and with recording on.
fn replays(run: &Run<'_>, cut: usize) -> Result<BTreeMap<&'static str, u64>, String> {
    let stored = encode_program(&run.program).map_err(|error| error.to_string())?;
    let program = decode_program(&stored).map_err(|error| error.to_string())?;
    let mut notes = BTreeMap::new();
    let half = fold(&program, State::new(), &run.journal[..cut], true, &mut notes)?;
    let snapshot = bytes(&half)?;
    let half = decode_state(&snapshot).map_err(|error| error.to_string())?;
    if bytes(&half)? != snapshot {
        return Err("a snapshot has other bytes after it was read".into());
    }
    let whole = fold(&program, half, &run.journal[cut..], true, &mut notes)?;
    if bytes(&whole)? != bytes(&run.state)? {
        return Err(format!("the journal, cut at {cut}, folds to another run"));
    }
    Ok(notes)
}
