//! What keeps a store small and safe: runs that nobody needs any more are forgotten, and a copy is made while others write.

use std::fs;
use std::path::{Path, PathBuf};

use branchpoint_core::ir::Status;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, params};

use super::permissions::private_file;
use super::{Prune, Pruned, RunNo, Store, StoreError};

/// How many runs are looked at in one change, so that nobody who drives runs waits long for the store.
const RUNS_A_CHANGE: usize = 50;

/// Everything that a run has beside its row. Its timers went when it ended.
const TABLES: [&str; 14] = [
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
    "indexed_runs",
];

impl Store {
    /// Forgets runs that have ended, each with its children, and large values that nobody refers to any more.
    pub fn prune(&self, which: &Prune) -> Result<Pruned, StoreError> {
        let mut pruned = Pruned::default();
        let mut after = RunNo(0);
        while let Some(last) = self.change(|| self.prune_some(which, after, &mut pruned))? {
            after = last;
        }
        Ok(pruned)
    }

    /// The next few. None: there are no more.
    fn prune_some(&self, which: &Prune, after: RunNo, pruned: &mut Pruned) -> Result<Option<RunNo>, StoreError> {
        let statuses = if which.statuses.is_empty() { &Status::ALL[..] } else { &which.statuses };
        let words: Vec<String> =
            statuses.iter().filter(|status| status.is_final()).map(|status| format!("'{}'", status.as_str())).collect();
        let sql = format!(
            "SELECT run FROM runs WHERE run > ?1 AND parent IS NULL AND touched_ms < ?2 AND status IN ({})
            ORDER BY run LIMIT {RUNS_A_CHANGE}",
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
            // All at once, because sessions are not found by their runs. A number may be given again to another run.
            self.execute("DELETE FROM sessions WHERE run NOT IN (SELECT run FROM runs)", [])?;
        }
        Ok(roots.last().copied().map(RunNo))
    }

    /// A run with its children and theirs. None: one of them has not ended.
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

    /// How many events a run has, and how many bytes they take.
    pub fn journal_size(&self, run: RunNo) -> Result<(u64, u64), StoreError> {
        let sql = "SELECT count(*), coalesce(sum(length(bytes)), 0) FROM events WHERE run = ?1";
        Ok(self.db.query_row(sql, [run.0], |row| Ok((row.get(0)?, row.get(1)?)))?)
    }

    /// Moves the log into the file and empties it, after rewriting the file without the space of removed runs if that is wanted.
    /// False: somebody reads the log, so a part of it is left.
    pub fn compact(&self, rewrite: bool) -> Result<bool, StoreError> {
        if rewrite {
            self.db.execute_batch("VACUUM")?;
        }
        Ok(self.value::<i64>("PRAGMA wal_checkpoint(TRUNCATE)", [])? == 0)
    }

    /// Copies the store into a new file, as it is at one moment. Others may write meanwhile. Whether there is a key of sealed
    /// secrets, which is not part of the copy.
    pub fn backup(&self, to: &Path) -> Result<bool, StoreError> {
        let file_error = |error| StoreError::File { path: to.into(), error };
        if to.exists() {
            return Err(file_error(std::io::Error::from(std::io::ErrorKind::AlreadyExists)));
        }
        // Whoever finds the name finds a whole copy.
        let unfinished = beside(to, ".unfinished");
        let copied = self.copy_to(&unfinished).and_then(|()| fs::rename(&unfinished, to).map_err(file_error));
        if copied.is_err() {
            // It is of no use to anybody.
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
        // All pages in one step: readers do not block writers, and steps would begin anew whenever somebody has written.
        loop {
            match backup.step(-1)? {
                StepResult::Done => break,
                _ => std::thread::sleep(super::PATIENCE / 1_000),
            }
        }
        drop(backup);
        // One file is easier to carry than one with its log.
        copy.pragma_update(None, "journal_mode", "delete")?;
        copy.close().map_err(|(_, error)| error)?;
        Ok(())
    }
}

/// A file beside another, by the end of its name.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
