//! What happened in a run, and what is left of it to be done.

use branchpoint_core::{Command, EffectNo, Event, JournalRow, RequestNo, Stamp, State, TimerNo, codec};
use branchpoint_expr::Value;
use rusqlite::{Row, params};

use super::pack::Packed;
use super::{ApprovalRecord, Packing, RunNo, Store, StoreError};
use branchpoint_runners::Secrets;

/// What the store keeps of a run: its newest snapshot, and what came after it.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) state: State,
    /// How many bytes the snapshot has.
    pub(crate) snapshot_bytes: usize,
    pub(crate) tail: Vec<JournalRow>,
    /// How many bytes the events after it have.
    pub(crate) tail_bytes: usize,
}

impl Store {
    /// The state at the newest snapshot, or that of a run that has not begun, and the events since.
    pub(crate) fn kept(&self, run: RunNo, packing: &Packing) -> Result<Kept, StoreError> {
        let sql = "SELECT packed, bytes FROM snapshots WHERE run = ?1 ORDER BY seq DESC LIMIT 1";
        let mut kept = Kept::default();
        if let Some((packed, bytes)) = self.first(sql, [run.0], packed_row)? {
            kept.snapshot_bytes = bytes.len();
            kept.state = self.state(run, packing, packed, &bytes)?;
        }
        (kept.tail, kept.tail_bytes) = self.events_after(run, packing, kept.state.seq())?;
        Ok(kept)
    }

    /// Every event of a run, from the first on.
    pub fn journal(&self, run: RunNo) -> Result<Vec<JournalRow>, StoreError> {
        self.journal_packed(run, &self.packing(run)?)
    }

    /// The same, with secrets as that packing has them.
    pub(crate) fn journal_packed(&self, run: RunNo, packing: &Packing) -> Result<Vec<JournalRow>, StoreError> {
        self.events_after(run, packing, 0).map(|(events, _)| events)
    }

    /// The event that started a run.
    pub(super) fn first_event(&self, run: RunNo, packing: &Packing) -> Result<Option<Event>, StoreError> {
        let found = self.first("SELECT packed, bytes FROM events WHERE run = ?1 AND seq = 1", [run.0], packed_row)?;
        found.map(|(packed, bytes)| Ok(self.event(run, packing, packed, &bytes)?.1)).transpose()
    }

    /// The newest snapshot of a run that is as old as is asked for, or the state of a run that has not begun.
    pub(crate) fn snapshot_before(
        &self,
        run: RunNo,
        packing: &Packing,
        is_old: impl Fn(&State) -> bool,
    ) -> Result<State, StoreError> {
        let mut found =
            self.db.prepare_cached("SELECT packed, bytes FROM snapshots WHERE run = ?1 ORDER BY seq DESC")?;
        let mut rows = found.query([run.0])?;
        while let Some(row) = rows.next()? {
            let bytes = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
            let state = self.state(run, packing, row.get(0)?, bytes)?;
            if is_old(&state) {
                return Ok(state);
            }
        }
        Ok(State::new())
    }

