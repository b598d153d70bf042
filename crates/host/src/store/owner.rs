//! The processes that drive runs, and the locks by which they are known to be alive.
//!
//! A lease is a file lock of the operating system: each process locks a file of its own as long as it lives, even while it is
//! suspended. So no clock decides whether a process is dead, no lease must be renewed, and the runs of a killed process can be taken
//! over at once.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use branchpoint_backend::DriverProcess;
use rusqlite::params;

use super::permissions::{lock_file, lock_folder};
use super::upkeep::with_suffix;
use super::{Store, StoreError};

/// The registration of this process while it drives runs.
#[derive(Debug)]
pub(crate) struct Owner {
    pub(crate) number: i64,
    /// The lock file and its path; `None` for a store in memory, which has no other owner.
    lock: Option<(File, PathBuf)>,
}

impl Store {
    /// Registers this process as one that drives runs.
    pub(crate) fn register_owner(&self, command: &str, now_ms: i64) -> Result<Owner, StoreError> {
        self.change(|| self.insert_owner(command, now_ms))
    }

    /// Inserts the row and locks the file. Other processes see the row when it is committed, and by then the lock is held.
    fn insert_owner(&self, command: &str, now_ms: i64) -> Result<Owner, StoreError> {
        let sql = "INSERT INTO owners (pid, what, since_ms) VALUES (?1, ?2, ?3)";
        self.db.execute(sql, params![std::process::id(), command, now_ms])?;
        let number = self.db.last_insert_rowid();
        let Some(path) = self.lock_path(number) else { return Ok(Owner { number, lock: None }) };
        let error = |error| StoreError::File { path: path.clone(), error };
        let store = self.path().unwrap_or(&path);
        lock_folder(store, &owners_folder(store)).map_err(error)?;
        let file = lock_file(store, &path).map_err(error)?;
        file.lock().map_err(error)?;
        Ok(Owner { number, lock: Some((file, path)) })
    }

    /// Releases the runs of dead processes. Returns whether there was one.
    pub(crate) fn release_dead_owners(&self, own: Option<i64>) -> Result<bool, StoreError> {
        let owners: Vec<i64> = self.rows("SELECT owner FROM owners", [], |row| row.get(0))?;
        let dead: Vec<i64> = owners.into_iter().filter(|owner| Some(*owner) != own && !self.is_alive(*owner)).collect();
        for owner in &dead {
            self.unsynced(|| self.unregister_owner(*owner))?;
            if let Some(path) = self.lock_path(*owner) {
                // A leftover file does no harm.
                let _ = fs::remove_file(path);
            }
        }
        Ok(!dead.is_empty())
    }

    /// Releases the runs of a process and removes its registration.
    pub(crate) fn unregister_owner(&self, owner: i64) -> Result<(), StoreError> {
        self.free_slots(owner)?;
        self.execute("UPDATE runs SET owner = NULL WHERE owner = ?1", [owner])?;
        self.execute("DELETE FROM owners WHERE owner = ?1", [owner])?;
        Ok(())
    }

    /// The processes that drive runs.
    ///
    /// ```
    #[doc = include_str!("../../docs/run.txt")]
    /// assert_eq!(store.drivers().unwrap()[0].command, "example");
    /// ```
    pub fn drivers(&self) -> Result<Vec<DriverProcess>, StoreError> {
        let mut drivers = self.rows("SELECT owner, pid, what, since_ms FROM owners ORDER BY owner", [], |row| {
            Ok(DriverProcess { owner: row.get(0)?, pid: row.get(1)?, command: row.get(2)?, since_ms: row.get(3)? })
        })?;
        drivers.retain(|driver| self.is_alive(driver.owner));
        Ok(drivers)
    }

    /// Whether a process is alive: it holds the lock on its file.
    pub(crate) fn is_alive(&self, owner: i64) -> bool {
        let Some(path) = self.lock_path(owner) else { return true };
        // A process is dead if its file is missing or can be locked. If this cannot be checked, it counts as alive.
        match File::open(path) {
            Ok(file) => !matches!(file.try_lock(), Ok(())),
            Err(error) => error.kind() != std::io::ErrorKind::NotFound,
        }
    }

    fn lock_path(&self, owner: i64) -> Option<PathBuf> {
        self.path().map(|path| owners_folder(path).join(owner.to_string()))
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some((_, path)) = &self.lock {
            // Closing the file releases the lock; a leftover file does no harm.
            let _ = fs::remove_file(path);
        }
    }
}

pub(super) fn owners_folder(store: &Path) -> PathBuf {
    with_suffix(store, "-owners")
}
