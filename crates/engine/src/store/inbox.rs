//! Events for runs that another process drives: they wait here until it takes them, and it writes what came of it.

use std::time::Duration;

use branchpoint_core::{Event, Stamp, codec};
use rusqlite::params;

use super::journal::damaged;
use super::{RunNo, Store, Trouble};

/// How often the sender looks for the answer.
const NAP: Duration = Duration::from_millis(10);

/// What came of an event that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The run has taken it.
    Taken,
    /// The run has not taken it, and is as it was.
    Refused(String),
    /// Nobody drives the run any more, and it has not seen the event.
    Undriven,
}

impl Store {
    /// Sends an event to the process that drives a run, and waits for what comes of it.
    pub fn send(&self, run: RunNo, event: &Event) -> Result<Sent, Trouble> {
        let item = self.post(run, event)?;
        let forget = "DELETE FROM inbox WHERE item = ?1";
        loop {
            let sql = "SELECT outcome FROM inbox WHERE item = ?1";
            let outcome: Option<String> = self.db.prepare_cached(sql)?.query_row([item], |row| row.get(0))?;
            if let Some(outcome) = outcome {
                self.db.prepare_cached(forget)?.execute([item])?;
                return Ok(if outcome.is_empty() { Sent::Taken } else { Sent::Refused(outcome) });
            }
            if self.row(run)?.owner.is_some_and(|owner| self.is_alive(owner)) {
                std::thread::sleep(NAP);
                continue;
            }
            // It may have been taken in this very moment.
            let sql = "DELETE FROM inbox WHERE item = ?1 AND outcome IS NULL";
            if self.db.prepare_cached(sql)?.execute([item])? == 1 {
                return Ok(Sent::Undriven);
            }
        }
    }

    /// Leaves an event for whoever drives a run, now or later.
    pub(crate) fn post(&self, run: RunNo, event: &Event) -> Result<i64, Trouble> {
        let bytes = codec::encode_event(&Stamp::default(), event).map_err(|error| damaged(run, error))?;
        self.db.prepare_cached("INSERT INTO inbox (run, bytes) VALUES (?1, ?2)")?.execute(params![run.0, bytes])?;
        Ok(self.db.last_insert_rowid())
    }

    /// What was sent to this process and not taken yet.
    pub(crate) fn sent_to(&self, owner: i64) -> Result<Vec<(i64, RunNo, Event)>, Trouble> {
        let sql = "SELECT item, inbox.run, bytes FROM inbox JOIN runs ON runs.run = inbox.run
            WHERE outcome IS NULL AND owner = ?1 ORDER BY item";
        let mut found = self.db.prepare_cached(sql)?;
        let rows = found.query_map([owner], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, Vec<u8>>(2)?)))?;
        let rows: Vec<(i64, i64, Vec<u8>)> = rows.collect::<Result<_, _>>()?;
        let read = |(item, run, bytes): (i64, i64, Vec<u8>)| {
            let (_, event) = codec::decode_event(&bytes).map_err(|error| damaged(RunNo(run), error))?;
            Ok((item, RunNo(run), event))
        };
        rows.into_iter().map(read).collect()
    }

    /// What was sent to a run and not taken yet, whoever drove it then.
    pub(crate) fn sent_to_run(&self, run: RunNo) -> Result<Vec<(i64, Event)>, Trouble> {
        let sql = "SELECT item, bytes FROM inbox WHERE run = ?1 AND outcome IS NULL ORDER BY item";
        let mut found = self.db.prepare_cached(sql)?;
        let rows = found.query_map([run.0], |row| Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?)))?;
        let rows: Vec<(i64, Vec<u8>)> = rows.collect::<Result<_, _>>()?;
        let read = |(item, bytes): (i64, Vec<u8>)| {
            let (_, event) = codec::decode_event(&bytes).map_err(|error| damaged(run, error))?;
            Ok((item, event))
        };
        rows.into_iter().map(read).collect()
    }

    pub(crate) fn tell_outcome(&self, item: i64, outcome: &str) -> Result<(), Trouble> {
        let sql = "UPDATE inbox SET outcome = ?2 WHERE item = ?1 AND outcome IS NULL";
        Ok(self.db.prepare_cached(sql)?.execute(params![item, outcome]).map(drop)?)
    }
}
