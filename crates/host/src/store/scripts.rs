//! The scripts of runs: stored by content, so that every process that continues a run has the same answers.

use std::sync::Arc;

use branchpoint_backend::RunScript;
use branchpoint_core::codec;
use branchpoint_expr::Value;
use rusqlite::params;

use super::journal::damaged;
use super::pack::Packed;
use super::workflows::hash;
use super::{RunNo, Store, StoreError};
use crate::script::{EntryKey, RECORDED};
use branchpoint_runners::hexadecimal;

/// A used entry of a script, and the call or request that used it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UsedEntry {
    pub(crate) entry: EntryKey,
    pub(crate) taker: Taker,
}

/// The call or the request that used an entry of a script. Entries that were used before the script was bound have no run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Taker {
    pub(crate) run: RunNo,
    /// The event that requested the call.
    pub(crate) seq: u64,
    /// The number of the effect or of the request.
    pub(crate) number: u64,
    /// The attempt; 0 for a request.
    pub(crate) attempt: u32,
}

impl Store {
    /// The script of a run, or of its root run. `None` means that its calls are executed.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert!(store.script(run).unwrap().is_none());
    /// ```
    pub fn script(&self, run: RunNo) -> Result<Option<RunScript>, StoreError> {
        let root = self.root_of(run)?;
        let sql = "SELECT run_scripts.hash, packed, live_ms, bytes
            FROM run_scripts JOIN blobs ON blobs.hash = run_scripts.hash WHERE run = ?1";
        let script = self.first(sql, [root.0], |row| {
            let hash = hexadecimal(row.get_ref(0)?.as_blob()?);
            let script = RunScript { hash, script: Value::Null, is_recorded: false, live_ms: row.get(2)? };
            Ok((script, row.get::<_, bool>(1)?, row.get::<_, Vec<u8>>(3)?))
        })?;
        let Some((mut script, packed, bytes)) = script else { return Ok(None) };
        script.script = codec::decode_value(&bytes).map_err(|error| damaged(root, error))?;
        if packed {
            self.unpack_value(&self.packing(root)?, &mut script.script)?;
        }
        script.is_recorded = script.script.get(RECORDED).is_some();
        Ok(Some(script))
    }

    /// Whether a script answers the calls of a run.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert!(!store.is_scripted(run).unwrap());
    /// ```
    pub fn is_scripted(&self, run: RunNo) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM run_scripts WHERE run = ?1 AND live_ms IS NULL)";
        let root = self.root_of(run)?;
        self.value(sql, [root.0])
    }

    /// Binds a script to a root run that is new in this turn when the turn commits. The entries `used` are already used.
    pub(crate) fn bind_script(&self, run: RunNo, script: Packed, used: Vec<UsedEntry>) {
        self.defer(run, move |store| store.write_script(run, &script, &used));
    }

    /// Binds a script to a root run within a transaction. The entries `used` are already used.
    pub(crate) fn write_script(&self, run: RunNo, script: &Packed, used: &[UsedEntry]) -> Result<(), StoreError> {
        self.put_large_values(run, script)?;
        let digest = hash([script.bytes.as_slice()]);
        self.put_blob(run, &digest, &script.bytes)?;
        let sql = "INSERT OR REPLACE INTO run_scripts (run, hash, packed) VALUES (?1, ?2, ?3)";
        self.execute(sql, params![run.0, digest, script.packed])?;
        self.execute("DELETE FROM script_used WHERE run = ?1", [run.0])?;
        used.iter().try_for_each(|used| self.insert_used(run, used))
    }

    /// Marks an entry of the script of a root run as used when the turn commits.
    pub(crate) fn use_entry(&self, root: RunNo, used: UsedEntry) {
        self.defer(used.taker.run, move |store| store.insert_used(root, &used));
    }

    fn insert_used(&self, root: RunNo, UsedEntry { entry, taker }: &UsedEntry) -> Result<(), StoreError> {
        // The last entry of a list may answer many calls; the first of them is recorded.
        let sql = "INSERT OR IGNORE INTO script_used (run, step, path, entry, taker, seq, effect, attempt)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        let Taker { run, seq, number, attempt } = taker;
        let values = params![root.0, &*entry.step, &*entry.path, entry.index, run.0, seq, number, attempt];
        self.execute(sql, values).map(drop)
    }

    /// The used entries of the script of a root run.
    pub(crate) fn used_entries(&self, root: RunNo) -> Result<Vec<UsedEntry>, StoreError> {
        let sql = "SELECT step, path, entry, taker, seq, effect, attempt FROM script_used WHERE run = ?1
            ORDER BY step, path, entry";
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement.query_map([root.0], |row| {
            let text = |at: usize| Ok::<Arc<str>, rusqlite::Error>(row.get::<_, String>(at)?.into());
            let entry = EntryKey { step: text(0)?, path: text(1)?, index: row.get(2)? };
            let taker = Taker { run: RunNo(row.get(3)?), seq: row.get(4)?, number: row.get(5)?, attempt: row.get(6)? };
            Ok(UsedEntry { entry, taker })
        })?;
        let damaged = |error: rusqlite::Error| match error {
            error @ (rusqlite::Error::SqliteFailure(..) | rusqlite::Error::SqliteSingleThreadedMode) => {
                StoreError::Sql(error)
            }
            // The row has an invalid value.
            error => StoreError::Script {
                run: root.0.to_string(),
                reason: format!("the record of its used entries is damaged: {error}"),
            },
        };
        rows.collect::<Result<_, _>>().map_err(damaged)
    }

    /// The position of an event of a run in the journal of all runs.
    pub(crate) fn position_of(&self, run: RunNo, seq: u64) -> Result<i64, StoreError> {
        self.value("SELECT coalesce(max(position), 0) FROM events WHERE run = ?1 AND seq <= ?2", params![run.0, seq])
    }

    /// Executes the calls of a scripted root run from now on. The script stays stored.
    pub(crate) fn set_live(&self, run: RunNo, now_ms: i64) -> Result<(), StoreError> {
        let sql = "UPDATE run_scripts SET live_ms = ?2 WHERE run = ?1 AND live_ms IS NULL";
        self.execute(sql, params![run.0, now_ms]).map(drop)
    }

    /// Does the same for a run that is new in this turn, when the turn commits.
    pub(crate) fn set_live_later(&self, run: RunNo, now_ms: i64) {
        self.defer(run, move |store| store.set_live(run, now_ms));
    }
}
