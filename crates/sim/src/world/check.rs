//! The checks at the end of a simulation.

use std::collections::BTreeMap;

use branchpoint_core::codec::{decode_program, decode_state, encode_program};
use branchpoint_core::ir::Status;
use branchpoint_core::{Event, Stamp, State, advance, offers, status};

use super::run::{Run, bytes, fold};
use super::{Coverage, World};

impl World<'_> {
    pub(super) fn finish(mut self) -> Result<Coverage, String> {
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

/// Compares the counts in the trace with those of the model.
fn trace_agrees(ran: &Coverage, notes: &Coverage) -> Result<(), String> {
    let sum = |of: &Coverage, names: &[&str]| names.iter().filter_map(|name| of.get(name)).sum::<u64>();
    let resolved = [
        "requests decided",
        "requests vetoed",
        "requests cancelled",
        "requests timed out",
        "requests without quorum",
        "requests ended early",
    ];
    for (noted, counted) in [("warnings", ["caps reached"].as_slice()), ("requests resolved", resolved.as_slice())] {
        let (noted_count, model_count) = (sum(notes, &[noted]), sum(ran, counted));
        if noted_count != model_count {
            return Err(format!("the trace has {noted_count} {noted}, but the model has {model_count}"));
        }
    }
    Ok(())
}

/// Checks that a run has ended or waits for an offer.
fn ended_or_waits(run: &Run<'_>) -> Result<(), String> {
    let ended = run.state.result().is_some();
    if ended != run.audit.model.has_ended() || ended != run.tables.finished {
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

/// Checks that the journal, folded with the decoded program, gives the same run, also with a snapshot in the middle and with
/// recording.
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
