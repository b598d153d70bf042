//! Polls the store for changes by other processes. It is read only if its version has changed.

use branchpoint_core::Event;

use super::{DrivenRuns, Host, Order, Requester, RunNo};
use crate::store::StoreError;

/// The most abandoned runs that are resumed at once; the others follow later.
const MAX_ABANDONED_RUNS: usize = 1_000;

impl Host {
    /// Reads the changes of other processes that concern this one, if there are any.
    ///
    /// ```
    #[doc = include_str!("../../docs/host.txt")]
    /// host.poll_store().unwrap();
    /// ```
    pub fn poll_store(&mut self) -> Result<(), StoreError> {
        if self.store.version()? != self.version {
            self.read_changes()?;
        }
        Ok(())
    }

    /// Releases the runs of dead processes, because the store does not change when a process is killed.
    ///
    /// ```
    #[doc = include_str!("../../docs/host.txt")]
    /// host.release_dead_owners().unwrap();
    /// ```
    pub fn release_dead_owners(&mut self) -> Result<(), StoreError> {
        // An unwritten turn is written first, in its own transaction.
        if !self.current.unwritten && self.store.release_dead_owners(Some(self.owner.number))? {
            self.read_changes()?;
        }
        Ok(())
    }

    pub(super) fn read_changes(&mut self) -> Result<(), StoreError> {
        self.version = self.store.version()?;
        let drives_all = self.settings.drives == DrivenRuns::All;
        if self.slots.has_queued() || drives_all && self.store.has_queued()? {
            self.slots.set_dirty();
        }
        for (item, run, event) in self.store.sent_to(self.owner.number)? {
            self.queue_sent(item, run, event);
        }
        let children: Vec<RunNo> = self
            .open
            .values()
            .flat_map(|open| open.flights.values())
            .filter_map(|flight| flight.child.as_ref().map(|(child, _)| *child))
            .collect();
        for child in children.into_iter().filter(|child| !self.open.contains_key(child)).collect::<Vec<_>>() {
            let row = match self.store.row(child) {
                Err(StoreError::Missing(_)) => {
                    self.schedule.queue.push_back(Order::ChildEnded(child));
                    continue;
                }
                row => row?,
            };
            if row.status.is_final() {
                self.schedule.queue.push_back(Order::ChildEnded(child));
            } else if row.owner.is_none() {
                // The process that drove it has released it.
                self.schedule.queue.push_back(Order::wake(child));
            }
        }
        if self.settings.drives == DrivenRuns::All {
            let skipped = self.broken.skipped();
            let abandoned = self.store.abandoned(&skipped, MAX_ABANDONED_RUNS)?;
            if abandoned.len() == MAX_ABANDONED_RUNS {
                // There may be more, and writes of this process itself do not change the version.
                self.version = -1;
            }
            self.schedule.queue.extend(abandoned.into_iter().map(Order::wake));
            self.schedule.unowned_due_ms = self.store.first_due_ms(&skipped)?;
        }
        Ok(())
    }

    /// Posts an event for a run in the transaction of this turn, so that it survives this process. A run that this process drives gets
    /// it in the next turn.
    pub(super) fn post(&mut self, run: RunNo, event: Event) -> Result<(), StoreError> {
        match self.open.get(&run) {
            Some(open) => self.store.post_later(run, &open.packing, &event)?,
            None => self.store.post_later(run, &self.store.packing(run)?, &event)?,
        }
        self.current.posts.push((run, event));
        Ok(())
    }

    /// Queues an event of the inbox, once.
    pub(super) fn queue_sent(&mut self, item: i64, run: RunNo, event: Event) {
        if self.sent.insert(item) {
            let is_response = matches!(event, Event::Settled { .. });
            let requester = if is_response { Requester::Recorded(item) } else { Requester::Inbox(item) };
            self.schedule.queue.push_back(Order::Deliver(run, event, requester));
        }
    }
}
