//! What other processes did meanwhile. It is looked at when the store's version has changed, not all the time.

use super::{Asker, Drives, Host, Order, RunNo};
use crate::store::Trouble;

/// How many runs that nobody drives are taken up at once; the rest comes when these rest.
const TAKEN_UP: usize = 1_000;

impl Host {
    /// Looks whether another process has written, and takes what concerns this one.
    pub fn notice(&mut self) -> Result<(), Trouble> {
        if self.store.version()? != self.version {
            self.look_around()?;
        }
        Ok(())
    }

    /// Looks for processes that are gone: the store does not change when one is killed.
    pub fn notice_the_dead(&mut self) -> Result<(), Trouble> {
        if self.store.bury_the_dead(Some(self.owner.number))? {
            self.look_around()?;
        }
        Ok(())
    }

    pub(super) fn look_around(&mut self) -> Result<(), Trouble> {
        self.version = self.store.version()?;
        for (item, run, event) in self.store.sent_to(self.owner.number)? {
            self.queue.push_back(Order::Take(run, event, Asker::Inbox(item)));
        }
        let children: Vec<RunNo> = self
            .open
            .values()
            .flat_map(|open| open.flights.values())
            .filter_map(|flight| flight.child.as_ref().map(|(child, _)| *child))
            .collect();
        for child in children {
            if !self.open.contains_key(&child) && self.store.row(child)?.status.is_final() {
                self.queue.push_back(Order::ChildEnded(child));
            }
        }
        if self.drives == Drives::All {
            let adrift = self.store.adrift(TAKEN_UP)?;
            self.queue.extend(adrift.into_iter().map(|run| Order::Wake { run, watched: false, asker: Asker::Nobody }));
            self.closed_due_ms = self.store.first_due_ms()?;
        }
        Ok(())
    }
}
