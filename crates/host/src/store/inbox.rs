//! The inbox: events for runs that another process drives. That process applies them and writes their outcomes.

use std::thread;
use std::time::{Duration, Instant};

use branchpoint_backend::BackendError;
use branchpoint_core::{Event, Stamp};
use rusqlite::{Row, params};

use super::journal::damaged;
use super::{Packed, Packing, RunNo, Store, StoreError};
use crate::host::Rejection;

/// The pause between two checks for the outcome.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// How long the sender waits for an outcome. The process that drives the run polls many times a second.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

/// The outcome of an event that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The run has accepted the event.
    Accepted,
    /// The run already has a signal with this key.
    Duplicate,
    /// The run has rejected the event and is unchanged.
    Rejection(Rejection),
    /// No process drives the run any more, and the event was not applied.
    Undriven,
    /// The process that drives the run does not respond, and the event was removed from the inbox.
    NoResponse,
    /// A living process has claimed the event and has not applied it yet. It stays in the inbox.
    Pending,
}

impl Sent {
    /// Whether the event was new to the run. If no process drives the run, this is an error, and the sender may try again.
    pub(crate) fn into_result(self) -> Result<bool, BackendError> {
        match self {
            Self::Accepted => Ok(true),
            Self::Duplicate => Ok(false),
            Self::Rejection(rejection) => Err(rejection.into()),
            Self::Undriven | Self::NoResponse => Err(BackendError::NoResponse),
            Self::Pending => Err(BackendError::Pending),
        }
    }
}

