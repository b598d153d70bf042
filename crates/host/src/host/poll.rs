//! What other processes did meanwhile. It is looked at when the store's version has changed, not all the time.

use branchpoint_core::Event;

use super::{DrivenRuns, Host, Order, Requester, RunNo};
use crate::store::StoreError;

/// How many runs that nobody drives are taken up at once; the rest comes when these rest.
const MAX_ABANDONED_RUNS: usize = 1_000;

impl Host {
    /// Looks whether another process has written, and takes what concerns this one.
    pub fn poll_store(&mut self) -> Result<(), StoreError> {
        if self.store.version()? != self.version {
            self.read_changes()?;
        }
        Ok(())
    }

    /// Looks for processes that are gone: the store does not change when one is killed.
    pub fn release_dead_owners(&mut self) -> Result<(), StoreError> {
        // A turn that is not written is written first, in a transaction of its own.
        if !self.current.unwritten && self.store.release_dead_owners(Some(self.owner.number))? {
            self.read_changes()?;
        }
        Ok(())
    }

    pub(super) fn read_changes(&mut self) -> Result<(), StoreError> {
        self.version = self.store.version()?;
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
                // Whoever drove it has left it.
                self.schedule.queue.push_back(Order::wake(child));
            }
        }
        if self.settings.drives == DrivenRuns::All {
            let skipped = self.broken.skipped();
            let abandoned = self.store.abandoned(&skipped, MAX_ABANDONED_RUNS)?;
            if abandoned.len() == MAX_ABANDONED_RUNS {
                // There may be more; what this process writes itself would not make it look again.
                self.version = -1;
            }
            self.schedule.queue.extend(abandoned.into_iter().map(Order::wake));
            self.schedule.closed_due_ms = self.store.first_due_ms(&skipped)?;
        }
        Ok(())
    }

    /// Leaves an event for a run in the transaction of this turn, so that it is not lost with this process; one that this process
    /// drives has it in the next turn.
    pub(super) fn post(&mut self, run: RunNo, event: Event) -> Result<(), StoreError> {
        match self.open.get(&run) {
            Some(open) => self.store.post_later(run, &open.packing, &event)?,
            None => self.store.post_later(run, &self.store.packing(run)?, &event)?,
        }
        self.current.posts.push((run, event));
        Ok(())
    }

    /// Queues what another process has sent, once.
    pub(super) fn queue_sent(&mut self, item: i64, run: RunNo, event: Event) {
        if self.sent.insert(item) {
            let is_response = matches!(event, Event::Settled { .. });
            let requester = if is_response { Requester::Recorded(item) } else { Requester::Inbox(item) };
            self.schedule.queue.push_back(Order::Take(run, event, requester));
        }
    }
}
