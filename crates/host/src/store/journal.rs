//! The stored events and snapshots of runs, and their pending calls, timers and requests.

use branchpoint_core::{Command, EffectNo, Event, JournalRow, RequestNo, Stamp, State, TimerNo, codec};
use branchpoint_expr::Value;
use rusqlite::{Row, params};

use super::pack::Packed;
use super::{ApprovalRecord, Packing, RunNo, Store, StoreError};
use branchpoint_runners::Secrets;

/// The newest snapshot of a run, and the events after it.
#[derive(Debug, Default)]
pub(crate) struct StoredRun {
    pub(crate) state: State,
    /// The size of the snapshot in bytes.
    pub(crate) snapshot_bytes: usize,
    pub(crate) tail: Vec<JournalRow>,
    /// The size of the events after it in bytes.
    pub(crate) tail_bytes: usize,
}

impl Store {
    /// Reads the newest snapshot of a run and the events after it. A run without a snapshot has the initial state.
    pub(crate) fn stored_run(&self, run: RunNo, packing: &Packing) -> Result<StoredRun, StoreError> {
        let sql = "SELECT packed, bytes FROM snapshots WHERE run = ?1 ORDER BY seq DESC LIMIT 1";
        let mut stored = StoredRun::default();
        if let Some((packed, bytes)) = self.first(sql, [run.0], packed_row)? {
            stored.snapshot_bytes = bytes.len();
            stored.state = self.state(run, packing, packed, &bytes)?;
        }
        (stored.tail, stored.tail_bytes) = self.events_after(run, packing, stored.state.seq())?;
        Ok(stored)
    }

    /// All events of a run.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// let journal = store.journal(run).unwrap();
    /// assert!(matches!(journal[0], (_, Event::Start { .. }, _)));
    /// ```
    pub fn journal(&self, run: RunNo) -> Result<Vec<JournalRow>, StoreError> {
        self.journal_packed(run, &self.packing(run)?)
    }

    /// All events of a run, with the secrets of a given packing.
    pub(crate) fn journal_packed(&self, run: RunNo, packing: &Packing) -> Result<Vec<JournalRow>, StoreError> {
        self.events_after(run, packing, 0).map(|(events, _)| events)
    }

    /// The event that started a run.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert!(matches!(store.first_event(run).unwrap(), Some(Event::Start { .. })));
    /// ```
    pub fn first_event(&self, run: RunNo) -> Result<Option<Event>, StoreError> {
        self.first_event_packed(run, &self.packing(run)?)
    }

    /// The event that started a run, with the secrets of a given packing.
    pub(super) fn first_event_packed(&self, run: RunNo, packing: &Packing) -> Result<Option<Event>, StoreError> {
        let first = self.first("SELECT packed, bytes FROM events WHERE run = ?1 AND seq = 1", [run.0], packed_row)?;
        first.map(|(packed, bytes)| Ok(self.event(run, packing, packed, &bytes)?.1)).transpose()
    }

    /// The newest snapshot of a run for which `is_old` holds, or the initial state.
    pub(crate) fn snapshot_before(
        &self,
        run: RunNo,
        packing: &Packing,
        is_old: impl Fn(&State) -> bool,
    ) -> Result<State, StoreError> {
        let mut statement =
            self.db.prepare_cached("SELECT packed, bytes FROM snapshots WHERE run = ?1 ORDER BY seq DESC")?;
        let mut rows = statement.query([run.0])?;
        while let Some(row) = rows.next()? {
            let bytes = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
            let state = self.state(run, packing, row.get(0)?, bytes)?;
            if is_old(&state) {
                return Ok(state);
            }
        }
        Ok(State::new())
    }

    /// The events of a run after one of them, with their check words, and their size in bytes.
    pub(crate) fn events_after(
        &self,
        run: RunNo,
        packing: &Packing,
        seq: u64,
    ) -> Result<(Vec<JournalRow>, usize), StoreError> {
        let sql = "SELECT packed, bytes, mark FROM events WHERE run = ?1 AND seq > ?2 ORDER BY seq";
        let mut statement = self.db.prepare_cached(sql)?;
        let mut rows = statement.query(params![run.0, seq])?;
        let (mut events, mut size) = (Vec::new(), 0);
        while let Some(row) = rows.next()? {
            let bytes = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
            size += bytes.len();
            let (stamp, event) = self.event(run, packing, row.get(0)?, bytes)?;
            events.push((stamp, event, row.get(2)?));
        }
        Ok((events, size))
    }

    pub(super) fn event(
        &self,
        run: RunNo,
        packing: &Packing,
        packed: bool,
        bytes: &[u8],
    ) -> Result<(Stamp, Event), StoreError> {
        let (stamp, mut event) = codec::decode_event(bytes).map_err(|error| damaged(run, error))?;
        if packed {
            self.unpack_event(packing, &mut event)?;
        }
        Ok((stamp, event))
    }

