//! The scripts of runs: stored by content, so that every process that continues a run has the same answers.

use branchpoint_core::codec;
use branchpoint_expr::Value;
use rusqlite::{OptionalExtension, params};

use super::journal::damaged;
use super::pack::Packed;
use super::workflows::hash;
use super::{RunNo, Store, Trouble};
use crate::script::RECORDED;
use branchpoint_runners::hexadecimal;

/// The script of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunScript {
    /// The hash of its stored form, in hexadecimal.
    pub hash: String,
    /// The script.
    pub script: Value,
    /// The used answers at `from_position`, as [`crate::Script::position`] lists them.
    pub(crate) used: Option<Value>,
    /// The place in the journal from which on events use answers that are not in `used`.
    pub(crate) from_position: i64,
    /// When somebody continued the run without the script.
    pub live_ms: Option<i64>,
}

impl RunScript {
    /// Whether the script is a recording, which answers every call and every question.
    pub fn is_recorded(&self) -> bool {
        self.script.get(RECORDED).is_some()
    }
}

impl Store {
    /// The script of a run, or of the root run that has called it. None: its calls are executed.
    pub fn script(&self, run: RunNo) -> Result<Option<RunScript>, Trouble> {
        let root = self.root_of(run)?;
        let sql = "SELECT run_scripts.hash, packed, from_position, used, live_ms, bytes
            FROM run_scripts JOIN blobs ON blobs.hash = run_scripts.hash WHERE run = ?1";
        let found = self.db.prepare_cached(sql)?.query_row([root.0], |row| {
            let used: Option<String> = row.get(3)?;
            let script = RunScript {
                hash: hexadecimal(row.get_ref(0)?.as_blob()?),
                script: Value::Null,
                used: used.map(|used| serde_json::from_str(&used).unwrap_or_default()),
                from_position: row.get(2)?,
                live_ms: row.get(4)?,
            };
            Ok((script, row.get::<_, bool>(1)?, row.get::<_, Vec<u8>>(5)?))
        });
        let Some((mut script, packed, bytes)) = found.optional()? else { return Ok(None) };
        script.script = codec::decode_value(&bytes).map_err(|error| damaged(root, error))?;
        if packed {
            self.unpack_value(&self.packing(root)?, &mut script.script)?;
        }
        Ok(Some(script))
    }

    /// Whether a script answers the calls of a run.
    pub fn is_scripted(&self, run: RunNo) -> Result<bool, Trouble> {
        let sql = "SELECT EXISTS (SELECT 1 FROM run_scripts WHERE run = ?1 AND live_ms IS NULL)";
        let root = self.root_of(run)?;
        Ok(self.db.prepare_cached(sql)?.query_row([root.0], |row| row.get(0))?)
    }

    /// Binds a script to a root run that is in the store, inside a transaction. Answers for events up to now are those in `used`.
    pub(crate) fn rebind_script(&self, run: RunNo, script: &Packed, used: Option<&Value>) -> Result<(), Trouble> {
        let sql = "SELECT coalesce(max(position), 0) FROM events";
        let from_position = self.db.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        self.write_script(run, script, from_position, used.map(|used| format!("{used:?}")).as_deref())
    }

    /// Binds a script to a root run that is new in this turn, when the turn commits. Answers for its first `events` events are those
    /// in `used`.
    pub(crate) fn bind_script(&self, run: RunNo, script: Packed, events: u64, used: Option<&Value>) {
        let used = used.map(|used| format!("{used:?}"));
        self.defer(run, move |store| {
            let from_position = if events == 0 { 0 } else { store.position_of(run, events)? };
            store.write_script(run, &script, from_position, used.as_deref())
        });
    }

    pub(super) fn write_script(
        &self,
        run: RunNo,
        script: &Packed,
        from: i64,
        used: Option<&str>,
    ) -> Result<(), Trouble> {
        self.keep_apart(run, script)?;
        let digest = hash([script.bytes.as_slice()]);
        let sql = "INSERT OR IGNORE INTO blobs (hash, bytes) VALUES (?1, ?2)";
        self.db.prepare_cached(sql)?.execute(params![digest, script.bytes])?;
        let sql = "INSERT OR IGNORE INTO blob_uses (run, hash) VALUES (?1, ?2)";
        self.db.prepare_cached(sql)?.execute(params![run.0, digest])?;
        let sql = "INSERT OR REPLACE INTO run_scripts (run, hash, packed, from_position, used)
            VALUES (?1, ?2, ?3, ?4, ?5)";
        Ok(self.db.prepare_cached(sql)?.execute(params![run.0, digest, script.packed, from, used]).map(drop)?)
    }

    /// The place of the newest event in the journal of all runs.
    pub(super) fn last_position(&self) -> Result<i64, Trouble> {
        let sql = "SELECT coalesce(max(position), 0) FROM events";
        Ok(self.db.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
    }

    /// The place in the journal of all runs of an event of a run.
    pub(crate) fn position_of(&self, run: RunNo, seq: u64) -> Result<i64, Trouble> {
        let sql = "SELECT coalesce(max(position), 0) FROM events WHERE run = ?1 AND seq <= ?2";
        Ok(self.db.prepare_cached(sql)?.query_row(params![run.0, seq], |row| row.get(0))?)
    }

    /// From now on the calls of a scripted root run are executed. The script stays on record.
    pub(crate) fn set_live(&self, run: RunNo, now_ms: i64) -> Result<(), Trouble> {
        let sql = "UPDATE run_scripts SET live_ms = ?2 WHERE run = ?1 AND live_ms IS NULL";
        Ok(self.db.prepare_cached(sql)?.execute(params![run.0, now_ms]).map(drop)?)
    }

    /// The same for a run that is new in this turn, when the turn commits.
    pub(crate) fn set_live_later(&self, run: RunNo, now_ms: i64) {
        self.defer(run, move |store| store.set_live(run, now_ms));
    }
}
