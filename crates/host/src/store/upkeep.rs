//! Maintenance of a store: pruning of ended runs, compaction, and online backups.

use std::fs;
use std::path::{Path, PathBuf};

use branchpoint_core::ir::Status;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, params};

use super::permissions::private_file;
use super::{Prune, Pruned, RunNo, Store, StoreError};

/// The number of runs that one transaction examines, so that processes that drive runs do not wait long for the store.
const RUNS_PER_TRANSACTION: usize = 50;

/// The tables with rows of runs. Timers are removed when a run ends.
const TABLES: [&str; 13] = [
    "attachments",
    "events",
    "snapshots",
    "outbox",
    "requests",
    "notices",
    "signals",
    "inbox",
    "sealed",
    "run_scripts",
    "script_used",
    "storage_writes",
    "blob_uses",
];

impl Store {
    /// Removes ended runs with their child runs, and large values that no run refers to any more.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// let which = Prune { before_ms: 10, statuses: Vec::new(), dry_run: true };
    /// assert_eq!(store.prune(&which).unwrap().runs, 1);
    /// ```
    pub fn prune(&self, which: &Prune) -> Result<Pruned, StoreError> {
        let mut pruned = Pruned::default();
        let mut after = RunNo(0);
        while let Some(last) = self.change(|| self.prune_some(which, after, &mut pruned))? {
            after = last;
        }
        Ok(pruned)
    }

    /// Prunes the next runs. Returns the last of them, or `None` if there are no more.
    fn prune_some(&self, which: &Prune, after: RunNo, pruned: &mut Pruned) -> Result<Option<RunNo>, StoreError> {
        let statuses = if which.statuses.is_empty() { &Status::ALL[..] } else { &which.statuses };
        let words: Vec<String> =
            statuses.iter().filter(|status| status.is_final()).map(|status| format!("'{}'", status.as_str())).collect();
        let sql = format!(
            "SELECT run FROM runs WHERE run > ?1 AND parent IS NULL AND touched_ms < ?2 AND status IN ({})
            ORDER BY run LIMIT {RUNS_PER_TRANSACTION}",
            words.join(", ")
        );
        let roots: Vec<i64> = self.rows(&sql, params![after.0, which.before_ms], |row| row.get(0))?;
        for root in &roots {
            match self.ended_tree(*root)? {
                Some(tree) => self.remove(&tree, which.dry_run, pruned)?,
                None => pruned.skipped += 1,
            }
        }
        if !roots.is_empty() && !which.dry_run {
            // All at once, because sessions have no index by run. A run number may be used again.
            self.execute("DELETE FROM sessions WHERE run NOT IN (SELECT run FROM runs)", [])?;
        }
        Ok(roots.last().copied().map(RunNo))
    }