    pub(super) fn state(&self, run: RunNo, packing: &Packing, packed: bool, bytes: &[u8]) -> Result<State, StoreError> {
        let mut state = codec::decode_state(bytes).map_err(|error| damaged(run, error))?;
        if packed {
            self.unpack_state(packing, &mut state)?;
        }
        Ok(state)
    }

    /// Writes a snapshot when the turn commits. Older snapshots are thinned out: one stays for each doubling of the distance, as a
    /// starting point for replays. Before the first snapshot there is nothing to thin out.
    pub(crate) fn put_snapshot_later(&self, run: RunNo, seq: u64, state: Packed, first: bool) {
        self.defer(run, move |store| store.write_snapshot(run, seq, &state, first));
    }

    fn write_snapshot(&self, run: RunNo, seq: u64, state: &Packed, first: bool) -> Result<(), StoreError> {
        let sql = "INSERT OR REPLACE INTO snapshots (run, seq, packed, bytes) VALUES (?1, ?2, ?3, ?4)";
        self.execute(sql, params![run.0, seq, state.packed, state.bytes])?;
        self.put_large_values(run, state)?;
        if first {
            return Ok(());
        }
        let sql = "SELECT seq FROM snapshots WHERE run = ?1 AND seq < ?2 ORDER BY seq DESC";
        let older: Vec<u64> = self.rows(sql, params![run.0, seq], |row| row.get(0))?;
        for dropped in thinned(seq, &older) {
            self.execute("DELETE FROM snapshots WHERE run = ?1 AND seq = ?2", params![run.0, dropped])?;
        }
        Ok(())
    }

    /// The pending calls of a run.
    pub(crate) fn pending(&self, run: RunNo, packing: &Packing) -> Result<Vec<Command>, StoreError> {
        let sql = "SELECT packed, bytes FROM outbox WHERE run = ?1 ORDER BY effect";
        let read = |(packed, bytes): (bool, Vec<u8>)| {
            let mut command = codec::decode_command(&bytes).map_err(|error| damaged(run, error))?;
            if packed {
                self.unpack_command(packing, &mut command)?;
            }
            Ok(command)
        };
        self.rows(sql, [run.0], packed_row)?.into_iter().map(read).collect()
    }

    /// The command of a pending call of a run. Placeholders of large and secret values stay.
    pub(crate) fn pending_effect(&self, run: RunNo, effect: EffectNo) -> Result<Option<Command>, StoreError> {
        let sql = "SELECT bytes FROM outbox WHERE run = ?1 AND effect = ?2";
        let bytes: Option<Vec<u8>> = self.first(sql, params![run.0, effect.0], |row| row.get(0))?;
        bytes.map(|bytes| codec::decode_command(&bytes).map_err(|error| damaged(run, error))).transpose()
    }

    pub(crate) fn set_timer(&self, run: RunNo, timer: TimerNo, due_ms: i64) {
        let sql = "INSERT OR REPLACE INTO timers (due_ms, run, timer) VALUES (?1, ?2, ?3)";
        self.execute_later(run, sql, (due_ms, run.0, timer.0));
    }

    pub(crate) fn clear_timer(&self, run: RunNo, timer: TimerNo, due_ms: i64) {
        let sql = "DELETE FROM timers WHERE due_ms = ?1 AND run = ?2 AND timer = ?3";
        self.execute_later(run, sql, (due_ms, run.0, timer.0));
    }

    /// Runs without a driver that have a timer due by that time, the earliest first. `skipped` is a JSON list of run numbers.
    pub(crate) fn due(&self, by_ms: i64, skipped: &str, limit: usize) -> Result<Vec<RunNo>, StoreError> {
        let sql = "SELECT DISTINCT timers.run FROM timers JOIN runs ON runs.run = timers.run
            WHERE due_ms <= ?1 AND owner IS NULL AND timers.run NOT IN (SELECT value FROM json_each(?2))
            ORDER BY due_ms LIMIT ?3";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.rows(sql, params![by_ms, skipped, limit], |row| row.get(0).map(RunNo))
    }