    /// The events of a run after one of them, with their check words, and the bytes that they have.
    pub(crate) fn events_after(
        &self,
        run: RunNo,
        packing: &Packing,
        seq: u64,
    ) -> Result<(Vec<JournalRow>, usize), StoreError> {
        let sql = "SELECT packed, bytes, mark FROM events WHERE run = ?1 AND seq > ?2 ORDER BY seq";
        let mut found = self.db.prepare_cached(sql)?;
        let mut rows = found.query(params![run.0, seq])?;
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

    /// Keeps a snapshot. Older ones are thinned: one stays for each doubling of the distance, as starting points for whoever
    /// looks back. Where this is the first, there is nothing to thin.
    pub(crate) fn keep_snapshot(&self, run: RunNo, seq: u64, state: Packed, first: bool) {
        self.defer(run, move |store| store.write_snapshot(run, seq, &state, first));
    }

    fn write_snapshot(&self, run: RunNo, seq: u64, state: &Packed, first: bool) -> Result<(), StoreError> {
        let sql = "INSERT OR REPLACE INTO snapshots (run, seq, packed, bytes) VALUES (?1, ?2, ?3, ?4)";
        self.execute(sql, params![run.0, seq, state.packed, state.bytes])?;
        self.keep_apart(run, state)?;
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

    /// The calls that a run waits for.
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

    /// The command of a call that a run waits for. Values that are kept apart stay so.
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

    /// Runs that nobody drives and that a timer wakes by then, the earliest first, without those in a JSON list of numbers.
    pub(crate) fn due(&self, by_ms: i64, skipped: &str, limit: usize) -> Result<Vec<RunNo>, StoreError> {
        let sql = "SELECT DISTINCT timers.run FROM timers JOIN runs ON runs.run = timers.run
            WHERE due_ms <= ?1 AND owner IS NULL AND timers.run NOT IN (SELECT value FROM json_each(?2))
            ORDER BY due_ms LIMIT ?3";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.rows(sql, params![by_ms, skipped, limit], |row| row.get(0).map(RunNo))
    }

    /// When the first timer of a run that nobody drives is due, without those in a JSON list of numbers.
    pub(crate) fn first_due_ms(&self, skipped: &str) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT due_ms FROM timers JOIN runs ON runs.run = timers.run
            WHERE owner IS NULL AND timers.run NOT IN (SELECT value FROM json_each(?1)) ORDER BY due_ms LIMIT 1";
        self.first(sql, [skipped], |row| row.get(0))
    }

    pub(crate) fn put_question(&self, run: RunNo, request: RequestNo, spec: Packed, now_ms: i64) {
        self.defer(run, move |store| {
            let sql =
                "INSERT OR REPLACE INTO requests (run, request, spec, packed, asked_ms) VALUES (?1, ?2, ?3, ?4, ?5)";
            store.execute(sql, params![run.0, request.0, spec.bytes, spec.packed, now_ms])?;
            store.keep_apart(run, &spec)
        });
    }

    pub(crate) fn remind(&self, run: RunNo, request: RequestNo) {
        let sql = "UPDATE requests SET reminded = reminded + 1 WHERE run = ?1 AND request = ?2";
        self.execute_later(run, sql, (run.0, request.0));
    }

    pub(crate) fn close_question(&self, run: RunNo, request: RequestNo, now_ms: i64) {
        let sql = "UPDATE requests SET closed_ms = ?3 WHERE run = ?1 AND request = ?2 AND closed_ms IS NULL";
        self.execute_later(run, sql, (run.0, request.0, now_ms));
    }

    /// The runs that have open questions. The questions themselves are not read: one may be damaged.
    pub(super) fn runs_with_open_questions(&self) -> Result<Vec<RunNo>, StoreError> {
        self.rows("SELECT DISTINCT run FROM requests WHERE closed_ms IS NULL", [], |row| row.get(0).map(RunNo))
    }

    /// All questions of a run, in order.
    pub fn approval_records(&self, run: RunNo) -> Result<Vec<ApprovalRecord>, StoreError> {
        let sql = "SELECT run, request, spec, packed, asked_ms, reminded, closed_ms FROM requests
            WHERE run = ?1 ORDER BY request";
        let read = |(mut question, packed, bytes): (ApprovalRecord, bool, Vec<u8>)| {
            question.spec = codec::decode_value(&bytes).map_err(|error| damaged(run, error))?;
            if packed {
                self.unpack_value(&self.packing(run)?, &mut question.spec)?;
            }
            Ok(question)
        };
        self.rows(sql, [run.0], question_row)?.into_iter().map(read).collect()
    }

    /// What is sealed of a run, for whoever must not show it: secret inputs, and secrets of the environment that came up.
    pub fn secrets(&self, run: RunNo) -> Result<Secrets, StoreError> {
        Ok(Secrets::from_values(self.packing(run)?.secrets.to_vec()))
    }

    /// How the values of a run are read. Without their key, its secrets are unavailable and shown as `***`.
    pub(crate) fn packing(&self, run: RunNo) -> Result<Packing, StoreError> {
        match self.packing_with_key(run) {
            Err(StoreError::Sealed(why)) => Ok(Packing::unavailable_secrets(why)),
            packing => packing,
        }
    }

    /// The same for whoever goes on with the run: its secrets must be there.
    pub(crate) fn packing_with_key(&self, run: RunNo) -> Result<Packing, StoreError> {
        let sealed = self.sealed(run)?;
        if sealed.is_empty() {
            return Ok(Packing::default());
        }
        Ok(Packing::new(super::Key::of(self)?.opened(&sealed)?))
    }

    /// Why the secrets of a run cannot be read; none if they can, or if it has none.
    pub fn unavailable_secrets(&self, run: RunNo) -> Result<Option<String>, StoreError> {
        Ok(self.packing(run)?.unavailable_secrets.as_deref().map(ToOwned::to_owned))
    }
}

fn packed_row(row: &Row<'_>) -> rusqlite::Result<(bool, Vec<u8>)> {
    Ok((row.get(0)?, row.get(1)?))
}

fn question_row(row: &Row<'_>) -> rusqlite::Result<(ApprovalRecord, bool, Vec<u8>)> {
    let question = ApprovalRecord {
        run: RunNo(row.get(0)?),
        request: RequestNo(row.get(1)?),
        spec: Value::Null,
        requested_ms: row.get(4)?,
        reminded: row.get(5)?,
        closed_ms: row.get(6)?,
    };
    Ok((question, row.get(3)?, row.get(2)?))
}

pub(super) fn damaged(run: RunNo, error: codec::CodecError) -> StoreError {
    StoreError::Bytes { run: run.0.to_string(), error }
}

/// Which of the older snapshots, the newest first, are too close together to be of use.
fn thinned(newest: u64, older: &[u64]) -> Vec<u64> {
    let mut dropped = Vec::new();
    let mut kept = newest;
    for (index, seq) in older.iter().enumerate() {
        // The next older one must be there, so that nothing is farther than twice its distance.
        let next = older.get(index + 1).copied().unwrap_or(0);
        if kept - next <= (newest - kept).max(1) && index + 1 < older.len() {
            dropped.push(*seq);
        } else {
            kept = *seq;
        }
    }
    dropped
}
