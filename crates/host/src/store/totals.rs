//! Totals of runs, kept up to date by triggers, so that reading them does not count runs.

use branchpoint_core::ir::Status;
use rusqlite::params;

use super::{HourCount, Store, StoreError};

/// The length of an hour.
const HOUR_MS: i64 = 3_600_000;

impl Store {
    /// The number of runs of each status, child runs included. Workflows of sessions are not counted.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert_eq!(store.counts().unwrap(), [("completed".to_owned(), 1)]);
    /// ```
    pub fn counts(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let sql = "SELECT status, sum(runs) FROM run_totals WHERE name NOT IN (SELECT document FROM sessions)
            GROUP BY status HAVING sum(runs) > 0";
        self.rows(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// The number of runs of each status without child runs, of one workflow or of all. Workflows of sessions are not counted.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// let totals = store.totals(None).unwrap();
    /// assert!(totals.contains(&(Status::Completed, 1)));
    /// ```
    pub fn totals(&self, workflow: Option<&str>) -> Result<Vec<(Status, u64)>, StoreError> {
        let sql = "SELECT coalesce(sum(runs), 0) FROM run_totals
            WHERE is_child = 0 AND status = ?1 AND (?2 IS NULL OR name = ?2) AND name NOT IN (SELECT document FROM sessions)";
        let total = |status: Status| Ok((status, self.value(sql, params![status.as_str(), workflow])?));
        Status::ALL.into_iter().map(total).collect()
    }

    /// What happened in each hour since a time, oldest first. The first hour is counted whole. Workflows of sessions are not counted.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert_eq!(store.hourly(0, None).unwrap()[0].completed, 1);
    /// ```
    pub fn hourly(&self, since_ms: i64, workflow: Option<&str>) -> Result<Vec<HourCount>, StoreError> {
        let sql =
            "SELECT hour_ms, sum(started), sum(completed), sum(failed), sum(cancelled), sum(decisions) FROM run_hours
            WHERE hour_ms >= ?1 AND (?2 IS NULL OR name = ?2) AND name NOT IN (SELECT document FROM sessions) GROUP BY hour_ms ORDER BY hour_ms";
        self.rows(sql, params![hour_of(since_ms), workflow], |row| {
            Ok(HourCount {
                hour_ms: row.get(0)?,
                started: row.get(1)?,
                completed: row.get(2)?,
                failed: row.get(3)?,
                cancelled: row.get(4)?,
                decisions: row.get(5)?,
            })
        })
    }

    /// Writes the last decision of a run, and counts its decisions.
    pub(super) fn write_decisions(&self, run: i64, at_ms: i64, count: u64, last: &str) -> Result<(), StoreError> {
        let sql = "UPDATE runs SET decision = ?2 WHERE run = ?1 RETURNING workflow_name";
        let name: Option<String> = self.first(sql, params![run, last], |row| row.get(0))?;
        let Some(name) = name else { return Ok(()) };
        let sql = "INSERT INTO run_hours (hour_ms, name, decisions) VALUES (?1, ?2, ?3)
            ON CONFLICT DO UPDATE SET decisions = decisions + excluded.decisions";
        self.execute(sql, params![hour_of(at_ms), name, count]).map(drop)
    }
}

/// The beginning of the hour of a time.
fn hour_of(at_ms: i64) -> i64 {
    at_ms - at_ms % HOUR_MS
}
