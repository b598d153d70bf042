//! Unloads idle runs: a waiting run needs no memory, because its timers and requests are rows. It is opened again for its next event.

use branchpoint_core::ir::Status;

use super::Host;
use crate::host::open::Open;
use crate::store::{RunNo, StoreError};

impl Host {
    /// Unloads idle runs when there are too many, those with the oldest events first.
    pub(super) fn unload_idle(&mut self) -> Result<(), StoreError> {
        // A run becomes idle by an event, so all runs are examined only after many events.
        self.counters.events_since_unload += self.current.touched.len();
        let is_due = self.counters.events_since_unload >= self.open.len() / 2;
        if !is_due
            || self.open.len() <= self.settings.idle_limit
            || self.settings.drives == super::DrivenRuns::Requested
        {
            return Ok(());
        }
        self.counters.events_since_unload = 0;
        let mut idle: Vec<(u64, RunNo)> = self
            .open
            .iter()
            .filter(|(_, open)| open.is_idle() && !open.watched)
            .map(|(run, open)| (open.turn, *run))
            .collect();
        if idle.len() <= self.settings.idle_limit {
            return Ok(());
        }
        idle.sort_unstable();
        // Half of them at once, so that all runs are seldom examined.
        for (_, run) in idle.drain(..idle.len() - self.settings.idle_limit / 2) {
            self.unload_now(run)?;
        }
        Ok(())
    }

    /// Writes the snapshot of a run, releases it and removes it from memory.
    pub(super) fn unload_now(&mut self, run: RunNo) -> Result<(), StoreError> {
        let Some(open) = self.open.get(&run) else { return Ok(()) };
        if open.tail_bytes > 0 && !open.detached {
            self.snapshot(run)?;
        }
        let Some(open) = self.open.remove(&run) else { return Ok(()) };
        // A run whose script has the answer does not wait for people.
        let answered = self.schedule.answerable.remove(&run);
        let status = if answered { Status::Running } else { branchpoint_core::status(&open.program, &open.state) };
        self.store.update_status(run, open.state.seq(), open.state.now_ms(), status, None);
        self.remove_timers(run, &open);
        self.release_slot(run, status);
        self.drop_script(open.script);
        Ok(())
    }

    fn remove_timers(&mut self, run: RunNo, open: &Open) {
        for (due_ms, timer) in open.timers.in_order() {
            self.schedule.timers.remove(&(due_ms, run, timer));
            self.schedule.unowned_due_ms =
                Some(self.schedule.unowned_due_ms.map_or(due_ms, |first_ms| first_ms.min(due_ms)));
        }
        if self.settings.drives == super::DrivenRuns::Requested {
            self.schedule.unowned_due_ms = None;
        }
    }

    /// Unloads all runs when the process closes.
    pub(super) fn unload_all(&mut self) -> Result<(), StoreError> {
        let runs: Vec<RunNo> = self.open.keys().copied().collect();
        runs.into_iter().try_for_each(|run| self.unload_now(run))
    }
}
