//! The health of a store: damage, sizes, file permissions, and overdue work.

use std::fs;
use std::path::PathBuf;

use branchpoint_backend::Health;
use branchpoint_core::ir::Status;

use super::permissions::mode;
use super::upkeep::with_suffix;
use super::{Store, StoreError, schema};

impl Store {
    /// Checks the whole store, which reads the whole file. Timers that are late by less than the tolerance are not overdue.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert!(store.check(2, 0).unwrap().damage.is_empty());
    /// ```
    pub fn check(&self, now_ms: i64, tolerance_ms: i64) -> Result<Health, StoreError> {
        let count = |sql: &str, value: i64| self.value::<u64>(sql, [value]);
        let pragma = |name: &str| self.db.pragma_query_value(None, name, |row| row.get::<_, u64>(0));
        let length = |ending: &str| {
            let path = self.path().map(|path| with_suffix(path, ending));
            path.and_then(|path| fs::metadata(path).ok()).map_or(0, |file| file.len())
        };
        let mut damage: Vec<String> = self.rows("PRAGMA quick_check(10)", [], |row| row.get(0))?;
        damage.retain(|line| line != "ok");
        // The rows of a damaged file give no further information.
        if damage.is_empty() {
            damage = self.damaged_rows()?;
        }
        // A killed process stays among the owners until another process releases its runs.
        let alive: Vec<String> = self.drivers()?.iter().map(|driver| driver.owner.to_string()).collect();
        // The conditions on `parent` are those of the indexes.
        let abandoned = format!(
            "SELECT count(*) FROM (
                SELECT owner FROM runs WHERE status = ?1 AND parent IS NULL
                UNION ALL SELECT owner FROM runs WHERE status = ?1 AND parent IS NOT NULL
            ) WHERE (owner IS NULL OR owner NOT IN ({}))",
            alive.join(", ")
        );
        Ok(Health {
            version: schema::version(&self.db)?,
            damage,
            key: self.key_state()?,
            open_files: self.open_files(),
            file_bytes: length(""),
            free_bytes: pragma("freelist_count")? * pragma("page_size")?,
            log_bytes: length("-wal"),
            disk_bytes: self.disk_bytes(),
            future_runs: count("SELECT count(*) FROM runs WHERE touched_ms > ?1", now_ms.saturating_add(tolerance_ms))?,
            overdue: count("SELECT count(*) FROM timers WHERE due_ms < ?1", now_ms.saturating_sub(tolerance_ms))?,
            abandoned: self.value(&abandoned, [Status::Running.as_str()])?,
        })
    }

    fn open_files(&self) -> Vec<(PathBuf, u32)> {
        let files = ["", "-wal", "-shm", "-key", "-owners"].into_iter();
        let files = files.filter_map(|ending| self.path().map(|path| with_suffix(path, ending)));
        files.filter_map(|file| mode(&file).filter(|mode| mode & 0o077 != 0).map(|mode| (file, mode))).collect()
    }

    fn disk_bytes(&self) -> Option<u64> {
        let disk = rustix::fs::statvfs(self.path()?).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }
}