    /// A run with its descendants; `None` if one of them has not ended.
    fn ended_tree(&self, root: i64) -> Result<Option<Vec<i64>>, StoreError> {
        let sql = "WITH RECURSIVE tree (run) AS (
                VALUES (?1) UNION ALL SELECT runs.run FROM runs JOIN tree ON runs.parent = tree.run
            ) SELECT tree.run, status IN ('completed', 'failed', 'cancelled') FROM tree JOIN runs ON runs.run = tree.run";
        let tree = self.rows(sql, [root], |row| Ok(row.get::<_, bool>(1)?.then_some(row.get(0)?)))?;
        Ok(tree.into_iter().collect())
    }

    fn remove(&self, tree: &[i64], dry_run: bool, pruned: &mut Pruned) -> Result<(), StoreError> {
        for run in tree {
            pruned.runs += 1;
            let sql = "SELECT count(*) FROM events WHERE run = ?1";
            pruned.events += self.value::<u64>(sql, [run])?;
            let used = self.blobs_of(*run)?;
            if dry_run {
                continue;
            }
            for table in TABLES {
                self.execute(&format!("DELETE FROM {table} WHERE run = ?1"), [run])?;
            }
            self.execute("DELETE FROM run_index WHERE rowid = ?1", [run])?;
            self.execute("DELETE FROM runs WHERE run = ?1", [run])?;
            for hash in used {
                let sql = "DELETE FROM blobs WHERE hash = ?1
                    AND NOT EXISTS (SELECT 1 FROM blob_uses WHERE blob_uses.hash = ?1)";
                pruned.blobs += self.execute(sql, [hash])? as u64;
            }
        }
        Ok(())
    }

    fn blobs_of(&self, run: i64) -> Result<Vec<Vec<u8>>, StoreError> {
        self.rows("SELECT hash FROM blob_uses WHERE run = ?1", [run], |row| row.get(0))
    }

    /// The number of events of a run, and their size in bytes.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// let (events, bytes) = store.journal_size(run).unwrap();
    /// assert!(events == 1 && bytes > 0);
    /// ```
    pub fn journal_size(&self, run: RunNo) -> Result<(u64, u64), StoreError> {
        let sql = "SELECT count(*), coalesce(sum(length(bytes)), 0) FROM events WHERE run = ?1";
        Ok(self.db.query_row(sql, [run.0], |row| Ok((row.get(0)?, row.get(1)?)))?)
    }

    /// Moves the write-ahead log into the file and empties it. With `rewrite`, first rewrites the file without the space of removed
    /// runs. Returns false if a part of the log is left, because another process reads it.
    ///
    /// ```
    /// use branchpoint_host::store::*;
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let path = folder.path().join("store.db");
    /// assert!(Store::open(&path, Durability::Full).unwrap().compact(true).unwrap());
    /// ```
    pub fn compact(&self, rewrite: bool) -> Result<bool, StoreError> {
        if rewrite {
            self.db.execute_batch("VACUUM")?;
        }
        Ok(self.value::<i64>("PRAGMA wal_checkpoint(TRUNCATE)", [])? == 0)
    }

    /// Copies the store into a new file, while other processes may write. Returns whether there is a key of sealed secrets, which is not
    /// part of the copy.
    ///
    /// ```
    /// use branchpoint_host::store::*;
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let path = folder.path().join("store.db");
    /// let store = Store::open(&path, Durability::Full).unwrap();
    /// let copy = folder.path().join("copy.db");
    /// store.backup(&copy).unwrap();
    /// assert!(Store::read_only(&copy).is_ok());
    /// ```
    pub fn backup(&self, to: &Path) -> Result<bool, StoreError> {
        let file_error = |error| StoreError::File { path: to.into(), error };
        if to.exists() {
            return Err(file_error(std::io::Error::from(std::io::ErrorKind::AlreadyExists)));
        }
        // The file appears under its name when it is complete.
        let unfinished = with_suffix(to, ".unfinished");
        let copied = self.copy_to(&unfinished).and_then(|()| fs::rename(&unfinished, to).map_err(file_error));
        if copied.is_err() {
            // An incomplete copy is of no use.
            let _ = fs::remove_file(&unfinished);
        }
        copied.map(|()| self.key_path().is_some_and(|key| key.is_file()))
    }

    fn copy_to(&self, path: &Path) -> Result<(), StoreError> {
        let file_error = |error| StoreError::File { path: path.into(), error };
        match fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(file_error(error)),
            _ => {}
        }
        drop(private_file(path).map_err(file_error)?);
        let mut copy = Connection::open(path)?;
        let backup = Backup::new(&self.db, &mut copy)?;
        // All pages in one step: readers do not block writers, and a backup in steps restarts after every write.
        loop {
            match backup.step(-1)? {
                StepResult::Done => break,
                _ => std::thread::sleep(super::LOCK_TIMEOUT / 1_000),
            }
        }
        drop(backup);
        // A single file without a log is easier to move.
        copy.pragma_update(None, "journal_mode", "delete")?;
        copy.close().map_err(|(_, error)| error)?;
        Ok(())
    }
}

/// A path with a suffix after its file name.
pub(super) fn with_suffix(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