impl Store {
    /// Sends an event to the process that drives a run, and waits for its outcome.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// let sent = store.send(run, &Event::Cancel { reason: None }).unwrap();
    /// assert_eq!(sent, Sent::Undriven, "the run has ended");
    /// ```
    pub fn send(&self, run: RunNo, event: &Event) -> Result<Sent, StoreError> {
        let item = self.post(run, event)?;
        let since = Instant::now();
        loop {
            if let Some(sent) = self.outcome(item, run, since)? {
                return Ok(sent);
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// The outcome of an event that was posted at the time `since`; `None` while its sender has to wait.
    pub(crate) fn outcome(&self, item: i64, run: RunNo, since: Instant) -> Result<Option<Sent>, StoreError> {
        let outcome: Option<String> = self.value("SELECT outcome FROM inbox WHERE item = ?1", [item])?;
        if let Some(outcome) = outcome {
            self.execute("DELETE FROM inbox WHERE item = ?1", [item])?;
            return Ok(Some(match serde_json::from_str::<Result<bool, Rejection>>(&outcome) {
                Ok(Ok(true)) => Sent::Accepted,
                Ok(Ok(false)) => Sent::Duplicate,
                Ok(Err(rejection)) => Sent::Rejection(rejection),
                Err(_) => Sent::Rejection(Rejection::UnknownCode(outcome)),
            }));
        }
        let driven = self.row(run)?.owner.is_some_and(|owner| self.is_alive(owner));
        if driven && since.elapsed() < RESPONSE_TIMEOUT {
            return Ok(None);
        }
        // A living process that has claimed the item applies it or releases the claim.
        let claimed_by: Option<i64> = self.value("SELECT claimed_by FROM inbox WHERE item = ?1", [item])?;
        if claimed_by.is_some_and(|owner| self.is_alive(owner)) {
            return Ok((since.elapsed() >= RESPONSE_TIMEOUT).then_some(Sent::Pending));
        }
        // Another process may claim it at this moment.
        let sql = "DELETE FROM inbox WHERE item = ?1 AND outcome IS NULL AND claimed_by IS ?2";
        let is_removed = self.execute(sql, params![item, claimed_by])? == 1;
        Ok(is_removed.then_some(if driven { Sent::NoResponse } else { Sent::Undriven }))
    }

    /// Posts an event for the process that drives a run, now or later.
    pub(crate) fn post(&self, run: RunNo, event: &Event) -> Result<i64, StoreError> {
        // Without the key nothing can be sealed; a cancellation contains no value of the run.
        let packing =
            if matches!(event, Event::Cancel { .. }) { self.packing(run)? } else { self.packing_with_key(run)? };
        self.insert_item(run, &packed_item(run, &packing, event)?)
    }

    /// Posts an event when the turn commits: see [`Store::write_posts`].
    pub(crate) fn post_later(&self, run: RunNo, packing: &Packing, event: &Event) -> Result<(), StoreError> {
        self.post_packed(run, packed_item(run, packing, event)?);
        Ok(())
    }

    pub(super) fn insert_item(&self, run: RunNo, packed: &Packed) -> Result<i64, StoreError> {
        // The process that applies the item must find the values that it refers to.
        self.put_large_values(run, packed)?;
        let sql = "INSERT INTO inbox (run, packed, bytes) VALUES (?1, ?2, ?3)";
        self.execute(sql, params![run.0, packed.packed, packed.bytes])?;
        Ok(self.db.last_insert_rowid())
    }

    /// Claims an item for a process that drives its run, within a transaction, so that its sender does not remove it. Returns false if
    /// the sender has removed it, it has an outcome, or another living process has claimed it.
    pub(crate) fn claim_item(&self, item: i64, owner: i64) -> Result<bool, StoreError> {
        let sql = "SELECT claimed_by FROM inbox WHERE item = ?1 AND outcome IS NULL";
        let Some(claimed_by) = self.first(sql, [item], |row| row.get::<_, Option<i64>>(0))? else { return Ok(false) };
        if claimed_by.is_some_and(|claimer| claimer != owner && self.is_alive(claimer)) {
            return Ok(false);
        }
        Ok(self.execute("UPDATE inbox SET claimed_by = ?2 WHERE item = ?1", params![item, owner])? == 1)
    }

    /// Releases a process's claim on an item, because another process drives its run.
    pub(crate) fn release_item(&self, item: i64, owner: i64) -> Result<(), StoreError> {
        let sql = "UPDATE inbox SET claimed_by = NULL WHERE item = ?1 AND claimed_by = ?2";
        self.execute(sql, params![item, owner]).map(drop)
    }

    /// The events that were sent to this process and have no outcome yet.
    pub(crate) fn sent_to(&self, owner: i64) -> Result<Vec<(i64, RunNo, Event)>, StoreError> {
        self.waiting("JOIN runs ON runs.run = inbox.run WHERE owner = ?1", owner)
    }

    /// The events that were sent to a run and have no outcome yet.
    pub(crate) fn sent_to_run(&self, run: RunNo) -> Result<Vec<(i64, RunNo, Event)>, StoreError> {
        self.waiting("WHERE inbox.run = ?1", run.0)
    }

    fn waiting(&self, of: &str, number: i64) -> Result<Vec<(i64, RunNo, Event)>, StoreError> {
        let sql = format!("SELECT item, inbox.run, packed, bytes FROM inbox {of} AND outcome IS NULL ORDER BY item");
        let read = |row: &Row<'_>| Ok((row.get(0)?, RunNo(row.get(1)?), row.get(2)?, row.get::<_, Vec<u8>>(3)?));
        let mut sent = Vec::new();
        for (item, run, packed, bytes) in self.rows(&sql, [number], read)? {
            match self.packing(run).and_then(|packing| self.event(run, &packing, packed, &bytes)) {
                Ok((_, event)) => sent.push((item, run, event)),
                // The sender of a damaged event gets the error; the other events are applied.
                Err(error) if error.is_of_one_run() => self.write_outcome(item, &error.to_string())?,
                Err(error) => return Err(error),
            }
        }
        Ok(sent)
    }

    /// Removes an item without a waiting sender when the turn commits.
    pub(crate) fn remove_item(&self, item: i64) {
        self.execute_later(RunNo::default(), "DELETE FROM inbox WHERE item = ?1", [item]);
    }

    /// Writes the outcome of an item when the turn commits: whether it was new to the run, or why it was rejected.
    pub(crate) fn record_outcome(&self, item: i64, outcome: &Result<bool, Rejection>) {
        let outcome = serde_json::to_string(outcome).expect("a code with fields is JSON");
        // It is written even if a run that is new in this turn is discarded.
        self.defer(RunNo::default(), move |store| store.write_outcome(item, &outcome));
    }

    fn write_outcome(&self, item: i64, outcome: &str) -> Result<(), StoreError> {
        let sql = "UPDATE inbox SET outcome = ?2 WHERE item = ?1 AND outcome IS NULL";
        self.execute(sql, params![item, outcome]).map(drop)
    }
}

fn packed_item(run: RunNo, packing: &Packing, event: &Event) -> Result<Packed, StoreError> {
    packing.event(&Stamp::default(), event).map_err(|error| damaged(run, error))
}
