//! Runs that cannot be opened, because their key is missing or their data is damaged. They can be cancelled.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

use branchpoint_backend::{RunEvent, RunEventKind};
use branchpoint_core::Event;
use branchpoint_core::ir::Status;

use super::open::Open;
use super::{Accepted, DrivenRuns, Host, Order, Rejection, TurnOutput};
use crate::store::{Packing, Run, RunNo, SlotState, StoreError};

/// The pause before some of the broken runs are opened again.
const RETRY_MS: i64 = 60_000;

/// The number of broken runs that are opened again at once.
const RETRIES: usize = 64;

/// The runs that this process cannot open.
#[derive(Default)]
pub(super) struct BrokenRuns {
    reported: BTreeSet<RunNo>,
    /// The runs that this process does not open by itself.
    skipped: BTreeSet<RunNo>,
    /// When some of them are opened again.
    retry_ms: Option<i64>,
    /// The last one that was retried, because they take turns.
    last: RunNo,
}

impl BrokenRuns {
    /// Adds a run. Returns whether it was not reported before.
    fn add(&mut self, run: RunNo, now_ms: i64) -> bool {
        self.skipped.insert(run);
        self.retry_ms.get_or_insert(now_ms.saturating_add(RETRY_MS));
        self.reported.insert(run)
    }

    /// Removes a run that was opened or cancelled. Returns whether it was broken.
    fn remove(&mut self, run: RunNo) -> bool {
        self.skipped.remove(&run);
        self.retry_ms = self.retry_ms.filter(|_| !self.skipped.is_empty());
        self.reported.remove(&run)
    }

    /// The runs to open again now.
    fn retries(&mut self, now_ms: i64) -> Vec<RunNo> {
        if self.retry_ms.is_none_or(|retry_ms| retry_ms > now_ms) {
            return Vec::new();
        }
        self.retry_ms = Some(now_ms.saturating_add(RETRY_MS));
        let (before, after): (Vec<RunNo>, Vec<RunNo>) = self.skipped.iter().partition(|run| **run <= self.last);
        let retries: Vec<RunNo> = after.into_iter().chain(before).take(RETRIES).collect();
        self.last = retries.last().copied().unwrap_or_default();
        retries
    }

    /// The numbers of the runs to skip, as a JSON list for the store.
    pub(super) fn skipped(&self) -> String {
        let mut list = String::from("[");
        for (place, run) in self.skipped.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = write!(list, "{}{}", if place == 0 { "" } else { "," }, run.0);
        }
        list + "]"
    }
}

impl Host {
    /// Releases a claimed run that cannot be opened, and reports it once.
    pub(super) fn set_broken(&mut self, row: &Run, why: String) {
        self.store.release_run_later(row.run, self.owner.number);
        // It is tried again like any other broken run.
        self.slots.remove(row.run);
        self.store.set_slot_later(row.run, SlotState::Resting);
        if self.broken.add(row.run, self.current.now_ms) {
            self.report_row(row, RunEventKind::Broken(why));
        }
    }

    /// Reports an event of a run that is not open.
    fn report_row(&mut self, row: &Run, kind: RunEventKind) {
        self.current.outputs.push(TurnOutput::Event(RunEvent { run: row.run, id: row.id.as_str().into(), kind }));
    }

    /// Records that a run was opened. If it was broken, its key or its data was restored, so the other broken runs are retried, too.
    pub(super) fn set_opened(&mut self, run: RunNo) {
        if self.broken.remove(run) {
            self.broken.skipped.clear();
            self.broken.retry_ms = None;
            self.version = -1;
        }
    }

    /// When broken runs are opened again.
    pub(super) fn retry_ms(&self) -> Option<i64> {
        self.broken.retry_ms.filter(|_| self.settings.drives == DrivenRuns::All)
    }

    /// The broken runs to open again in this turn.
    pub(super) fn retries(&mut self, now_ms: i64) -> Vec<RunNo> {
        if self.settings.drives == DrivenRuns::All { self.broken.retries(now_ms) } else { Vec::new() }
    }

    /// Removes a run from memory without writing anything.
    pub(super) fn drop_open(&mut self, run: RunNo) -> Option<Box<Open>> {
        self.schedule.timers.retain(|(_, of, _)| *of != run);
        self.schedule.unfinished.retain(|of| *of != run);
        self.current.ended.retain(|of| *of != run);
        self.schedule.answerable.remove(&run);
        self.slots.remove(run);
        let dropped = self.open.remove(&run)?;
        self.drop_script(dropped.script);
        Some(dropped)
    }

    /// Cancels a run that cannot be opened. Without the secrets, the replay of its journal mostly has the original outcome, so the event
    /// is appended as usual, and nothing is performed any more. If that fails, only the rows of the run are ended.
    pub(super) fn cancel_broken(
        &mut self,
        run: RunNo,
        reason: Option<&Arc<str>>,
        now_ms: i64,
    ) -> Result<Result<Accepted, Rejection>, StoreError> {
        let packing = self.store.packing(run)?;
        if packing.unavailable_secrets.is_none() || !self.cancel_without_secrets(run, &packing, reason, now_ms)? {
            self.end_rows(run, now_ms)?;
        }
        self.broken.remove(run);
        Ok(Ok(Accepted { run, new: true }))
    }

    /// Cancels a run with unavailable secrets. Returns false if its journal cannot be replayed without them.
    fn cancel_without_secrets(
        &mut self,
        run: RunNo,
        packing: &Packing,
        reason: Option<&Arc<str>>,
        now_ms: i64,
    ) -> Result<bool, StoreError> {
        let row = self.store.row(run)?;
        match self.open_with(&row, Some(packing.clone())) {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Ok(false),
            Err(error) if error.is_of_one_run() => return Ok(false),
            Err(error) => return Err(error),
        }
        // The clean-up of the program may need the secrets: a second cancellation does not wait for it.
        for _ in 0..2 {
            if self.open.get(&run).is_none_or(|open| open.state.result().is_some()) {
                break;
            }
            if self.apply(run, Event::Cancel { reason: reason.cloned() }, now_ms)?.is_err() {
                self.drop_open(run);
                return Ok(false);
            }
        }
        let has_ended = self.open.get(&run).is_some_and(|open| open.state.result().is_some());
        if !has_ended {
            self.drop_open(run);
        }
        Ok(has_ended)
    }

    /// Marks a run whose journal cannot be replayed as cancelled. The journal is unchanged.
    fn end_rows(&mut self, run: RunNo, now_ms: i64) -> Result<(), StoreError> {
        let row = self.store.row(run)?;
        self.store.end_rows(run, now_ms);
        for child in self.store.children(run)?.into_iter().filter(|child| !child.status.is_final()) {
            self.post(child.run, Event::Cancel { reason: None })?;
        }
        if row.parent.is_some() {
            self.schedule.queue.push_back(Order::ChildEnded(run));
        }
        self.report_row(&row, RunEventKind::Status(Status::Cancelled, None));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