    /// When the first timer of the runs without a driver is due. `skipped` is a JSON list of run numbers.
    pub(crate) fn first_due_ms(&self, skipped: &str) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT due_ms FROM timers JOIN runs ON runs.run = timers.run
            WHERE owner IS NULL AND timers.run NOT IN (SELECT value FROM json_each(?1)) ORDER BY due_ms LIMIT 1";
        self.first(sql, [skipped], |row| row.get(0))
    }

    pub(crate) fn put_request(&self, run: RunNo, request: RequestNo, spec: Packed, now_ms: i64) {
        self.defer(run, move |store| {
            let sql =
                "INSERT OR REPLACE INTO requests (run, request, spec, packed, asked_ms) VALUES (?1, ?2, ?3, ?4, ?5)";
            store.execute(sql, params![run.0, request.0, spec.bytes, spec.packed, now_ms])?;
            store.put_large_values(run, &spec)
        });
    }

    pub(crate) fn remind(&self, run: RunNo, request: RequestNo) {
        let sql = "UPDATE requests SET reminded = reminded + 1 WHERE run = ?1 AND request = ?2";
        self.execute_later(run, sql, (run.0, request.0));
    }

    pub(crate) fn close_request(&self, run: RunNo, request: RequestNo, now_ms: i64) {
        let sql = "UPDATE requests SET closed_ms = ?3 WHERE run = ?1 AND request = ?2 AND closed_ms IS NULL";
        self.execute_later(run, sql, (run.0, request.0, now_ms));
    }

    /// The runs that have open requests. The requests themselves are not read, because one may be damaged.
    pub(super) fn runs_with_open_requests(&self) -> Result<Vec<RunNo>, StoreError> {
        self.rows("SELECT DISTINCT run FROM requests WHERE closed_ms IS NULL", [], |row| row.get(0).map(RunNo))
    }

    /// All requests of a run to people, in order.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert!(store.approval_records(run).unwrap().is_empty());
    /// ```
    pub fn approval_records(&self, run: RunNo) -> Result<Vec<ApprovalRecord>, StoreError> {
        let sql = "SELECT run, request, spec, packed, asked_ms, reminded, closed_ms FROM requests
            WHERE run = ?1 ORDER BY request";
        let read = |(mut record, packed, bytes): (ApprovalRecord, bool, Vec<u8>)| {
            record.spec = codec::decode_value(&bytes).map_err(|error| damaged(run, error))?;
            if packed {
                self.unpack_value(&self.packing(run)?, &mut record.spec)?;
            }
            Ok(record)
        };
        self.rows(sql, [run.0], request_row)?.into_iter().map(read).collect()
    }

    /// The sealed secrets of a run, which output must mask: secret inputs, and secrets of the environment that appeared in its data.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert!(store.secrets(run).unwrap().values().is_empty());
    /// ```
    pub fn secrets(&self, run: RunNo) -> Result<Secrets, StoreError> {
        Ok(Secrets::from_values(self.packing(run)?.secrets.to_vec()))
    }

    /// The packing that reads the values of a run. Without the key, its secrets are unavailable and shown as `***`.
    pub(crate) fn packing(&self, run: RunNo) -> Result<Packing, StoreError> {
        match self.packing_with_key(run) {
            Err(StoreError::Sealed(why)) => Ok(Packing::unavailable_secrets(why)),
            packing => packing,
        }
    }

    /// The packing of a run that is driven, whose secrets must be available.
    pub(crate) fn packing_with_key(&self, run: RunNo) -> Result<Packing, StoreError> {
        let sealed = self.sealed(run)?;
        if sealed.is_empty() {
            return Ok(Packing::default());
        }
        Ok(Packing::new(super::Key::of(self)?.opened(&sealed)?))
    }

    /// Why the secrets of a run cannot be read; `None` if they can, or if it has none.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert_eq!(store.unavailable_secrets(run).unwrap(), None);
    /// ```
    pub fn unavailable_secrets(&self, run: RunNo) -> Result<Option<String>, StoreError> {
        Ok(self.packing(run)?.unavailable_secrets.as_deref().map(ToOwned::to_owned))
    }
}

fn packed_row(row: &Row<'_>) -> rusqlite::Result<(bool, Vec<u8>)> {
    Ok((row.get(0)?, row.get(1)?))
}

fn request_row(row: &Row<'_>) -> rusqlite::Result<(ApprovalRecord, bool, Vec<u8>)> {
    let record = ApprovalRecord {
        run: RunNo(row.get(0)?),
        request: RequestNo(row.get(1)?),
        spec: Value::Null,
        requested_ms: row.get(4)?,
        reminded: row.get(5)?,
        closed_ms: row.get(6)?,
    };
    Ok((record, row.get(3)?, row.get(2)?))
}

pub(super) fn damaged(run: RunNo, error: codec::CodecError) -> StoreError {
    StoreError::Bytes { run: run.0.to_string(), error }
}

/// The older snapshots to remove, because they are too close together. `older` begins with the newest.
fn thinned(newest: u64, older: &[u64]) -> Vec<u64> {
    let mut dropped = Vec::new();
    let mut last_kept = newest;
    for (index, seq) in older.iter().enumerate() {
        // The next older one must stay, so that no event is farther from a snapshot than twice its distance.
        let next = older.get(index + 1).copied().unwrap_or(0);
        if last_kept - next <= (newest - last_kept).max(1) && index + 1 < older.len() {
            dropped.push(*seq);
        } else {
            last_kept = *seq;
        }
    }
    dropped
}
