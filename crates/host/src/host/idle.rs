//! Runs that wait need no memory: their timers and questions are rows, and they are opened again when something comes.

use branchpoint_core::ir::Status;

use super::Host;
use crate::host::open::Open;
use crate::store::{RunNo, StoreError};

impl Host {
    /// Puts runs out of memory when too many have nothing to do; the longest untouched go first.
    pub(super) fn unload_idle(&mut self) -> Result<(), StoreError> {
        // A run becomes idle by an event, so looking at all of them is worth its while only after many.
        self.counters.since_idle_away += self.current.touched.len();
        let rare = self.counters.since_idle_away >= self.open.len() / 2;
        if !rare || self.open.len() <= self.settings.idle_limit || self.settings.drives == super::DrivenRuns::Requested
        {
            return Ok(());
        }
        self.counters.since_idle_away = 0;
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
        // Half of them at once, so that looking at all of them is rare.
        for (_, run) in idle.drain(..idle.len() - self.settings.idle_limit / 2) {
            self.leave(run)?;
        }
        Ok(())
    }

    /// Writes what is needed to open a run again, and lets go of it.
    pub(super) fn leave(&mut self, run: RunNo) -> Result<(), StoreError> {
        let Some(open) = self.open.get(&run) else { return Ok(()) };
        if open.tail_bytes > 0 && !open.detached {
            self.snapshot(run)?;
        }
        let Some(open) = self.open.remove(&run) else { return Ok(()) };
        // A run whose script has the answer does not wait for people.
        let answered = self.schedule.answerable.remove(&run);
        let status = if answered { Status::Running } else { branchpoint_core::status(&open.program, &open.state) };
        self.store.update_status(run, open.state.seq(), open.state.now_ms(), status, None);
        self.forget_timers(run, &open);
        self.drop_script(open.script);
        Ok(())
    }

    fn forget_timers(&mut self, run: RunNo, open: &Open) {
        for (due_ms, timer) in open.timers.in_order() {
            self.schedule.timers.remove(&(due_ms, run, timer));
            self.schedule.closed_due_ms = Some(self.schedule.closed_due_ms.map_or(due_ms, |known| known.min(due_ms)));
        }
        if self.settings.drives == super::DrivenRuns::Requested {
            self.schedule.closed_due_ms = None;
        }
    }

    /// Everything that is open, when the process leaves.
    pub(super) fn unload_all(&mut self) -> Result<(), StoreError> {
        let runs: Vec<RunNo> = self.open.keys().copied().collect();
        runs.into_iter().try_for_each(|run| self.leave(run))
    }
}
